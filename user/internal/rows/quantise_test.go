package rows

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/user/combined"
	"cpar/user/distance"
)

func l1kl(jl int) combined.Params { return combined.L1KL(jl, 48, 999) }

// photoLike is a projected vector at a distance of about `away` from the
// baseline, and a histogram.
func photoLike(rng *rand.Rand, q *Quantiser, away float64) ([]int16, []float64) {
	z := make([]int16, q.jl)
	width := math.Sqrt(away * q.unit / q.scale / q.scale / float64(q.jl))
	for i := range z {
		z[i] = int16(math.Round(rng.NormFloat64() * width))
	}
	v, sum := make([]float64, 48), 0.0
	for i := range v {
		v[i] = rng.ExpFloat64() * rng.ExpFloat64()
		sum += v[i]
	}
	for i := range v {
		v[i] = (v[i]/sum + 1e-3) / 1.048
	}
	return z, v
}

func spike(n, at int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1e-3 / (1 + float64(n)*1e-3)
	}
	v[at] = (1 + 1e-3) / (1 + float64(n)*1e-3)
	return v
}

// score is what the owner decrypts of a record.
func score(row []int16, addend int64, u []int16) int64 {
	s := addend
	for i, x := range row {
		s += int64(x) * int64(u[i])
	}
	return s
}

// TestQuantisationError: the distance of a score is that of the vectors that
// were quantised, within the bound of the comment, and mostly far within.
func TestQuantisationError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, jl := range []int{1008, 1296, 2448} {
		q := NewQuantiser(l1kl(jl))
		var squares, count float64
		for range 300 {
			base, _ := photoLike(rng, q, 4)
			near, v := photoLike(rng, q, 0.1+2*rng.Float64())
			other, c := photoLike(rng, q, 0.1+2*rng.Float64())
			for i := range base {
				near[i] = base[i]/2 + near[i]
				other[i] = base[i]/2 + other[i]
			}
			row, addend, err := q.Record(near, v)
			if err != nil || q.Clamps(near) {
				t.Fatal(q.Clamps(near), err)
			}
			u, own, err := q.Request(other, c)
			if err != nil {
				t.Fatal(err)
			}
			l1 := float64(distance.SquaredL2Int(near, other)) * q.scale * q.scale / q.unit
			kl := distance.KL(v, c)
			got := q.Dis(score(row, addend, u), own)
			bound := 2*math.Sqrt(float64(jl)*l1/q.unit) + float64(jl)/q.unit + histogramSum/q.unit + 1/q.unit
			for i := range v {
				bound += (math.Abs(math.Log(v[i]/c[i])) + 2) / histogramSum
			}
			e := got - l1 - kl
			if math.Abs(e) > bound {
				t.Errorf("m̂ = %d: distance %.4f for %.4f, off by more than %.4f", jl, got, l1+kl, bound)
			}
			squares, count = squares+e*e, count+1
		}
		rms := math.Sqrt(squares / count)
		t.Logf("m̂ = %d: distances are off by %.4f (root mean square)", jl, rms)
		if rms > 0.015 {
			t.Errorf("m̂ = %d: distances are off by %.4f", jl, rms)
		}
	}
}

// TestRoundingByParity: the mean squares of the comment.
func TestRoundingByParity(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rounds = 100
	for _, c := range []struct {
		jl, parity int
		want       float64
	}{{1296, 1, 5. / 64}, {1296, 0, 6. / 64}, {1008, 1, 1. / 12}, {1008, 0, 1. / 12}} {
		q := NewQuantiser(l1kl(c.jl))
		row, mean := make([]int16, q.Dim()), 0.0
		for range rounds {
			z, _ := photoLike(rng, q, 4)
			for i := range z {
				z[i] = z[i]&^1 + int16(c.parity)
			}
			if _, err := q.shorten(row, z); err != nil || q.Clamps(z) {
				t.Fatal(q.Clamps(z), err)
			}
			for i, x := range z {
				e := float64(row[i]) - float64(x)*q.scale
				mean += e * e / float64(c.jl*rounds)
			}
		}
		if math.Abs(mean/c.want-1) > 0.02 {
			t.Errorf("m̂ = %d, parity %d: mean square %.5f, want %.5f", c.jl, c.parity, mean, c.want)
		}
	}
}

