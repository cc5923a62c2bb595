package network

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar/internal/oracle"
	"cpar/user/feature"
)

// TestPhotos goes the whole way from JPEG files to the names of classes:
// colours swapped, rows mixed up or values out of range would not find tigers.
func TestPhotos(t *testing.T) {
	m := loadMobileNet(t)
	p, ok, err := m.Preprocessing()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	labels := strings.Split(m.Metadata()["labels"], "\n")
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
	photos, right := 0, 0
	for _, r := range records {
		if photos == 12 || !strings.Contains(strings.Join(r[1:], " "), "tiger") {
			continue
		}
		photos++
		data, err := feature.ReadFile(filepath.Join(filepath.Dir(manifest), filepath.FromSlash(r[0])))
		if err != nil {
			t.Fatal(err)
		}
		picture, err := feature.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		image, err := p.Tensor(picture.RGB())
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := m.Run(image)
		if err != nil {
			t.Fatal(err)
		}
		best := 0
		for i, v := range outputs["logits"] {
			if v > outputs["logits"][best] {
				best = i
			}
		}
		if strings.Contains(labels[best], "tiger") {
			right++
		} else {
			t.Logf("%s: %s", r[0], labels[best])
		}
	}
	// 92 % of all tigers with OpenCV (shared/models/README.md).
	if photos < 12 || right < 9 {
		t.Errorf("%d of %d tigers found", right, photos)
	}
}
