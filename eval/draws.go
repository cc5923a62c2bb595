package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"

	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// Draws is what annotation finds, as mean and range over draws. An index is one draw of
// several things that nobody chooses: the secret by which profile paper is projected, and
// the order of the collection, from which folds of cross-validation and calibration
// follow. What differs by less than the range is not different.
//
//	collection ─▶ draw: another order, another key ─▶ user.Setup, as cpar build does
//	  ─▶ plain · capia · cpar · ivf · sealed ─▶ P, R, N+, words found; the paper's recall
type Draws struct {
	Draws []Draw `json:"draws"`
}

// A Draw has an index of each profile.
type Draw struct {
	Number   int       `json:"draw"`
	Records  int       `json:"n"`
	Requests int       `json:"requests"`
	Rows     []DrawRow `json:"rows"`
	// Recalls are of profile paper.
	Recalls []DrawRecall     `json:"paper_recall"`
	Skipped []SkippedProfile `json:"skipped"`
}

// A DrawRow is one profile, ranker and scheme by the standard protocol: five keywords a
// photo. The calibrated ranker favours rare words, as P and R do.
type DrawRow struct {
	Profile    string  `json:"profile"`
	Ranker     string  `json:"ranker"`
	Scheme     string  `json:"scheme"` // plain, or as configurationName
	Neighbours int     `json:"neighbours"`
	P          float64 `json:"P"`
	R          float64 `json:"R"`
	Nplus      int     `json:"Nplus"`
	// Found is how many of the words that a person gave a photo are among its five, in
	// the order in which annotate shows them: by weight or by probability.
	Found float64 `json:"found"`
}

// DefaultDraws is how many draws there are, DefaultDraw the one of which anything else is
// measured: the first, whatever it gives. Draw 0 is the order of the collection itself.
const DefaultDraws, DefaultDraw = 9, 1

// drawSchemes are the searches of the standard protocol, recallSearches those of the
// paper's.
var (
	drawSchemes    = []string{"plain", "capia", "cpar@10", "cpar-rank@10", "ivf@10", "sealed"}
	recallSearches = []string{"capia", "cpar@10", "cpar@2.5", "cpar-rank@10", "cpar-rank@2.5", "ivf@10", "ivf@2.5"}
)

// drawSteps has a step for each draw, so that more can be added.
func DrawSteps(ctx context.Context, r *Run, m Measurement) (Result, error) {
	out := new(Draws)
	var basis *profile.Fitted
	network, err := r.inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	for d := 1; r.onlyKept || d <= r.Draws; d++ {
		draw, err := RunStep(ctx, r, fmt.Sprintf("%s-%d", m.Name, d), []any{network, d}, func(ctx context.Context) (*Draw, error) {
			c, err := r.Lab.read(ctx)
			if err != nil {
				return nil, err
			}
			if basis == nil {
				if basis, err = fitProfile(ctx, c, profile.Paper, r.Lab.Progress); err != nil {
					return nil, err
				}
			}
			return MeasureDraw(ctx, c, d, basis, r.Lab.Progress)
		})
		switch {
		case err == nil:
			out.Draws = append(out.Draws, *draw)
		case d == 1:
			return nil, err
		case r.onlyKept && errors.Is(err, fs.ErrNotExist):
			return out, nil // the last of them
		default:
			return out, err
		}
	}
	return out, nil
}

// drawn is the corpus with its training images in the order of a draw.
func (c *Corpus) inOrderOf(draw int) *Corpus {
	if draw == 0 {
		return c
	}
	out := *c
	out.Train, out.TrainItems = slices.Clone(c.Train), slices.Clone(c.TrainItems)
	rng := rand.New(rand.NewPCG(uint64(draw), 0x64726177)) // "draw"
	rng.Shuffle(len(out.Train), func(i, j int) {
		out.Train[i], out.Train[j] = out.Train[j], out.Train[i]
		if len(out.TrainItems) > 0 {
			out.TrainItems[i], out.TrainItems[j] = out.TrainItems[j], out.TrainItems[i]
		}
	})
	return &out
}

