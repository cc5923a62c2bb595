package embed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"cpar"
	"cpar/eval/distance"
	"cpar/model/vector"
)

func secret(n byte) (s [32]byte) {
	s[0] = n
	return s
}

func mustNew(t testing.TB, secret [32]byte, m, beta, mhat int, baselines []uint16) *Projection {
	t.Helper()
	p, err := New(secret, m, beta, mhat, baselines)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Projection) sign(d, l, j int) int {
	row := make([]byte, p.rowBytes())
	p.steps(row, d, l)
	return 2*int(row[j/8]>>(j%8)&1) - 1
}

// naive multiplies the unary vectors by the m̂ × m·β signs.
func naive(p *Projection, matrix [][]int, levels []uint16) []int16 {
	unary := func(x []uint16) []int {
		u := make([]int, p.m*p.beta)
		for d, l := range x {
			for i := range l {
				u[d*p.beta+int(i)] = 1
			}
		}
		return u
	}
	x, base := unary(levels), unary(p.baselines)
	z := make([]int16, p.mhat)
	for j, row := range matrix {
		for i, sign := range row {
			z[j] += int16(sign * (x[i] - base[i]))
		}
	}
	return z
}

func randomLevels(rng *rand.Rand, n, m, beta int) [][]uint16 {
	levels := make([][]uint16, n)
	for i := range levels {
		levels[i] = make([]uint16, m)
		for d := range levels[i] {
			levels[i][d] = uint16(rng.IntN(beta + 1))
		}
	}
	return levels
}

func TestEmbedEqualsUnaryTimesMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ m, beta, mhat int }{
		{5, 9, 1}, {3, 40, 7}, {4, 30, 32}, {6, 12, 33}, {2, 300, 128}, {3, 20, 129}, {1, 1, 200},
	} {
		baselines := randomLevels(rng, 1, c.m, c.beta)[0]
		p := mustNew(t, secret(3), c.m, c.beta, c.mhat, baselines)
		matrix := make([][]int, c.mhat)
		for j := range matrix {
			for d := range c.m {
				for l := 1; l <= c.beta; l++ {
					matrix[j] = append(matrix[j], p.sign(d, l, j))
				}
			}
		}
		levels := randomLevels(rng, 20, c.m, c.beta)
		levels = append(levels, baselines, make([]uint16, c.m), slices.Repeat([]uint16{uint16(c.beta)}, c.m))
		all, err := p.EmbedAll(levels)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range levels {
			want := naive(p, matrix, x)
			one, err := p.Embed(x)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(one, want) {
				t.Fatalf("%+v, photo %d: Embed gives\n%v, want\n%v", c, i, one, want)
			}
			if !slices.Equal(all[i], want) {
				t.Fatalf("%+v, photo %d: EmbedAll gives\n%v, want\n%v", c, i, all[i], want)
			}
		}
	}
}

func photoLevels(t testing.TB, n int, seed uint64) (levels [][]uint16, l1 [][]float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	peaked := func(dimension int, signed bool) []float64 {
		x := make([]float64, dimension)
		for i := range x {
			x[i] = 0.2 + rng.ExpFloat64()
			if signed && rng.IntN(2) == 0 {
				x[i] = -x[i]
			}
		}
		return x
	}
	for range n {
		x, err := vector.L1(vector.Features{
			RGB: peaked(48, false), HSV: peaked(48, false), Gabor: peaked(256, false), GaborQ: peaked(256, false),
			Haar: peaked(128, true), HaarQ: peaked(128, true), Lab: peaked(48, false),
		})
		if err != nil {
			t.Fatal(err)
		}
		levels, l1 = append(levels, vector.Quantise(x)), append(l1, x)
	}
	return levels, l1
}

