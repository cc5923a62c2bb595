package rows

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/eval/distance"
	"cpar/internal/lattice"
	"cpar/model/vectorlayout"
)

func l1kl(jl int) vectorlayout.Params { return vectorlayout.L1KL(jl, 48, 999) }

// photoLike returns a projected vector at about the given distance from the
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

// ofNorm returns a vector of about the given norm, as in profiles without a
// histogram.
func ofNorm(rng *rand.Rand, n int, norm float64) []int16 {
	v, square := make([]float64, n), 0.0
	for i := range v {
		v[i] = rng.NormFloat64()
		square += v[i] * v[i]
	}
	z := make([]int16, n)
	for i, x := range v {
		z[i] = int16(math.Round(x * norm / math.Sqrt(square)))
	}
	return z
}

var steps = map[string]bool{"fine": false, "coarse": true}

func spike(n, at int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1e-3 / (1 + float64(n)*1e-3)
	}
	v[at] = (1 + 1e-3) / (1 + float64(n)*1e-3)
	return v
}

func score(row []int16, addend int64, u []int16) int64 {
	s := addend
	for i, x := range row {
		s += int64(x) * int64(u[i])
	}
	return s
}

// TestQuantisationError checks that distances stay within the comment's bound,
// usually well within it. Coarse steps cause a mean offset with little spread.
func TestQuantisationError(t *testing.T) {
	for name, c := range map[string]struct {
		jl     int
		coarse bool
		spread float64 // around the mean
		beyond float64 // bound on the mean's difference from the comment
	}{
		"fine, 1008": {1008, false, 0.01, 0.003}, "fine, 1296": {1296, false, 0.01, 0.003}, "fine, 2448": {2448, false, 0.01, 0.003},
		"coarse, 1008": {1008, true, 0.06, 0.1}, "coarse, 1296": {1296, true, 0.06, 0.1}, "coarse, 2448": {2448, true, 0.06, 0.1},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		q := NewQuantiser(l1kl(c.jl), c.coarse)
		a, mean := float64(q.layout.histogramSum), float64(c.jl)/6/q.unit
		var sum, squares, count float64
		for range 300 {
			base, _ := photoLike(rng, q, 4)
			near, v := photoLike(rng, q, 0.1+2*rng.Float64())
			other, w := photoLike(rng, q, 0.1+2*rng.Float64())
			for i := range base {
				near[i] = base[i]/2 + near[i]
				other[i] = base[i]/2 + other[i]
			}
			row, addend, err := q.Record(near, v)
			if err != nil || q.Clamps(near) {
				t.Fatal(q.Clamps(near), err)
			}
			u, own, err := q.Request(other, w)
			if err != nil {
				t.Fatal(err)
			}
			l1 := float64(distance.SquaredL2Int(near, other)) * q.scale * q.scale / q.unit
			kl := distance.KL(v, w)
			got := q.Dis(score(row, addend, u), own)
			bound := 2*math.Sqrt(float64(c.jl)*l1/q.unit) + float64(c.jl)/q.unit + a/q.unit + 1/q.unit
			for i := range v {
				bound += (math.Abs(math.Log(v[i]/w[i])) + 2) / a
			}
			e := got - l1 - kl
			if math.Abs(e) > bound {
				t.Errorf("%s: distance %.4f for %.4f, off by more than %.4f", name, got, l1+kl, bound)
			}
			sum, squares, count = sum+e, squares+e*e, count+1
		}
		off := sum / count
		spread := math.Sqrt(squares/count - off*off)
		t.Logf("%s: distances are off by %.4f around %.4f, the comment says %.4f", name, spread, off, mean)
		if spread > c.spread || math.Abs(off-mean) > c.beyond {
			t.Errorf("%s: distances are off by %.4f around %.4f, the comment says %.4f", name, spread, off, mean)
		}
	}
}

