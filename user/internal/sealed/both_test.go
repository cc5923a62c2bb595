package sealed

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	cloud "cpar/cloud/sealed"
	"cpar/internal/lattice"
	"cpar/internal/seed"
)

var testID = cpar.IndexID{1, 2, 3}

func testSecret(b byte) (s seed.Secret) {
	for i := range s {
		s[i] = b + byte(i)
	}
	return s
}

func testKey(t testing.TB, p lattice.Params) *Key {
	t.Helper()
	k, err := NewKey(testSecret(7), p, testID)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func balanced(t testing.TB, p lattice.Params) lattice.Params {
	t.Helper()
	p, err := p.Balance()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// paperLike resembles a projected vector of the paper.
func paperLike(dim, block int) lattice.Params {
	return lattice.Params{LogN: 11, Dim: dim, Block: block, LogT: 16, RecordNorm: 160, RequestNorm: 160, Addend: 160 * 160 / 4}
}

func careful(p lattice.Params) lattice.Params {
	p.LogN = 12
	return p
}

func gaussianVector(r *rand.Rand, dim int, norm int64) []int16 {
	x := make([]float64, dim)
	sum := 0.
	for i := range x {
		x[i] = r.NormFloat64()
		sum += x[i] * x[i]
	}
	v := make([]int16, dim)
	for i := range v {
		v[i] = int16(x[i] / math.Sqrt(sum) * float64(norm)) // towards zero
	}
	return v
}

type collection struct {
	vectors [][]int16
	addends []int64
}

func randomCollection(r *rand.Rand, p lattice.Params, n int) (c collection) {
	for range n {
		c.vectors = append(c.vectors, gaussianVector(r, p.Dim, p.RecordNorm))
		c.addends = append(c.addends, r.Int64N(2*p.Addend+1)-p.Addend)
	}
	return c
}

func fresh() (s seed.Secret) {
	crand.Read(s[:])
	return s
}

func build(t testing.TB, k *Key, c collection, size int) ([]*lattice.Group, *Hints) {
	t.Helper()
	h, err := NewHints(k.params, k.id)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*lattice.Group
	for at := 0; at < len(c.vectors); at += size {
		to := min(at+size, len(c.vectors))
		g, err := k.Encrypt(c.vectors[at:to], c.addends[at:to], fresh())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Append(k.appendHint(nil, g)); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	return groups, h
}

func dotPlain(a, b []int16) (s int64) {
	for i := range a {
		s += int64(a[i]) * int64(b[i])
	}
	return s
}

func ask(t testing.TB, p lattice.Params, k *Key, h *Hints, x *cloud.Index, u []int16, workers int) []int64 {
	t.Helper()
	once, q, err := k.NewRequest(u, fresh())
	if err != nil {
		t.Fatal(err)
	}
	scores, err := once.Scores(h, evaluate(t, p, x, q, workers), workers)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

func evaluate(t testing.TB, p lattice.Params, x *cloud.Index, q *lattice.Request, workers int) *lattice.Reply {
	t.Helper()
	encoded, err := x.Evaluate(t.Context(), workers, q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lattice.DecodeReply(p, encoded[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openIndex(t testing.TB, p lattice.Params, groups []*lattice.Group) *cloud.Index {
	t.Helper()
	x, err := cloud.NewIndex(p, testID, 0, groups)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (c collection) wrong(scores []int64, u []int16) (n int) {
	for i, got := range scores {
		if got != dotPlain(c.vectors[i], u)+c.addends[i] {
			n++
		}
	}
	return n
}

func TestScoresAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, dim, block, size int }{
		{1, 1, 16, 128}, {300, 17, 16, 128}, {257, 128, 16, 128}, {129, 40, 32, 64}, {100, 128, 64, 32},
		{33, 1296, 128, 16}, {70, 1408, 128, 16}, {20, 300, 128, 16},
		{150, 129, 64, 32}, {40, 128, 128, 7}, {5, 128, 128, 1}, // incomplete groups
	} {
		for _, p := range []lattice.Params{paperLike(c.dim, c.block), careful(paperLike(c.dim, c.block))} {
			p = balanced(t, p)
			t.Run(fmt.Sprint(p.LogN, c), func(t *testing.T) {
				k := testKey(t, p)
				plain := randomCollection(r, p, c.n)
				groups, h := build(t, k, plain, c.size)
				x := openIndex(t, p, groups)
				for _, workers := range []int{0, 1, 3, 100} {
					u := gaussianVector(r, c.dim, p.RequestNorm)
					scores := ask(t, p, k, h, x, u, workers)
					if len(scores) != c.n || plain.wrong(scores, u) > 0 {
						t.Errorf("%d workers: %d of %d scores wrong", workers, plain.wrong(scores, u), len(scores))
					}
				}
			})
		}
	}
}

// Vectors at the norm bounds, as spiky and as flat as possible, aligned to
// maximise every product.
func TestScoresAreExactAtTheEdges(t *testing.T) {
	for _, p := range []lattice.Params{
		balanced(t, lattice.Params{LogN: 11, Dim: 1408, Block: 128, LogT: 16, RecordNorm: 161, RequestNorm: 161, Addend: 161 * 161 / 4}),
		balanced(t, lattice.Params{LogN: 11, Dim: 256, Block: 64, LogT: 16, RecordNorm: 181, RequestNorm: 181, Addend: 6}),
		balanced(t, lattice.Params{LogN: 11, Dim: 64, Block: 16, LogT: 15, RecordNorm: 127, RequestNorm: 127, Addend: 254}),
		balanced(t, lattice.Params{LogN: 12, Dim: 1408, Block: 128, LogT: 16, RecordNorm: 161, RequestNorm: 161, Addend: 161 * 161 / 4}),
	} {
		spike := func(norm int64, at int) []int16 { v := make([]int16, p.Dim); v[at] = int16(norm); return v }
		flat := func(norm int64, alternate bool) []int16 {
			v := make([]int16, p.Dim)
			for i := range v {
				v[i] = int16(math.Sqrt(float64(norm*norm) / float64(p.Dim)))
				if alternate && i%2 == 1 {
					v[i] = -v[i]
				}
			}
			return v
		}
		negative := func(v []int16) []int16 {
			w := make([]int16, len(v))
			for i, x := range v {
				w[i] = -x
			}
			return w
		}
		shapes := func(norm int64) [][]int16 {
			return [][]int16{spike(norm, 0), spike(-norm, p.Dim-1), spike(norm, p.Block-1), flat(norm, false), flat(norm, true)}
		}
		var plain collection
		for len(plain.vectors) < p.Records() {
			for _, v := range shapes(p.RecordNorm) {
				plain.vectors = append(plain.vectors, v, negative(v))
				plain.addends = append(plain.addends, p.Addend, -p.Addend)
			}
		}
		k := testKey(t, p)
		groups, h := build(t, k, plain, p.Records())
		x := openIndex(t, p, groups)
		for i, u := range shapes(p.RequestNorm) {
			if scores := ask(t, p, k, h, x, u, 2); plain.wrong(scores, u) > 0 {
				t.Errorf("d = %d, request %d: %d of %d scores wrong", p.Dim, i, plain.wrong(scores, u), len(scores))
			}
		}
	}
}

// Measured noise must be close to the budget's prediction for the longest
// admitted vectors, and not above.
func TestNoiseIsAsPredicted(t *testing.T) {
	for _, p := range []lattice.Params{paperLike(1408, 128), careful(paperLike(1408, 128))} {
		p = balanced(t, p)
		ring := p.Ring()
		k := testKey(t, p)
		r := rand.New(rand.NewPCG(5, 6))
		plain := randomCollection(r, p, 4*p.Records())
		groups, h := build(t, k, plain, p.Records())
		x := openIndex(t, p, groups)
		width, rest := p.Noise()
		sum, n := 0., 0
		for range 40 {
			u := gaussianVector(r, p.Dim, p.RequestNorm)
			once, q, err := k.NewRequest(u, fresh())
			if err != nil {
				t.Fatal(err)
			}
			reply := evaluate(t, p, x, q, 1)
			var phases []uint64
			for i, g := range h.groups {
				phases = append(phases, newDecryption(once).phases(g, reply.Words[i*p.Records():])...)
			}
			for i, phase := range phases {
				score := dotPlain(plain.vectors[i], u) + plain.addends[i]
				noise := ring.Centred(ring.Sub(phase, ring.Lift(score<<p.LogScale())))
				if math.Abs(float64(noise)) > 6*width+rest {
					t.Errorf("noise of 2^%.1f, width 2^%.1f", math.Log2(math.Abs(float64(noise))), math.Log2(width))
				}
				sum += float64(noise) * float64(noise)
				n++
			}
		}
		measured := math.Sqrt(sum / float64(n))
		t.Logf("N = %d: noise 2^%.2f, predicted 2^%.2f of 2^%d; a score is wrong with at most 2^%.0f",
			ring.N, math.Log2(measured), math.Log2(width), p.LogScale()-1, p.LogFailure())
		// Hints are rounded uniformly, so their share is 0.58 of its bound. The
		// keys are random: 150 runs had 0.84 ± 0.013 and 0.77 ± 0.007.
		if ratio := measured / width; ratio > 1.05 || ratio < 0.72 {
			t.Errorf("the noise is %.2f times the prediction", ratio)
		}
	}
}

func TestWrongKeysReadGarbage(t *testing.T) {
	p := balanced(t, paperLike(128, 128))
	k := testKey(t, p)
	r := rand.New(rand.NewPCG(3, 4))
	plain := randomCollection(r, p, 2*p.Records())
	groups, h := build(t, k, plain, p.Records())
	x := openIndex(t, p, groups)
	u := gaussianVector(r, p.Dim, p.RequestNorm)

	other, err := NewKey(testSecret(8), p, testID)
	if err != nil {
		t.Fatal(err)
	}
	if n := plain.wrong(ask(t, p, other, h, x, u, 1), u); n < len(plain.vectors)-2 {
		t.Errorf("another master reads %d of %d scores", len(plain.vectors)-n, len(plain.vectors))
	}
	mixed := testKey(t, p)
	mixed.addend = other.addend
	if n := plain.wrong(ask(t, p, mixed, h, x, u, 1), u); n < len(plain.vectors)-2 {
		t.Errorf("another secret for addends reads %d of %d scores", len(plain.vectors)-n, len(plain.vectors))
	}
	once, _, err := k.NewRequest(u, fresh())
	if err != nil {
		t.Fatal(err)
	}
	_, q, err := k.NewRequest(u, fresh())
	if err != nil {
		t.Fatal(err)
	}
	reply := evaluate(t, p, x, q, 1)
	reply.Number = once.number
	scores, err := once.Scores(h, reply, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := plain.wrong(scores, u); n < len(plain.vectors)-2 {
		t.Errorf("another request's secret reads %d of %d scores", len(plain.vectors)-n, len(plain.vectors))
	}
	second, err := NewKey(testSecret(7), p, cpar.IndexID{77})
	if err != nil {
		t.Fatal(err)
	}
	if n := common(second.blocks[0], k.blocks[0]) + common(second.addend, k.addend) + common(second.public[0], k.public[0]); n > 0 {
		t.Errorf("keys of two indexes share %d words", n)
	}
}

func TestRepliesThatDoNotFitAreRefused(t *testing.T) {
	p := tiny(t)
	k := testKey(t, p)
	r := rand.New(rand.NewPCG(3, 4))
	plain := randomCollection(r, p, 30)
	groups, h := build(t, k, plain, 16)
	x := openIndex(t, p, groups)
	u := gaussianVector(r, p.Dim, p.RequestNorm)
	once, q, err := k.NewRequest(u, fresh())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*lattice.Reply){
		"another index":   func(a *lattice.Reply) { a.Index[0]++ },
		"another request": func(a *lattice.Reply) { a.Number[0]++ },
		"another state":   func(a *lattice.Reply) { a.State[0]++ },
		"a word missing":  func(a *lattice.Reply) { a.Words = a.Words[1:] },
	} {
		a := evaluate(t, p, x, q, 1)
		change(a)
		if _, err := once.Scores(h, a, 1); !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%s: %v", name, err)
		}
	}
	swapped := openIndex(t, p, []*lattice.Group{groups[1], groups[0]})
	if _, err := once.Scores(h, evaluate(t, p, swapped, q, 1), 1); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("groups in another order: %v", err)
	}
	stale, err := NewHints(p, testID)
	if err != nil {
		t.Fatal(err)
	}
	if err := stale.Append(k.appendHint(nil, groups[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := once.Scores(stale, evaluate(t, p, x, q, 1), 1); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("stale hints: %v", err)
	}

	foreign, err := NewHints(p, cpar.IndexID{1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := once.Scores(foreign, evaluate(t, p, x, q, 1), 1); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("hints of another index: %v", err)
	}

	// A rejected reply does not use up the secret.
	scores, err := once.Scores(h, evaluate(t, p, x, q, 1), 1)
	if err != nil || plain.wrong(scores, u) > 0 {
		t.Fatalf("%d scores wrong, %v", plain.wrong(scores, u), err)
	}
	if _, err := once.Scores(h, evaluate(t, p, x, q, 1), 1); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("read twice: %v", err)
	}
	for _, x := range slices.Concat(once.once, once.combined) {
		if x != 0 {
			t.Fatal("the secret outlives its reply")
		}
	}
}

// All data passes through its encoding, whose length depends only on n and d.
func TestBytesTellOnlyHowMany(t *testing.T) {
	p := tiny(t)
	var lengths [2][]int
	for i := range lengths {
		k, err := NewKey(testSecret(byte(i)), p, testID)
		if err != nil {
			t.Fatal(err)
		}
		plain := randomCollection(rand.New(rand.NewPCG(uint64(i), 1)), p, 37)
		if i == 1 { // as different as possible
			for _, v := range plain.vectors {
				clear(v)
			}
			clear(plain.addends)
		}
		groups, _ := build(t, k, plain, p.Records())
		note := func(b []byte) []byte { lengths[i] = append(lengths[i], len(b)); return b }
		var stored []*lattice.Group
		for _, g := range groups {
			back, err := lattice.DecodeGroup(p, note(g.AppendBinary(nil)))
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, back)
		}
		hints, err := decodeHints(p, note(hintsOf(k, groups)))
		if err != nil {
			t.Fatal(err)
		}
		u := plain.vectors[0]
		once, q, err := k.NewRequest(u, fresh())
		if err != nil {
			t.Fatal(err)
		}
		sent, err := lattice.DecodeRequest(note(q.AppendBinary(nil)), p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := lattice.DecodeReply(p, note(evaluate(t, p, openIndex(t, p, stored), sent, 1).AppendBinary(p, nil, 0)))
		if err != nil {
			t.Fatal(err)
		}
		scores, err := once.Scores(hints, got, 1)
		if err != nil || len(scores) != 37 || plain.wrong(scores, u) > 0 {
			t.Errorf("%d scores, %d wrong, %v", len(scores), plain.wrong(scores, u), err)
		}
	}
	if !slices.Equal(lengths[0], lengths[1]) {
		t.Errorf("lengths %v and %v", lengths[0], lengths[1])
	}
}
