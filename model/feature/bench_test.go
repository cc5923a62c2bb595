package feature

import (
	"bytes"
	"image/jpeg"
	"testing"

	"cpar/photo/decode"
)

func photo(b *testing.B, w, h int) []byte {
	b.Helper()
	p := synthetic(w, h)
	for i, v := range p.RGB {
		p.RGB[i] = 96 + v/4
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, p.RGBA(), &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	return data.Bytes()
}

func BenchmarkExtract192x128(b *testing.B) { benchmarkPhoto(b, photo(b, 192, 128)) }

func Benchmark12MP420(b *testing.B) { benchmarkPhoto(b, photo(b, 4000, 3000)) }

func benchmarkPhoto(b *testing.B, data []byte) {
	e := NewExtractor()
	for b.Loop() {
		if _, err := e.Photo(data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStages(b *testing.B) {
	data := photo(b, 192, 128)
	p, err := decode.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			decode.Decode(data)
		}
	})
	b.Run("color", func(b *testing.B) {
		var c colorCounts
		for b.Loop() {
			c.addBytes(p.RGB)
		}
	})
	b.Run("reduce", func(b *testing.B) {
		for b.Loop() {
			r := newPlan(p.Width, p.Height).reducer
			for y := range p.Height {
				r.add(y, p.Row(y))
			}
		}
	})
	b.Run("gabor", func(b *testing.B) {
		s, grey := newGaborScratch(), noiseImage(1)
		m, q := make([]float32, GaborDim), make([]float32, GaborDim)
		for b.Loop() {
			s.respond(grey, m, q)
		}
	})
	b.Run("patches", func(b *testing.B) {
		s, rgb := newPatchScratch(), make([]float64, 3*patchLong*patchShort)
		for i, v := range synthetic(patchLong, patchShort).RGB {
			rgb[i] = float64(v)
		}
		out := make([]float32, PatchDim)
		for b.Loop() {
			s.respond(rgb, patchLong, out)
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
	e := NewExtractor()
	for b.Loop() {
		if _, err := e.Photo(data, Options{Cache: c}); err != nil {
			b.Fatal(err)
		}
	}
}