// MeasureDraw builds and asks an index of each profile. A draw fixes the order of the
// collection; keys and the order of records are fresh every time, as a user's are. paper
// is that profile, fitted: its principal components know neither key nor order.
func MeasureDraw(ctx context.Context, c *Corpus, number int, paper *profile.Fitted, progress user.Progress) (*Draw, error) {
	c = c.inOrderOf(number)
	out := &Draw{Number: number, Records: len(c.Train), Requests: len(c.Test), Skipped: []SkippedProfile{}}
	for _, kind := range profile.Kinds() {
		if kind == profile.Network && c.Train[0].Vectors.Embedding == nil {
			out.Skipped = append(out.Skipped, SkippedProfile{kind.String(), "no image network was named (--model FILE)"})
			continue
		}
		if err := out.add(ctx, c, kind, paper, progress); err != nil {
			return nil, fmt.Errorf("profile %v: %w", kind, err)
		}
	}
	return out, nil
}

// add measures one profile.
func (d *Draw) add(ctx context.Context, c *Corpus, kind profile.Kind, fit *profile.Fitted, progress user.Progress) (err error) {
	searches := drawSchemes
	if kind == profile.Paper {
		searches = slices.Concat(drawSchemes, recallSearches)
	} else if fit, err = fitProfile(ctx, c, kind, progress); err != nil {
		return err
	}
	r, err := drawProfile(ctx, c, fit, searches, progress)
	if err != nil {
		return err
	}
	rows, err := r.drawRows(drawSchemes)
	if err != nil {
		return err
	}
	d.Rows = append(d.Rows, rows...)
	if kind == profile.Paper {
		d.Recalls, err = r.drawRecalls(Keywords(c.Train), d.Number)
	}
	return err
}

// fitProfile fits a profile as user.Setup does, but for the cross-validation, which takes a
// sixth of the time and changes nothing that is found.
func fitProfile(ctx context.Context, c *Corpus, kind profile.Kind, progress user.Progress) (*profile.Fitted, error) {
	features := make([]*feature.Vectors, len(c.Train))
	for i, im := range c.Train {
		features[i] = im.Vectors
	}
	fit, err := profile.Fit(ctx, kind, features, Keywords(c.Train), profile.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	fit.Samples = nil
	return fit, nil
}

// drawProfile sets an index up as cpar build does, and finds the neighbours of every test
// image by every search.
func drawProfile(ctx context.Context, c *Corpus, fit *profile.Fitted, searches []string, progress user.Progress) (*profileRun, error) {
	s, err := OpenSession(ctx, c, user.Options{WithLists: true, Fitted: fit, Ranker: rank.KindCalibrated, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &profileRun{owner: s.Builder, truth: Keywords(c.Test), requests: s.Requests,
		near: map[string][][]rank.Neighbour{}, dims: map[string]int{}}
	if slices.Contains(searches, "plain") {
		if r.near["plain"], err = s.plainNearest(ctx, r.maxNeighbours()); err != nil {
			return nil, err
		}
	}
	for _, conf := range searchConfigurations() {
		if !slices.Contains(searches, conf.name) {
			continue
		}
		conf.p.L = uint16(r.maxNeighbours())
		if r.near[conf.name], err = s.nearestAll(ctx, conf.p, countStage(progress, r.name()+", "+conf.name, len(c.Test))); err != nil {
			return nil, fmt.Errorf("%s: %w", conf.name, err)
		}
	}
	return r, r.sealed(ctx, c, s.Requests, progress)
}

func (r *profileRun) drawRows(schemes []string) ([]DrawRow, error) {
	var out []DrawRow
	for _, ranker := range r.rankers() {
		for _, scheme := range schemes {
			calibrated := ranker.kind == rank.KindCalibrated
			rare, err := r.annotate(scheme, ranker.kind, ranker.neighbours, user.Ranking{MaxKeywords: standardKeywords, Rare: calibrated})
			if err != nil {
				return nil, fmt.Errorf("scheme %s: %w", scheme, err)
			}
			shown, err := r.annotate(scheme, ranker.kind, ranker.neighbours, user.Ranking{MaxKeywords: standardKeywords})
			if err != nil {
				return nil, fmt.Errorf("scheme %s: %w", scheme, err)
			}
			q := MeasureQuality(keywordsOf(rare), r.truth)
			out = append(out, DrawRow{Profile: r.name(), Ranker: ranker.kind.String(), Scheme: scheme, Neighbours: ranker.neighbours,
				P: q.P, R: q.R, Nplus: q.Nplus, Found: RoundTo(meanKeywordsFound(keywordsOf(shown), r.truth), 3)})
		}
	}
	return out, nil
}

// foundWords is how many words of a photo were found, on average.
func meanKeywordsFound(said, truth [][]string) float64 {
	right := 0
	for i, list := range said {
		for _, w := range list {
			if slices.Contains(truth[i], w) {
				right++
			}
		}
	}
	return float64(right) / float64(max(1, len(said)))
}
