package embed

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/user/distance"
	"cpar/user/vector"
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

// sign is entry j of step (d, l).
func (p *Projection) sign(d, l, j int) int {
	row := make([]byte, p.rowBytes())
	p.steps(row, d, l)
	return 2*int(row[j/8]>>(j%8)&1) - 1
}

// naive is the twin of Embed: the unary vector of m·β elements times the matrix
// of m̂ × m·β signs, less the same for the baselines.
func naive(p *Projection, matrix [][]int, levels []uint16) []int32 {
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
	z := make([]int32, p.mhat)
	for j, row := range matrix {
		for i, sign := range row {
			z[j] += int32(sign * (x[i] - base[i]))
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

func wide(z []int16) []int32 {
	w := make([]int32, len(z))
	for j, v := range z {
		w[j] = int32(v)
	}
	return w
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
			one, err := p.Embed(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(one, want) {
				t.Fatalf("%+v, photo %d: Embed gives\n%v, want\n%v", c, i, one, want)
			}
			if !slices.Equal(wide(all[i]), want) {
				t.Fatalf("%+v, photo %d: EmbedAll gives\n%v, want\n%v", c, i, all[i], want)
			}
		}
	}
}

// photoLevels are levels of n made-up photos with the shape of the `paper`
// profile: six L1-normalised features, unevenly filled.
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
		v, err := vector.New(vector.Features{
			RGB: peaked(48, false), HSV: peaked(48, false), Gabor: peaked(256, false), GaborQ: peaked(256, false),
			Haar: peaked(128, true), HaarQ: peaked(128, true), Lab: peaked(48, false),
		})
		if err != nil {
			t.Fatal(err)
		}
		levels, l1 = append(levels, v.Levels), append(l1, v.L1)
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
	later, _ := photoLevels(t, 1, 99) // outside the range of the collection
	p := mustNew(t, secret(1), 864, vector.Beta, 1296, mustBaselines(t, levels, vector.Beta))
	all, err := p.EmbedAll(levels)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]int32, 5, 2000)
	for i, x := range levels {
		one, err := p.Embed(dst, x)
		if err != nil {
			t.Fatal(err)
		}
		if &one[0] != &dst[0] {
			t.Fatal("Embed did not write where there was room")
		}
		if !slices.Equal(one, wide(all[i])) {
			t.Fatalf("photo %d: Embed and EmbedAll differ", i)
		}
	}
	together, err := p.EmbedAll(append(slices.Clone(levels[:3]), later[0]))
	if err != nil {
		t.Fatal(err)
	}
	one, err := p.Embed(nil, later[0])
	if err != nil || !slices.Equal(one, wide(together[3])) || !slices.Equal(all[0], together[0]) {
		t.Errorf("a later photo is embedded differently: %v", err)
	}
	cores := runtime.GOMAXPROCS(1)
	alone, err := p.EmbedAll(levels)
	runtime.GOMAXPROCS(cores)
	if err != nil || !slices.EqualFunc(all, alone, slices.Equal) {
		t.Errorf("another result on one core: %v", err)
	}
}

// Vectors of the profile at the limit of what normalisation allows: all weight
// in one element of each feature, far from the baseline. Bytes and lanes of the
// sums are fullest here.
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
		one, err := p.Embed(nil, x)
		if err != nil || !slices.Equal(one, wide(all[i])) {
			t.Errorf("photo %d: %v", i, err)
		}
		if steps := distance.L1Levels(x, levels[0]); steps > MaxSteps(864, vector.Beta) || i == 1 && steps < 5900 {
			t.Errorf("photo %d is %d steps away", i, steps)
		}
	}
}

