package feature

import (
	"math/rand/v2"
	"testing"
)

// The bins of L*a*b* by shifts against those of the floats that OpenCV gives.
func TestLabBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range 20000 {
		r, g, b := rng.Float32(), rng.Float32(), rng.Float32()
		if i%2 == 0 { // greys lie on an edge
			g, b = r, r
		}
		v := lab(r, g, b)
		var c colorCounts
		c.addLab(v)
		unit := func(v int32) float32 { return float32(v) / (1 << labShift) }
		want := [3]int{
			binWide(unit(v[0])*100, 0, 6.25),
			binWide(unit(v[1])*256-128, -128, 16),
			binWide(unit(v[2])*256-128, -128, 16),
		}
		for k, bin := range want {
			if c.lab[k*colorBins+bin] != 1 {
				t.Fatalf("%g %g %g: channel %d is not in bin %d: %v", r, g, b, k, bin, c.lab)
			}
		}
	}
	var c colorCounts
	c.addLab([3]int32{1 << labShift, 0, 1023})
	if c.lab[15] != 1 || c.lab[16] != 1 || c.lab[32] != 1 {
		t.Errorf("white: %v", c.lab)
	}
}

// A row of bytes and the same pixels as floats are counted alike.
func TestBytesAsFloats(t *testing.T) {
	var a, b colorCounts
	m := synthetic(97, 61)
	row := make([]byte, 3*97)
	for y := range 61 {
		straightRow(row, m.Pix[m.PixOffset(0, y):], 1)
		floats := make([]float64, len(row))
		for i, v := range row {
			floats[i] = float64(v)
		}
		a.addBytes(row)
		b.addFloats(floats)
	}
	if a != b {
		t.Error("other counts")
	}
}
