package attack

import (
	"context"
	"fmt"
	"math"

	"cpar"
	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
	"cpar/user/ive"
)

// This file attacks profiles "learned" and "network", whose vectors are short
// and whose distances are learnt from private photos and keywords.
//
// The owner indexes half of the collection with scheme capia. The attacker
// learns a projection from the other half with the same program.

const (
	minLearnt = 40
	// sealedRecords can be small, because ciphertexts of scheme sealed do not
	// depend on the number of records.
	sealedRecords = 500
	// lengthUnit is the factor by which vectors are scaled before rounding to
	// integer vectors z.
	lengthUnit = 1000
)

var (
	learnedProfiles = []profile.Kind{profile.Learned, profile.Network}
	learntPhotos    = []int{10, 30, 100, 300}
	// keyShares lists numbers of known vectors, divided by the number of 64-bit
	// words in an encrypted record.
	keyShares = []float64{1.25, 1.5, 2, 3}
)

type learnedAttack struct {
	run     *run
	profile profile.Kind
	// `indexed` holds the owner's photos and `others` the attacker's, as
	// ascending indices in Collection.Train.
	indexed, others []int
	view            *View
	// trainIndex[i] is the index in Collection.Train of the photo that is
	// record i.
	trainIndex        []int
	records, requests []*projected
}

func (r *run) profiles(ctx context.Context) error {
	n := len(r.c.Train)
	if n/2 < minLearnt {
		return nil
	}
	indexed := sample(n, n/2, 9)
	for _, p := range learnedProfiles {
		if p == profile.Network && !measure.Embedded(r.c.Train, r.c.Test) {
			continue
		}
		l := &learnedAttack{run: r, profile: p, indexed: indexed, others: complement(n, indexed)}
		if err := l.attack(ctx); err != nil {
			return fmt.Errorf("profile %v: %w", p, err)
		}
	}
	return nil
}