func mustBaselines(t testing.TB, levels [][]uint16, beta int) []uint16 {
	t.Helper()
	b, err := Baselines(levels, beta)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEmbedAllEqualsEmbed(t *testing.T) {
	levels, _ := photoLevels(t, 150, 1)
	later, _ := photoLevels(t, 1, 99)
	p := mustNew(t, secret(1), 864, vector.Beta, 1296, mustBaselines(t, levels, vector.Beta))
	all, err := p.EmbedAll(levels)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range levels {
		one, err := p.Embed(x)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one, all[i]) {
			t.Fatalf("photo %d: Embed and EmbedAll differ", i)
		}
	}
	together, err := p.EmbedAll(append(slices.Clone(levels[:3]), later[0]))
	if err != nil {
		t.Fatal(err)
	}
	one, err := p.Embed(later[0])
	if err != nil || !slices.Equal(one, together[3]) || !slices.Equal(all[0], together[0]) {
		t.Errorf("a later photo is embedded differently: %v", err)
	}
	cores := runtime.GOMAXPROCS(1)
	alone, err := p.EmbedAll(levels)
	runtime.GOMAXPROCS(cores)
	if err != nil || !slices.EqualFunc(all, alone, slices.Equal) {
		t.Errorf("another result on one core: %v", err)
	}
}

// All weight in one element of each feature, far from the baseline, fills bytes
// and lanes the most.
func TestEmbedFarFromTheBaseline(t *testing.T) {
	unit := func(dimension, at int, sign float64) []float64 {
		x := make([]float64, dimension)
		x[at] = sign
		return x
	}
	photo := func(at int, sign float64) []uint16 {
		v, err := vector.New(vector.Features{
			RGB: unit(48, at, 1), HSV: unit(48, at, 1), Gabor: unit(256, at, sign), GaborQ: unit(256, at, sign),
			Haar: unit(128, at, sign), HaarQ: unit(128, at, sign), Lab: unit(48, at, 1),
		})
		if err != nil {
			t.Fatal(err)
		}
		return v.Levels
	}
	levels := [][]uint16{photo(0, 1), photo(1, -1), photo(2, 1), photo(0, -1)}
	p := mustNew(t, secret(1), 864, vector.Beta, 200, levels[0])
	all, err := p.EmbedAll(levels)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range levels {
		one, err := p.Embed(x)
		if err != nil || !slices.Equal(one, all[i]) {
			t.Errorf("photo %d: %v", i, err)
		}
		if steps := distance.L1Levels(x, levels[0]); steps > MaxSteps(864, vector.Beta) || i == 1 && steps < 5900 {
			t.Errorf("photo %d is %d steps away", i, steps)
		}
	}
}

// A stream of ones makes every value the signed number of steps, the maximum.
type ones struct{}

func (ones) BlockSize() int        { return 16 }
func (ones) Encrypt(dst, _ []byte) { copy(dst, slices.Repeat([]byte{0xff}, 16)) }
func (ones) Decrypt(_, _ []byte)   { panic("not used") }

func TestLanesHoldMaxSteps(t *testing.T) {
	const m, beta = 40, 30000 // MaxSteps is 32,767 here
	low, high, base := make([]uint16, m), make([]uint16, m), make([]uint16, m)
	for d := range m {
		base[d] = 1000
		low[d], high[d] = 1000-819, 1000+819
	}
	high[0], low[0] = 1000+819+7, 1000-819-7 // 40·819 + 7 = 32,767
	p := mustNew(t, secret(1), m, beta, 40, base)
	p.block = ones{}
	all, err := p.EmbedAll([][]uint16{high, low, base})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range [][]uint16{high, low, base} {
		want := []int16{32767, -32767, 0}[i]
		one, err := p.Embed(x)
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range all[i] {
			if v != want || one[j] != want {
				t.Fatalf("photo %d, value %d: EmbedAll %d, Embed %d, want %d", i, j, v, one[j], want)
			}
		}
	}
	high[0]++
	if _, err := p.EmbedAll([][]uint16{high}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a step too many: %v", err)
	}
}

