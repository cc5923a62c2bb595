package sealed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	cloud "cpar/cloud/sealed"
	"cpar/internal/lattice"
)

func benchRecords() int {
	if n, err := strconv.Atoi(os.Getenv("CPAR_BENCH_RECORDS")); err == nil {
		return n
	}
	return 2000
}

func BenchmarkSealed(b *testing.B) {
	for _, c := range []struct{ dim, block int }{{1408, 64}, {1408, 128}, {96, 32}, {96, 64}} {
		p := balanced(b, paperLike(c.dim, c.block))
		k := testKey(b, p)
		r := rand.New(rand.NewPCG(1, 2))
		n := benchRecords()
		// Copies of a group occupy separate memory, so they cost the server as
		// much as different groups.
		plain := randomCollection(r, p, p.Records())
		g, err := k.Encrypt(plain.vectors, plain.addends, fresh())
		if err != nil {
			b.Fatal(err)
		}
		h, err := NewHints(p, testID)
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Append(k.appendHint(nil, g)); err != nil {
			b.Fatal(err)
		}
		groups := []*lattice.Group{g}
		for len(groups) < p.Groups(n) {
			next := *g
			next.Matrix = append([]byte(nil), g.Matrix...)
			groups = append(groups, &next)
			h.add(groupHint{seed: next.Seed, first: h.records, count: next.Count, packed: append([]byte(nil), h.groups[0].packed...)})
		}
		x, err := cloud.NewIndex(p, testID, 0, groups)
		if err != nil {
			b.Fatal(err)
		}
		u := gaussianVector(r, c.dim, p.RequestNorm)
		once, q, err := k.NewRequest(u, fresh())
		if err != nil {
			b.Fatal(err)
		}
		reply := evaluate(b, p, x, q, 1)
		name := fmt.Sprintf("n=%d,d=%d,D=%d/", n, c.dim, c.block)
		b.Run(name+"encrypt-group", func(b *testing.B) {
			for b.Loop() {
				if _, err := k.Encrypt(plain.vectors, plain.addends, fresh()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"hint-group", func(b *testing.B) {
			for b.Loop() {
				k.appendHint(nil, g)
			}
		})
		b.Run(name+"request", func(b *testing.B) {
			for b.Loop() {
				if _, _, err := k.NewRequest(u, fresh()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(q.AppendBinary(nil))), "request-B")
		})
		b.Run(name+"cloud", func(b *testing.B) {
			b.SetBytes(int64(len(groups) * p.GroupSize()))
			for b.Loop() {
				if _, err := x.Evaluate(b.Context(), 1, q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(groups)*p.GroupSize()), "index-B")
			b.ReportMetric(float64(len(reply.AppendBinary(p, nil, 0))), "reply-B")
		})
		b.Run(name+"scores", func(b *testing.B) {
			for b.Loop() {
				once.used.Store(false)
				if _, err := once.Scores(h, reply, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(groups)*p.HintSize()), "hints-B")
		})
	}
}