func (l *learnedAttack) attack(ctx context.Context) error {
	b, err := build(ctx, pick(l.run.c.Train, l.indexed), user.Options{Scheme: cpar.SchemeCAPIA, Profile: l.profile})
	if err != nil {
		return err
	}
	defer b.Close()
	t, err := b.target(cpar.SchemeCAPIA)
	if err != nil {
		return err
	}
	if err := l.observe(ctx, b, t); err != nil {
		return err
	}
	for _, do := range []func(context.Context) error{l.guess, l.solve, l.key, l.nearest, l.sealed} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// observe requests the test photos from the owner's index, and runs the attack
// that links requests.
func (l *learnedAttack) observe(ctx context.Context, b *built, t *Target) error {
	photos := measure.FeaturesOf(l.run.c.Test)
	rows, err := link(ctx, t, photos[:l.run.linked()], nil)
	if err != nil {
		return err
	}
	l.add(rows...)
	requests, err := vectorsOf(ctx, b.builder.Vector, photos)
	if err != nil {
		return err
	}
	l.trainIndex = pick(l.indexed, b.trainIndex)
	l.records, l.requests = rounded(b.builder.Vectors()), rounded(requests)
	l.view, _, err = t.view(ctx, photos, false)
	return err
}

func (l *learnedAttack) add(rows ...Row) {
	for _, row := range rows {
		row.Profile = l.profile.String()
		l.run.add(row)
	}
}

func rounded(list []*vector.Vector) []*projected {
	round := func(x float32) int16 { return int16(math.RoundToEven(float64(x) * lengthUnit)) }
	return measure.Map(list, func(v *vector.Vector) *projected { return &projected{z: measure.Map(v.X, round)} })
}

// guess attacks requests with the true distances and with each of the
// attacker's stand-ins.
func (l *learnedAttack) guess(ctx context.Context) error {
	l.guessVectors(knownVectors)
	list, err := l.standIns(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.candidates != nil {
			l.add(guessing("request-by-"+s.name, l.view, learntPhotos, func(known []int) [][]float64 {
				return columns(s.candidates, pick(l.trainIndex, known))
			})...)
		}
		// Both matrices have their entries in the order of the records.
		// Function match does not exploit this.
		picked, scores := columns(s.picked, l.trainIndex), l.view.scores()
		row, err := matched(ctx, "match-by-"+s.name, l.view.Scheme, scores, picked, len(scores), sample(l.view.Records, l.view.Records, 0))
		if err != nil {
			return err
		}
		l.add(row)
	}
	return nil
}

func (l *learnedAttack) guessVectors(numbers []int) {
	l.add(guessing("request-by-vectors", l.view, numbers, func(known []int) [][]float64 {
		return compare(pick(l.records, known), l.requests, (*projected).from)
	})...)
}

// A standIn is a distance that an attacker uses in place of the owner's, which
// is learnt and secret.
type standIn struct {
	name string
	// candidates[c] holds the distances of test photo c from the photos of
	// Train. It is nil if the distance was learnt from the whole collection,
	// because attacks on requests assume that few photos are known.
	candidates [][]float64
	// picked[j] holds the distances of the attacker's jth photo from the photos
	// of Train.
	picked [][]float64
}

// standIns returns the paper's distance, the distance of embeddings (the
// network is public), and two distances learnt by the public program: one from
// the attacker's photos, the other from the collection, in case it is public
// with its keywords.
func (l *learnedAttack) standIns(ctx context.Context) ([]standIn, error) {
	r := l.run
	out := []standIn{{"photos", distances(r.trainPhotos, r.testPhotos), r.compared}}
	train, test := measure.FeaturesOf(r.c.Train), measure.FeaturesOf(r.c.Test)
	add := func(name string, requests bool, from []int, of func(*feature.Vectors) ([]float32, error)) error {
		records, err := vectorsOf(ctx, of, train)
		if err != nil {
			return err
		}
		s := standIn{name: name, picked: compare(records, pick(records, pick(from, sample(len(from), picks, 2))), distance.SquaredL2[float32])}
		if requests {
			asked, err := vectorsOf(ctx, of, test)
			if err != nil {
				return err
			}
			s.candidates = compare(records, asked, distance.SquaredL2[float32])
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
	// A learnt distance behaves differently on its training photos, so the
	// attacker's photos are picked from the other photos.
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
	norm := max(math.Sqrt(square), 1e-30)
	return measure.Map(x, func(v float32) float32 { return float32(float64(v) / norm) })
}

func (l *learnedAttack) solve(ctx context.Context) error {
	rows, err := solving(ctx, l.view, solvingShares, l.records, l.requests, solveUnit)
	l.add(rows...)
	return err
}

func (l *learnedAttack) key(context.Context) error {
	m := len(l.view.Vectors[0])
	for _, share := range keyShares {
		k := int(share * float64(m))
		if k >= l.view.Records {
			break
		}
		known := sample(l.view.Records, k, 12)
		rows, err := keyByScores(l.view, known, pick(l.records, known))
		if err != nil {
			return err
		}
		l.add(judgeKey(l.view, known, rows, l.records))
	}
	l.add(latticeRows(l.view.Scheme, m, len(l.records[0].z), l.view.Records, typical(l.records))...)
	return nil
}

// nearest attacks the index alone. It uses a lower dimension if lattice
// reduction would take longer than the rest of the run.
func (l *learnedAttack) nearest(context.Context) error {
	view, records, name := l.view, l.records, "nearest-from-index"
	if len(records[0].z) > latticeDim {
		var err error
		if view, records, err = encryptCut(records, latticeDim); err != nil {
			return err
		}
		view.Scheme, name = l.view.Scheme, fmt.Sprintf("nearest-from-index-%d", latticeDim)
	}
	k := int(latticeShare * float64(len(view.Vectors[0])))
	if k >= view.Records {
		return nil
	}
	l.add(judgeNearest(name, view, nearestFromIndex(view, k), records))
	return nil
}

const (
	// latticeDim is a dimension in which lattice reduction takes seconds.
	latticeDim = 64
	// latticeShare is the number of ciphertexts divided by the number of 64-bit
	// words in each.
	latticeShare = 1.9
)

// encryptCut encrypts the first `dim` elements of each record under a new key,
// in the layout of package vectorlayout.
func encryptCut(records []*projected, dim int) (*View, []*projected, error) {
	p := ive.Params{Dim: dim + 3, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift}
	key, err := ive.NewKey([32]byte{'c', 'u', 't'}, p)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	const offset = 1.75 * lengthUnit * lengthUnit
	noise := ive.NewNoise([32]byte{2})
	v := &View{StoredIndex: &StoredIndex{Records: len(records)}}
	out := make([]*projected, len(records))
	for i, r := range records {
		out[i] = &projected{z: r.z[:dim]}
		plain := make([]int64, dim, dim+3)
		for j, x := range out[i].z {
			plain[j] = int64(x)
		}
		plain = append(plain, int64(out[i].square())-offset, noise.Epsilon(), 1)
		words := make([]uint64, dim+3)
		if err := key.EncryptRecord(words, plain, noise, dim+2); err != nil {
			return nil, nil, fmt.Errorf("encrypting record %d: %w", i, err)
		}
		v.Vectors = append(v.Vectors, words)
	}
	return v, out, nil
}

func typical(list []*projected) float64 {
	sum := 0.0
	for _, p := range list {
		for _, x := range p.z {
			sum += float64(x) * float64(x) / float64(len(list)*len(p.z))
		}
	}
	return math.Sqrt(sum)
}

func (l *learnedAttack) sealed(ctx context.Context) error {
	b, err := build(ctx, pick(l.run.c.Train, l.indexed[:min(sealedRecords, len(l.indexed))]), user.Options{Scheme: cpar.SchemeSealed, Profile: l.profile})
	if err != nil {
		return err
	}
	defer b.Close()
	t, err := b.sealedTarget()
	if err != nil {
		return err
	}
	s := &learnedAttack{run: l.run, profile: l.profile, indexed: l.indexed}
	if err := s.observe(ctx, b, t); err != nil {
		return err
	}
	s.guessVectors([]int{30})
	return nil
}