func TestMaxSteps(t *testing.T) {
	if got := MaxSteps(864, 999); got != 10287 {
		t.Errorf("MaxSteps of the paper's numbers is %d", got)
	}
	if got := MaxSteps(864, 65535); got != math.MaxInt16 {
		t.Errorf("MaxSteps of the largest β is %d", got)
	}
	// The first half of the proof: no photo is farther than 3,429 from the
	// middle.
	levels, _ := photoLevels(t, 50, 4)
	base := mustBaselines(t, levels, vector.Beta)
	for _, x := range levels {
		fromMiddle := 0.0
		for _, l := range x {
			fromMiddle += math.Abs(float64(l) - 499.5)
		}
		if fromMiddle > 3429 {
			t.Errorf("a photo is %g levels from the middle", fromMiddle)
		}
		if steps := distance.L1Levels(x, base); steps > 6900 {
			t.Errorf("a photo is %d steps from the baseline", steps)
		}
	}
}

// The mean relative error should be √(4/(π·m̂)) = 3.1 %. The paper measured
// 3.61 %, baseline.py 3.2 %.
func TestErrorOfTheEstimate(t *testing.T) {
	const mhat, photos = 1296, 120
	levels, l1 := photoLevels(t, photos, 7)
	base := mustBaselines(t, levels, vector.Beta)
	total, bias := 0.0, 0.0
	for seed := range byte(5) {
		z, err := mustNew(t, secret(seed), 864, vector.Beta, mhat, base).EmbedAll(levels)
		if err != nil {
			t.Fatal(err)
		}
		sum, signed, pairs := 0.0, 0.0, 0.0
		for i := range z {
			for k := range i {
				want := distance.L1(l1[i], l1[k])
				got := float64(distance.SquaredL2Int(z[i], z[k])) / mhat / (vector.Beta / 2.)
				sum += math.Abs(got-want) / want
				// Compare in levels, because quantisation is biased for small
				// features.
				inLevels := float64(distance.L1Levels(levels[i], levels[k])) / (vector.Beta / 2.)
				signed += (got - inLevels) / inLevels
				pairs++
			}
		}
		t.Logf("secret %d: mean relative error %.2f %%, bias %.2f %%", seed, 100*sum/pairs, 100*signed/pairs)
		bias += signed / pairs / 5
		total += sum / pairs / 5
	}
	// Estimates under one secret share an error of up to about a percent.
	if math.Abs(bias) > 0.005 {
		t.Errorf("estimates are off by %.2f %% on average", 100*bias)
	}
	if total < 0.030 || total > 0.037 {
		t.Errorf("mean relative error %.4f, theory %.4f", total, math.Sqrt(4/(math.Pi*mhat)))
	}
}

func FuzzEmbed(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0, 3, 0, 4, 0})
	f.Add([]byte{200, 0, 0, 0, 99, 0, 255, 255})
	base := []uint16{50, 0, 200, 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := mustNew(t, secret(1), 4, 200, 37, base)
		x := make([]uint16, len(data)/2)
		for d := range x {
			x[d] = binary.LittleEndian.Uint16(data[2*d:])
		}
		one, err := p.Embed(x)
		all, errAll := p.EmbedAll([][]uint16{x})
		if (err == nil) != (errAll == nil) {
			t.Fatal(err, errAll)
		}
		if err == nil && !slices.Equal(one, all[0]) {
			t.Error("Embed and EmbedAll differ")
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	levels, _ := photoLevels(b, 50, 1)
	p := mustNew(b, secret(1), 864, vector.Beta, 1296, mustBaselines(b, levels, vector.Beta))
	for b.Loop() {
		if _, err := p.Embed(levels[0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEmbedAll(b *testing.B) {
	some, _ := photoLevels(b, 2000, 1)
	levels := slices.Repeat(some, 10)
	base := mustBaselines(b, some, vector.Beta)
	p := mustNew(b, secret(1), 864, vector.Beta, 1296, base)
	for _, n := range []int{200, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.EmbedAll(levels[:n]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
