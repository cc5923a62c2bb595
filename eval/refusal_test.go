package eval

import (
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/user"
)

// TestRefusalsWouldTell: a cloud that adds half a unit to one score sees the reply
// refused more or less often, by the photo that was asked about. So nothing about a
// refusal may be seen from outside (package device).
func TestRefusalsWouldTell(t *testing.T) {
	c := syntheticCorpus(1, 200, 12)
	s, _, err := openSealed(t.Context(), c.Train, user.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	p, err := lattice.DecodeParams(s.files.Segment(cpar.SegmentParams))
	if err != nil {
		t.Fatal(err)
	}
	half := uint64(1) << (p.ReplyBits() - p.LogT - 1)
	const times = 60
	var rates []float64
	for _, v := range vectorsOf(s.owner, c, len(c.Test)) {
		refused := 0
		for range times {
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
			r.Scores[0] = (r.Scores[0] + half) & (1<<p.ReplyBits() - 1)
			if _, err := pending.Neighbours(&cpar.Reply{Index: s.owner.ID(), Opaque: r.AppendBinary(p, nil)}); err != nil {
				refused++
			}
		}
		rates = append(rates, float64(refused)/times)
	}
	t.Logf("refused, by photo: %.2f", rates)
	if spread := slices.Max(rates) - slices.Min(rates); spread < 0.3 {
		t.Errorf("the rates differ by %.2f: SECURITY.md says that they tell photos apart", spread)
	}
}
