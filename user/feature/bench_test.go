package feature

import (
	"bytes"
	"image/jpeg"
	"testing"
)

// photo is a JPEG with a texture of some depth, 4:2:0.
func photo(b *testing.B, w, h int) []byte {
	b.Helper()
	m := synthetic(w, h)
	for i := range m.Pix {
		if i%4 != 3 { // a quarter of the texture, or the file is all noise
			m.Pix[i] = 96 + m.Pix[i]/4
		}
	}
	return encodeJPEG(b, m)
}

// The whole way from bytes to vectors: a Corel image's size, a phone's.
func BenchmarkFromBytes(b *testing.B) {
	for _, c := range []struct {
		name string
		w, h int
	}{{"192x128", 192, 128}, {"12MP", 4000, 3000}} {
		b.Run(c.name, func(b *testing.B) {
			data := photo(b, c.w, c.h)
			e := NewExtractor()
			for b.Loop() {
				if _, err := e.FromBytes(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Its stages, for 192×128.
func BenchmarkStages(b *testing.B) {
	data := photo(b, 192, 128)
	p, err := Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	row := make([]byte, 3*192)
	b.Run("jpeg", func(b *testing.B) {
		for b.Loop() {
			jpeg.Decode(bytes.NewReader(data))
		}
	})
	b.Run("rows", func(b *testing.B) {
		for b.Loop() {
			read := p.open()
			for y := range 128 {
				read(y, row)
			}
		}
	})
	b.Run("color", func(b *testing.B) {
		var c colorCounts
		for b.Loop() {
			for range 128 {
				c.addBytes(row)
			}
		}
	})
	b.Run("reduce", func(b *testing.B) {
		for b.Loop() {
			r := newReducer(192, 128, []*target{newTarget(p, gaborSide, gaborSide, 1), newTarget(p, haarSide, haarSide, 1)})
			for y := range 128 {
				r.add(y, row)
			}
		}
	})
	b.Run("gabor", func(b *testing.B) {
		s, grey := newGaborSpace(), noiseImage(1)
		m, q := make([]float32, GaborDim), make([]float32, GaborDim)
		for b.Loop() {
			s.respond(grey, m, q)
		}
	})
	b.Run("haar", func(b *testing.B) {
		grey, out := noiseImage(1), make([]float64, HaarDim)
		for b.Loop() {
			haarTransform(grey, out)
		}
	})
}

func BenchmarkCacheHit(b *testing.B) {
	c, err := OpenCache(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	data := photo(b, 192, 128)
	for b.Loop() {
		if _, err := c.FromBytes(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRestoreSamples(b *testing.B) {
	data := photo(b, 192, 128)
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		restoreSamples(img, data)
	}
}
