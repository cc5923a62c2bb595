package quality

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// A profileRun is one fitted profile with the neighbours of every test image.
type profileRun struct {
	// owner has the fitted profile and ranker, which further indexes reuse.
	owner *user.Builder
	truth [][]string
	// requests are the vectors of the test images, with the guesses of their
	// own features.
	requests []*vector.Vector
	// near holds the neighbours of every test image, by scheme. Record is the
	// image number, because record numbers differ between indexes.
	near map[string][][]rank.Neighbour
	// found holds the neighbours at AP-10, by search.
	found map[cpar.Search][][]rank.Neighbour
	dims  map[string]int
}

// A profileRanker is a ranker with its number of neighbours.
type profileRanker struct {
	kind       rank.Kind
	neighbours int
}

func (r *profileRun) rankers() []profileRanker {
	return []profileRanker{{rank.KindPaper, paperNeighbours}, {rank.KindCalibrated, r.owner.Ranker().Neighbours()}}
}

// maxNeighbours is the number of neighbours requested. Rankers that use fewer
// take the first ones of the same reply.
func (r *profileRun) maxNeighbours() int { return max(paperNeighbours, r.owner.Ranker().Neighbours()) }

func (r *profileRun) name() string { return r.owner.Profile().Kind().String() }

// runProfile fits a profile on the training images and requests the neighbours
// of every test image in every scheme. It closes the indexes.
func runProfile(ctx context.Context, c *measure.Corpus, kind profile.Kind, progress user.Progress) (*profileRun, error) {
	s, err := measure.NewSession(ctx, c, user.Options{WithLists: true, Profile: kind, Ranker: rank.KindCalibrated, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &profileRun{owner: s.Builder, truth: measure.Keywords(c.Test), requests: s.Requests,
		near: map[string][][]rank.Neighbour{}, found: map[cpar.Search][][]rank.Neighbour{}, dims: map[string]int{}}
	if r.near["plain"], err = s.PlainNearest(ctx, r.maxNeighbours()); err != nil {
		return nil, err
	}
	r.dims["plain"] = s.Builder.Profile().Dimensions() + len(s.Requests[0].KL)
	l := r.maxNeighbours()
	for _, part := range []struct {
		scheme string
		p      cpar.Params
	}{
		{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, L: uint16(l), Approx: 1000}},
		{"ivf@100", measure.SearchParams(cpar.SearchIVF, 1000, l)},
	} {
		if r.near[part.scheme], err = s.NearestAll(ctx, part.p, measure.CountStage(progress, r.name()+", "+part.scheme, len(c.Test))); err != nil {
			return nil, fmt.Errorf("scheme %s: %w", part.scheme, err)
		}
	}
	for _, how := range []cpar.Search{cpar.SearchDepthFirst, cpar.SearchByRank, cpar.SearchIVF} {
		p := measure.SearchParams(how, 100, l)
		name := measure.ConfigurationName(p)
		if r.found[how], err = s.NearestAll(ctx, p, measure.CountStage(progress, r.name()+", "+name, len(c.Test))); err != nil {
			return nil, fmt.Errorf("search %v: %w", how, err)
		}
		r.near[name] = r.found[how]
	}
	for _, scheme := range profileSchemes {
		r.dims[scheme] = int(s.Cloud.Manifest.Dim)
	}
	return r, r.sealed(ctx, c, s.Requests, progress)
}

// sealed searches an index of scheme sealed, with the fitted profile.
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

// annotate ranks the first k neighbours of every test image.
func (r *profileRun) annotate(scheme string, ranker rank.Kind, k int, how user.Ranking) ([][]rank.Keyword, error) {
	how.Ranker = ranker
	out := make([][]rank.Keyword, len(r.truth))
	for i, near := range r.near[scheme] {
		var err error
		if r.requests != nil { // nil means no guesses
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
	for how, near := range r.found {
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
	if d.ECEKept, err = reliability(all, r.truth, measure.StandardKeywords); err != nil {
		return d, err
	}
	d.Found, err = r.perPhoto()
	return d, err
}

// perPhoto counts the keywords that also have a human source.
func (r *profileRun) perPhoto() (f FoundKeywords, err error) {
	n := float64(len(r.truth))
	for _, words := range r.truth {
		f.Human += float64(len(words))
	}
	f.Human = measure.RoundTo(f.Human/n, 3)
	for _, by := range []struct {
		to     *float64
		ranker rank.Kind
		k      int
	}{
		{&f.Paper, rank.KindPaper, paperNeighbours},
		{&f.Probable, rank.KindCalibrated, r.owner.Ranker().Neighbours()},
	} {
		said, err := r.annotate("capia", by.ranker, by.k, user.Ranking{MaxKeywords: measure.StandardKeywords})
		if err != nil {
			return f, err
		}
		*by.to = measure.RoundTo(measure.MeanKeywordsFound(measure.KeywordsOf(said), r.truth), 3)
	}
	return f, nil
}

// reliability returns the expected calibration error of the first keywords of
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
