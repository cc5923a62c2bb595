package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/lattice"
	"cpar/model/feature"
	"cpar/user"
)

// Refusals: the cloud adds chosen errors to replies of scheme sealed and
// observes which replies the owner refuses. It then links requests with the
// same pattern of refusals.
const (
	tamperingCount = 16
	maxTampered    = 100
)

type tampering struct {
	alter       func(words []uint64)
	altersReply bool
}

// tamperings returns alterations of replies, which are the same for all photos.
// The first alteration changes nothing. Most alterations add half a unit to one
// record's score, which changes all ciphertext words of the record's group
// (records that share ciphertexts).
func tamperings(p lattice.Params, records int) []tampering {
	rng, ring, k := rand.New(rand.NewPCG(11, 0)), p.Ring(), p.Records()
	unit := uint64(1) << p.LogScale()
	out := []tampering{{alter: func([]uint64) {}}}
	toWord := func(by uint64) {
		at := rng.IntN(records)
		out = append(out, tampering{func(words []uint64) { words[at] = ring.Add(words[at], by) }, true})
	}
	toWord(1)
	toWord(unit / 2)
	for len(out) < tamperingCount {
		e, record := make([]uint64, k), rng.IntN(records)
		e[record%k] = unit / 2
		ring.EvaluateFolded(e)
		out = append(out, tampering{func(words []uint64) {
			for i, x := range e {
				at := record/k*k + i
				words[at] = ring.Add(words[at], x)
			}
		}, true})
	}
	return out
}

func (c *sealedCloud) refuses(ctx context.Context, owner *user.Owner, f *feature.Vectors, change tampering) (bool, error) {
	pending, q, err := owner.Request(f, owner.DefaultParams())
	if err != nil {
		return false, err
	}
	_, reply, err := c.annotate(ctx, q)
	if err != nil {
		return false, err
	}
	change.alter(reply.Words)
	_, err = pending.Neighbours(&cpar.Reply{Index: q.Index, Opaque: reply.AppendBinary(c.params, nil, 0)})
	if errors.Is(err, cpar.ErrCloud) {
		return true, nil
	}
	return false, err
}

func (r *run) tamper(ctx context.Context) error {
	t, err := r.sealed.sealedTarget()
	if err != nil {
		return err
	}
	cloud := t.Cloud.(*sealedCloud)
	refuses := func(ctx context.Context, f *feature.Vectors, change tampering) (bool, error) {
		return cloud.refuses(ctx, t.Owner.(*indexOwner).Owner, f, change)
	}
	photos := measure.FeaturesOf(r.c.Test[:min(2*maxTampered, len(r.c.Test)/2*2)])
	return r.record(linkRefusals(ctx, refuses, tamperings(cloud.params, cloud.stored.Records), photos))
}

// linkRefusals requests all photos, half of them twice, and applies every
// tampering to each reply. One row judges the links that refusals suggest. The
// other counts outcomes that the cloud did not predict, because only such
// outcomes reveal anything.
func linkRefusals(ctx context.Context, refuses func(context.Context, *feature.Vectors, tampering) (bool, error), changes []tampering, photos []*feature.Vectors) ([]Row, error) {
	half := len(photos) / 2
	asked := append(photos[:2*half:2*half], photos[:half]...)
	views := make([]*Observation, len(asked))
	var surprises atomic.Int64
	if err := measure.Each(ctx, len(asked), func(i int) error {
		views[i] = new(Observation)
		for k, change := range changes {
			refused, err := refuses(ctx, asked[i], change)
			if err != nil {
				return fmt.Errorf("altering replies for photo %d: %w", i, err)
			}
			views[i].Scores = append(views[i].Scores, 0)
			if refused {
				views[i].Scores[k] = 1
			}
			if refused != change.altersReply {
				surprises.Add(1)
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	by := similarity{"link-refusals", func(s *Observation) []float64 { return s.Scores }, func(a, b []float64) float64 {
		return float64(count(len(a), func(i int) bool { return a[i] == b[i] }))
	}}
	right := newLinker(by, views[:half]).right(views[2*half:], views[half:2*half])
	scheme := cpar.SchemeSealed.String()
	return []Row{
		proportion(by.name, scheme, len(changes), right, 2*half, 0.5),
		proportion("refusal-unforeseen", scheme, len(changes), int(surprises.Load()), len(asked)*len(changes), 0),
	}, nil
}