// TestErrorMatchesTheComment checks the figures for m̂ = 1296 and D = 3, at 4.0 from
// the baseline.
func TestErrorMatchesTheComment(t *testing.T) {
	for name, want := range map[string]struct{ around, spread, ofB float64 }{"fine": {0.0024, 0.0047, 0.011}, "coarse": {0.18, 0.04, 0.096}} {
		rng := rand.New(rand.NewPCG(17, 18))
		q := NewQuantiser(l1kl(1296), steps[name])
		if b := float64(q.layout.histogramSum) / q.unit; math.Abs(b/want.ofB-1) > 0.02 {
			t.Errorf("%s: b adds up to %.4f, the comment says %.4f", name, b, want.ofB)
		}
		var sum, squares float64
		const rounds = 2000
		x, y := make([]int16, 1296), make([]int16, 1296)
		for range rounds {
			base, _ := photoLike(rng, q, 2.5)
			z, _ := photoLike(rng, q, 1.5)
			o, _ := photoLike(rng, q, 1.5)
			for i, b := range base { // odd and even
				z[i], o[i] = (z[i]+b)&^1, (o[i]+b)|1
			}
			q.scaled(x, z, q.scale)
			q.scaled(y, o, q.scale)
			e := float64(distance.SquaredL2Int(x, y))/q.unit - float64(distance.SquaredL2Int(z, o))*q.scale*q.scale/q.unit
			sum, squares = sum+e/rounds, squares+e*e/rounds
		}
		spread := math.Sqrt(squares - sum*sum)
		t.Logf("%s: the L1 part is off by %.4f around %.4f", name, spread, sum)
		if math.Abs(sum/want.around-1) > 0.1 || math.Abs(spread/want.spread-1) > 0.1 {
			t.Errorf("%s: the L1 part is off by %.4f around %.4f, the comment says %.4f around %.4f", name, spread, sum, want.spread, want.around)
		}
	}
}

func TestRoundingByParity(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rounds = 100
	for _, c := range []struct {
		jl, parity int
		coarse     bool
		want       float64
	}{
		{1296, 1, false, 5. / 64}, {1296, 0, false, 6. / 64}, {1008, 1, false, 1. / 12}, {1008, 0, false, 1. / 12},
		{1296, 1, true, 1. / 12}, {1296, 0, true, 1. / 12}, {1008, 1, true, 1. / 12}, {1008, 0, true, 1. / 12},
	} {
		q := NewQuantiser(l1kl(c.jl), c.coarse)
		row, mean := make([]int16, q.Dim()), 0.0
		for range rounds {
			z, _ := photoLike(rng, q, 4)
			for i := range z {
				z[i] = z[i]&^1 + int16(c.parity)
			}
			if _, err := q.bounded(row, z); err != nil || q.Clamps(z) {
				t.Fatal(q.Clamps(z), err)
			}
			for i, x := range z {
				e := float64(row[i]) - float64(x)*q.scale
				mean += e * e / float64(c.jl*rounds)
			}
		}
		if math.Abs(mean/c.want-1) > 0.02 {
			t.Errorf("m̂ = %d, parity %d, coarse %v: mean square %.5f, want %.5f", c.jl, c.parity, c.coarse, mean, c.want)
		}
	}
}

// TestDeployedParameters checks PCA-32 and 96 numbers in both rings, with their
// failure probability.
func TestDeployedParameters(t *testing.T) {
	paper := lattice.Params{Dim: 1344, Block: 128, LogT: 16, RecordNorm: 161, RequestNorm: 173, Addend: 4380}
	learned := lattice.Params{Dim: 96, Block: 32, LogT: 15, RecordNorm: 127, RequestNorm: 127, Addend: 252}
	for name, c := range map[string]struct {
		layout      vectorlayout.Params
		want        lattice.Params
		careful     bool
		logN, scale int
		failure     float64
	}{
		"paper":               {l1kl(1296), paper, false, 11, 15, -108},
		"paper, careful":      {l1kl(1296), paper, true, 12, 15, -124},
		"96 numbers":          {vectorlayout.SquaredL2(96, 1000), learned, false, 11, 14, -208},
		"96 numbers, careful": {vectorlayout.SquaredL2(96, 1000), learned, true, 12, 15, -287},
	} {
		want := c.want
		want.LogN, want.LogRecordScale = c.logN, c.scale
		p, err := NewQuantiser(c.layout, true).Lattice(0, c.careful, 0)
		if err != nil || p != want {
			t.Errorf("%s: %+v, want %+v; %v", name, p, want, err)
			continue
		}
		t.Logf("%s: a score is wrong with probability 2^%.1f", name, p.LogFailure())
		if f := p.LogFailure(); f > -80 || math.Abs(f-c.failure) > 1 {
			t.Errorf("%s: a score is wrong with probability 2^%.1f", name, f)
		}
	}
}

