package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/vector"
	"cpar/user"
)

// The stages of a run make views, attack them and judge the guesses. Slow
// attacks that depend only on scores are run in all sizes on the first scheme
// only, because ivf and capia have the same scores.

func (r *run) schemes(ctx context.Context) error {
	for _, t := range r.targets {
		if err := r.scheme(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.Cloud.Scheme(), err)
		}
	}
	return nil
}

func (r *run) scheme(ctx context.Context, t *Target) error {
	photos := measure.FeaturesOf(r.c.Test)
	if err := r.record(link(ctx, t, photos[:r.linked()], nil)); err != nil {
		return err
	}
	if r.changed != nil {
		if err := r.record(link(ctx, t, photos[:r.linked()], r.changed)); err != nil {
			return err
		}
	}
	if err := r.repeated(ctx, t); err != nil {
		return err
	}
	v, pending, err := t.view(ctx, photos, false)
	if err != nil {
		return err
	}
	if err := r.requests(ctx, t, v); err != nil {
		return err
	}
	if err := r.matching(ctx, t, v); err != nil {
		return err
	}
	r.keywords(t, v)
	if len(v.Cuts) > 0 {
		truth, err := r.b.splits()
		if err != nil {
			return err
		}
		r.add(judgeGaps("spacing-ranks", v.Scheme, 0, v.Cuts, positionsByShape(v), truth),
			judgeGaps("spacing-ranks-requests", v.Scheme, len(v.Observations), v.Cuts, positionsByRequests(v), truth))
	}
	if pending[0] != nil && v.Vectors != nil { // without vectors, the cloud sees no scores
		truth, err := scales(v, pending, r.unit())
		if err != nil {
			return err
		}
		// It is public that the offset r is between 10.5·F and 11·F.
		r.add(judgeScales(v, scalesByScores(v, r.unit(), 10.75*r.unit(), r.typical()), truth))
	}
	return nil
}

func (r *run) unit() float64 { return float64(len(r.train[0].z)) * vector.Beta / 2 }

func (r *run) typical() float64 {
	return measure.Mean(slices.Concat(r.compared...))
}

// requests runs the attacks that recover requests. If few records are known, a
// row averages several random choices of them.
func (r *run) requests(ctx context.Context, t *Target, v *View) error {
	records := pick(r.train, t.TrainIndex)
	r.add(guessing("request-by-vectors", v, knownVectors, func(known []int) [][]float64 {
		return compare(pick(records, known), r.test, (*projected).from)
	})...)
	r.add(guessing("request-by-photos", v, knownPhotos, func(known []int) [][]float64 {
		return distances(pick(r.trainPhotos, pick(t.TrainIndex, known)), r.testPhotos)
	})...)
	shares := solvingShares
	if t != r.targets[0] {
		shares = shares[1:2]
	}
	return r.record(solving(ctx, v, shares, records, r.test, solveRequests))
}

// guessing runs guess with several random choices of each number of known
// records. The right guess for request i is candidate i.
func guessing(attack string, v *View, numbers []int, predict func(known []int) [][]float64) (rows []Row) {
	for _, k := range upTo(numbers, v.Records) {
		draws := 1
		if k < manyDraws {
			draws = 5
		}
		right, chance := 0, 0.0
		for seed := range draws {
			known := sample(v.Records, k, 100+uint64(seed))
			predicted := predict(known)
			guesses := guess(v, known, predicted)
			right += count(len(guesses), func(i int) bool { return guesses[i] == i })
			chance = 1 / float64(len(predicted))
		}
		rows = append(rows, proportion(attack, v.Scheme, k, right, draws*len(v.Observations), chance))
	}
	return rows
}

// solving recovers requests with function `solve`. Each element of `shares` is
// a number of known records per unknown of a request.
func solving(ctx context.Context, v *View, shares []float64, records, requests []*projected, solve func(*View, []int, []*projected) ([]solved, error)) (rows []Row, err error) {
	for _, share := range shares {
		k := int(share * float64(len(records[0].row())))
		if k > v.Records {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		known := sample(v.Records, k, 5)
		got, err := solve(v, known, pick(records, known))
		if err != nil {
			return nil, err
		}
		rows = append(rows, judgeSolved(v, k, got, requests))
	}
	return rows, nil
}

func upTo(list []int, most int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(k int) bool { return k > most })
}

// matching matches records to photos by all requests. For the first scheme, it
// also uses fewer requests, and matches half of the records to all photos.
func (r *run) matching(ctx context.Context, t *Target, v *View) error {
	scores := v.scores()
	seen := []int{len(scores)}
	if t == r.targets[0] {
		seen = append(upTo(seenMatching, len(scores)-1), len(scores))
	}
	for _, k := range seen {
		row, err := matched(ctx, "match", v.Scheme, scores, r.compared, k, t.TrainIndex)
		if err != nil {
			return err
		}
		r.add(row)
	}
	if t != r.targets[0] {
		return nil
	}
	half := sample(v.Records, v.Records/2, 8)
	row, err := matched(ctx, "match-half", v.Scheme, columns(scores, half), r.compared, len(scores), pick(t.TrainIndex, half))
	if err == nil {
		r.add(row)
	}
	return err
}

// matched matches records to photos by k requests at a time. Record i is photo
// `truth[i]`. If k is small, the result depends on the choice of requests, so
// matched averages several.
func matched(ctx context.Context, attack, scheme string, scores, distances [][]float64, k int, truth []int) (Row, error) {
	draws := 1
	if k < manyDraws {
		draws = min(3, len(scores)/k)
	}
	right := 0
	for d := range draws {
		if err := ctx.Err(); err != nil {
			return Row{}, err
		}
		near, err := match(scores[d*k:(d+1)*k], distances)
		if err != nil {
			return Row{}, err
		}
		right += count(len(near), func(i int) bool { return near[i] == truth[i] })
	}
	return proportion(attack, scheme, k, right, draws*len(truth), 1/float64(len(distances[0]))), nil
}

