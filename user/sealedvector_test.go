package user

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/user/combined"
	"cpar/user/distance"
	"cpar/user/internal/seed"
)

func l1kl(jl int) combined.Params { return combined.L1KL(jl, 48, 999) }

// photoLike is a projected vector at a distance of about `away` from the
// baseline, and a histogram.
func photoLike(rng *rand.Rand, q *quantiser, away float64) ([]int32, []float64) {
	z := make([]int32, q.jl)
	width := math.Sqrt(away * q.unit / q.scale / q.scale / float64(q.jl))
	for i := range z {
		z[i] = int32(math.Round(rng.NormFloat64() * width))
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
func score(row []int32, addend int64, u []int32) int64 {
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
		q, err := newQuantiser(l1kl(jl), 0)
		if err != nil {
			t.Fatal(err)
		}
		var squares, count float64
		for range 300 {
			base, _ := photoLike(rng, q, 4)
			near, v := photoLike(rng, q, 0.1+2*rng.Float64())
			other, c := photoLike(rng, q, 0.1+2*rng.Float64())
			for i := range base {
				near[i] = base[i]/2 + near[i]
				other[i] = base[i]/2 + other[i]
			}
			row, addend, clipped, err := q.record(near, v)
			if err != nil || clipped {
				t.Fatal(clipped, err)
			}
			u, own, err := q.request(other, c)
			if err != nil {
				t.Fatal(err)
			}
			l1 := float64(distance.SquaredL2Int(near, other)) * q.scale * q.scale / q.unit
			kl := distance.KL(v, c)
			got := q.dis(score(row, addend, u), own)
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
		q, err := newQuantiser(l1kl(c.jl), 0)
		if err != nil {
			t.Fatal(err)
		}
		row, mean := make([]int32, q.dim()), 0.0
		for range rounds {
			z, _ := photoLike(rng, q, 4)
			for i := range z {
				z[i] = z[i]&^1 + int32(c.parity)
			}
			if _, clipped, err := q.project(row, z); err != nil || clipped {
				t.Fatal(clipped, err)
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
	q, err := newQuantiser(l1kl(1296), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := lattice.Params{Dim: 1344, Block: 128, LogT: 23, LogRecordScale: 17, RecordNorm: 1411, RequestNorm: 1489, Addend: 336000}
	if q.params != want {
		t.Errorf("%+v, want %+v", q.params, want)
	}
	if f := q.params.LogFailure(); f > -79 {
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
	for _, jl := range []int{1008, 1296, 2448} {
		q, err := newQuantiser(l1kl(jl), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.params.Validate(); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		half := make([]float64, 48)
		for i := range half { // the greatest spread of logarithms
			half[i] = 1e-3 / 1.048
			if i < 24 {
				half[i] = (1 - 24*1e-3/1.048) / 24
			}
		}
		even := slices.Repeat([]float64{1. / 48}, 48)
		for _, v := range [][]float64{spike(48, 0), spike(48, 47), half, even} {
			for _, away := range []float64{0, 4, 10.7, 10.9, 14, 1000} {
				z, _ := photoLike(rng, q, away)
				row, addend, clipped, err := q.record(z, v)
				if err != nil {
					t.Fatal(err)
				}
				u, own, err := q.request(z, v)
				if err != nil {
					t.Fatal(err)
				}
				if clipped != (away > 12) && away != 10.7 && away != 10.9 {
					t.Errorf("at distance %g: clipped %v", away, clipped)
				}
				if n := squaredNorm(row); n > q.layout.recordNorm*q.layout.recordNorm {
					t.Errorf("a record of norm %.1f", math.Sqrt(float64(n)))
				}
				if n := squaredNorm(u); n > q.layout.requestNorm*q.layout.requestNorm {
					t.Errorf("a request of norm %.1f", math.Sqrt(float64(n)))
				}
				if addend < -q.layout.maxAddend || addend > q.layout.maxAddend {
					t.Errorf("an addend of %d", addend)
				}
				// A photo is at no distance from itself, clipped or not.
				if d := q.dis(score(row, addend, u), own); d > 0.025 {
					t.Errorf("%g away: %.4f from itself", away, d)
				}
			}
		}
	}
}

func TestFillHistogramSumsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		_, v := photoLike(rng, &quantiser{jl: 1, scale: 1, unit: 1}, 1)
		a := make([]int32, 48)
		if err := fillHistogram(a, v); err != nil {
			t.Fatal(err)
		}
		sum := int32(0)
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
	a := make([]int32, 3)
	for name, v := range map[string][]float64{
		"short": {1}, "negative": {-1, 1, 1}, "not a number": {math.NaN(), 0, 1}, "too much": {1, 1, 0}, "too little": {0.5, 0, 0},
	} {
		if err := fillHistogram(a, v); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	q, err := newQuantiser(l1kl(1296), 0)
	if err != nil {
		t.Fatal(err)
	}
	good := spike(48, 1)
	for name, f := range map[string]func() error{
		"few coordinates":  func() error { _, _, _, err := q.record(make([]int32, 3), good); return err },
		"huge coordinates": func() error { _, _, err := q.request(slices.Repeat([]int32{1 << 30}, 1296), good); return err },
		"an empty bin": func() error {
			_, _, err := q.request(make([]int32, 1296), append([]float64{0}, good[1:]...))
			return err
		},
		"few bins": func() error { _, _, err := q.request(make([]int32, 1296), good[1:]); return err },
	} {
		if err := f(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNearestScoresIsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		n, l := 1+rng.IntN(60), 1+rng.IntN(20)
		scores := make([]int64, n)
		for i := range scores {
			scores[i] = rng.Int64N(20)
		}
		odd := func(i int) bool { return i%3 == 1 }
		var want []scored
		for i, s := range scores {
			if !odd(i) {
				want = append(want, scored{uint32(i), s})
			}
		}
		slices.SortStableFunc(want, func(a, b scored) int { return int(a.score - b.score) })
		want = want[:min(l, len(want))]
		if got := nearestScores(scores, l, odd); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestCheckArithmetic against math/big.
func TestCheckArithmetic(t *testing.T) {
	p := big.NewInt(checkPrime)
	if !p.ProbablyPrime(20) {
		t.Fatal("the modulus is not prime")
	}
	rng := rand.New(rand.NewPCG(9, 10))
	edges := []uint64{0, 1, 2, checkPrime - 1, checkPrime - 2, 1 << 60}
	for i := range 2000 {
		x, y := rng.Uint64N(checkPrime), rng.Uint64N(checkPrime)
		if i < 36 {
			x, y = edges[i/6], edges[i%6]
		}
		a, b := new(big.Int).SetUint64(x), new(big.Int).SetUint64(y)
		if got, want := mulMod(x, y), new(big.Int).Mod(new(big.Int).Mul(a, b), p).Uint64(); got != want {
			t.Fatalf("%d·%d: %d, want %d", x, y, got, want)
		}
		if got, want := addMod(x, y), new(big.Int).Mod(new(big.Int).Add(a, b), p).Uint64(); got != want {
			t.Fatalf("%d+%d: %d, want %d", x, y, got, want)
		}
		s := int64(x) - checkPrime/2
		if got, want := liftMod(s), new(big.Int).Mod(big.NewInt(s), p).Uint64(); got != want {
			t.Fatalf("%d: %d, want %d", s, got, want)
		}
	}
	if addMod(checkPrime, checkPrime) != 0 || addMod(checkPrime, 0) != 0 {
		t.Error("p is not 0")
	}
}

// TestCheckFits: right scores fit, and no other that differ in one record, in
// two by opposite amounts, or in their order.
func TestCheckFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	s := seed.New([32]byte{1})
	const n, d = 20, 7
	c := checkSums{vector: make([]uint64, d)}
	u := make([]int32, d)
	for i := range u {
		u[i] = int32(rng.IntN(2001) - 1000)
	}
	scores := make([]int64, n)
	all := make([]uint64, n)
	rhos(s, all, 0)
	for i := range scores {
		row, addend := make([]int32, d), rng.Int64N(1<<20)-1<<19
		for j := range row {
			row[j] = int32(rng.IntN(2001) - 1000)
		}
		scores[i] = score(row, addend, u)
		if rho(s, i) != all[i] {
			t.Fatalf("ρ of record %d depends on how it is read", i)
		}
		c.add(rho(s, i), row, addend)
	}
	if !c.fit(s, scores, u) {
		t.Fatal("the right scores do not fit")
	}
	if c.fit(seed.New([32]byte{2}), scores, u) {
		t.Error("they fit numbers of another key")
	}
	for i := range scores {
		for _, e := range []int64{1, -1, 1 << 21} {
			bad := slices.Clone(scores)
			bad[i] += e
			if c.fit(s, bad, u) {
				t.Errorf("score %d is off by %d and fits", i, e)
			}
			bad[(i+1)%n] -= e
			if c.fit(s, bad, u) {
				t.Errorf("scores %d and the next are off by %d and fit", i, e)
			}
		}
	}
	if c.fit(s, scores[:n-1], u) || c.fit(s, append(slices.Clone(scores), 1), u) {
		t.Error("a score too few or too many fits")
	}
}

func FuzzLocalBlock(f *testing.F) {
	s, err := newBlockSealer([32]byte{1}, cpar.IndexID{2}, &quantiser{layout: layoutL1KL, params: lattice.Params{Dim: 3}})
	if err != nil {
		f.Fatal(err)
	}
	plain := make([]byte, 4+32*(2*3+8))
	plain[0] = 2
	binary.LittleEndian.PutUint16(plain[4:], 0xfff0)
	f.Add(plain)
	f.Add(slices.Repeat([]byte{0xff}, len(plain)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != len(plain) {
			return
		}
		out := &plainRecords{dim: 3}
		if err := s.decode(out, 0, b); err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		// What was read encrypts to what it was read from.
		var rows [][]int32
		for i := range out.count() {
			rows = append(rows, out.row(i))
		}
		enc, err := s.seal(nil, 5, rows, out.addends, rand.NewChaCha8([32]byte{}))
		if err != nil {
			t.Fatal(err)
		}
		back, err := s.aead.Open(nil, enc[:12], enc[12:], s.binding(5))
		if err != nil || string(back) != string(b) {
			t.Errorf("encoded otherwise: %v", err)
		}
		if err := s.open(&plainRecords{dim: 3}, 6, enc); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("block 5 as block 6: %v", err)
		}
	})
}
