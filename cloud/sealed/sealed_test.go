package sealed

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
)

var testID = cpar.IndexID{4, 5, 6}

func elements(r *rand.Rand, p lattice.Params, n int) []byte {
	x := make([]uint64, n)
	for i := range x {
		x[i] = r.Uint64N(p.Ring().Q)
	}
	return lattice.AppendWords(nil, x)
}

func balanced(t testing.TB, ring *lattice.Ring, dim, block int) lattice.Params {
	t.Helper()
	p, err := lattice.Params{LogN: ring.LogN, Dim: dim, Block: block, LogT: 16, RecordNorm: 150, RequestNorm: 150, Addend: 1000}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func randomGroups(r *rand.Rand, p lattice.Params, counts []int) []*lattice.Group {
	var groups []*lattice.Group
	for i, count := range counts {
		groups = append(groups, &lattice.Group{
			Index: testID, Seed: [32]byte{byte(i)}, Count: count,
			Addends: elements(r, p, p.Records()), Matrix: elements(r, p, p.Words()),
		})
	}
	return groups
}

func coefficients(p lattice.Params, matrix []byte) (blocks [][]uint64) {
	for b := range p.Blocks() {
		w := make([]uint64, p.Ring().N)
		p.Gather(w, matrix, b)
		p.Ring().Interpolate(w)
		blocks = append(blocks, w)
	}
	return blocks
}

func folded(p lattice.Params, packed []byte) []uint64 {
	y := make([]uint64, p.Records())
	lattice.Words(y, packed)
	p.Ring().InterpolateFolded(y)
	return y
}

// slowEvaluate multiplies polynomials by definition, in big integers.
func slowEvaluate(p lattice.Params, groups []*lattice.Group, q *lattice.Request) (scores []uint64) {
	bigQ, n := new(big.Int).SetUint64(p.Ring().Q), p.Ring().N
	request := coefficients(p, q.Matrix)
	for _, g := range groups {
		records := coefficients(p, g.Matrix)
		for i, addend := range folded(p, g.Addends) {
			sum := new(big.Int).SetUint64(addend)
			var x, y big.Int
			for b := range records {
				for j, w := range records[b] {
					at := i*p.Block - j
					x.SetUint64(w)
					if at >= 0 {
						sum.Add(sum, x.Mul(&x, y.SetUint64(request[b][at])))
					} else {
						sum.Sub(sum, x.Mul(&x, y.SetUint64(request[b][at+n])))
					}
				}
			}
			scores = append(scores, sum.Mod(sum, bigQ).Uint64())
		}
	}
	return scores
}

func TestEvaluateAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		ring       *lattice.Ring
		dim, block int
		counts     []int
	}{
		{lattice.Fast, 16, 128, []int{16, 1, 7, 16, 3, 16}},
		{lattice.Fast, 300, 128, []int{5, 16, 16, 2}},
		{lattice.Fast, 100, 16, []int{128}},
		{lattice.Fast, 1, 64, nil},
		{lattice.Careful, 16, 256, []int{16, 1, 7, 16, 3, 16}},
		{lattice.Careful, 300, 256, []int{5, 16}},
		{lattice.Careful, 400, 128, []int{3}},
		{lattice.Careful, 40, 16, []int{256}},
	} {
		p := balanced(t, c.ring, c.dim, c.block)
		groups := randomGroups(r, p, c.counts)
		x, err := NewIndex(p, testID, 0, groups)
		if err != nil {
			t.Fatal(err)
		}
		q := &lattice.Request{Index: testID, Number: [16]byte{1}, Matrix: elements(r, p, p.Words())}
		want, records := slowEvaluate(p, groups, q), 0
		for _, n := range c.counts {
			records += n
		}
		if x.Records() != records {
			t.Errorf("%+v: %d records, want %d", c, x.Records(), records)
		}
		for _, workers := range []int{-1, 1, 2, 50} {
			a := evaluate(t, x, workers, q)[0]
			var got []uint64
			for words := a.Words; len(words) > 0; words = words[p.Records():] {
				got = append(got, folded(p, lattice.AppendWords(nil, words[:p.Records()]))...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("N = %d, blocks of %d, %d workers: scores differ from the definition", p.Ring().N, c.block, workers)
			}
		}
	}
}

