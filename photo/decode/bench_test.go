package decode

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkDecode12MP decodes a phone's photo, 4000×3000, in cells and, for comparison, without.
func BenchmarkDecode12MP(b *testing.B) {
	sample := tiled(scenery(1))
	for name, j := range map[string]jpegRecipe{
		"4:2:0": {sampling: yuv420}, "4:4:4": {sampling: yuv444}, "progressive": {sampling: yuv420, progressive: true},
	} {
		j.w, j.h, j.step, j.sample = 4000, 3000, 5, sample
		data := j.encode()
		b.Run(name+"/cells", func(b *testing.B) {
			for b.Loop() {
				if p, err := Decode(data); err != nil || p.Width != 1000 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data))/1e6, "MB/file")
		})
		b.Run(name+"/full", func(b *testing.B) {
			for b.Loop() {
				img, err := jpegDecode(data)
				if err != nil {
					b.Fatal(err)
				}
				upright(rowsOf("jpeg", img), j.w, j.h, 1)
			}
		})
	}
}

// tiled adds sensor noise and repeats 1024×1024 samples, which is faster than generating new ones.
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
