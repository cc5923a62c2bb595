package eval

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"cpar"
	"cpar/cloud/search"
	"cpar/eval/distance"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// A profileRun is one fitted profile with the neighbours found for every test image.
type profileRun struct {
	// owner has the fitted profile and ranker, which further indexes reuse.
	owner *user.Builder
	fit   float64 // seconds
	truth [][]string
	// requests are the vectors of the test images, with what their own features say.
	requests []*vector.Vector
	// near holds the nearest of every test image, by scheme. Their Record is the number
	// of the image: record numbers differ between indexes.
	near map[string][][]rank.Neighbour
	// found holds those at AP-10, by search.
	found map[cpar.Search][][]rank.Neighbour
	dims  map[string]int
}

// A profileRanker is a ranker with the number of neighbours that it wants.
type profileRanker struct {
	kind       rank.Kind
	neighbours int
}

func (r *profileRun) rankers() []profileRanker {
	return []profileRanker{{rank.KindPaper, paperNeighbours}, {rank.KindCalibrated, r.owner.Ranker().Neighbours()}}
}

// most is the number of neighbours requested: the most that any ranker wants. Both
// rankers then use the same reply, one of them only its beginning.
func (r *profileRun) maxNeighbours() int { return max(paperNeighbours, r.owner.Ranker().Neighbours()) }

func (r *profileRun) name() string { return r.owner.Profile().Kind().String() }