// TestBoundsMatchTheComment checks that the constants of each layout prevent
// wrapping.
func TestBoundsMatchTheComment(t *testing.T) {
	for name, want := range map[string]struct{ square, unit, a, b, half, entropy, away float64 }{
		"fine":   {1411*1411 - 1000*1000, 91033.875, 1000, 1226100, 495500, -176300, 10.9},
		"coarse": {161*161 - 114*114, 1184.6142, 114, 16758, 6463, -2293, 10.9},
	} {
		q := NewQuantiser(l1kl(1296), steps[name])
		l := q.layout
		if math.Abs(q.unit-want.unit) > 1e-9 || float64(l.histogramSum) != want.a || float64(l.maxSquare) != want.square {
			t.Errorf("%s: G = %v, A = %d, ‖q‖² up to %d", name, q.unit, l.histogramSum, l.maxSquare)
		}
		if l.maxSquare+l.histogramSum*l.histogramSum > l.recordNorm*l.recordNorm {
			t.Errorf("%s: records can be longer than %d", name, l.recordNorm)
		}
		b := q.perLog()*vectorlayout.MaxLog/2 + 0.5
		if square := 48 * b * b; square >= want.b || square+want.square > float64(l.requestNorm*l.requestNorm) {
			t.Errorf("%s: ‖b‖² up to %.0f", name, square)
		}
		least, most := -q.unit/2*math.Log(48), want.square/2
		if least < want.entropy || most > want.half {
			t.Errorf("%s: Σq²/2 up to %.0f, entropy from %.0f", name, most, least)
		}
		if want.entropy-float64(l.centre)-1 < -float64(l.maxAddend) || want.half-float64(l.centre)+1 > float64(l.maxAddend) {
			t.Errorf("%s: addends from %.0f to %.0f", name, want.entropy-float64(l.centre), want.half-float64(l.centre))
		}
		if away := want.square / q.unit; math.Abs(away-want.away) > 0.05 {
			t.Errorf("%s: maxSquare is a distance of %.2f", name, away)
		}
	}
	fine, coarse := fineL2, coarseL2
	if fine.maxSquare != fine.recordNorm*fine.recordNorm || float64(fine.maxSquare)/2 > 508100 || fine.centre+fine.maxAddend != 508100 || fine.centre > fine.maxAddend {
		t.Errorf("without a histogram: ‖q‖² up to %d", fine.maxSquare)
	}
	if fine.requestNorm != fine.recordNorm || coarse.requestNorm != coarse.recordNorm || coarse.maxSquare != coarse.recordNorm*coarse.recordNorm-1 {
		t.Error("without a histogram: requests and records are alike")
	}
	// Half of 125² is the centre. Addends of unscaled vectors lie within 252 of
	// it, so the typical 15,625 ± 72 is well within.
	if half := coarse.unitNorm * coarse.unitNorm / 2; math.Abs(half-float64(coarse.centre)) > 0.5 || coarse.minSquare/2-coarse.centre != -coarse.maxAddend ||
		coarse.maxSquare/2-coarse.centre != coarse.maxAddend {
		t.Errorf("without a histogram, coarse: addends from %d to %d", coarse.minSquare/2-coarse.centre, coarse.maxSquare/2-coarse.centre)
	}
	rng := rand.New(rand.NewPCG(21, 22))
	q, row := NewQuantiser(vectorlayout.SquaredL2(96, 1000), true), make([]int16, 96)
	mean, square := 0.0, 0.0
	const rounds = 5000
	for range rounds {
		s := float64(q.scaled(row, ofNorm(rng, 96, 1000), q.scale))
		mean, square = mean+s/rounds, square+s*s/rounds
	}
	if spread := math.Sqrt(square - mean*mean); math.Abs(mean-15625) > 12 || math.Abs(spread-72) > 4 {
		t.Errorf("squares of %.0f ± %.0f", mean, spread)
	}
}