// TestDeployedParameters: those of PCA-32, and how rarely they fail.
func TestDeployedParameters(t *testing.T) {
	q := NewQuantiser(l1kl(1296))
	want := lattice.Params{Dim: 1344, Block: 128, LogT: 23, LogRecordScale: 17, RecordNorm: 1411, RequestNorm: 1489, Addend: 336000}
	p, err := q.Lattice(0)
	if err != nil || p != want {
		t.Errorf("%+v, want %+v; %v", p, want, err)
	}
	if f := p.LogFailure(); f > -79 {
		t.Errorf("a score is wrong with probability 2^%.1f", f)
	}
	requestNorm, maxSquare, centre, maxAddend := float64(q.layout.requestNorm), q.layout.maxSquare, q.layout.centre, q.layout.maxAddend
	// The bounds of the comment, from the constants.
	b := q.perLog()*combined.MaxLog/2 + 0.5
	if square := 48 * b * b; square >= 1226100 || square+float64(maxSquare) > requestNorm*requestNorm {
		t.Errorf("‖b‖² up to %.0f", square)
	}
	if least := -q.unit / 2 * math.Log(48); least < -176300 || least-float64(centre)-1 < -float64(maxAddend) || maxSquare/2-centre+1 > maxAddend {
		t.Errorf("addends from %.0f to %d", least-float64(centre), maxSquare/2-centre)
	}
}

// TestNothingWraps: the worst vectors that can be laid out keep the bounds that
// the parameters were checked with, and nothing of them is learnt from records.
func TestNothingWraps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	half := make([]float64, 48)
	for i := range half { // the greatest spread of logarithms
		half[i] = 1e-3 / 1.048
		if i < 24 {
			half[i] = (1 - 24*1e-3/1.048) / 24
		}
	}
	even := slices.Repeat([]float64{1. / 48}, 48)
	histograms := [][]float64{spike(48, 0), spike(48, 47), half, even}
	for name, c := range map[string]struct {
		layout     combined.Params
		histograms [][]float64
		whole      []float64 // distances from the baseline that are left alone
		shortened  []float64
	}{
		"m̂ = 1008":  {l1kl(1008), histograms, []float64{0, 4, 8}, []float64{14, 1000}},
		"m̂ = 1296":  {l1kl(1296), histograms, []float64{0, 4, 8}, []float64{14, 1000}},
		"m̂ = 2448":  {l1kl(2448), histograms, []float64{0, 4, 8}, []float64{14, 1000}},
		"96 numbers": {combined.SquaredL2(96, 1000), [][]float64{nil}, []float64{0, 0.5}, []float64{2, 20}},
	} {
		q := NewQuantiser(c.layout)
		p, err := q.Lattice(0)
		if err == nil {
			err = p.Validate()
		}
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, z []int16, v []float64, clamps bool) {
			t.Helper()
			row, addend, err := q.Record(z, v)
			if err != nil {
				t.Fatal(err)
			}
			u, own, err := q.Request(z, v)
			if err != nil {
				t.Fatal(err)
			}
			if q.Clamps(z) != clamps {
				t.Errorf("%s, %s: shortened %v", name, what, !clamps)
			}
			if n := squaredNorm(row); n > q.layout.recordNorm*q.layout.recordNorm {
				t.Errorf("%s, %s: a record of norm %.1f", name, what, math.Sqrt(float64(n)))
			}
			if n := squaredNorm(u); n > q.layout.requestNorm*q.layout.requestNorm {
				t.Errorf("%s, %s: a request of norm %.1f", name, what, math.Sqrt(float64(n)))
			}
			if addend < -q.layout.maxAddend || addend > q.layout.maxAddend || !q.Fits(row, addend) {
				t.Errorf("%s, %s: an addend of %d, or it does not fit", name, what, addend)
			}
			// A photo is at no distance from itself, shortened or not.
			if d := q.Dis(score(row, addend, u), own); d > 0.025 {
				t.Errorf("%s, %s: %.4f from itself", name, what, d)
			}
		}
		for _, v := range c.histograms {
			for i, away := range append(c.whole, c.shortened...) {
				z, _ := photoLike(rng, q, away)
				check(fmt.Sprintf("%g away", away), z, v, i >= len(c.whole))
			}
			for _, away := range []float64{10.7, 10.9} { // one way or the other
				z, _ := photoLike(rng, q, away)
				check(fmt.Sprintf("%g away", away), z, v, q.Clamps(z))
			}
			check("all that int16 holds", slices.Repeat([]int16{math.MinInt16}, q.jl), v, true)
			check("and its opposite", slices.Repeat([]int16{math.MaxInt16}, q.jl), v, true)
		}
	}
}