// With every sign +1 all values of a photo are its signed number of steps: the
// largest that lanes have to hold. A stream of ones stands in for AES.
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
	for i, want := range []int16{32767, -32767, 0} {
		for j, v := range all[i] {
			if v != want {
				t.Fatalf("photo %d, value %d: %d, want %d", i, j, v, want)
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
	// The proof's first half: no photo is farther than 3,429 from the middle.
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

// ‖z_a − z_b‖² estimates m̂·β/2·L1; the mean relative error of the estimate is
// √(4/(π·m̂)) = 3.1 %, the paper measured 3.61 %, baseline.py 3.2 %.
func TestErrorOfTheEstimate(t *testing.T) {
	const mhat, photos = 1296, 120
	levels, l1 := photoLevels(t, photos, 7)
	base := mustBaselines(t, levels, vector.Beta)
	total := 0.0
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
				// Quantisation has a bias of its own where features are small;
				// the projection has none.
				inLevels := float64(distance.L1Levels(levels[i], levels[k])) / (vector.Beta / 2.)
				signed += (got - inLevels) / inLevels
				pairs++
			}
		}
		t.Logf("secret %d: mean relative error %.2f %%, bias %.2f %%", seed, 100*sum/pairs, 100*signed/pairs)
		if math.Abs(signed/pairs) > 0.005 {
			t.Errorf("secret %d: estimates are off by %.2f %% on average", seed, 100*signed/pairs)
		}
		total += sum / pairs / 5
	}
	if total < 0.030 || total > 0.037 {
		t.Errorf("mean relative error %.4f, theory %.4f", total, math.Sqrt(4/(math.Pi*mhat)))
	}
}

func TestStreamIsPinned(t *testing.T) {
	// From the package comment alone, with Python's hmac and openssl enc.
	p := mustNew(t, [32]byte{}, 3, 4, 130, make([]uint16, 3))
	bits := make([]byte, 2*p.rowBytes())
	p.steps(bits, 1, 2)
	const want = "9ff527bfcd57175fa98da262325e40585b980fe42d0f5d4dce53f7e502b56d2a7ebe86e6307cd684"
	if got := hex.EncodeToString(bits[:40]); got != want {
		t.Errorf("steps (1, 2) and (1, 3) begin %s, want %s", got, want)
	}
	// Any step can be found by itself.
	one := make([]byte, p.rowBytes())
	p.steps(one, 1, 3)
	if !slices.Equal(one, bits[p.rowBytes():]) {
		t.Error("step (1, 3) depends on where reading starts")
	}
}

func TestStepsDifferByEverything(t *testing.T) {
	base := make([]uint16, 8)
	row := func(p *Projection, d, l int) string {
		bits := make([]byte, p.rowBytes())
		p.steps(bits, d, l)
		return string(bits[:16])
	}
	seen := map[string]string{}
	note := func(what, row string) {
		if before, ok := seen[row]; ok {
			t.Errorf("%s has the steps of %s", what, before)
		}
		seen[row] = what
	}
	for d := range 8 {
		for l := 1; l <= 9; l++ {
			note(fmt.Sprint("step ", d, l), row(mustNew(t, secret(1), 8, 9, 128, base), d, l))
		}
	}
	note("another secret", row(mustNew(t, secret(2), 8, 9, 128, base), 0, 1))
	note("another m", row(mustNew(t, secret(1), 7, 9, 128, base[:7]), 0, 1))
	note("another β", row(mustNew(t, secret(1), 8, 10, 128, base), 0, 1))
	note("another m̂", row(mustNew(t, secret(1), 8, 9, 127, base), 0, 1))
}

func TestDimension(t *testing.T) {
	for _, c := range []struct {
		m, beta      int
		alpha, gamma float64
		want         int
	}{
		{864, 999, 1, 100, 1296}, {864, 999, 2, 100, 2592}, {864, 999, 1, 1000, 864}, {864, 999, 0.5, 10, 1296},
		{864, 999, 1, 10, 2592}, {864, 999, 0, 100, 0}, {864, 999, 1, 1, 0}, {864, 999, 1, 0.5, 0}, {0, 999, 1, 100, 0},
		{864, 999, math.NaN(), 100, 0}, {864, 999, 1e300, 100, 0},
	} {
		if got := Dimension(c.m, c.beta, c.alpha, c.gamma); got != c.want {
			t.Errorf("Dimension(%d, %d, %g, %g) = %d, want %d", c.m, c.beta, c.alpha, c.gamma, got, c.want)
		}
	}
}

