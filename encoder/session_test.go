package encoder

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/encoder/onnxruntime"
	"cpar/internal/hint"
	"cpar/internal/testing/onnxtest"
	"cpar/internal/testing/oracle"
)

func randomFloats(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func near(t *testing.T, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i])-want[i]) < 1e-4*(1+math.Abs(want[i]))) {
			t.Fatalf("value %d is %g, want %g", i, got[i], want[i])
		}
	}
}

func withLibrary(t testing.TB) Options {
	t.Helper()
	return Options{Library: oracle.Named(t, "CPAR_ONNXRUNTIME")}
}

func openWith(t testing.TB, runtime, path string) Embedder {
	t.Helper()
	options := Options{}
	if runtime != Go {
		options = withLibrary(t)
	}
	e, err := OpenWith(runtime, path, options)
	if err != nil || e.Runtime() != runtime {
		t.Fatal(e, err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func session(t *testing.T, f *onnxtest.File, options Options) *Model {
	t.Helper()
	options.Library = oracle.Named(t, "CPAR_ONNXRUNTIME")
	e, err := loadWith(ONNXRuntime, f.Bytes(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e.(*Model)
}

func alike(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values and %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		off := math.Abs(float64(got[i])-float64(want[i])) / (1 + math.Abs(float64(want[i])))
		if worst = max(worst, off); !(off <= 1e-4) {
			t.Fatalf("%s: value %d is %g and %g", what, i, got[i], want[i])
		}
	}
	t.Logf("%s: off by %.1e at most", what, worst)
}

func TestRuntimes(t *testing.T) {
	path := oracle.Path(t, mobileNet)
	inGo, inORT := openWith(t, Go, path), openWith(t, ONNXRuntime, path)
	digest := inORT.Digest()
	if got := hex.EncodeToString(digest[:]); got != "af63805416544051a3af3179117e022e50a60c01bffe331a1c8913191b8405c7" {
		t.Errorf("digest %s", got)
	}
	if c := inORT.Choice(); c.Name != "embedding" || c.Size != 1280 {
		t.Errorf("embedding %v", c)
	}
	if h, w := inORT.Size(); h != 224 || w != 224 {
		t.Errorf("size %d×%d", h, w)
	}
	p := ofMetadata(t, inORT)
	if q := ofMetadata(t, inGo); p != q {
		t.Errorf("%v, want %v", p, q)
	}
	if got := fmt.Sprint(inORT); !strings.HasPrefix(got, "network af63805416544051 in ONNX Runtime 1.") {
		t.Errorf("it says it is %s", got)
	}
	golden, err := inORT.Embed(goldenImage())
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, golden)

	compare := func(what string, image []float32) {
		t.Helper()
		a, err1 := inGo.Embed(image)
		b, err2 := inORT.Embed(image)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		alike(t, what, b, a)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	compare("golden image", goldenImage())
	compare("noise", randomFloats(rng, 3*224*224))
	compare("grey", make([]float32, 3*224*224))
	photos := 0
	for name, image := range photosOf(t, p, "", 8) {
		photos++
		compare(name, image)
	}
	if photos != 8 {
		t.Errorf("%d photos", photos)
	}
}

func TestSameEmbedding(t *testing.T) {
	withLibrary(t)
	rng := rand.New(rand.NewPCG(5, 6))
	base := func() *onnxtest.File {
		return onnxtest.New(13, 6, 6).Floats("w", randomFloats(rng, 4*27), 4, 3, 3, 3).
			Floats("lo", []float32{0}).Floats("hi", []float32{6}).Floats("dense", randomFloats(rng, 8), 4, 2).Floats("bias", randomFloats(rng, 2), 2).
			Node("Conv", []string{"image", "w"}, "c", nil).
			Node("Clip", []string{"c", "lo", "hi"}, "r", nil).
			Node("GlobalAveragePool", []string{"r"}, "g", nil).
			Node("Flatten", []string{"g"}, "f", nil)
	}
	for _, c := range []struct {
		name  string
		f     *onnxtest.File
		asked string
		want  string
		dim   int
	}{
		{"what the classifier sees", base().Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).Output("y", 1, 2), "", "f", 4},
		{"of the last classifier", base().Floats("more", randomFloats(rng, 4), 2, 2).Node("MatMul", []string{"f", "dense"}, "z", nil).
			Node("MatMul", []string{"z", "more"}, "m", nil).Node("Softmax", []string{"m"}, "y", nil).Output("y"), "", "z", 2},
		{"a layer without bias", base().Node("MatMul", []string{"f", "dense"}, "y", nil).Output("y"), "", "y", 2},
		{"an output of that name", base().Node("Identity", []string{"g"}, "embedding", nil).Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).
			Output("y").Output("embedding"), "", "embedding", 4},
		{"a tensor of that name", base().Node("Relu", []string{"g"}, "embedding", nil).Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).Output("y"), "", "embedding", 4},
		{"the only output", base().Output("f"), "", "f", 4},
		{"an output by name", base().Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).Output("y"), "y", "y", 2},
		{"a tensor by name", base().Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).Output("y"), "r", "r", 4},
		{"one that is clipped", base().Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).Output("y"), "c", "c", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := Options{Embedding: c.asked}
			m, err := loadGo(c.f.Bytes(), options)
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, c.f, options)
			image := randomFloats(rng, 3*6*6)
			a, err1 := m.Embed(image)
			b, err2 := s.Embed(image)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			alike(t, c.name, b, a)
			for _, e := range []Embedder{m, s} {
				if got := e.Choice(); got.Name != c.want || got.Size != c.dim || len(a) != c.dim {
					t.Errorf("%s: %v, want %q of %d", e.Runtime(), got, c.want, c.dim)
				}
			}
		})
	}
}

