package attack

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/internal/lattice"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

// The owner refuses every altered reply and accepts every correct one, so the
// server can predict the refusal, which tells it nothing (check.go in the
// owner's package sealed). That includes an index with hidden clusters.
func TestRefusalsRevealNothing(t *testing.T) {
	for _, opt := range []user.Options{{}, {Careful: true}, {Cells: 4, Profile: profile.Network}, {Cells: 4, Profile: profile.Network, Careful: true}} {
		careful, c := opt.Careful, measuretest.SyntheticCorpus(1, 200, 12)
		if opt.Cells > 1 { // profile paper has none
			c = measuretest.Learnable(400, 6)
			c.Test = c.Test[:2]
		}
		s, _, err := measure.OpenSealed(t.Context(), c.Train, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sections, err := lattice.DecodeSections(s.Files.Segment(cpar.SegmentParams))
		if err != nil {
			t.Fatal(err)
		}
		if hidden := sections.Clustered != nil; hidden != (opt.Cells > 1) {
			t.Fatalf("%d cells: hidden clusters %v", opt.Cells, hidden)
		}
		p := sections.Open
		if want := map[bool]*lattice.Ring{false: lattice.Fast, true: lattice.Careful}[careful]; p.Ring() != want {
			t.Fatalf("careful %v: a ring of degree %d", careful, p.Ring().N)
		}
		for i, v := range measure.VectorsOf(s.Owner, c, len(c.Test)) {
			if err := answeredWith(t, s, v, p, func([]uint64) {}); err != nil {
				t.Errorf("careful %v, %d cells, photo %d: the right reply is refused: %v", careful, opt.Cells, i, err)
			}
			for name, lie := range alterations(p, rand.New(rand.NewPCG(uint64(i), 9))) {
				if err := answeredWith(t, s, v, p, lie); !errors.Is(err, cpar.ErrCloud) {
					t.Errorf("careful %v, %d cells, photo %d, %s: the owner accepts it: %v", careful, opt.Cells, i, name, err)
				}
			}
		}
	}
}

func alterations(p lattice.Params, rng *rand.Rand) map[string]func(words []uint64) {
	ring, k := p.Ring(), p.Records()
	// toScore changes one record's score, which alters every word of its group.
	toScore := func(words []uint64, record int, by uint64) {
		e := make([]uint64, k)
		e[record%k] = by
		ring.EvaluateFolded(e)
		for i, x := range e {
			at := record/k*k + i
			words[at] = ring.Add(words[at], x)
		}
	}
	unit := uint64(1) << p.LogScale()
	return map[string]func([]uint64){
		"half a unit of a score":           func(w []uint64) { toScore(w, 0, unit/2) },
		"half a unit of a place left over": func(w []uint64) { toScore(w, len(w)-1, unit/2) },
		"the least of a score":             func(w []uint64) { toScore(w, rng.IntN(min(200, len(w))), 1) },
		"one to a word":                    func(w []uint64) { i := rng.IntN(len(w)); w[i] = ring.Add(w[i], 1) },
		"half a unit to a word":            func(w []uint64) { w[0] = ring.Add(w[0], unit/2) },
		"half a unit, and back":            func(w []uint64) { toScore(w, 0, unit/2); toScore(w, 1, ring.Q-unit/2) },
		"two groups exchanged": func(w []uint64) {
			for i := range k {
				w[i], w[k+i] = w[k+i], w[i]
			}
		},
		"anything": func(w []uint64) {
			for i := range w {
				w[i] = rng.Uint64N(ring.Q)
			}
		},
		"zeros": func(w []uint64) { clear(w) },
	}
}

func answeredWith(t *testing.T, s *measure.SealedSession, v *vector.Vector, p lattice.Params, lie func([]uint64)) error {
	t.Helper()
	pending, q, err := s.Owner.RequestVector(v, s.Params(3))
	if err != nil {
		t.Fatal(err)
	}
	replies, err := s.Cloud.Annotate(t.Context(), 1, []*cpar.Request{q})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lattice.DecodeReply(p, replies[0].Opaque)
	if err != nil {
		t.Fatal(err)
	}
	lie(r.Words)
	_, err = pending.Neighbours(&cpar.Reply{Index: s.Owner.ID(), Opaque: r.AppendBinary(p, nil, 0)})
	return err
}
