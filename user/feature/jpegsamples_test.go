package feature

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func TestForward8(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	var x, got [8]float64
	for j := range x {
		x[j] = rng.NormFloat64()
	}
	got = x
	forward8(got[:], 1)
	for k := range got {
		want := 0.0
		for j, v := range x {
			want += v * math.Cos(float64((2*j+1)*k)*math.Pi/16) / 2
		}
		if k == 0 {
			want /= math.Sqrt2
		}
		if math.Abs(got[k]-want) > 1e-12 {
			t.Errorf("frequency %d: %g, want %g", k, got[k], want)
		}
	}
}

// The fixed-point transform is the cosine transform within its rounding. That
// its rounding is libjpeg's, TestPixelsAgainstOpenCV tells.
func TestIslowAgainstCosines(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	for range 200 {
		var block [64]int32
		for i := range block {
			if rng.IntN(4) == 0 {
				block[i] = int32(rng.NormFloat64() * 20)
			}
		}
		var want [64]float64
		for y := range 8 {
			for x := range 8 {
				want[8*y+x] = 128
				for v := range 8 {
					for u := range 8 {
						c := float64(block[8*v+u]) / 4
						if u == 0 {
							c /= math.Sqrt2
						}
						if v == 0 {
							c /= math.Sqrt2
						}
						want[8*y+x] += c * math.Cos(float64((2*x+1)*u)*math.Pi/16) * math.Cos(float64((2*y+1)*v)*math.Pi/16)
					}
				}
			}
		}
		inverseIslow(&block)
		for i, got := range block {
			if w := min(max(want[i], 0), 255); math.Abs(float64(got)-w) > 0.8 {
				t.Fatalf("sample %d: %d, want %g", i, got, w)
			}
		}
	}
}

// Whatever the samples and the steps, nothing moves by more than a level, and
// what lies outside the whole blocks not at all.
func TestRestorePlaneMovesLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	moved := 0
	for range 300 {
		const stride = 24
		pix := make([]byte, stride*20) // two rows of blocks and a half
		spread := rng.Float64() * 300
		for i := range pix {
			pix[i] = byte(min(max(128+spread*(rng.Float64()-0.5), 0), 255))
		}
		var steps [64]int32
		for i := range steps {
			steps[i] = 1 + int32(rng.ExpFloat64()*2)
		}
		before := bytes.Clone(pix)
		restorePlane(pix, stride, stride, 20, &steps)
		for i, p := range pix {
			d := int(p) - int(before[i])
			if d != 0 {
				moved++
			}
			if d < -1 || d > 1 || d != 0 && i >= 16*stride {
				t.Fatalf("sample %d moved by %d", i, d)
			}
		}
	}
	if moved == 0 {
		t.Error("nothing moved: the test tests nothing")
	}
}

// A large picture is left alone, and so is one whose steps are not to be read.
func TestRestoreSamplesLimits(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "ycbcr444.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	plain := func() *image.YCbCr {
		m, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return m.(*image.YCbCr)
	}
	want, got := plain(), plain()
	restoreSamples(got, data)
	if bytes.Equal(want.Y, got.Y) || bytes.Equal(want.Cb, got.Cb) || bytes.Equal(want.Cr, got.Cr) {
		t.Error("a plane of a small picture has not been restored")
	}
	got = plain()
	got.Rect.Max = image.Pt(1024, 1025)
	restoreSamples(got, data)
	if !bytes.Equal(want.Y, got.Y) {
		t.Error("a large picture has been restored")
	}
	for cut := range len(data) {
		restoreSamples(plain(), data[:cut]) // must not panic
	}
	table := bytes.Index(data, []byte{0xff, 0xdb})
	for name, damage := range map[string]func(d []byte){
		"a step of zero": func(d []byte) { d[table+10] = 0 },
		"no such table":  func(d []byte) { d[table+4] = 9 },
	} {
		damaged := bytes.Clone(data)
		damage(damaged)
		if steps, n := jpegSteps(damaged); n != 0 {
			t.Errorf("%s: %d components with steps %v", name, n, steps[0])
		}
	}
}

// Steps of 16 bits, as a quality below 25 may have them.
func TestJPEGSteps16(t *testing.T) {
	data := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 2 + 129, 0x12}
	for i := range 64 {
		data = append(data, 1, byte(i))
	}
	data = append(data, 0xff, 0xc1, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 2)
	steps, n := jpegSteps(data)
	if n != 1 || steps[0][0] != 256 || steps[0][8] != 256+2 || steps[0][63] != 256+63 {
		t.Errorf("%d components, steps %v", n, steps[0])
	}
}
