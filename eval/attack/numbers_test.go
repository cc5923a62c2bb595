package attack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"cpar"
	"cpar/user/ive"
)

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		right, trials int
		low, high     float64
	}{
		// Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
		{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718},
		{20, 20, 0.8389, 1}, {0, 0, 0, 1},
	} {
		low, high := Wilson(c.right, c.trials)
		if math.Abs(low-c.low) > 6e-5 || math.Abs(high-c.high) > 6e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.right, c.trials, low, high, c.low, c.high)
		}
	}
}

// These are the parameters that SECURITY.md states.
func TestKeyIsWithinReachOfLattices(t *testing.T) {
	rows := latticeRows("cpar", 1347, 1296, 4500, typicalElement)
	if e := rows[0].Estimate; e.Bits < 35 || e.Bits > 50 {
		t.Errorf("known records: %+v", e)
	}
	if e := rows[1].Estimate; e.Bits < 80 || e.Bits > 110 {
		t.Errorf("no record known: %+v", e)
	}
}

func TestLinear(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const k, d = 60, 7
	rows, want := make([][]float64, k), make([]float64, d)
	for j := range want {
		want[j] = rng.NormFloat64() * math.Pow(10, float64(j)) // on different scales
	}
	y := mat.NewDense(k, 2, nil)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = 5 + rng.NormFloat64()
		}
		y.Set(i, 0, simd.Dot(rows[i], want)+1000)
		y.Set(i, 1, -7)
	}
	x, err := leastSquares(rows, y)
	if err != nil {
		t.Fatal(err)
	}
	for j, w := range want {
		if got := x.At(j, 0); math.Abs(got-w) > 1e-5*math.Abs(want[d-1]) || math.Abs(x.At(j, 1)) > 1e-6 {
			t.Errorf("weight %d is %g, want %g; of a constant %g", j, got, w, x.At(j, 1))
		}
	}
	if _, err := leastSquares(nil, y); err == nil {
		t.Error("an empty system was solved")
	}
}

// A few more records than unknowns suffice despite noise and ε.
func TestSolveRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	photo := func() *projected {
		p := &projected{z: make([]int16, 60), v: make([]float64, 8)}
		sum := 0.0
		for i := range p.z {
			p.z[i] = int16(45 * rng.NormFloat64())
		}
		for i := range p.v {
			p.v[i] = 0.1 + rng.Float64()
			sum += p.v[i]
		}
		for i := range p.v {
			p.v[i] /= sum
		}
		return p
	}
	records, requests := make([]*projected, 200), make([]*projected, 10)
	for i := range records {
		records[i] = photo()
	}
	v := &View{Scheme: "cpar", StoredIndex: &StoredIndex{Records: len(records)}}
	unit := 60 * 999.0 / 2
	scale := make([]float64, len(requests))
	epsilon := make([]float64, len(records))
	for i := range epsilon {
		epsilon[i] = float64(rng.IntN(2<<14) - 1<<14)
	}
	for j := range requests {
		requests[j], scale[j] = photo(), float64(1024+rng.IntN(1024))
		s := &Observation{}
		for i, r := range records {
			s.Scores = append(s.Scores, scale[j]*unit*(r.from(requests[j])-10.7)-3*epsilon[i])
		}
		v.Observations = append(v.Observations, s)
	}
	known := sample(len(records), 120, 1)
	var vectors []*projected
	for _, i := range known {
		vectors = append(vectors, records[i])
	}
	got, err := solveRequests(v, known, vectors)
	if err != nil {
		t.Fatal(err)
	}
	if r := judgeSolved(v, len(known), got, requests); r.Success != 1 {
		t.Errorf("solved %+v", r)
	}
	for j, g := range got {
		if math.Abs(g.scale-scale[j]) > 0.01*scale[j] {
			t.Errorf("request %d: r_s read as %.1f, it is %g", j, g.scale, scale[j])
		}
	}
	if got, err = solveRequests(v, known[:40], vectors[:40]); err != nil {
		t.Fatal(err)
	}
	if r := judgeSolved(v, 40, got, requests); r.Success != 0 {
		t.Errorf("40 equations gave 68 unknowns: %+v", r)
	}
}

