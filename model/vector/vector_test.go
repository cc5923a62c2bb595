package vector

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/oracle"
)

func features(seed uint64, p int) Features {
	rng := rand.New(rand.NewPCG(seed, 1))
	make := func(n int, signed bool) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.ExpFloat64()
			if signed && rng.IntN(2) == 0 {
				x[i] = -x[i]
			}
		}
		return x
	}
	return Features{
		RGB: make(48, false), HSV: make(48, false), Gabor: make(256, false), GaborQ: make(256, false),
		Haar: make(p, true), HaarQ: make(p, true), Lab: make(48, false),
	}
}

func sumAbs(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(v)
	}
	return sum
}

func mustL1(t *testing.T, f Features) []float64 {
	t.Helper()
	x, err := L1(f)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestDimensions(t *testing.T) {
	if Dimension(4096/32) != 864 || DimensionKL != 48 {
		t.Errorf("m_L1 = %d, m_KL = %d; the paper has 864 and 48", Dimension(4096/32), DimensionKL)
	}
	for _, p := range []int{1, 32, 128, 512} {
		v, err := New(features(1, p))
		if err != nil {
			t.Fatal(err)
		}
		if l1 := mustL1(t, features(1, p)); len(l1) != Dimension(p) || len(v.Levels) != Dimension(p) || len(v.KL) != DimensionKL {
			t.Errorf("p = %d: %d, %d and %d values", p, len(l1), len(v.Levels), len(v.KL))
		}
	}
}

func TestNew(t *testing.T) {
	f := features(2, 128)
	v, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	l1, at := mustL1(t, f), 0
	for i, part := range [][]float64{f.RGB, f.HSV, f.Gabor, f.GaborQ, f.Haar, f.HaarQ} {
		sum := sumAbs(part)
		for j, x := range part {
			if got := l1[at+j]; math.Abs(got-x/sum) > 1e-15 {
				t.Fatalf("feature %d, value %d: %g, want %g", i, j, got, x/sum)
			}
		}
		at += len(part)
	}
	if got := sumAbs(l1); math.Abs(got-L1Features) > 1e-12 {
		t.Errorf("Σ|L1| is %g", got)
	}
	sum := sumAbs(f.Lab) + 48*Smoothing
	for j, x := range f.Lab {
		if math.Abs(v.KL[j]-(x+Smoothing)/sum) > 1e-15 {
			t.Fatalf("lab bin %d: %g, want %g", j, v.KL[j], (x+Smoothing)/sum)
		}
	}
	for d, x := range l1 {
		// Rounding moves an element by at most half a level.
		if math.Abs(float64(v.Levels[d])/Beta*2-1-x) > 1.0/Beta+1e-12 {
			t.Fatalf("element %d: %g has level %d", d, x, v.Levels[d])
		}
	}
}

func TestQuantise(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want uint16
	}{
		{-1, 0}, {1, 999}, {0, 500}, {0.010010010010010006, 504}, // 499.5 and 504.5, to even
		{1.0 / 999, 500}, {-1.0 / 999, 499}, {-1 + 1.0/999, 0}, // 500, 499 and about a half
		{-1 + 3.1/999, 2}, {0.5, 749}, {-0.5, 250}, // 749.25, 249.75
		{1.0000001, 999}, {-7, 0}, {math.Inf(1), 999}, {math.NaN(), 500},
	} {
		if got := Quantise([]float64{c.x})[0]; got != c.want {
			t.Errorf("level of %v is %d, want %d", c.x, got, c.want)
		}
	}
}

func TestFeaturesOfZeros(t *testing.T) {
	f := features(3, 16)
	clear(f.Haar)
	clear(f.RGB)
	clear(f.Lab)
	v, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	l1 := mustL1(t, f)
	for d := range 48 {
		if l1[d] != 0 || v.Levels[d] != 500 {
			t.Fatalf("rgb %d is %g, level %d", d, l1[d], v.Levels[d])
		}
		if math.Abs(v.KL[d]-1.0/48) > 1e-15 {
			t.Fatalf("lab %d is %g", d, v.KL[d])
		}
	}
	if got := NormaliseL1([]float64{1e-13, 0}); got[0] != 1e-13/1e-12 {
		t.Errorf("below the least norm: %g", got[0])
	}
}

func TestNewRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Features){
		"no features":     func(f *Features) { *f = Features{} },
		"short rgb":       func(f *Features) { f.RGB = f.RGB[:47] },
		"long gaborq":     func(f *Features) { f.GaborQ = append(f.GaborQ, 1) },
		"haarq unlike":    func(f *Features) { f.HaarQ = f.HaarQ[:15] },
		"no lab":          func(f *Features) { f.Lab = nil },
		"NaN":             func(f *Features) { f.Gabor[3] = math.NaN() },
		"infinite":        func(f *Features) { f.Haar[3] = math.Inf(-1) },
		"infinite sum":    func(f *Features) { f.Haar[3], f.Haar[4] = 1e308, -1e308 },
		"negative hsv":    func(f *Features) { f.HSV[0] = -1e-9 },
		"negative lab":    func(f *Features) { f.Lab[47] = -1 },
		"NaN in lab":      func(f *Features) { f.Lab[0] = math.NaN() },
		"infinite in lab": func(f *Features) { f.Lab[0] = math.Inf(1) },
	} {
		f := features(4, 16)
		spoil(&f)
		if _, err := New(f); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVectorsOfPhotos(t *testing.T) {
	data, err := os.ReadFile(oracle.Path(t, "reference/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string][]float64
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, g := range golden {
		f := Features{
			RGB: g["rgb"], HSV: g["hsv"], Gabor: g["gabor"], GaborQ: g["gaborq"],
			Haar: g["haar"][:128], HaarQ: g["haarq"][:128], Lab: g["lab"],
		}
		v, err := New(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if sumAbs(mustL1(t, f)) > L1Features+1e-12 || slices.Max(v.Levels) > Beta || math.Abs(sumAbs(v.KL)-1) > 1e-12 || slices.Min(v.KL) <= 0 {
			t.Errorf("%s: out of bounds", name)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	f := features(1, 128)
	for b.Loop() {
		if _, err := New(f); err != nil {
			b.Fatal(err)
		}
	}
}
