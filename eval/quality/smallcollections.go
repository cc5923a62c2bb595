package quality

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"cpar/encoder/bundled"
	"cpar/encoder/zeroshot"
	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/wordnet"
	"cpar/user"
)

// SmallCollections is the quality of keywords when few photos of a collection
// have keywords, and when all do. Searches are in plaintext. Ranking and
// thresholds are as in cpar annotate. A draw is a random order of the
// collection.
//
//	draw ─▶ its first n photos ─▶ profile.Fit ─▶ test images ─▶ predicted and correct keywords
type SmallCollections struct {
	Requests int        `json:"requests"`
	Rows     []SmallRow `json:"rows"`
}

// A SmallRow is the result for a profile fitted to a number of photos. Slices
// have one value per draw. Errors are expected calibration errors (the mean gap
// between stated probability and share of right keywords) in ten bins. If the
// number of photos is 0, keywords come from the network's own classes.
type SmallRow struct {
	Profile string `json:"profile"`
	Records int    `json:"n"`
	// ECE holds the errors of each photo's five most probable keywords.
	ECE []float64 `json:"ece_five"`
	// Chance is the mean error that perfectly calibrated probabilities would
	// have on the same number of images.
	Chance float64 `json:"ece_five_by_chance"`
	// Pooled is the error of the same keywords over all draws together. Chance
	// contributes less to Pooled than to ECE.
	Pooled float64 `json:"ece_five_pooled"`
	// All is the error over all keywords, as a mean over draws.
	All float64 `json:"ece_all_words"`
	// Found is the mean number of human keywords among the five most probable
	// keywords of a photo.
	Found []float64 `json:"found_of_five"`
	// Quality is measured on the same five keywords.
	Quality []measure.Quality `json:"quality_of_five"`
	// Likely has one element per requested share of right keywords. Each
	// element has one value per draw.
	Likely [][]Likely `json:"likely"`
}

// Likely describes the keywords that cpar annotate writes in one draw.
type Likely struct {
	Asked float64 `json:"asked"` // requested share of right keywords (--right)
	// Threshold is the minimum probability of a written keyword.
	Threshold float64 `json:"threshold"`
	Written   float64 `json:"written"` // keywords per photo
	Right     float64 `json:"right"`   // share of the written keywords that are right, or 0 if none is written
	Found     float64 `json:"found"`   // share of the human keywords that are written
	Without   float64 `json:"without"` // share of photos without a written keyword
}

// askedShares lists the values of cpar annotate --right that are measured. The
// first value is the default.
var askedShares = []float64{2.0 / 3, 0.8}

// ownThreshold is the minimum probability of a written keyword if keywords come
// from the network's own classes.
const ownThreshold = 0.35

func likely(said [][]rank.Keyword, truth [][]string, asked, threshold float64) Likely {
	l := Likely{Asked: asked, Threshold: threshold}
	n, human := float64(len(said)), 0.0
	right, written := 0.0, 0.0
	for i, list := range said {
		before := written
		for _, k := range list {
			if k.Probability >= threshold {
				written++
				if slices.Contains(truth[i], k.Word) {
					right++
				}
			}
		}
		if written == before {
			l.Without += 1 / n
		}
		human += float64(len(truth[i]))
	}
	l.Written, l.Right, l.Found = written/n, right/max(1, written), right/human
	return l
}

// smallSizes lists the measured numbers of photos with keywords. SmallStep also
// measures the whole collection.
var smallSizes = []int{0, 30, 100, 300, 1000}

// smallDraws returns the number of draws for a number of photos. If `draws` is
// nine, it returns 100 for fewer than 100 photos, because such draws differ
// most and take the least time, and 20 for fewer than 1,000 photos.
func smallDraws(photos, draws int) int {
	of := DefaultDraws
	switch {
	case photos == 0: // the draws would not differ
		return 1
	case photos < 100:
		of = 100
	case photos < 1000:
		of = 20
	}
	return (draws*of + DefaultDraws - 1) / DefaultDraws
}

// SmallStep measures what a new user gets. If the run has a network, it
// therefore uses the built-in one, whose classes help with few photos. It takes
// three times the draws of other steps, at most nine, because collections of
// few photos differ most.
func SmallStep(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	p := *r.Plan
	if p.Lab.Model != "" {
		p.Lab = &measure.Lab{Data: p.Lab.Data, Cache: p.Lab.Cache, Model: bundled.Name, ModelOptions: p.Lab.ModelOptions, Progress: p.Lab.Progress}
	}
	network, err := p.Inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	out, draws := new(SmallCollections), DefaultDraws
	if r.Draws > 0 {
		draws = min(3*r.Draws, draws)
	}
	for i, n := range append(slices.Clone(smallSizes), 0) {
		name := fmt.Sprintf("%s-%d", m.Name, n)
		if i == len(smallSizes) {
			name = m.Name + "-all"
		}
		x, err := measure.RunStep(ctx, r, name, []any{network, draws}, func(ctx context.Context) (*SmallCollections, error) {
			c, err := p.Lab.ReadCorpus(ctx)
			if err != nil {
				return nil, err
			}
			if i == len(smallSizes) {
				n = len(c.Train)
			}
			return MeasureSmallCollections(ctx, c, draws, []int{n}, p.Lab.Progress)
		})
		if err != nil {
			return nil, err
		}
		out.Requests, out.Rows = x.Requests, append(out.Rows, x.Rows...)
	}
	return out, nil
}