func TestOtherOperators(t *testing.T) {
	for op, want := range map[string]func(float64) float64{
		"Tan": math.Tan, "Asinh": math.Asinh,
	} {
		t.Run(op, func(t *testing.T) {
			f := onnxtest.New(13, 2, 2).Node(op, []string{"image"}, "z", nil).Node("Flatten", []string{"z"}, "y", nil).Output("y", 1, 12)
			_, err := loadGo(f.Bytes(), Options{})
			if err == nil || !strings.Contains(err.Error(), op+" (1 node)") || !strings.Contains(hint.Of(err), "ONNX Runtime may be able to run the file") {
				t.Fatalf("plain Go: %v (%s)", err, hint.Of(err))
			}
			image := []float32{-3, -2, -1, -0.5, 0, 0.1, 0.2, 0.5, 1, 2, 3, 4}
			for _, runtime := range []string{ONNXRuntime} {
				e, err := loadWith(runtime, f.Bytes(), withLibrary(t))
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				got, err := e.Embed(image)
				if err != nil {
					t.Fatal(err)
				}
				var all []float64
				for _, x := range image {
					all = append(all, want(float64(x)))
				}
				near(t, got, all)
			}
		})
	}
}

func TestSessionSizes(t *testing.T) {
	f := onnxtest.New(13, -1, -1).Node("Relu", []string{"image"}, "y", nil).Output("y", -1, 3, -1, -1)
	s := session(t, f, Options{Side: 5})
	if h, w := s.Size(); h != 5 || w != 5 {
		t.Errorf("%d×%d", h, w)
	}
	if c := s.Choice(); c.Size != 3 || c.Shape[3] != 5 {
		t.Errorf("an embedding %v", c)
	}
}