// Modulo 2⁶⁴, elimination works without an odd pivot.
func TestEliminate(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	const k, m = 20, 12
	rows, right, want := make([][]uint64, k), make([][]uint64, k), make([]uint64, m)
	for j := range want {
		want[j] = rng.Uint64()
	}
	// For unknowns whose columns are multiples of 2¹⁴, rows determine 50 bits.
	want[3], want[7] = want[3]>>14, want[7]>>14
	for i := range rows {
		rows[i], right[i] = make([]uint64, m), []uint64{0}
		for j := range rows[i] {
			if rows[i][j] = rng.Uint64(); j == 3 || j == 7 {
				rows[i][j] <<= 14
			}
			right[i][0] += rows[i][j] * want[j]
		}
	}
	if got := eliminate(rows, right); got == nil || !slices.Equal(got[0], want) {
		t.Errorf("%x, want %x", got, want)
	}
	// An odd column that a subtraction makes even is not unique.
	for i, row := range rows {
		row[9] = 5*row[0] + rng.Uint64()<<20
		right[i][0] = 0
		for j, x := range row {
			right[i][0] += x * want[j]
		}
	}
	if got := eliminate(rows, right); got == nil {
		t.Error("not solved")
	} else {
		for i, row := range rows {
			sum := uint64(0)
			for j, x := range row {
				sum += x * got[0][j]
			}
			if sum != right[i][0] {
				t.Errorf("row %d is %x, want %x", i, sum, right[i][0])
			}
		}
	}
	for _, row := range rows {
		row[5] = 3 * row[2]
	}
	if got := eliminate(rows, right); got != nil {
		t.Errorf("dependent columns were solved: %x", got)
	}
}

// A row of S follows from ciphertexts because the last element of every record
// has no noise.
func TestNoiselessRow(t *testing.T) {
	const dim, n = 20, 120
	p := ive.Params{Dim: dim, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift}
	key, err := ive.NewKey([32]byte{3}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, quiet := range []bool{true, false} {
		noise, rng := ive.NewNoise([32]byte{4}), rand.New(rand.NewPCG(1, 1))
		v := &View{Scheme: "cpar", StoredIndex: &StoredIndex{Records: n}}
		for range n {
			plain, words := make([]int64, dim), make([]uint64, dim)
			for j := range plain {
				plain[j] = rng.Int64N(1000) - 500
			}
			plain[dim-1] = 1
			slots := []int{dim - 1}
			if !quiet {
				slots = nil
			}
			if err := key.EncryptRecord(words, plain, noise, slots...); err != nil {
				t.Fatal(err)
			}
			v.Vectors = append(v.Vectors, words)
		}
		row, used := noiselessRow(v)
		if r := judgeNoiselessRow(v, row, used); r.Trials != n-dim-16 || quiet && r.Success != 1 || !quiet && r.Success > 0 {
			t.Errorf("quiet %t: %+v", quiet, r)
		}
	}
}

func TestJudgeGaps(t *testing.T) {
	cuts := []cpar.Plane{{Field: 0, Order: 0}, {Field: 0, Order: 1}, {Field: 0, Order: 2}, {Field: 0, Order: 3}, {Field: 1, Order: 0}, {Field: 1, Order: 1}, {Field: 1, Order: 2}}
	truth := []float64{0, 1, 3, 5, 100, 103, 104} // gaps 1 2 2, 3 1
	for _, c := range []struct {
		places       []float64
		right, exact float64
	}{
		{truth, 1, 1},
		{[]float64{0, 2, 6, 10, 0, 3, 4}, 1, 2.0 / 5},
		{[]float64{0, 2, 3, 9, 0, 1, 5}, 0, 0},
		{[]float64{0, 1, 2, 3, 0, 1, 2}, 0.5, 2.0 / 5},
	} {
		if r := judgeGaps("", "", 0, cuts, c.places, truth); r.Trials != 2 || r.Success != c.right {
			t.Errorf("places %v: %+v, want %g", c.places, r, c.right)
		}
		if r := judgeExact("", "", 0, cuts, c.places, truth); r.Trials != 5 || r.Success != c.exact || r.Baseline != 0.4 {
			t.Errorf("places %v: exactly %+v, want %g", c.places, r, c.exact)
		}
	}
}

func TestJaccard(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{{[]float64{1, 2, 3}, []float64{1, 2, 3}, 1}, {[]float64{1, 2}, []float64{2, 3, 4}, 0.25}, {[]float64{1}, []float64{2}, 0}} {
		if got := jaccard(c.a, c.b); got != c.want {
			t.Errorf("%v and %v share %g, want %g", c.a, c.b, got, c.want)
		}
	}
}

// Breaking ties alphabetically makes runs repeatable.
func TestWinnerBreaksTiesAlphabetically(t *testing.T) {
	if w := winner(map[string]int{"b": 2, "a": 2, "c": 1}); w != "a" || winner(nil) != "" {
		t.Errorf("%q", w)
	}
}
