package quality

import (
	"context"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// A profileRun is a fitted profile with the neighbours of every test image.
type profileRun struct {
	// owner holds the fitted profile and ranker, which further indexes reuse.
	owner *user.Builder
	// truth holds the human keywords of every test image.
	truth [][]string
	// requests holds the vectors of the test images, with the keywords guessed
	// from each image's own features.
	requests []*vector.Vector
	// near holds the neighbours of every test image, by scheme. Field Record of
	// a neighbour is an image number, because record numbers differ between
	// indexes.
	near map[string][][]rank.Neighbour
	// dims holds the number of elements per record, by scheme.
	dims map[string]int
}

type profileRanker struct {
	kind       rank.Kind
	neighbours int
}

// maxNeighbours returns the number of neighbours that a request asks for. A
// ranker that uses fewer neighbours takes the nearest.
func (r *profileRun) maxNeighbours() int { return max(paperNeighbours, r.owner.Ranker().Neighbours()) }

func (r *profileRun) name() string { return r.owner.Profile().Kind().String() }

func runProfile(ctx context.Context, c *measure.Corpus, kind profile.Kind, progress user.Progress) (*profileRun, error) {
	fit, err := fitProfile(ctx, c, kind, progress)
	if err != nil {
		return nil, err
	}
	return drawProfile(ctx, c, fit, append([]string{"plain"}, profileSchemes...), progress)
}

func (r *profileRun) sealed(ctx context.Context, c *measure.Corpus, requests []*vector.Vector, progress user.Progress) error {
	x, b, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: r.owner.Fitted(), Progress: progress})
	if err != nil {
		return err
	}
	defer x.Close()
	r.dims["sealed"] = int(x.Manifest.Dim)
	all := make([][]rank.Neighbour, len(requests))
	told := measure.CountStage(progress, r.name()+", sealed", len(requests))
	err = measure.Each(ctx, len(requests), func(i int) (err error) {
		all[i], err = x.Nearest(ctx, requests[i], r.maxNeighbours())
		measure.ToImageNumbers(all[i], b)
		told()
		return err
	})
	r.near["sealed"] = all
	return err
}

func (r *profileRun) annotate(scheme string, ranker rank.Kind, k int, how user.Ranking) ([][]rank.Keyword, error) {
	how.Ranker = ranker
	out := make([][]rank.Keyword, len(r.truth))
	for i, near := range r.near[scheme] {
		var err error
		if r.requests != nil { // it is nil if no keywords were guessed
			how.Guess = r.requests[i].Guess
		}
		if out[i], err = r.owner.Rank(near[:min(k, len(near))], how); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *profileRun) detail() (d ProfileDetail, err error) {
	d = ProfileDetail{Profile: r.name(), Recall: map[string]float64{}, OfPlain: map[string]float64{}}
	for _, how := range []cpar.Search{cpar.SearchDepthFirst, cpar.SearchByRank, cpar.SearchIVF} {
		near := r.near[measure.ConfigurationName(measure.SearchParams(how, 100, 1))]
		d.Recall[how.String()] = measure.RoundTo(measure.RecallAt10(measure.TopRecords(near), measure.TopRecords(r.near["capia"])), 4)
	}
	for _, scheme := range profileSchemes {
		d.OfPlain[scheme] = measure.RoundTo(measure.RecallAt10(measure.TopRecords(r.near[scheme]), measure.TopRecords(r.near["plain"])), 4)
	}
	all, err := r.annotate("capia", rank.KindCalibrated, r.owner.Ranker().Neighbours(), user.Ranking{MaxKeywords: measure.AllKeywords})
	if err != nil {
		return d, err
	}
	if d.ECE, err = reliability(all, r.truth, measure.AllKeywords); err != nil {
		return d, err
	}
	for _, words := range r.truth {
		d.Found.Human += float64(len(words))
	}
	d.Found.Human = measure.RoundTo(d.Found.Human/float64(len(r.truth)), 3)
	d.ECEKept, err = reliability(all, r.truth, measure.StandardKeywords)
	return d, err
}

// reliability returns the expected calibration error (ECE, the mean gap between
// stated probability and share of right keywords) of the `first` keywords of
// each photo.
func reliability(said [][]rank.Keyword, truth [][]string, first int) (float64, error) {
	var p []float64
	var right []bool
	for i, list := range said {
		for _, k := range list[:min(first, len(list))] {
			p = append(p, k.Probability)
			right = append(right, slices.Contains(truth[i], k.Word))
		}
	}
	_, ece, err := rank.Reliability(p, right, reliabilityBins)
	return measure.RoundTo(ece, 4), err
}
