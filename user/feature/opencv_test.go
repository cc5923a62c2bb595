package feature

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// synthetic is the picture behind testdata/opencv.json.
func synthetic(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{
				R: byte(x*5 + y*3 + x*y/7),
				G: byte(x*x/11 + y*9),
				B: 255 - byte(x*2+y*y/5),
				A: 255,
			})
		}
	}
	return m
}

func encodePNG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Sizes that grow, shrink, do both at once, are odd, portrait, one pixel, and
// beyond 256 pixels, against OpenCV. Of the Haar vectors the file holds every
// sixteenth element.
func TestGoldenSizes(t *testing.T) {
	for name, want := range readGolden(t, filepath.Join("testdata", "opencv.json")) {
		var w, h int
		if _, err := fmt.Sscanf(name, "%dx%d", &w, &h); err != nil {
			t.Fatal(err)
		}
		got, err := FromBytes(encodePNG(t, synthetic(w, h)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got.Haar, got.HaarQ = sixteenth(got.Haar), sixteenth(got.HaarQ)
		a := compare(got, want)
		t.Logf("%s: %+v", name, a)
		if a.color > 0.02 || a.gabor > 1e-5 || a.haar > 1e-5 || a.haarq < 0.99 {
			t.Errorf("%s: too far from OpenCV: %+v", name, a)
		}
		// Pictures without texture have phases of noise.
		if w*h > 10 && a.gaborq < 0.94 {
			t.Errorf("%s: phases agree in %.4f", name, a.gaborq)
		}
	}
}

func sixteenth(x []float32) (y []float32) {
	for i := 0; i < len(x); i += 16 {
		y = append(y, x[i])
	}
	return y
}

// pixels reads a picture through its rows.
func pixels(t testing.TB, data []byte) (rgb []byte, p *Picture) {
	t.Helper()
	p, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	read := p.open()
	rgb = make([]byte, 3*p.storedW*p.storedH)
	for y := range p.storedH {
		read(y, rgb[3*p.storedW*y:][:3*p.storedW])
	}
	return rgb, p
}

// The files of testdata are decoded by OpenCV to the PNG of the same name: all
// chroma layouts, CMYK with and without Adobe's marker, progressive, WebP.
func TestPixelsAgainstOpenCV(t *testing.T) {
	for pattern, limit := range map[string]float64{
		"ycbcr*.jpg": 0.1, "narrow420.jpg": 0.1, "progressive.jpg": 0.1, "c*.jpg": 0.1, "ycck.jpg": 0.1,
		"lossy.webp": 0.2, "lossless.webp": 0,
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
			got, p := pixels(t, data)
			want, q := pixels(t, decoded)
			if p.Width() != q.Width() || p.Height() != q.Height() {
				t.Fatalf("%s: %dx%d, want %dx%d", path, p.Width(), p.Height(), q.Width(), q.Height())
			}
			sum, worst := 0, 0
			for i := range got {
				d := max(int(got[i])-int(want[i]), int(want[i])-int(got[i]))
				sum += d
				worst = max(worst, d)
			}
			mean := float64(sum) / float64(len(got))
			t.Logf("%s: mean difference %.3f, largest %d", path, mean, worst)
			if mean > limit || worst > 6 {
				t.Errorf("%s: pixels differ from OpenCV's by %.3f on average, %d at most", path, mean, worst)
			}
		}
	}
}