// runProfile fits a profile on the untouched training images and requests the neighbours
// of every test image by every scheme. It closes the indexes.
func runProfile(ctx context.Context, c *Corpus, kind profile.Kind, progress user.Progress) (*profileRun, error) {
	s, err := NewSession(ctx, c, user.Options{WithLists: true, Profile: kind, Ranker: rank.KindCalibrated, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &profileRun{owner: s.Builder, fit: RoundTo((s.whole - s.encryption).Seconds(), 1), truth: Keywords(c.Test), requests: s.Requests,
		near: map[string][][]rank.Neighbour{}, found: map[cpar.Search][][]rank.Neighbour{}, dims: map[string]int{}}
	if r.near["plain"], err = s.plainNearest(ctx, r.maxNeighbours()); err != nil {
		return nil, err
	}
	r.dims["plain"] = s.Builder.Profile().Dimensions() + len(s.Requests[0].KL)
	l := r.maxNeighbours()
	for _, part := range []struct {
		scheme string
		p      cpar.Params
	}{
		{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, L: uint16(l), Approx: 1000}},
		{"ivf@100", searchParams(cpar.SearchIVF, 1000, l)},
	} {
		if r.near[part.scheme], err = s.nearestAll(ctx, part.p, countStage(progress, r.name()+", "+part.scheme, len(c.Test))); err != nil {
			return nil, fmt.Errorf("scheme %s: %w", part.scheme, err)
		}
	}
	for _, how := range []cpar.Search{cpar.SearchDepthFirst, cpar.SearchByRank, cpar.SearchIVF} {
		p := searchParams(how, 100, l)
		name := configurationName(p)
		if r.found[how], err = s.nearestAll(ctx, p, countStage(progress, r.name()+", "+name, len(c.Test))); err != nil {
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
func (r *profileRun) sealed(ctx context.Context, c *Corpus, requests []*vector.Vector, progress user.Progress) error {
	x, b, err := openSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: r.owner.Fitted(), Progress: progress})
	if err != nil {
		return err
	}
	defer x.close()
	r.dims["sealed"] = int(x.manifest.Dim)
	all := make([][]rank.Neighbour, len(requests))
	told := countStage(progress, r.name()+", sealed", len(requests))
	err = (&Session{Requests: requests}).eachRequest(ctx, func(i int, v *vector.Vector) (err error) {
		all[i], err = x.nearest(ctx, v, r.maxNeighbours())
		toImageNumbers(all[i], b)
		told()
		return err
	})
	r.near["sealed"] = all
	return err
}

// tell counts the progress of a stage.
func countStage(progress user.Progress, stage string, total int) func() {
	var done atomic.Int64
	return func() {
		if k := done.Add(1); progress != nil {
			progress(stage, int(k), total)
		}
	}
}

// plainDistances returns the exact distance of every request and record on floats,
// without quantisation or projection: D_L1 + D_KL, or squared L2 in profiles that use it.
func (s *Session) plainDistances(ctx context.Context) ([][]float64, error) {
	if len(s.Requests) == 0 || s.Requests[0].X == nil {
		return s.exactDistances()
	}
	out := make([][]float64, len(s.Requests))
	records := make([][]float64, len(s.Builder.Vectors()))
	for j, rec := range s.Builder.Vectors() {
		records[j] = toFloat64s(rec.X)
	}
	return out, s.eachRequest(ctx, func(i int, v *vector.Vector) error {
		x, row := toFloat64s(v.X), make([]float64, len(records))
		for j, rec := range records {
			row[j] = distance.SquaredL2(rec, x)
		}
		out[i] = row
		return nil
	})
}

// plainNearest returns the k nearest of every request by exact distances.
func (s *Session) plainNearest(ctx context.Context, k int) ([][]rank.Neighbour, error) {
	distances, err := s.plainDistances(ctx)
	if err != nil {
		return nil, err
	}
	train := s.keywords()
	out := make([][]rank.Neighbour, len(distances))
	for i, row := range distances {
		out[i] = nearestRecords(row, train, k)
		toImageNumbers(out[i], s.Builder)
	}
	return out, nil
}

// nearestOf returns the k records of least distance, ties by record.
func nearestRecords(dis []float64, keywords [][]string, k int) []rank.Neighbour {
	out := make([]rank.Neighbour, min(k, len(dis)))
	for i, j := range ascending(dis)[:len(out)] {
		out[i] = rank.Neighbour{Record: uint32(j), Dis: dis[j], Keywords: keywords[j]}
	}
	return out
}

// byImage replaces the record numbers of neighbours by those of their images.
func toImageNumbers(near []rank.Neighbour, b *user.Builder) {
	for i := range near {
		near[i].Record = uint32(b.PhotoOf(near[i].Record))
	}
}

// nearestAll searches for every test image, encrypted.
func (s *Session) nearestAll(ctx context.Context, p cpar.Params, told func()) ([][]rank.Neighbour, error) {
	out := make([][]rank.Neighbour, len(s.Requests))
	return out, s.eachRequest(ctx, func(i int, v *vector.Vector) error {
		pending, q, err := s.Builder.RequestVector(v, p)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		reply, err := search.Annotate(s.Cloud, q)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		out[i], err = pending.Neighbours(reply)
		toImageNumbers(out[i], s.Builder)
		told()
		return err
	})
}

// annotate ranks the first k neighbours of every test image.
func (r *profileRun) annotate(scheme string, ranker rank.Kind, k int, how user.Ranking) ([][]rank.Keyword, error) {
	how.Ranker = ranker
	out := make([][]rank.Keyword, len(r.truth))
	for i, near := range r.near[scheme] {
		var err error
		if r.requests != nil { // else as if there were no guesses
			how.Guess = r.requests[i].Guess
		}
		if out[i], err = r.owner.Rank(near[:min(k, len(near))], how); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func keywordsOf(scored [][]rank.Keyword) [][]string {
	out := make([][]string, len(scored))
	for i, list := range scored {
		for _, k := range list {
			out[i] = append(out[i], k.Word)
		}
	}
	return out
}

// detail measures the properties of a profile as a whole.
func (r *profileRun) detail() (d ProfileDetail, err error) {
	d = ProfileDetail{Profile: r.name(), Fit: r.fit, Recall: map[string]float64{}, OfPlain: map[string]float64{}}
	for how, near := range r.found {
		d.Recall[how.String()] = RoundTo(recall(topRecords(near), topRecords(r.near["capia"])), 4)
	}
	for _, scheme := range profileSchemes {
		d.OfPlain[scheme] = RoundTo(recall(topRecords(r.near[scheme]), topRecords(r.near["plain"])), 4)
	}
	all, err := r.annotate("capia", rank.KindCalibrated, r.owner.Ranker().Neighbours(), user.Ranking{MaxKeywords: allKeywords})
	if err != nil {
		return d, err
	}
	if d.Bins, d.ECE, err = reliability(all, r.truth, allKeywords); err != nil {
		return d, err
	}
	if _, d.ECEKept, err = reliability(all, r.truth, standardKeywords); err != nil {
		return d, err
	}
	probable, err := r.annotate("capia", rank.KindCalibrated, r.owner.Ranker().Neighbours(), user.Ranking{MaxKeywords: allKeywords, MinProbability: minProbability})
	if err != nil {
		return d, err
	}
	d.Probable = probableQuality(probable, r.truth)
	d.Validation = r.owner.Validation
	d.Found, err = r.perPhoto()
	return d, err
}

// perPhoto counts the keywords that a person would find right.
func (r *profileRun) perPhoto() (f FoundKeywords, err error) {
	n := float64(len(r.truth))
	for _, words := range r.truth {
		f.Human += float64(len(words))
	}
	f.Human = RoundTo(f.Human/n, 3)
	for _, by := range []struct {
		to     *float64
		ranker rank.Kind
		k      int
		rare   bool
	}{
		{&f.Paper, rank.KindPaper, paperNeighbours, false},
		{&f.Probable, rank.KindCalibrated, r.owner.Ranker().Neighbours(), false},
		{&f.Rare, rank.KindCalibrated, r.owner.Ranker().Neighbours(), true},
	} {
		said, err := r.annotate("capia", by.ranker, by.k, user.Ranking{MaxKeywords: standardKeywords, Rare: by.rare})
		if err != nil {
			return f, err
		}
		*by.to = RoundTo(meanKeywordsFound(keywordsOf(said), r.truth), 3)
	}
	return f, nil
}

// topRecords returns the first ten of each list.
func topRecords(near [][]rank.Neighbour) [][]uint32 {
	out := make([][]uint32, len(near))
	for i, list := range near {
		for _, n := range list[:min(10, len(list))] {
			out[i] = append(out[i], n.Record)
		}
	}
	return out
}

// reliability compares the probabilities of the first keywords of each photo with the truth.
func reliability(said [][]rank.Keyword, truth [][]string, first int) (bins []rank.Bin, ece float64, err error) {
	var p []float64
	var right []bool
	for i, list := range said {
		for _, k := range list[:min(first, len(list))] {
			p = append(p, k.Probability)
			right = append(right, slices.Contains(truth[i], k.Word))
		}
	}
	bins, ece, err = rank.Reliability(p, right, reliabilityBins)
	for i := range bins {
		bins[i].Predicted, bins[i].Observed = RoundTo(bins[i].Predicted, 4), RoundTo(bins[i].Observed, 4)
	}
	return bins, RoundTo(ece, 4), err
}

// probableQuality measures any number of keywords per photo.
func probableQuality(said [][]rank.Keyword, truth [][]string) ProbableQuality {
	words := keywordsOf(said)
	q := MeasureQuality(words, truth)
	all, right, none := 0, 0, 0
	for i, list := range words {
		all += len(list)
		if len(list) == 0 {
			none++
		}
		for _, w := range list {
			if slices.Contains(truth[i], w) {
				right++
			}
		}
	}
	n := float64(max(1, len(words)))
	return ProbableQuality{MinProbability: minProbability, P: q.P, R: q.R, Nplus: q.Nplus,
		Keywords: RoundTo(float64(all)/n, 3), Precision: RoundTo(float64(right)/float64(max(1, all)), 4), WithoutKeywords: RoundTo(float64(none)/n, 4)}
}
