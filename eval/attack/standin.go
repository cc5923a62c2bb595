package attack

import (
	"context"
	"math"
	"slices"

	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/user"
)

// A standIn is a distance that an attacker uses in place of the owner's learnt,
// secret distance.
type standIn struct {
	name string
	// candidates[c] holds the distances of test photo c from the photos of
	// Train, or nil if computing them would require the collection.
	candidates [][]float64
	// picked[j] holds the distances of the attacker's jth photo from the photos
	// of Train.
	picked [][]float64
}

// standIns returns the paper's distance, the distance of embeddings (the
// network is public), and the distance that the program learns from the
// attacker's photos or from the collection, if it is public with its keywords.
// The program is public, and its only random choice is the order of the photos.
func (l *learnedAttack) standIns(ctx context.Context) ([]standIn, error) {
	r := l.run
	paper, err := distances(ctx, r.trainPhotos, r.testPhotos)
	if err != nil {
		return nil, err
	}
	out := []standIn{{"photos", paper, r.compared}}
	train, test := measure.FeaturesOf(r.c.Train), measure.FeaturesOf(r.c.Test)
	add := func(name string, requests bool, from []int, of func(*feature.Vectors) ([]float32, error)) error {
		records, err := vectorsOf(ctx, of, train)
		if err != nil {
			return err
		}
		s := standIn{name: name}
		picked := pick(records, pick(from, sample(len(from), picks, 2)))
		if s.picked, err = compare(ctx, records, picked, distance.SquaredL2[float32]); err != nil {
			return err
		}
		if requests {
			asked, err := vectorsOf(ctx, of, test)
			if err != nil {
				return err
			}
			if s.candidates, err = compare(ctx, records, asked, distance.SquaredL2[float32]); err != nil {
				return err
			}
		}
		out = append(out, s)
		return nil
	}
	if l.profile == profile.Network {
		embedding := func(f *feature.Vectors) ([]float32, error) { return unit(f.Embedding.Values), nil }
		if err := add("embeddings", true, l.others, embedding); err != nil {
			return nil, err
		}
	}
	// A learnt distance behaves differently on its training photos than on
	// others, such as requests. Photos are therefore picked from outside.
	for _, from := range []struct {
		name            string
		inside, outside []int
		requests        bool
	}{{"own-projection", l.others, l.indexed, true}, {"its-keywords", l.indexed, l.others, false}} {
		learnt, err := pipeline(ctx, pick(r.c.Train, from.inside), user.Options{Profile: l.profile})
		if err != nil {
			return nil, err
		}
		if err := add(from.name, from.requests, from.outside, func(f *feature.Vectors) ([]float32, error) {
			v, err := learnt(f)
			if err != nil {
				return nil, err
			}
			return v.X, nil
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func unit(x []float32) []float32 {
	square := 0.0
	for _, v := range x {
		square += float64(v) * float64(v)
	}
	out := slices.Clone(x)
	for i := range out {
		out[i] = float32(float64(out[i]) / max(math.Sqrt(square), 1e-30))
	}
	return out
}
