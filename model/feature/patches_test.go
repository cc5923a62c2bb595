package feature

import (
	"encoding/binary"
	"math"
	"testing"

	"cpar/photo/decode"
)

func TestPatchesAgainstLoops(t *testing.T) {
	if len(patchFile) != patchWords*(8+2*patchValues) {
		t.Fatalf("words of %d bytes", len(patchFile))
	}
	for _, size := range [][2]int{{patchLong, patchShort}, {patchShort, patchLong}} {
		w, h := size[0], size[1]
		rgb := make([]float64, 3*w*h)
		for i, v := range synthetic(w, h).RGB {
			rgb[i] = float64(v)
		}
		got := make([]float32, PatchDim)
		newPatchScratch().respond(rgb, w, got)
		across, down := (w-6)/2+1, (h-6)/2+1
		want := make([]float64, PatchDim)
		for p := range across * down {
			x, y := p%across, p/across
			patch := make([]float32, patchValues)
			normalPatch(patch, rgb, w, 2*x, 2*y)
			quarter := 0
			if 2*x >= across {
				quarter++
			}
			if 2*y >= down {
				quarter += 2
			}
			for word := range patchWords {
				row := patchFile[word*(8+2*patchValues):]
				scale, offset := math.Float32frombits(binary.LittleEndian.Uint32(row)), math.Float32frombits(binary.LittleEndian.Uint32(row[4:]))
				sum := -float64(offset) - 0.5
				for i, v := range patch {
					sum += float64(scale) * float64(int16(binary.LittleEndian.Uint16(row[8+2*i:]))) * float64(v)
				}
				want[quarter*patchWords+word] += max(0, sum) * 4 / float64(across*down)
			}
		}
		some := 0
		for i, v := range want {
			if math.Abs(v-float64(got[i])) > 1e-4*(1+v) {
				t.Fatalf("%v, value %d: %g, want %g", size, i, got[i], v)
			}
			if v > 0 {
				some++
			}
		}
		if some < PatchDim/4 {
			t.Errorf("%v: %d of %d words are seen", size, some, PatchDim)
		}
	}
}

// The variance is 1 minus the effect of patchFloor.
func TestNormalPatch(t *testing.T) {
	rgb := make([]float64, 3*8*8)
	for i := range rgb {
		rgb[i] = float64(i * i % 251)
	}
	p := make([]float32, patchValues)
	normalPatch(p, rgb, 8, 2, 1)
	var sum, squares float64
	for _, v := range p {
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	if math.Abs(sum) > 1e-4 || math.Abs(squares/patchValues-1) > 0.01 {
		t.Errorf("mean %g, variance %g", sum/patchValues, squares/patchValues)
	}
	// The second green value is at column 3, row 1, in the scale of the first.
	if got, want := float64(p[37]-p[36])/float64(p[1]-p[0]), (rgb[3*11+1]-rgb[3*10+1])/(rgb[3*11]-rgb[3*10]); math.Abs(got-want) > 1e-4 {
		t.Errorf("green over red rises by %g, want %g", got, want)
	}
}

func TestPatchesStayInTheirQuarter(t *testing.T) {
	paint := func(level byte, stripes bool) *Vectors {
		p := &decode.Image{Width: 192, Height: 128, RGB: make([]byte, 3*192*128)}
		for i := range p.RGB {
			x, y := i/3%192, i/3/192
			p.RGB[i] = level
			if stripes && x >= 110 && y < 50 && x/4%2 == 0 {
				p.RGB[i] = level + 60
			}
		}
		return extract(t, p)
	}
	for _, level := range []byte{20, 150} {
		flat, striped := paint(level, false), paint(level, true)
		for quarter := range 4 {
			more := 0.0
			for i := range patchWords {
				at := quarter*patchWords + i
				if flat.Patches[at] > 0.1 {
					t.Errorf("one colour says %g of word %d", flat.Patches[at], i)
				}
				more += math.Abs(float64(striped.Patches[at] - flat.Patches[at]))
			}
			if quarter == 1 && more < 1 || quarter != 1 && more > 1e-3 {
				t.Errorf("stripes in the top right quarter change quarter %d by %g", quarter, more)
			}
		}
	}
}
