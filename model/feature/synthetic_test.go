package feature

import (
	"bytes"
	"fmt"
	"image/png"
	"path/filepath"
	"testing"

	"cpar/photo/decode"
)

func synthetic(w, h int) *decode.Image {
	p := &decode.Image{Width: w, Height: h}
	for y := range h {
		for x := range w {
			p.RGB = append(p.RGB, byte(x*5+y*3+x*y/7), byte(x*x/11+y*9), 255-byte(x*2+y*y/5))
		}
	}
	return p
}

func encodePNG(t testing.TB, p *decode.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, p.RGBA()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func extract(t testing.TB, p *decode.Image) *Vectors {
	t.Helper()
	v, err := NewExtractor().Extract(p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The file holds every sixteenth Haar element.
func TestGoldenSizes(t *testing.T) {
	for name, want := range readGolden(t, filepath.Join("testdata", "opencv.json")) {
		var w, h int
		if _, err := fmt.Sscanf(name, "%dx%d", &w, &h); err != nil {
			t.Fatal(err)
		}
		got := extract(t, synthetic(w, h))
		got.Haar, got.HaarQ = sixteenth(got.Haar), sixteenth(got.HaarQ)
		a := compare(got, want)
		t.Logf("%s: %v", name, a)
		if !a.within(0.02, 1e-5) || a["haarq"] < 0.99 {
			t.Errorf("%s: too far from OpenCV: %v", name, a)
		}
		// Images without texture have noise as phases.
		if w*h > 10 && a["gaborq"] < 0.94 {
			t.Errorf("%s: phases agree in %.4f", name, a["gaborq"])
		}
	}
}

func sixteenth(x []float32) (y []float32) {
	for i := 0; i < len(x); i += 16 {
		y = append(y, x[i])
	}
	return y
}
