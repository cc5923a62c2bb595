package scorevector

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/seed"
	"cpar/model/vectorlayout"
	"cpar/user/ive"
)

func secret(b byte) (s [32]byte) {
	for i := range s {
		s[i] = b ^ byte(13*i)
	}
	return s
}

type photo struct {
	z []int16
	v []float64
}

func photos(r *rand.Rand, p vectorlayout.Params, n int) []photo {
	const groups = 8
	centre := make([][]float64, groups)
	for g := range centre {
		centre[g] = make([]float64, p.JL)
		for i := range centre[g] {
			centre[g][i] = r.NormFloat64() * 30
		}
	}
	out := make([]photo, n)
	for k := range out {
		c, spread := centre[r.IntN(groups)], 15+25*r.Float64()
		z := make([]int16, p.JL)
		for i := range z {
			z[i] = int16(math.Round(c[i] + spread*r.NormFloat64()))
		}
		out[k] = photo{z, histogram(r, p.KL)}
	}
	return out
}

func histogram(r *rand.Rand, n int) []float64 {
	v, sum := make([]float64, n), 0.0
	for i := range v {
		v[i] = max(0, r.NormFloat64()*r.ExpFloat64())
		sum += v[i]
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	return smooth(v, sum)
}

func smooth(v []float64, sum float64) []float64 {
	const s = 1e-3
	for i := range v {
		v[i] = (v[i]/sum + s) / (1 + s*float64(len(v)))
	}
	return v
}

func distance(b *Budget, record, request photo) float64 {
	square, kl := 0.0, 0.0
	for i := range record.z {
		d := float64(record.z[i]) - float64(request.z[i])
		square += d * d
	}
	for i, x := range record.v {
		if x > 0 {
			kl += x * math.Log(x/request.v[i])
		}
	}
	return square/b.Unit() + kl
}

func mustBudget(t testing.TB, p vectorlayout.Params) *Budget {
	t.Helper()
	b, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustRecord(t testing.TB, b *Budget, p photo, epsilon int64) []int64 {
	t.Helper()
	v := make([]int64, b.Dim())
	if err := b.Record(v, p.z, p.v, epsilon); err != nil {
		t.Fatal(err)
	}
	return v
}

func mustRequest(t testing.TB, b *Budget, p photo, scale int64) []int64 {
	t.Helper()
	v := make([]int64, b.Dim())
	if err := b.Request(v, p.z, p.v, scale, 0); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPaperProfileIsTheDesigns(t *testing.T) {
	b := mustBudget(t, Paper())
	if b.Dim() != 1347 || b.Unit() != 647352 || b.Offset() != 11*647352 || b.NoiselessSlot() != 1346 {
		t.Errorf("dim %d, F %g, r %d, quiet %d", b.Dim(), b.Unit(), b.Offset(), b.NoiselessSlot())
	}
	if bits := b.Bits(); bits < 61 || bits >= 62 {
		t.Errorf("Dis in [0, 22] takes %.2f bits", bits)
	}
	if c := b.Cipher(); c != (ive.Params{Dim: 1347, RecordShift: 14, RequestShift: 14}) {
		t.Errorf("cipher %+v", c)
	}
}

func shaped(jl, kl, beta int, shift uint) vectorlayout.Params {
	p := vectorlayout.L1KL(jl, kl, beta)
	p.Shift = shift
	return p
}

func TestNewLargestScale(t *testing.T) {
	for _, c := range []struct {
		haar  int
		shift uint
	}{{4096 / 8, 13}, {4096 / 16, 14}, {4096 / 32, 14}, {4096 / 64, 14}, {4096 / 128, 14}} {
		b, err := NewLargestScale(vectorlayout.L1KL((48+48+256+256+2*c.haar)*3/2, 48, 999))
		if err != nil {
			t.Errorf("haar at %d: %v", c.haar, err)
			continue
		}
		if got := b.Cipher(); got.RecordShift != c.shift || got.RequestShift != c.shift {
			t.Errorf("haar at %d: w = 2^%d, want 2^%d", c.haar, got.RecordShift, c.shift)
		}
	}
	if _, err := NewLargestScale(vectorlayout.L1KL(1, 48, 1)); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a shape without a scale: %v", err)
	}
}

// (Comp/r_s + r)/F is the distance up to fixed-point rounding, and encrypted up
// to MaxDistanceError in addition.
func TestScoresStandForDistances(t *testing.T) {
	p := shaped(400, 48, 999, ive.DistanceShift)
	b := mustBudget(t, p)
	key, err := ive.NewKey(secret(1), b.Cipher())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	all := photos(r, p, 40)
	noise := ive.NewNoise(secret(2))
	c, q := make([]uint64, b.Dim()), make([]uint64, b.Dim())
	for i, record := range all {
		request := all[(i*7+1)%len(all)]
		scale := noise.Scale()
		x, y := mustRecord(t, b, record, noise.Epsilon()), mustRequest(t, b, request, scale)
		if err := errors.Join(key.EncryptRecord(c, x, noise, b.NoiselessSlot()), key.EncryptRequest(q, y, noise)); err != nil {
			t.Fatal(err)
		}
		want := distance(b, record, request)
		plain, score := b.PlainScore(x, y), b.Cipher().Score(c, q)
		if got := b.Dis(plain, scale); math.Abs(got-want) > 1e-3 {
			t.Errorf("plain distance %.6f, want %.6f", got, want)
		}
		if got := b.Dis(score, scale); math.Abs(got-b.Dis(plain, scale)) > b.MaxDistanceError(scale) {
			t.Errorf("encrypted distance %.6f, plain %.6f", got, b.Dis(plain, scale))
		}
	}
}

// Erratum: with the printed boxes, Comp = r_s·(Dis − r) − 3ε, so the distance
// is Comp/r_s + r. The printed 2r + Σv² + Comp/r_s errs by at least r + Σv².
func TestErratumDisOfTheCombinedScore(t *testing.T) {
	p := shaped(400, 8, 999, ive.DistanceShift)
	b := mustBudget(t, p)
	all := photos(rand.New(rand.NewPCG(3, 4)), p, 10)
	for i, record := range all[1:] {
		request := all[i]
		x, y := mustRecord(t, b, record, 0), mustRequest(t, b, request, 1500)
		score := b.PlainScore(x, y)
		if got, want := b.Dis(score, 1500), distance(b, record, request); math.Abs(got-want) > 1e-3 {
			t.Errorf("distance %.4f, want %.4f", got, want)
		}
		square := SquaredNorm(request.z)
		printed := (2*float64(b.Offset()) + float64(square) + float64(score)/1500) / b.Unit()
		if math.Abs(printed-distance(b, record, request)) < vectorlayout.MaxDistance/2 {
			t.Errorf("the printed formula gives %.4f for %.4f", printed, distance(b, record, request))
		}
	}
}

// At the limits of Record and Request with every e at its worst, the 64-bit
// word must equal the exact 128-bit value.
func TestNothingAdmittedWraps(t *testing.T) {
	for _, p := range []vectorlayout.Params{Paper(), shaped(1296, 48, 999, 13), shaped(400, 4, 999, 14)} {
		b := mustBudget(t, p)
		far := func(sign float64, bin int) photo {
			z := make([]int16, p.JL)
			for i := range z {
				z[i] = int16(sign * 1e4)
			}
			if !b.Clamp(z) {
				t.Fatal("not clamped")
			}
			v := make([]float64, p.KL)
			v[bin] = 1
			return photo{z, smooth(v, 1)}
		}
		a, c := far(1, 0), far(-1, 1)
		near := photo{make([]int16, p.JL), make([]float64, p.KL)}
		near.v[2] = 1
		near.v = smooth(near.v, 1)
		for _, pair := range [][2]photo{{a, c}, {a, a}, {near, c}, {near, near}, {c, near}} {
			for _, scale := range []int64{1 << ive.ScaleBits, ive.MaxScale} {
				for _, e := range []int64{-1, 1} {
					x := mustRecord(t, b, pair[0], e*ive.EpsilonBound)
					y := mustRequest(t, b, pair[1], scale)
					score, wide := b.PlainScore(x, y), worstWord(b, x, y, -e)
					if math.Abs(wide) >= math.Ldexp(1, 63) {
						t.Fatalf("w = 2^%d, scale %d: a word of 2^%.2f", p.Shift, scale, math.Log2(math.Abs(wide)))
					}
					off := math.Abs(math.Ldexp(wide, -2*int(p.Shift)) - float64(score))
					if limit := b.MaxDistanceError(scale) * b.Unit() * float64(scale); off > limit {
						t.Errorf("w = 2^%d: disturbance %.3g, bound %.3g", p.Shift, off, limit)
					}
				}
			}
		}
		// The farthest pair uses most of the room, so the check is meaningful.
		word := worstWord(b, mustRecord(t, b, a, 0), mustRequest(t, b, c, ive.MaxScale), 1)
		if bits := math.Log2(math.Abs(word)); p == Paper() && bits < 62.9 {
			t.Errorf("the farthest pair takes %.2f bits", bits)
		}
	}
}

// worstWord returns ⟨w·x + e, w·y + e′⟩ over the reals, with every |e| = 19
// pushing in the direction of sign.
func worstWord(b *Budget, x, y []int64, sign int64) float64 {
	push := func(toward int64) float64 {
		if toward < 0 {
			return float64(-sign * ive.NoiseBound)
		}
		return float64(sign * ive.NoiseBound)
	}
	w, sum := math.Ldexp(1, int(b.params.Shift)), 0.0
	for i := range x {
		e := push(y[i])
		if i == b.NoiselessSlot() {
			e = 0
		}
		sum += (w*float64(x[i]) + e) * (w*float64(y[i]) + push(x[i]))
	}
	return sum
}

func TestRefusesWhatCouldWrap(t *testing.T) {
	for _, shift := range []uint{5, 10, 12, 15, 16, 31, 32, 200} {
		p := Paper()
		p.Shift = shift
		if _, err := New(p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("w = 2^%d: %v", shift, err)
		}
	}
	for _, p := range []vectorlayout.Params{{}, shaped(-1, 48, 999, 14), shaped(1296, 48, 0, 14),
		shaped(1296, 48, 9999, 14), shaped(4096, 48, 999, 14)} {
		if _, err := New(p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	b := mustBudget(t, shaped(1296, 2, 999, 14))
	long := func(x int16) []int16 {
		z := make([]int16, 1296)
		z[7] = x
		return z
	}
	good, flat, dst := long(0), []float64{0.5, 0.5}, make([]int64, b.Dim())
	edge := int16(math.Sqrt(float64(b.MaxSquare())))
	record := func(z []int16, v []float64, e int64) error { return b.Record(dst, z, v, e) }
	request := func(z []int16, c []float64, s, far int64) error { return b.Request(dst, z, c, s, far) }
	ok := errors.Join(record(long(edge), flat, ive.EpsilonBound), request(long(-edge), flat, 1024, 0),
		record(good, []float64{1, 0}, 0), request(long(2*edge-1), flat, 2047, 1))
	if ok != nil {
		t.Errorf("refused at the edge: %v", ok)
	}
	for name, err := range map[string]error{
		"norm beyond the edge": record(long(edge+1), flat, 0),
		"request beyond":       request(long(-edge-1), flat, 1024, 0),
		"far from far records": request(long(2*edge), flat, 1024, 100),
		"overflowing norm":     record(long(math.MinInt16), flat, 0),
		"epsilon":              record(good, flat, ive.EpsilonBound+1),
		"bin above 1":          record(good, []float64{1.5, 0}, 0),
		"negative bin":         record(good, []float64{-0.1, 1}, 0),
		"bin not a number":     record(good, []float64{math.NaN(), 1}, 0),
		"sum 2":                record(good, []float64{1, 1}, 0),
		"log of 0":             request(good, []float64{0, 1}, 1024, 0),
		"log of little":        request(good, []float64{1e-4, 1}, 1024, 0),
		"log of NaN":           request(good, []float64{math.NaN(), 1}, 1024, 0),
		"log above 0":          request(good, []float64{1.1, 0.5}, 1024, 0),
		"small scale":          request(good, flat, 1023, 0),
		"large scale":          request(good, flat, 2048, 0),
		"short z":              record(good[:3], flat, 0),
		"short histogram":      request(good, flat[:1], 1024, 0),
		"short destination":    b.Record(dst[:3], good, flat, 0),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClampKeepsTheNormBound(t *testing.T) {
	b := mustBudget(t, Paper())
	z := make([]int16, 1296)
	z[0], z[1], z[2] = 1<<13, -1<<14, math.MinInt16
	if !b.Clamp(z) {
		t.Fatal("not clamped")
	}
	square := SquaredNorm(z)
	if square > b.MaxSquare() || float64(square) < 0.99*float64(b.MaxSquare()) {
		t.Errorf("clamped to %d of %d", square, b.MaxSquare())
	}
	if again := slices.Clone(z); b.Clamp(z) || !slices.Equal(again, z) {
		t.Error("clamped twice")
	}
}

func ranks(scores []int64, k int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	return order[:k]
}

func agreement(a, b []int64) float64 {
	same := 0
	x, y := ranks(a, 10), ranks(b, 10)
	for i := range x {
		if x[i] == y[i] {
			same++
		}
	}
	return float64(same) / float64(len(x))
}

func TestSecretOffsetKeepsDistances(t *testing.T) {
	for _, jl := range []int{1008, 1296, 2448} {
		b, err := NewLargestScale(vectorlayout.L1KL(jl, 48, 999))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int64]bool{}
		for i := range 20 {
			h, err := b.WithSecretOffset(seed.New([32]byte{byte(i)}))
			if err != nil {
				t.Fatalf("m̂ = %d: %v", jl, err)
			}
			seen[h.Offset()] = true
			if r := float64(h.Offset()) / b.Unit(); r < vectorlayout.MaxDistance/2-0.5 || r > vectorlayout.MaxDistance/2 {
				t.Errorf("m̂ = %d: r = %g·F", jl, r)
			}
			if h.Bits() >= 63 || h.Cipher() != b.Cipher() {
				t.Errorf("m̂ = %d: %g bits", jl, h.Bits())
			}
			const dis, scale = 3.25, 1500
			if got := h.Dis(int64(scale*(b.Unit()*dis-float64(h.Offset()))), scale); math.Abs(got-dis) > 1e-6 {
				t.Errorf("m̂ = %d: Dis %g, want %g", jl, got, dis)
			}
		}
		if len(seen) != 20 {
			t.Errorf("m̂ = %d: %d different r of 20", jl, len(seen))
		}
		least := *b
		if err := least.setOffset(int64((vectorlayout.MaxDistance/2 - 0.5) * b.Unit())); err != nil {
			t.Errorf("m̂ = %d: the least r: %v", jl, err)
		}
	}
}
