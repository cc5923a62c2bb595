//go:build unix

package sealed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cpar/internal/lattice"
	"cpar/internal/seed"
)

// BenchmarkOwner measures the owner's cost of a request to an index of profile
// `paper`, and to a million records of 96 numbers in eight cells. It reports
// the minimum processor time of many rounds to exclude other load. Run it with
// GOMAXPROCS=1.
func BenchmarkOwner(b *testing.B) {
	for _, c := range []struct {
		name string
		p    lattice.Params
		rows int
	}{
		{"paper,n=20000", lattice.Params{LogN: 11, Dim: 1344, Block: 128, LogT: 16, RecordNorm: 161, RequestNorm: 173, Addend: 4380}, 20_000},
		{"96,n=1000000,C=8", lattice.Params{LogN: 11, Dim: 8 * lattice.SlotDim(96), LogSlots: 3, Block: 32, LogT: 15, RecordNorm: 127, RequestNorm: 127, Addend: 252}, lattice.CellSize(1_000_000, 8, false)},
	} {
		p := balanced(b, c.p)
		k, groups := testKey(b, p), p.Groups(c.rows)
		r := rand.New(rand.NewPCG(1, 2))
		h, err := NewHints(p, testID)
		if err != nil {
			b.Fatal(err)
		}
		for range groups {
			packed := make([]byte, p.HintBytes())
			for i := range packed {
				packed[i] = byte(r.Uint32())
			}
			h.add(groupHint{seed: [lattice.SeedSize]byte(packed), first: h.records, count: p.Records(), packed: packed})
		}
		u := gaussianVector(r, p.SlotDim(), p.RequestNorm)
		if p.LogSlots > 0 {
			u = p.Ask(u[:96], 3)
		}
		once, q, err := k.NewRequest(u, fresh())
		if err != nil {
			b.Fatal(err)
		}
		reply := &lattice.Reply{Index: testID, Number: q.Number, State: h.State(), Words: make([]uint64, groups*p.Records())}
		for i := range reply.Words {
			reply.Words[i] = r.Uint64N(p.Ring().Q)
		}
		combined, masks := append([]uint64(nil), once.combined...), append([]uint64(nil), once.once...)
		encoded, sums, rho := reply.AppendBinary(p, nil, 0), newCheckSums(p), seed.New(testSecret(7))
		for _, part := range []struct {
			name string
			f    func()
		}{
			{"request", func() {
				if _, _, err := k.NewRequest(u, fresh()); err != nil {
					b.Fatal(err)
				}
			}},
			{"check", func() {
				a, err := lattice.DecodeReply(p, encoded)
				if err != nil || fits(p, rho, a.Words, sums.wanted(p, q.Matrix)) {
					b.Fatal(err, "or random words were taken")
				}
			}},
			{"scores", func() {
				once.used.Store(false)
				copy(once.combined, combined)
				copy(once.once, masks)
				if _, err := once.Scores(h, reply, 1); err != nil {
					b.Fatal(err)
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/%s", c.name, part.name), func(b *testing.B) {
				least := time.Duration(math.MaxInt64)
				for b.Loop() {
					begun := processorTime(b)
					part.f()
					least = min(least, processorTime(b)-begun)
				}
				b.ReportMetric(float64(least)/1e6, "least-ms")
			})
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
