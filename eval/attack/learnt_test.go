package attack

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	simd "gonum.org/v1/gonum/floats"

	"cpar"
	"cpar/user/ive"
)

func unitVectors(rng *rand.Rand, n, d int) []*projected {
	out := make([]*projected, n)
	for i := range out {
		x, square := make([]float64, d), 0.0
		for j := range x {
			x[j] = rng.NormFloat64() * math.Pow(0.97, float64(j))
			square += x[j] * x[j]
		}
		out[i] = &projected{z: make([]int16, d)}
		for j := range x {
			out[i].z[j] = int16(math.Round(lengthUnit * x[j] / math.Sqrt(square)))
		}
	}
	return out
}

func scored(t *testing.T, records, requests []*projected) *View {
	t.Helper()
	d := len(records[0].z)
	v, _, err := encryptCut(records, d)
	if err != nil {
		t.Fatal(err)
	}
	v.Scheme = "capia"
	key, err := ive.NewKey([32]byte{'c', 'u', 't'}, ive.Params{Dim: d + 3, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift})
	if err != nil {
		t.Fatal(err)
	}
	noise := ive.NewNoise([32]byte{3})
	for _, q := range requests {
		scale, plain := noise.Scale(), []int64(nil)
		for _, x := range q.z {
			plain = append(plain, -2*scale*int64(x))
		}
		plain = append(plain, scale, -3, scale*int64(q.square()))
		r := &cpar.Request{Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}, Vector: make([]uint64, d+3)}
		if err := key.EncryptRequest(r.Vector, plain, noise); err != nil {
			t.Fatal(err)
		}
		s := &Observation{Scores: make([]float64, v.Records)}
		if s.Request, err = r.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
		for i, c := range v.Vectors {
			s.Scores[i] = float64(ive.Params{Dim: d + 3, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift}.Score(c, r.Vector))
		}
		v.Observations = append(v.Observations, s)
	}
	return v
}

// Slightly more known vectors than a record has words suffice. Fewer vectors or
// few requests do not.
func TestKeyByScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	records, requests := unitVectors(rng, 150, 24), unitVectors(rng, 80, 24)
	v := scored(t, records, requests)
	for _, c := range []struct {
		known, seen int
		want        float64
	}{{60, 80, 1}, {50, 80, 1}, {30, 80, 0}, {60, 30, 0}} {
		some := &View{Scheme: v.Scheme, StoredIndex: v.StoredIndex, Observations: v.Observations[:c.seen]}
		known := sample(v.Records, c.known, 12)
		vectors := pickVectors(records, known)
		key, err := keyByScores(some, known, vectors)
		if err != nil {
			t.Fatal(err)
		}
		if r := judgeKey(some, known, key, records); r.Success != c.want || r.Trials != 150-c.known {
			t.Errorf("%d known, %d requests: %+v, want %g", c.known, c.seen, r, c.want)
		}
	}
	known := sample(v.Records, 60, 12)
	got, err := solveUnit(v, known, pickVectors(records, known))
	if err != nil {
		t.Fatal(err)
	}
	if r := judgeSolved(v, 60, got, requests); r.Success != 1 {
		t.Errorf("requests by 60 vectors: %+v", r)
	}
}

func TestNearestFromIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	records := unitVectors(rng, 200, 16)
	v := scored(t, records, nil)
	k := int(2 * float64(len(v.Vectors[0])))
	if r := judgeNearest("nearest-from-index", v, nearestFromIndex(v, k), records); r.Success < 0.95 {
		t.Errorf("an index: %+v", r)
	}
	noise := &View{StoredIndex: &StoredIndex{Records: v.Records}}
	for range v.Records {
		words := make([]uint64, len(v.Vectors[0]))
		for i := range words {
			words[i] = rng.Uint64()
		}
		noise.Vectors = append(noise.Vectors, words)
	}
	if r := judgeNearest("nearest-from-index", noise, nearestFromIndex(noise, k), records); r.Success > 0.05 {
		t.Errorf("random words: %+v", r)
	}
}

// A reduced basis spans the same lattice, satisfies Lovász's condition, and
// begins with the hidden short vector.
func TestReduce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n = 14
	b := make([][]int64, n)
	short := make([]int64, n)
	for i := range b {
		b[i] = make([]int64, n)
		b[i][i] = 1 << 40
		if i == n-1 {
			for j := range n - 1 {
				b[i][j] = rng.Int64N(1 << 40)
			}
			b[i][i] = 1
		}
		short[i] = rng.Int64N(7) - 3
	}
	// The short vector is the lattice's shortest.
	copy(b[0], short)
	b[0][0] = 5
	before := determinant(b)
	shortest := square(b[0])
	for i := range n - 1 {
		by := rng.Int64N(1000) + 1
		for j := range n {
			b[i+1][j] += b[0][j] * by
		}
	}
	b[0], b[n-1] = b[n-1], b[0]
	reduce(b)
	if after := determinant(b); after.CmpAbs(before) != 0 {
		t.Errorf("determinant %v, was %v", after, before)
	}
	if got := square(b[0]); got != shortest {
		t.Errorf("the first vector has squared length %g, the hidden one %g", got, shortest)
	}
	star := make([][]float64, n)
	for i := range b {
		star[i] = make([]float64, n)
		for j, x := range b[i] {
			star[i][j] = float64(x)
		}
		whole := slices.Clone(star[i])
		last := 0.0
		for j := range i {
			mu := simd.Dot(whole, star[j]) / simd.Dot(star[j], star[j])
			if math.Abs(mu) > 0.52 {
				t.Errorf("μ(%d, %d) = %.3f", i, j, mu)
			}
			for l := range star[i] {
				star[i][l] -= mu * star[j][l]
			}
			last = mu
		}
		if i > 0 && simd.Dot(star[i], star[i])*1.001 < (0.99-last*last)*simd.Dot(star[i-1], star[i-1]) {
			t.Errorf("Lovász's condition at %d", i)
		}
	}
}

func determinant(b [][]int64) *big.Int {
	n := len(b)
	a := make([][]*big.Int, n)
	for i, row := range b {
		for _, x := range row {
			a[i] = append(a[i], big.NewInt(x))
		}
	}
	last := big.NewInt(1)
	for k := range n - 1 {
		p := slices.IndexFunc(a[k:], func(row []*big.Int) bool { return row[k].Sign() != 0 })
		if p < 0 {
			return new(big.Int)
		}
		a[k], a[k+p] = a[k+p], a[k] // the sign does not matter here
		for i := k + 1; i < n; i++ {
			for j := k + 1; j < n; j++ {
				x := new(big.Int).Mul(a[i][j], a[k][k])
				x.Sub(x, new(big.Int).Mul(a[i][k], a[k][j]))
				a[i][j] = x.Quo(x, last)
			}
		}
		last = a[k][k]
	}
	return a[n-1][n-1]
}

func pickVectors(list []*projected, at []int) []*projected {
	return pick(list, at)
}