func (r *run) keywords(t *Target, v *View) {
	words := measure.Keywords(pick(r.c.Train, t.TrainIndex))
	half := sample(v.Records, v.Records/2, 6)
	r.add(judgeKeywords("keyword-by-returns", v, len(v.Observations), keywordByFrequency(v, words, half), words, half))
	for _, k := range upTo(keywordsKnown, v.Records-1) {
		known := sample(v.Records, k, 7)
		r.add(judgeKeywords("keyword-by-likeness", v, len(known), keywordBySimilarity(v, words, known), words, known))
	}
}

func (r *run) planes(ctx context.Context) error {
	t := r.targets[0]
	v, pending, err := t.view(ctx, measure.FeaturesOf(r.c.Test[:min(planeRequests, len(r.c.Test))]), true)
	if err != nil || v.Observations[0].Planes == nil {
		return err // an index without a forest has no planes
	}
	truth, err := r.b.splits()
	if err != nil {
		return err
	}
	places := positionsByPlanes(v.Observations[0])
	r.add(judgeGaps("spacing-planes", v.Scheme, 1, v.Cuts, places, truth),
		judgeExact("spacing-planes-exact", v.Scheme, 1, v.Cuts, places, truth))
	secret, err := scales(v, pending, r.unit())
	if err != nil {
		return err
	}
	offset := offsetByPlanes(v)
	right := count(len(secret), func(i int) bool {
		return secret[i] == secrets{int64(v.Observations[i].Offset) / max(offset, 1), offset}
	})
	r.add(proportion("scale-planes", v.Scheme, len(v.Observations), right, len(v.Observations), 1.0/1024))
	return nil
}

func (r *run) order(ctx context.Context) error {
	some := r.c.Train[:min(maxOPE, len(r.c.Train))]
	b, err := build(ctx, some, user.Options{Scheme: cpar.SchemeCPAR, PCA: r.o.PCA, Order: user.OrderOPE})
	if err != nil {
		return err
	}
	defer b.Close()
	t, err := b.target(cpar.SchemeCPAR)
	if err != nil {
		return err
	}
	truth, err := b.splits()
	if err != nil {
		return err
	}
	v := &View{Scheme: t.Cloud.Scheme(), StoredIndex: t.Cloud.Stored()}
	// Use the order ciphertexts of the splits as positions. Against ranks this
	// fails, because ranks are evenly spaced.
	places := measure.Map(v.Cuts, func(c cpar.Plane) float64 { return float64(c.Order) })
	r.add(judgeGaps("spacing-ope", v.Scheme, 0, v.Cuts, places, truth))
	return nil
}

func (r *run) key(context.Context) error {
	for _, noiseless := range []bool{true, false} {
		row, err := eliminateToy(noiseless)
		if err != nil {
			return err
		}
		r.add(row)
	}
	t := r.targets[0]
	v := &View{Scheme: t.Cloud.Scheme(), StoredIndex: t.Cloud.Stored()}
	if row, used := noiselessRow(v); used < v.Records {
		r.add(judgeNoiselessRow(v, row, used))
	}
	m := len(v.Vectors[0])
	r.add(latticeRows(v.Scheme, m, m-vector.DimensionKL-3, v.Records, typicalElement)...)
	return nil
}

func (b *built) splits() ([]float64, error) {
	twin, err := b.builder.Twin()
	if err != nil {
		return nil, err
	}
	compared, _ := twin.ASPE()
	some := b.builder.Vectors()[0]
	out := make([]float64, b.Files.Manifest().Planes)
	for i := range out {
		out[i] = -float64(compared.PlaneDistance(some, uint32(i)))
	}
	return out, nil
}

type secrets struct{ scale, offset int64 }

// scales computes the true r_s and r (secret scale and offset) from two records
// of a reply and their decrypted distances.
func scales(v *View, pending []*user.Pending, unit float64) ([]secrets, error) {
	out := make([]secrets, len(pending))
	for i, p := range pending {
		reply, err := cpar.DecodeReply(v.Observations[i].Reply)
		if err != nil {
			return nil, err
		}
		near, err := p.Neighbours(reply)
		if err != nil {
			return nil, err
		}
		first, last := 0, len(near)-1
		for first < last && near[first].Dis == 0 { // a distance of 0 may have been negative before it was clamped
			first++
		}
		if rise := unit * (near[last].Dis - near[first].Dis); rise > 0 {
			s := math.Round(float64(reply.Matches[last].Score-reply.Matches[first].Score) / rise)
			out[i] = secrets{int64(s), int64(math.Round(unit*near[last].Dis - float64(reply.Matches[last].Score)/s))}
		}
	}
	return out, nil
}

// scaleTolerance is the relative error up to which a guess of r_s counts as
// right.
const scaleTolerance = 0.02

// judgeScales judges estimates of r_s. The baseline is the best fixed guess:
// the largest r_s whose tolerance interval ends below 2¹¹.
func judgeScales(v *View, got []float64, truth []secrets) Row {
	right := count(len(truth), func(i int) bool {
		scale := float64(truth[i].scale)
		return math.Abs(got[i]-scale) <= scaleTolerance*scale
	})
	return proportion("scale-scores", v.Scheme, 0, right, len(got), scaleTolerance*2*2048/(1+scaleTolerance)/1024)
}