// TestFitsIsTheBounds: a row on the bound fits, one beyond does not.
func TestFitsIsTheBounds(t *testing.T) {
	q := NewQuantiser(combined.SquaredL2(3, 1000))
	for _, c := range []struct {
		row    []int16
		addend int64
		fits   bool
	}{
		{[]int16{1006, 0, 0}, 254100, true}, {[]int16{0, -1006, 0}, -254100, true},
		{[]int16{1006, 0, 1}, 0, false}, {[]int16{math.MinInt16, math.MinInt16, math.MinInt16}, 0, false},
		{[]int16{0, 0, 0}, 254101, false}, {[]int16{0, 0, 0}, -254101, false}, {[]int16{0, 0, 0}, math.MinInt64, false},
	} {
		if q.Fits(c.row, c.addend) != c.fits {
			t.Errorf("%v, %d: fits %v", c.row, c.addend, !c.fits)
		}
		if long := squaredNorm(c.row) > 1006*1006; q.Clamps(c.row) != long {
			t.Errorf("%v: shortened %v", c.row, !long)
		}
	}
}

func TestFillHistogramSumsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		_, v := photoLike(rng, &Quantiser{jl: 1, scale: 1, unit: 1}, 1)
		a := make([]int16, 48)
		if err := fillHistogram(a, v); err != nil {
			t.Fatal(err)
		}
		sum := int16(0)
		for i, x := range a {
			sum += x
			if math.Abs(float64(x)-1000*v[i]) >= 1 {
				t.Fatalf("bin %d: %d for %g", i, x, v[i])
			}
		}
		if sum != histogramSum {
			t.Fatalf("the sum is %d", sum)
		}
	}
	a := make([]int16, 3)
	for name, v := range map[string][]float64{
		"short": {1}, "negative": {-1, 1, 1}, "not a number": {math.NaN(), 0, 1}, "too much": {1, 1, 0}, "too little": {0.5, 0, 0},
	} {
		if err := fillHistogram(a, v); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	q := NewQuantiser(l1kl(1296))
	good := spike(48, 1)
	for name, f := range map[string]func() error{
		"few coordinates": func() error { _, _, err := q.Record(make([]int16, 3), good); return err },
		"an empty bin": func() error {
			_, _, err := q.Request(make([]int16, 1296), append([]float64{0}, good[1:]...))
			return err
		},
		"few bins":        func() error { _, _, err := q.Request(make([]int16, 1296), good[1:]); return err },
		"few of a record": func() error { _, _, err := q.Record(make([]int16, 1296), good[1:]); return err },
		"bins where none are": func() error {
			_, _, err := NewQuantiser(combined.SquaredL2(3, 1000)).Record(make([]int16, 3), good)
			return err
		},
	} {
		if err := f(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