// MeasureSmallCollections measures profile "network", or profile "learned" if
// there are no embeddings. It skips sizes beyond the collection. It also skips
// size 0 if there are no embeddings, because only a network has classes of its
// own.
func MeasureSmallCollections(ctx context.Context, c *measure.Corpus, draws int, sizes []int, progress user.Progress) (*SmallCollections, error) {
	out := &SmallCollections{Requests: len(c.Test)}
	kind := profile.Network
	if c.Train[0].Vectors.Embedding == nil {
		kind = profile.Learned
	}
	for _, n := range sizes {
		if n > len(c.Train) || n == 0 && kind == profile.Learned {
			continue
		}
		row := SmallRow{Profile: kind.String(), Records: n}
		if err := row.measure(ctx, c, kind, smallDraws(n, draws), progress); err != nil {
			return nil, fmt.Errorf("profile %v, %d photos: %w", kind, n, err)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

type smallDraw struct {
	said       [][]rank.Keyword
	thresholds []float64
}

func (row *SmallRow) measure(ctx context.Context, c *measure.Corpus, kind profile.Kind, draws int, progress user.Progress) error {
	told := measure.CountStage(progress, fmt.Sprintf("%s, %d photos", row.Profile, row.Records), draws)
	all, errs := make([]smallDraw, draws), make([]error, draws)
	parallel.For(draws, func(d int) {
		if row.Records == 0 {
			all[d], errs[d] = ownWords(c.Test)
		} else {
			part := *c.InOrderOf(d + 1)
			part.Train, part.TrainItems = part.Train[:row.Records], nil
			all[d], errs[d] = probableKeywords(ctx, &part, kind)
		}
		told()
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return row.summarise(all, measure.Keywords(c.Test))
}

func (row *SmallRow) summarise(draws []smallDraw, truth [][]string) error {
	var all, chance []float64
	var pooled [][]rank.Keyword
	var pooledTruth [][]string
	row.Likely = make([][]Likely, len(draws[0].thresholds))
	for d, x := range draws {
		off, err := reliability(x.said, truth, measure.AllKeywords)
		if err != nil {
			return err
		}
		all = append(all, off)
		for i, threshold := range x.thresholds {
			row.Likely[i] = append(row.Likely[i], likely(x.said, truth, askedShares[i], threshold))
		}
		five := firstKeywords(x.said, measure.StandardKeywords)
		if off, err = reliability(five, truth, measure.StandardKeywords); err != nil {
			return err
		}
		row.ECE = append(row.ECE, off)
		if off, err = chanceCalibrationError(five, d+1); err != nil {
			return err
		}
		words := measure.KeywordsOf(five)
		chance, row.Found = append(chance, off), append(row.Found, measure.MeanKeywordsFound(words, truth))
		row.Quality = append(row.Quality, measure.MeasureQuality(words, truth))
		pooled, pooledTruth = append(pooled, five...), append(pooledTruth, truth...)
	}
	row.All, row.Chance = measure.RoundTo(measure.Mean(all), 4), measure.RoundTo(measure.Mean(chance), 4)
	var err error
	row.Pooled, err = reliability(pooled, pooledTruth, measure.StandardKeywords)
	return err
}

func firstKeywords(said [][]rank.Keyword, n int) [][]rank.Keyword {
	out := make([][]rank.Keyword, len(said))
	for i, list := range said {
		out[i] = list[:min(n, len(list))]
	}
	return out
}

// probableKeywords ranks all keywords of every test image as cpar annotate
// does, but searches in plaintext.
func probableKeywords(ctx context.Context, c *measure.Corpus, kind profile.Kind) (x smallDraw, err error) {
	fit, err := fitProfile(ctx, c, kind, nil)
	if err != nil {
		return x, err
	}
	r, err := drawProfile(ctx, c, fit, []string{"plain"}, nil)
	if err != nil {
		return x, err
	}
	for _, share := range askedShares {
		x.thresholds = append(x.thresholds, r.owner.Threshold(share))
	}
	x.said, err = r.annotate("plain", rank.KindCalibrated, r.owner.Ranker().Neighbours(), user.Ranking{MaxKeywords: measure.AllKeywords})
	return x, err
}

// ownWords returns everyday words that are hypernyms in WordNet of the
// network's classes. A word's probability is the sum of the probabilities of
// the classes below it.
func ownWords(test []user.Photo) (x smallDraw, err error) {
	x.thresholds = []float64{ownThreshold}
	for i := range test {
		classes, err := bundled.Classes(test[i].Vectors.Embedding.Values)
		if err != nil {
			return x, err
		}
		var list []rank.Keyword
		for _, word := range zeroshot.Everyday() {
			if p := wordnet.Probability(word, classes); p > 0 {
				list = append(list, rank.Keyword{Word: word, Probability: zeroshot.OfferedShare * min(float64(p), 1)})
			}
		}
		slices.SortStableFunc(list, func(a, b rank.Keyword) int { return cmp.Compare(b.Probability, a.Probability) })
		x.said = append(x.said, list)
	}
	return x, nil
}

// chanceCalibrationError returns the mean calibration error of perfectly
// calibrated probabilities, from a hundred simulations of which keywords are
// right.
func chanceCalibrationError(said [][]rank.Keyword, seed int) (float64, error) {
	const times = 100
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6368616e6365)) // "chance"
	var p []float64
	for _, list := range said {
		for _, k := range list {
			p = append(p, k.Probability)
		}
	}
	right, sum := make([]bool, len(p)), 0.0
	for range times {
		for i := range p {
			right[i] = rng.Float64() < p[i]
		}
		_, off, err := rank.Reliability(p, right, reliabilityBins)
		if err != nil {
			return 0, err
		}
		sum += off / times
	}
	return sum, nil
}

// likelyCells returns means over draws. The share of right keywords is taken
// over the written keywords of all draws together. Its range omits draws that
// write no keyword.
func likelyCells(draws []Likely) []string {
	var right, written, found, without float64
	var shares []float64
	n := float64(len(draws))
	for _, l := range draws {
		right, written = right+l.Written*l.Right, written+l.Written
		found, without = found+l.Found/n, without+l.Without/n
		if l.Written > 0 {
			shares = append(shares, l.Right)
		}
	}
	percent := func(share float64) string { return measure.FormatDecimal(100*share, 0) }
	out := []string{measure.FormatDecimal(written/n, 2), "", "", "", percent(found), percent(without)}
	if written > 0 {
		out[1], out[2], out[3] = percent(right/written), percent(slices.Min(shares)), percent(slices.Max(shares))
	}
	return out
}

var likelyColumns = []string{"written", "right %", "low", "high", "human words %", "without a word %"}

func (s *SmallCollections) Tables() []measure.Table {
	t := measure.Table{Name: "small", Title: fmt.Sprintf("Keywords after few photos, %d requests in the clear: calibration error of the five best, and human keywords among them; mean, least and greatest over draws", s.Requests),
		Columns: []string{"profile", "photos", "draws", "error", "low", "high", "by chance", "all draws together", "error, all words", "found of five", "low", "high", "P %", "R %", "N+", "F1"}}
	written := measure.Table{Name: "small-written", Title: "What cpar annotate writes by requested share of right words (--right), and without photos the network's own words above 0.7",
		Columns: append([]string{"profile", "photos", "asked"}, likelyColumns...)}
	for _, r := range s.Rows {
		of := func(value func(measure.Quality) float64, digits int) string {
			sum := 0.0
			for _, q := range r.Quality {
				sum += value(q) / float64(len(r.Quality))
			}
			return measure.FormatDecimal(sum, digits)
		}
		t.Rows = append(t.Rows, slices.Concat([]string{r.Profile, measure.FormatInt(r.Records), measure.FormatInt(len(r.ECE))}, meanRange(r.ECE).Cells(4),
			[]string{measure.FormatDecimal(r.Chance, 4), measure.FormatDecimal(r.Pooled, 4), measure.FormatDecimal(r.All, 4)}, meanRange(r.Found).Cells(2),
			[]string{of(func(q measure.Quality) float64 { return q.P }, 1), of(func(q measure.Quality) float64 { return q.R }, 1),
				of(func(q measure.Quality) float64 { return float64(q.Nplus) }, 0), of(func(q measure.Quality) float64 { return q.F1 }, 1)}))
		for _, draws := range r.Likely {
			asked := measure.FormatDecimal(draws[0].Asked, 2)
			if r.Records == 0 {
				asked = ""
			}
			written.Rows = append(written.Rows, append([]string{r.Profile, measure.FormatInt(r.Records), asked}, likelyCells(draws)...))
		}
	}
	return []measure.Table{t, written}
}