func TestBaselines(t *testing.T) {
	levels := [][]uint16{{1, 9, 0}, {5, 9, 3}, {2, 0, 1}, {3, 0, 2}}
	if got := mustBaselines(t, levels, 9); !slices.Equal(got, []uint16{2, 0, 1}) {
		t.Errorf("even: %v", got)
	}
	if got := mustBaselines(t, levels[:3], 9); !slices.Equal(got, []uint16{2, 9, 1}) {
		t.Errorf("odd: %v", got)
	}
	for name, err := range map[string]error{
		"nothing": func() error { _, err := Baselines(nil, 9); return err }(),
		"ragged":  func() error { _, err := Baselines([][]uint16{{1}, {1, 2}}, 9); return err }(),
		"above β": func() error { _, err := Baselines(levels, 8); return err }(),
		"β of 0":  func() error { _, err := Baselines([][]uint16{{0}}, 0); return err }(),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		m, beta, mhat int
		base          []uint16
	}{
		"no m": {0, 9, 8, nil}, "no β": {1, 0, 8, []uint16{0}}, "no m̂": {1, 9, 0, []uint16{0}},
		"large β": {1, 1 << 16, 8, []uint16{0}}, "few baselines": {2, 9, 8, []uint16{0}}, "high baseline": {1, 9, 8, []uint16{10}},
	} {
		if _, err := New(secret(1), c.m, c.beta, c.mhat, c.base); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := mustNew(t, secret(1), 864, 999, 64, make([]uint16, 864))
	far := slices.Repeat([]uint16{12}, 864) // 10,368 steps
	for name, x := range map[string][]uint16{"short": make([]uint16, 863), "above β": append(make([]uint16, 863), 1000), "far": far} {
		if _, err := p.Embed(nil, x); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("Embed, %s: %v", name, err)
		}
		if _, err := p.EmbedAll([][]uint16{make([]uint16, 864), x}); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("EmbedAll, %s: %v", name, err)
		}
	}
	if z, err := p.EmbedAll(nil); err != nil || len(z) != 0 {
		t.Errorf("EmbedAll of nothing: %v, %v", z, err)
	}
}

func TestProjectionPrintsRedacted(t *testing.T) {
	p := mustNew(t, secret(7), 2, 9, 8, []uint16{4, 5})
	for _, v := range []any{p, *p, &p, struct{ P *Projection }{p}, []Projection{*p}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			printed := fmt.Sprintf(verb, v)
			for _, leak := range []string{"4 5", "0x4, 0x5", "baselines", "[4,5]"} {
				if strings.Contains(printed+string(text), leak) {
					t.Errorf("%s of %T: %s %s", verb, v, printed, text)
				}
			}
		}
	}
	if got := fmt.Sprintf("%x", *p); got != "embed projection (redacted)" {
		t.Errorf("prints %q", got)
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
		one, err := p.Embed(nil, x)
		all, errAll := p.EmbedAll([][]uint16{x})
		if (err == nil) != (errAll == nil) {
			t.Fatal(err, errAll)
		}
		if err == nil && !slices.Equal(one, wide(all[0])) {
			t.Error("Embed and EmbedAll differ")
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	levels, _ := photoLevels(b, 50, 1)
	p := mustNew(b, secret(1), 864, vector.Beta, 1296, mustBaselines(b, levels, vector.Beta))
	dst := make([]int32, 1296)
	for b.Loop() {
		if _, err := p.Embed(dst, levels[0]); err != nil {
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
