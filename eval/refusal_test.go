package eval

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/model/vector"
	"cpar/user"
)

// TestRefusalsTellNothing: a cloud that alters a reply by however little is refused, whatever
// the photo that was asked about, and one that does not never is. So it knows beforehand
// what the owner will say, and a refusal tells it nothing (package sealed of the owner,
// check.go). Half a unit of a score is what told photos apart where replies were rounded.
func TestRefusalsTellNothing(t *testing.T) {
	c := syntheticCorpus(1, 200, 12)
	for _, careful := range []bool{false, true} {
		s, _, err := openSealed(t.Context(), c.Train, user.Options{Careful: careful})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		p, err := lattice.DecodeParams(s.files.Segment(cpar.SegmentParams))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]*lattice.Ring{false: lattice.Fast, true: lattice.Careful}[careful]; p.Ring() != want {
			t.Fatalf("careful %v: a ring of degree %d", careful, p.Ring().N)
		}
		for i, v := range vectorsOf(s.owner, c, len(c.Test)) {
			if err := s.answeredWith(t, v, p, func([]uint64) {}); err != nil {
				t.Errorf("careful %v, photo %d: the right reply is refused: %v", careful, i, err)
			}
			for name, lie := range lies(p, rand.New(rand.NewPCG(uint64(i), 9))) {
				if err := s.answeredWith(t, v, p, lie); !errors.Is(err, cpar.ErrCloud) {
					t.Errorf("careful %v, photo %d, %s: the owner takes it: %v", careful, i, name, err)
				}
			}
		}
	}
}

// lies alter the words of a reply.
func lies(p lattice.Params, rng *rand.Rand) map[string]func(words []uint64) {
	ring, k := p.Ring(), p.Records()
	// toScore adds to the score of one record, of whose group it alters every word.
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
		"the least of a score":             func(w []uint64) { toScore(w, rng.IntN(200), 1) },
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

// answeredWith asks with a vector, and reads the reply after a cloud has altered it.
func (s *sealedSession) answeredWith(t *testing.T, v *vector.Vector, p lattice.Params, lie func([]uint64)) error {
	t.Helper()
	pending, q, err := s.owner.RequestVector(v, s.params(3))
	if err != nil {
		t.Fatal(err)
	}
	replies, err := s.cloud.Annotate(t.Context(), 1, []*cpar.Request{q})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lattice.DecodeReply(p, replies[0].Opaque)
	if err != nil {
		t.Fatal(err)
	}
	lie(r.Words)
	_, err = pending.Neighbours(&cpar.Reply{Index: s.owner.ID(), Opaque: r.AppendBinary(p, nil)})
	return err
}
