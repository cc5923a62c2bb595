package seed

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func slowStream(secret Secret, n int) []byte {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err)
	}
	var out []byte
	for i := uint64(0); len(out) < n; i++ {
		var ctr, ks [16]byte
		binary.BigEndian.PutUint64(ctr[8:], i)
		block.Encrypt(ks[:], ctr[:])
		out = append(out, ks[:]...)
	}
	return out[:n]
}

func TestStreamAgainstSingleBlocks(t *testing.T) {
	secret := testSecret(9)
	want := slowStream(secret, 20000)
	s := New(secret)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		if r.IntN(3) == 0 {
			s.Seek(uint64(r.IntN(15000)))
		}
		at := int(s.Position())
		if at > 17000 {
			s.Seek(3)
			at = 3
		}
		switch r.IntN(4) {
		case 0:
			p := make([]byte, r.IntN(1500))
			if n, err := io.ReadFull(s, p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			if !bytes.Equal(p, want[at:at+len(p)]) {
				t.Fatalf("Read of %d bytes at %d differs", len(p), at)
			}
		case 1:
			if got := s.Uint64(); got != binary.LittleEndian.Uint64(want[at:]) {
				t.Fatalf("Uint64 at %d differs", at)
			}
		case 2:
			w := make([]uint64, r.IntN(200))
			s.Words(w)
			for i, x := range w {
				if x != binary.LittleEndian.Uint64(want[at+8*i:]) {
					t.Fatalf("Words at %d, word %d differs", at, i)
				}
			}
		case 3:
			c := s.At(uint64(at) + 5)
			if got := c.Uint64(); got != binary.LittleEndian.Uint64(want[at+5:]) {
				t.Fatalf("At(%d) differs", at+5)
			}
			if int(s.Position()) != at {
				t.Fatal("At moved the stream it came from")
			}
		}
	}
}

func TestStreamFarAway(t *testing.T) {
	secret := testSecret(9)
	const offset = uint64(1)<<40 + 16*5 + 11
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	var ctr, ks [16]byte
	binary.BigEndian.PutUint64(ctr[8:], offset/16)
	block.Encrypt(ks[:], ctr[:])
	s := New(secret)
	s.Seek(offset)
	p := make([]byte, 5)
	_, _ = s.Read(p)
	if !bytes.Equal(p, ks[11:]) {
		t.Fatalf("%x at %d, want %x", p, offset, ks[11:])
	}
}

func TestUint64nIsUniformAndInRange(t *testing.T) {
	s := New(testSecret(3))
	const draws = 60000
	for _, n := range []uint64{1, 2, 3, 7, 48} {
		count := make([]float64, n)
		for range draws {
			count[s.Uint64n(n)]++
		}
		chi := 0.0
		for _, c := range count {
			d := c - draws/float64(n)
			chi += d * d / (draws / float64(n))
		}
		// Mean n-1, deviation √(2(n-1)): allow six deviations.
		if limit := float64(n-1) + 6*math.Sqrt(2*float64(n-1)); chi > limit {
			t.Errorf("n = %d: χ² = %.1f above %.1f", n, chi, limit)
		}
	}
	// In a range of 3·2⁶², every third value would occur twice as often without
	// rejection.
	third := 0
	for range 20000 {
		if s.Uint64n(3<<62)%3 == 0 {
			third++
		}
	}
	if math.Abs(float64(third)-20000/3.0) > 6*math.Sqrt(20000*2/9.0) {
		t.Errorf("%d of 20000 are multiples of three", third)
	}
}

func TestBetweenIncludesItsEnds(t *testing.T) {
	s := New(testSecret(4))
	var seen [7]bool
	for range 500 {
		x := s.Between(-3, 3)
		if x < -3 || x > 3 {
			t.Fatalf("%d outside [-3, 3]", x)
		}
		seen[x+3] = true
	}
	if slices.Contains(seen[:], false) {
		t.Errorf("not every value was drawn: %v", seen)
	}
	if x := s.Between(5, 5); x != 5 {
		t.Errorf("Between(5, 5) = %d", x)
	}
	_ = s.Between(math.MinInt64, math.MaxInt64)
}

func TestPermIsAUniformPermutation(t *testing.T) {
	s := New(testSecret(5))
	if p := s.Perm(0); len(p) != 0 {
		t.Errorf("Perm(0) = %v", p)
	}
	p := s.Perm(1347)
	slices.Sort(p)
	for i := range p {
		if p[i] != i {
			t.Fatalf("not a permutation at %d", i)
		}
	}
	count := map[[4]int]float64{}
	const draws = 24000
	for range draws {
		count[[4]int(s.Perm(4))]++
	}
	chi := 0.0
	for _, c := range count {
		chi += (c - draws/24) * (c - draws/24) / (draws / 24)
	}
	if len(count) != 24 || chi > 23+6*math.Sqrt(46) {
		t.Errorf("%d permutations of 24, χ² = %.1f", len(count), chi)
	}
}

