package decode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// OpenCV decoded the files of testdata to the PNGs of the same names: all chroma layouts,
// CMYK with and without Adobe's marker, progressive, WebP. The limits are for the mean
// difference in levels of 256: other decoders round differently.
func TestPixelsAgainstOpenCV(t *testing.T) {
	for pattern, limit := range map[string]float64{
		"ycbcr*.jpg": 0.4, "progressive.jpg": 0.1, "cmyk*.jpg": 1.2, "ycck.jpg": 1.2,
		"lossy.webp": 0.25, "lossless.webp": 0,
	} {
		files, _ := filepath.Glob(filepath.Join("testdata", pattern))
		if len(files) == 0 {
			t.Fatalf("no %s", pattern)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := os.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".png")
			if err != nil {
				t.Fatal(err)
			}
			got, want := decode(t, data), decode(t, decoded)
			if got.Width != want.Width || got.Height != want.Height {
				t.Fatalf("%s: %d×%d, want %d×%d", path, got.Width, got.Height, want.Width, want.Height)
			}
			sum, worst := 0, 0
			for i := range got.RGB {
				d := max(int(got.RGB[i])-int(want.RGB[i]), int(want.RGB[i])-int(got.RGB[i]))
				sum += d
				worst = max(worst, d)
			}
			mean := float64(sum) / float64(len(got.RGB))
			t.Logf("%s: mean difference %.3f, largest %d", path, mean, worst)
			if mean > limit || worst > 4 {
				t.Errorf("%s: pixels differ from OpenCV's by %.3f on average, %d at most", path, mean, worst)
			}
		}
	}
}
