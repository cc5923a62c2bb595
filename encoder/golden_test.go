package encoder

import (
	"encoding/csv"
	"encoding/hex"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cpar/encoder/prepare"
	"cpar/internal/testing/oracle"
	"cpar/photo/decode"
)

const mobileNet = "models/mobilenet_v2_1.0_224.onnx"

func loadMobileNet(t testing.TB, embedding string) *Model {
	t.Helper()
	data, err := os.ReadFile(oracle.Path(t, mobileNet))
	if err != nil {
		t.Fatal(err)
	}
	m, err := loadGo(data, Options{Embedding: embedding})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// goldenImage is synthetic, so that nothing depends on decoding and resizing.
func goldenImage() []float32 {
	image := make([]float32, 3*224*224)
	for i := range image {
		c, y, x := i/(224*224), i/224%224, i%224
		image[i] = (float32((7*c+3*y+5*x)%256) - 127.5) / 127.5
	}
	return image
}

// TestGolden compares with values on which OpenCV, ONNX Runtime and numpy agree
// (shared/models/README.md).
func TestGolden(t *testing.T) {
	m := loadMobileNet(t, "")
	digest := m.Digest()
	if got := hex.EncodeToString(digest[:]); got != "af63805416544051a3af3179117e022e50a60c01bffe331a1c8913191b8405c7" {
		t.Fatalf("digest %s", got)
	}
	embedding, err1 := m.Embed(goldenImage())
	logits, err2 := loadMobileNet(t, "logits").Embed(goldenImage())
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if len(embedding) != 1280 || len(logits) != 1001 {
		t.Fatalf("embedding of %d, logits of %d", len(embedding), len(logits))
	}
	checkGolden(t, embedding)
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	within(t, "class", float64(best), 906, 0)
	within(t, "largest logit", float64(logits[best]), 10.8494, 1e-4)
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.7g, want %.7g ± %g", what, got, want, tolerance)
	} else {
		t.Logf("%s: off by %.1e", what, got-want)
	}
}

func checkGolden(t *testing.T, embedding []float32) {
	t.Helper()
	if len(embedding) != 1280 {
		t.Fatalf("embedding of %d", len(embedding))
	}
	for i, want := range []float64{0, 3.25936, 0.17751, 0, 0, 0} {
		within(t, "embedding value", float64(embedding[i]), want, 1e-4)
	}
	var sum, squares float64
	for _, v := range embedding {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	within(t, "sum", sum, 377.739, 2e-3)
	within(t, "norm", math.Sqrt(squares), 31.1347, 1e-4)
}

func TestEmbedConcurrent(t *testing.T) {
	m := loadMobileNet(t, "")
	image := goldenImage()
	want, err := m.Embed(image)
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Choice(); c.Name != "embedding" || c.Size != 1280 || c.Pool != "" {
		t.Fatalf("embedding %v", c)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			embedding, err := m.Embed(image)
			if err != nil {
				t.Error(err)
				return
			}
			for i, v := range embedding {
				if v != want[i] {
					t.Errorf("value %d is %g, and was %g", i, v, want[i])
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkEmbed(b *testing.B) {
	path, image := oracle.Path(b, mobileNet), goldenImage()
	for _, runtime := range []string{Go, ONNXRuntime} {
		b.Run(runtime, func(b *testing.B) {
			e := openWith(b, runtime, path)
			for b.Loop() {
				if _, err := e.Embed(image); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	data, err := os.ReadFile(oracle.Path(b, mobileNet))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := loadGo(data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEmbedFindsTigers starts from JPEG files, so swapped colours or wrong rows
// would fail it.
func TestEmbedFindsTigers(t *testing.T) {
	m := loadMobileNet(t, "logits")
	p := ofMetadata(t, m)
	labels := strings.Split(m.metadata["labels"], "\n")
	photos, right := 0, 0
	for name, image := range photosOf(t, p, "tiger", 12) {
		photos++
		logits, err := m.Embed(image)
		if err != nil {
			t.Fatal(err)
		}
		best := 0
		for i, v := range logits {
			if v > logits[best] {
				best = i
			}
		}
		if strings.Contains(labels[best], "tiger") {
			right++
		} else {
			t.Logf("%s: %s", name, labels[best])
		}
	}
	// 92 % of all tigers with OpenCV (shared/models/README.md).
	if photos < 12 || right < 9 {
		t.Errorf("%d of %d tigers found", right, photos)
	}
}

// photosOf yields the first photos with a keyword as network input.
func photosOf(t *testing.T, p prepare.Preprocessing, keyword string, most int) iter.Seq2[string, []float32] {
	t.Helper()
	manifest := oracle.Path(t, "data/corel5k/manifest.csv")
	f, err := os.Open(manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, []float32) bool) {
		found := 0
		for _, r := range records[1:] { // after the heading
			if found == most || !strings.Contains(strings.Join(r[1:], " "), keyword) {
				continue
			}
			found++
			data, err := decode.ReadFile(filepath.Join(filepath.Dir(manifest), filepath.FromSlash(r[0])))
			if err != nil {
				t.Fatal(err)
			}
			photo, err := decode.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			image, err := p.Tensor(photo.RGB, photo.Width, photo.Height)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(r[0], image) {
				return
			}
		}
	}
}