// TestNothingWraps checks that the worst vectors keep the bounds of the
// parameters.
func TestNothingWraps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	half := make([]float64, 48)
	for i := range half { // maximum spread of logarithms
		half[i] = 1e-3 / 1.048
		if i < 24 {
			half[i] = (1 - 24*1e-3/1.048) / 24
		}
	}
	even := slices.Repeat([]float64{1. / 48}, 48)
	histograms := [][]float64{spike(48, 0), spike(48, 47), half, even}
	numbers := vectorlayout.SquaredL2(96, 1000)
	for name, c := range map[string]struct {
		layout     vectorlayout.Params
		coarse     bool
		histograms [][]float64
		whole      []float64 // distances from the baseline that are not clamped, the square root of 10⁶ units
		clamped    []float64
		itself     float64 // bound on a photo's distance from itself
		equal      float64 // the same for equal numbers
	}{
		"fine, m̂ = 1008":    {l1kl(1008), false, histograms, []float64{0, 4, 8}, []float64{14, 1000}, 0.025, 0.025},
		"fine, m̂ = 1296":    {l1kl(1296), false, histograms, []float64{0, 4, 8}, []float64{14, 1000}, 0.025, 0.025},
		"fine, m̂ = 2448":    {l1kl(2448), false, histograms, []float64{0, 4, 8}, []float64{14, 1000}, 0.025, 0.025},
		"fine, 96 numbers":   {numbers, false, [][]float64{nil}, []float64{0, 0.5}, []float64{2, 20}, 0.025, 0.025},
		"coarse, m̂ = 1008":  {l1kl(1008), true, histograms, []float64{0, 4, 8}, []float64{14, 1000}, 0.2, 0.2},
		"coarse, m̂ = 1296":  {l1kl(1296), true, histograms, []float64{0, 4, 8}, []float64{14, 1000}, 0.2, 0.2},
		"coarse, m̂ = 2448":  {l1kl(2448), true, histograms, []float64{0, 4, 8}, []float64{14, 1000}, 0.2, 0.2},
		"coarse, 96 numbers": {numbers, true, [][]float64{nil}, []float64{1}, []float64{0, 1e-4, 0.1, 0.5, 0.9, 1.1, 2, 20}, 0.025, 0.1},
	} {
		q := NewQuantiser(c.layout, c.coarse)
		check := func(what string, z []int16, v []float64, clamps bool, itself float64) {
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
				t.Errorf("%s, %s: shortened or lengthened %v", name, what, !clamps)
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
			// A photo has distance 0 from itself, shortened or not.
			if d := q.Dis(score(row, addend, u), own); d > itself {
				t.Errorf("%s, %s: %.4f from itself", name, what, d)
			}
		}
		if half := int64(1) << max(q.layout.logT-1, 0); c.coarse && q.layout.recordNorm*q.layout.requestNorm+q.layout.maxAddend >= half {
			t.Errorf("%s: scores can wrap modulo 2^%d", name, q.layout.logT)
		}
		for _, careful := range []bool{false, true} {
			if !c.coarse {
				continue // scheme local encrypts no scores
			}
			if p, err := q.Lattice(0, careful, 0); err != nil || p.Validate() != nil {
				t.Errorf("%s: %v, %v", name, err, p.Validate())
			}
		}
		some := func(away float64) []int16 {
			if len(c.histograms[0]) == 0 && c.coarse {
				return ofNorm(rng, 96, 1000*math.Sqrt(away))
			}
			z, _ := photoLike(rng, q, away)
			return z
		}
		for _, v := range c.histograms {
			for i, away := range append(c.whole, c.clamped...) {
				check(fmt.Sprintf("%g away", away), some(away), v, i >= len(c.whole), c.itself)
			}
			for _, away := range []float64{10.7, 10.9} { // on both sides of the bound
				z := some(away)
				check(fmt.Sprintf("%g away", away), z, v, q.Clamps(z), c.itself)
			}
			check("all that int16 holds", slices.Repeat([]int16{math.MinInt16}, q.jl), v, true, c.equal)
			check("and its opposite", slices.Repeat([]int16{math.MaxInt16}, q.jl), v, true, c.equal)
		}
	}
}

