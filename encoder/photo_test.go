package encoder

import (
	"encoding/csv"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar/encoder/prepare"
	"cpar/internal/testing/oracle"
	"cpar/photo/decode"
)

// TestPhotos goes all the way from JPEG files to class names: swapped colours, wrong rows
// or values out of range would not find tigers.
func TestPhotos(t *testing.T) {
	m := loadMobileNet(t, "logits")
	p := ofMetadata(t, m)
	labels := strings.Split(m.Metadata()["labels"], "\n")
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

// photosOf yields the first photos of Corel-5k with a keyword, by name and as network input.
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
