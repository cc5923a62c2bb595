package feature

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
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

// The whole way from bytes to vectors, of a Corel image's size.
func BenchmarkExtract192x128(b *testing.B) {
	data := photo(b, 192, 128)
	e := NewExtractor()
	for b.Loop() {
		if _, err := e.FromBytes(data); err != nil {
			b.Fatal(err)
		}
	}
}

// The same of a phone's, 4000×3000; and without cells, to compare.
func Benchmark12MP420(b *testing.B) {
	sample := tiled(scenery(1))
	m := image.NewYCbCr(image.Rect(0, 0, 4000, 3000), image.YCbCrSubsampleRatio420)
	for y := range 3000 {
		for x := range 4000 {
			m.Y[y*m.YStride+x] = byte(sample(0, x, y))
		}
	}
	for y := range 1500 {
		for x := range 2000 {
			m.Cb[y*m.CStride+x], m.Cr[y*m.CStride+x] = byte(sample(1, 2*x, 2*y)), byte(sample(2, 2*x, 2*y))
		}
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, m, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	bench12MP(b, data.Bytes())
}

func Benchmark12MP444(b *testing.B) {
	bench12MP(b, jpegRecipe{w: 4000, h: 3000, sampling: yuv444, step: 6, sample: tiled(scenery(1))}.encode())
}

func Benchmark12MPProgressive(b *testing.B) {
	bench12MP(b, jpegRecipe{w: 4000, h: 3000, sampling: yuv420, step: 5, sample: tiled(scenery(1)), progressive: true}.encode())
}

func bench12MP(b *testing.B, data []byte) {
	e := NewExtractor()
	b.Run("cells", func(b *testing.B) {
		for b.Loop() {
			if p, err := Decode(data); err != nil || p.cell != 4 {
				b.Fatal(err)
			} else if _, err := e.Extract(p); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(data))/1e6, "MB/file")
	})
	b.Run("full", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Extract(fullPicture(b, data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// tiled adds a sensor's noise and repeats 1024×1024 samples, which are quicker
// than new ones.
func tiled(sample func(component, x, y int) float64) func(component, x, y int) float64 {
	const side = 1024
	rng := rand.New(rand.NewPCG(2, 5))
	var tile [3][]float64
	for c, noise := range [3]float64{5, 3, 3} {
		for i := range side * side {
			tile[c] = append(tile[c], min(max(sample(c, i%side, i/side)+noise*rng.NormFloat64(), 0), 255))
		}
	}
	return func(component, x, y int) float64 { return tile[component][y%side*side+x%side] }
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