// TestLengthenedBeyond checks that if rounding takes a lengthened vector beyond
// the bound, the vector is shortened only slightly.
func TestLengthenedBeyond(t *testing.T) {
	q := NewQuantiser(vectorlayout.SquaredL2(96, 1000), true)
	for _, x := range []int16{1, -7, 90} {
		z := slices.Repeat([]int16{x}, 96)
		row, addend, err := q.Record(z, nil)
		if err != nil || !q.Fits(row, addend) || !q.Clamps(z) {
			t.Fatal(row, addend, q.Clamps(z), err)
		}
		want := slices.Repeat([]int16{12}, 96)
		if x < 0 {
			want = slices.Repeat([]int16{-12}, 96)
		}
		if !slices.Equal(row, want) {
			t.Errorf("%d each: %v", x, row)
		}
	}
	if row, _, err := q.Record(make([]int16, 96), nil); err != nil || row[0] != 125 || squaredNorm(row) != 125*125 {
		t.Errorf("zeros: %v, %v", row, err)
	}
}

func TestFitsEnforcesTheBounds(t *testing.T) {
	type row struct {
		row    []int16
		addend int64
		fits   bool
	}
	low := []int16{math.MinInt16, math.MinInt16, math.MinInt16}
	for name, rows := range map[string][]row{
		"fine": {
			{[]int16{1006, 0, 0}, 254100, true}, {[]int16{0, -1006, 0}, -254100, true}, {[]int16{1006, 0, 1}, 0, false}, {low, 0, false},
			{[]int16{0, 0, 0}, 254101, false}, {[]int16{0, 0, 0}, -254101, false}, {[]int16{0, 0, 0}, math.MinInt64, false},
		},
		"coarse": {
			{[]int16{127, 0, 0}, 252, true}, {[]int16{0, -127, 0}, -252, true}, {[]int16{127, 0, 1}, 0, false}, {low, 0, false},
			{[]int16{0, 0, 0}, 253, false}, {[]int16{0, 0, 0}, -253, false}, {[]int16{0, 0, 0}, math.MinInt64, false},
		},
	} {
		q := NewQuantiser(vectorlayout.SquaredL2(3, 1000), steps[name])
		for _, c := range rows {
			if q.Fits(c.row, c.addend) != c.fits {
				t.Errorf("%s: %v, %d: fits %v", name, c.row, c.addend, !c.fits)
			}
		}
	}
	// Clamped vectors exceed the norm or, with coarse steps, fall short of it.
	for name, all := range map[string]map[[3]int16]bool{
		"fine":   {{1006, 0, 0}: false, {0, -1006, 0}: false, {1006, 0, 1}: true, {0, 0, 0}: false, {math.MinInt16, 0, 0}: true},
		"coarse": {{8 * 126, 0, 0}: false, {0, -8 * 126, 0}: false, {8 * 127, 0, 0}: true, {0, 0, 0}: true, {math.MinInt16, 0, 0}: true, {0, 0, 8 * 122}: true, {0, 0, 8 * 123}: false},
	} {
		q := NewQuantiser(vectorlayout.SquaredL2(3, 1000), steps[name])
		for z, want := range all {
			if q.Clamps(z[:]) != want {
				t.Errorf("%s: %v: shortened or lengthened %v", name, z, !want)
			}
		}
	}
}

func TestFillHistogramSumsUp(t *testing.T) {
	for name, coarse := range steps {
		rng := rand.New(rand.NewPCG(5, 6))
		total := NewQuantiser(l1kl(1296), coarse).layout.histogramSum
		for range 200 {
			_, v := photoLike(rng, &Quantiser{jl: 1, scale: 1, unit: 1}, 1)
			a := make([]int16, 48)
			if err := fillHistogram(a, v, total); err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for i, x := range a {
				sum += int64(x)
				if math.Abs(float64(x)-float64(total)*v[i]) >= 1 {
					t.Fatalf("%s: bin %d: %d for %g", name, i, x, v[i])
				}
			}
			if sum != total {
				t.Fatalf("%s: the sum is %d", name, sum)
			}
		}
	}
	a := make([]int16, 3)
	for name, v := range map[string][]float64{
		"short": {1}, "negative": {-1, 1, 1}, "not a number": {math.NaN(), 0, 1}, "too much": {1, 1, 0}, "too little": {0.5, 0, 0},
	} {
		if err := fillHistogram(a, v, 1000); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	q := NewQuantiser(l1kl(1296), true)
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
			_, _, err := NewQuantiser(vectorlayout.SquaredL2(3, 1000), true).Record(make([]int16, 3), good)
			return err
		},
	} {
		if err := f(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