// exactWeights returns exp(-k²/2σ²) for k = 0…19 as rationals, from 40 terms of
// the Taylor series of exp(-1/20.48). The error is far below 2⁻¹⁰⁰.
func exactWeights() []*big.Rat {
	x := big.NewRat(-100, 2048) // -1/(2·3.2²)
	base, term := big.NewRat(1, 1), big.NewRat(1, 1)
	for i := int64(1); i <= 40; i++ {
		term.Mul(term, x)
		term.Quo(term, big.NewRat(i, 1))
		base.Add(base, term)
	}
	cut := func(r *big.Rat) *big.Rat {
		n := new(big.Int).Lsh(r.Num(), 256)
		return new(big.Rat).SetFrac(n.Quo(n, r.Denom()), new(big.Int).Lsh(big.NewInt(1), 256))
	}
	base = cut(base)
	var w []*big.Rat
	for k := range GaussianBound + 1 {
		p := big.NewRat(1, 1)
		for range k * k {
			p = cut(p.Mul(p, base))
		}
		w = append(w, p)
	}
	return w
}

func TestGaussianTableAgainstRationalArithmetic(t *testing.T) {
	w := exactWeights()
	total := new(big.Rat).Set(w[0])
	for _, p := range w[1:] {
		total.Add(total, p).Add(total, p)
	}
	sum := new(big.Rat)
	for k, got := range cumulative {
		sum.Add(sum, w[k])
		if k > 0 {
			sum.Add(sum, w[k])
		}
		want := new(big.Rat).Quo(sum, total)
		want.Mul(want, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 63)))
		diff := want.Sub(want, new(big.Rat).SetInt(new(big.Int).SetUint64(got)))
		if diff.Abs(diff).Cmp(big.NewRat(51, 100)) > 0 {
			f, _ := diff.Float64()
			t.Errorf("entry %d: off by %g in units of 2⁻⁶³", k, f)
		}
	}
}

func TestGaussianMomentsAndChiSquare(t *testing.T) {
	w := exactWeights()
	total := 0.0
	p := make([]float64, len(w))
	for k := range w {
		p[k], _ = w[k].Float64()
		total += p[k]
		if k > 0 {
			total += p[k]
		}
	}
	s := New(testSecret(6))
	const draws = 400000
	count := map[int64]float64{}
	var mean, square, fourth float64
	for range draws {
		e := s.Gaussian()
		if e < -GaussianBound || e > GaussianBound {
			t.Fatalf("noise %d beyond ±%d", e, GaussianBound)
		}
		x := float64(e)
		count[e]++
		mean += x
		square += x * x
		fourth += x * x * x * x
	}
	mean, square, fourth = mean/draws, square/draws, fourth/draws
	if math.Abs(mean) > 5*Sigma/math.Sqrt(draws) {
		t.Errorf("mean %.4f", mean)
	}
	if math.Abs(square-Sigma*Sigma) > 5*Sigma*Sigma*math.Sqrt(2.0/draws) {
		t.Errorf("variance %.3f, want %.3f", square, Sigma*Sigma)
	}
	if k := fourth / (square * square); math.Abs(k-3) > 0.05 {
		t.Errorf("kurtosis %.3f, want 3", k)
	}
	// χ² over values expected at least ten times, the rest pooled.
	chi, cells, restSeen, restWant := 0.0, -1, 0.0, 0.0
	for k := int64(-GaussianBound); k <= GaussianBound; k++ {
		want := draws * p[max(k, -k)] / total
		if want < 10 {
			restSeen += count[k]
			restWant += want
			continue
		}
		chi += (count[k] - want) * (count[k] - want) / want
		cells++
	}
	chi += (restSeen - restWant) * (restSeen - restWant) / restWant
	cells++
	if limit := float64(cells) + 6*math.Sqrt(2*float64(cells)); chi > limit {
		t.Errorf("χ² = %.1f over %d cells, limit %.1f", chi, cells, limit)
	}
}

func TestGaussianTakesAFixedNumberOfBytes(t *testing.T) {
	s := New(testSecret(7))
	for range 100 {
		before := s.Position()
		s.Gaussian()
		if n := s.Position() - before; n != GaussianBytes {
			t.Fatalf("a sample took %d bytes", n)
		}
	}
}

func BenchmarkWords1MB(b *testing.B) {
	s, w := New(testSecret(0)), make([]uint64, 1<<17)
	b.SetBytes(1 << 20)
	for b.Loop() {
		s.Words(w)
	}
}

func BenchmarkUint64(b *testing.B) {
	s := New(testSecret(0))
	for b.Loop() {
		s.Uint64()
	}
}

func BenchmarkGaussian(b *testing.B) {
	s := New(testSecret(0))
	for b.Loop() {
		s.Gaussian()
	}
}

func BenchmarkSeekAnd162Bytes(b *testing.B) {
	s, p := New(testSecret(0)), make([]byte, 162)
	i := uint64(0)
	for b.Loop() {
		s.Seek(i * 162)
		_, _ = s.Read(p)
		i += 977
	}
}