func TestSessionRefusals(t *testing.T) {
	options := withLibrary(t)
	for why, f := range map[string]*onnxtest.File{
		"No Op registered for Nonsense":       onnxtest.New(13, 2, 2).Node("Nonsense", []string{"image"}, "y", nil).Output("y"),
		"not a tensor of float or":            onnxtest.New(13, 2, 2).Node("Shape", []string{"image"}, "s", nil).Node("Relu", []string{"image"}, "y", nil).Output("y"),
		"is empty, of shape":                  onnxtest.New(13, 2, 2).Ints("n", 0).Ints("o", 0).Ints("a", 1).Node("Slice", []string{"image", "n", "o", "a"}, "y", nil).Output("y"),
		"trying it on an image of zeros":      onnxtest.New(13, 2, 2).Ints("to", 5, 5).Node("Reshape", []string{"image", "to"}, "y", nil).Output("y"),
		"making a session of ONNX Runtime 1.": onnxtest.New(99, 2, 2).Node("Relu", []string{"image"}, "y", nil).Output("y"),
		"a tensor cannot be named":            onnxtest.New(13, 2, 2).Node("Relu", []string{"image"}, "y\x00", nil).Output("y\x00"),
		"it has no output":                    onnxtest.New(13, 2, 2).Node("Relu", []string{"image"}, "y", nil),
	} {
		options.Embedding = map[bool]string{true: "s"}[strings.HasPrefix(why, "not a tensor")]
		e, err := loadWith(ONNXRuntime, f.Bytes(), options)
		if e != nil || !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, %v, want bad input and %q", e, err, why)
		} else {
			t.Log(err)
		}
	}
	s := session(t, onnxtest.New(13, 1, 1).Floats("k", []float32{3e38}).Node("Mul", []string{"image", "k"}, "y", nil).Output("y"), Options{})
	for _, image := range [][]float32{nil, make([]float32, 4), {0, 0, float32(math.NaN())}, {1, 1, 9}} {
		if _, err := s.Embed(image); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: %v", image, err)
		}
	}
	if got, err := s.Embed([]float32{0, 1, -1}); err != nil || got[0] != 0 || got[1] != 3e38 {
		t.Errorf("after that: %v, %v", got, err)
	}
}

func TestSessionSurvivesDamagedFiles(t *testing.T) {
	options := withLibrary(t)
	options.Limits = smallLimits
	l, err := onnxruntime.Open(options.Library)
	if err != nil {
		t.Fatal(err)
	}
	data := smallFile().Bytes()
	try := func(data []byte) {
		t.Helper()
		e, err := loadWith(ONNXRuntime, data, options)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) {
				t.Errorf("not called bad input: %v", err)
			}
			return
		}
		h, w := e.Size()
		embedding, err := e.Embed(make([]float32, 3*h*w))
		if size := e.Choice().Size; err == nil && len(embedding) != size {
			t.Errorf("an embedding of %d values, not %d", len(embedding), size)
		}
		e.Close()
	}
	for n := range data {
		try(data[:n])
		// The same without reading the file ourselves.
		if s, err := l.Load(data[:n], onnxruntime.Input{Name: "image", Element: 1, Shape: []int64{1, 3, 6, 6}}, "y"); err == nil {
			_, _, _ = s.Run(make([]float32, 3*6*6))
			s.Close()
		}
	}
	for i := range data {
		for bit := i % 2; bit < 8; bit += 2 {
			data[i] ^= 1 << bit
			try(data)
			data[i] ^= 1 << bit
		}
	}
}

func TestSessionConcurrent(t *testing.T) {
	s := session(t, smallRandomFile(), Options{})
	rng := rand.New(rand.NewPCG(7, 8))
	var images, want [][]float32
	for range 4 {
		images = append(images, randomFloats(rng, 3*6*6))
		embedding, err := s.Embed(images[len(images)-1])
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, embedding)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				k := (g + i) % len(images)
				got, err := s.Embed(images[k])
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want[k]) {
					t.Errorf("%v, %v, want %v", got, err, want[k])
					return
				}
			}
		})
	}
	wg.Wait()
}

func smallRandomFile() *onnxtest.File {
	rng := rand.New(rand.NewPCG(9, 10))
	return onnxtest.New(13, 6, 6).Floats("w", randomFloats(rng, 8*27), 8, 3, 3, 3).
		Node("Conv", []string{"image", "w"}, "c", nil).Node("Relu", []string{"c"}, "r", nil).
		Node("GlobalAveragePool", []string{"r"}, "y", nil).Output("y")
}

func TestSessionClose(t *testing.T) {
	image := make([]float32, 3*6*6)
	s := session(t, smallRandomFile(), Options{})
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				embedding, err := s.Embed(image)
				if i == 0 {
					started <- struct{}{}
				}
				if err != nil {
					if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "the session is closed") {
						t.Error(err)
					}
					return
				}
				if len(embedding) != 8 {
					t.Errorf("%d values", len(embedding))
				}
			}
		})
	}
	for range 4 {
		<-started
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