func evaluate(t *testing.T, x *Index, workers int, requests ...*lattice.Request) []*lattice.Reply {
	t.Helper()
	encoded, err := x.Evaluate(t.Context(), workers, requests...)
	if err != nil {
		t.Fatal(err)
	}
	var replies []*lattice.Reply
	for i, b := range encoded {
		a, err := lattice.DecodeReply(x.params, b)
		if q := requests[i]; err != nil || a.Index != testID || a.Number != q.Number {
			t.Fatalf("reply %d of %d is not to that request: %v", i, len(requests), err)
		}
		replies = append(replies, a)
	}
	return replies
}

func TestBatchRepliesEqualSingles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		dim, block int
		counts     []int
	}{
		{300, 128, slices.Repeat([]int{5, 16, 1}, 12)},
		{96, 32, []int{64, 64, 3, 64, 64, 64, 64, 1, 64, 64, 64, 64, 64, 7}},
		{20, 16, slices.Repeat([]int{100}, 62)},
		{1, 64, nil},
	} {
		p := balanced(t, lattice.Fast, c.dim, c.block)
		x, err := NewIndex(p, testID, 0, randomGroups(r, p, c.counts))
		if err != nil {
			t.Fatal(err)
		}
		var requests []*lattice.Request
		var want []*lattice.Reply
		for i := range 21 {
			q := &lattice.Request{Index: testID, Number: [16]byte{byte(i)}, Matrix: elements(r, p, p.Words())}
			requests = append(requests, q)
			want = append(want, evaluate(t, x, 1, q)...)
		}
		for _, n := range []int{0, 2, 3, 4, 8, 9, 16, 17, 21} {
			for _, workers := range []int{1, 3} {
				for i, got := range evaluate(t, x, workers, requests[:n]...) {
					if !slices.Equal(got.Words, want[i].Words) {
						t.Errorf("%+v, %d requests, %d workers: reply %d differs from a single one", c, n, workers, i)
					}
				}
			}
		}
	}
}

func TestCanceledEvaluation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p := balanced(t, lattice.Fast, 16, 128)
	x, err := NewIndex(p, testID, 0, randomGroups(r, p, []int{3}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := &lattice.Request{Index: testID, Matrix: elements(r, p, p.Words())}
	for _, n := range []int{1, 5} {
		if _, err := x.Evaluate(ctx, 1, slices.Repeat([]*lattice.Request{q}, n)...); !errors.Is(err, context.Canceled) {
			t.Errorf("%d requests: %v", n, err)
		}
	}
}

func TestMismatchesAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := balanced(t, lattice.Fast, 16, 128)
	for name, change := range map[string]func(*lattice.Group){
		"another index":   func(g *lattice.Group) { g.Index[0]++ },
		"no record":       func(g *lattice.Group) { g.Count = 0 },
		"too many":        func(g *lattice.Group) { g.Count = 17 },
		"a short matrix":  func(g *lattice.Group) { g.Matrix = g.Matrix[1:] },
		"a short addends": func(g *lattice.Group) { g.Addends = g.Addends[1:] },
	} {
		groups := randomGroups(r, p, []int{3, 3})
		change(groups[1])
		if _, err := NewIndex(p, testID, 0, groups); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewIndex(lattice.Params{}, testID, 0, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no parameters: %v", err)
	}
	x, err := NewIndex(p, testID, 0, randomGroups(r, p, []int{3}))
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]*lattice.Request{
		"another index":  {Matrix: elements(r, p, p.Words())},
		"a short matrix": {Index: testID, Matrix: elements(r, p, p.Words()-1)},
	} {
		if _, err := x.Evaluate(t.Context(), 1, q); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("a request of %s: %v", name, err)
		}
	}
}

// Each index has 169 MB: 20,000 records of 1,408 numbers, or as many bytes in
// records of 96 numbers.
func BenchmarkEvaluate(b *testing.B) {
	for _, c := range []struct{ dim, block int }{{1408, 128}, {96, 32}} {
		p := balanced(b, lattice.Fast, c.dim, c.block)
		r := rand.New(rand.NewPCG(1, 2))
		groups := randomGroups(r, p, slices.Repeat([]int{p.Records()}, 169_000_000/p.GroupSize()))
		x, err := NewIndex(p, testID, 0, groups)
		if err != nil {
			b.Fatal(err)
		}
		var requests []*lattice.Request
		for range 16 {
			requests = append(requests, &lattice.Request{Index: testID, Matrix: elements(r, p, p.Words())})
		}
		for _, n := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("d=%d/%d", c.dim, n), func(b *testing.B) {
				b.SetBytes(int64(len(groups) * p.GroupSize()))
				for b.Loop() {
					if _, err := x.Evaluate(b.Context(), 1, requests[:n]...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
