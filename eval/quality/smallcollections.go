package quality

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// SmallCollections measures calibration after few photos. Profiles are fitted
// to the first n photos of each draw, and predict the five most probable
// keywords of every test image, in plaintext.
//
//	draw ─▶ its first n photos ─▶ profile.Fit ─▶ test images ─▶ predicted and correct keywords
type SmallCollections struct {
	Requests int              `json:"requests"`
	Draws    int              `json:"draws"`
	Rows     []SmallRow       `json:"rows"`
	Skipped  []SkippedProfile `json:"skipped"`
}

// A SmallRow is a profile fitted to a number of photos. Errors are expected
// calibration errors in ten bins.
type SmallRow struct {
	Profile string `json:"profile"`
	Records int    `json:"n"`
	// ECE holds the errors of the five most probable keywords, by draw.
	ECE []float64 `json:"ece_five"`
	// Chance is the mean error of exactly true probabilities on as few test
	// images.
	Chance float64 `json:"ece_five_by_chance"`
	// Pooled is the error over all draws together, in which chance has less
	// effect.
	Pooled float64 `json:"ece_five_pooled"`
	All    float64 `json:"ece_all_words"` // mean over draws
	// Found is the mean number of human keywords among the five.
	Found float64 `json:"found"`
}

// smallSizes are the sizes of collection for which the documents state
// calibration errors.
var smallSizes = []int{80, 200, 500}

// SmallStep runs a single step, because its fits take seconds.
func SmallStep(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	network, err := r.Inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	x, err := measure.RunStep(ctx, r, m.Name, []any{network, r.Draws}, func(ctx context.Context) (*SmallCollections, error) {
		c, err := r.Lab.ReadCorpus(ctx)
		if err != nil {
			return nil, err
		}
		return MeasureSmallCollections(ctx, c, r.Draws, smallSizes, r.Lab.Progress)
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// MeasureSmallCollections measures the profiles that learn from keywords, for
// draws 1 to draws. Sizes ascend, and sizes beyond the collection are left out.
func MeasureSmallCollections(ctx context.Context, c *measure.Corpus, draws int, sizes []int, progress user.Progress) (*SmallCollections, error) {
	out := &SmallCollections{Requests: len(c.Test), Draws: draws, Skipped: []SkippedProfile{}}
	for _, kind := range []profile.Kind{profile.Learned, profile.Network} {
		if kind == profile.Network && c.Train[0].Vectors.Embedding == nil {
			out.Skipped = append(out.Skipped, SkippedProfile{kind.String(), "no image network was named (--model FILE)"})
			continue
		}
		for _, n := range sizes {
			if n > len(c.Train) {
				break
			}
			told := measure.CountStage(progress, fmt.Sprintf("%v, %d photos", kind, n), draws)
			row := SmallRow{Profile: kind.String(), Records: n}
			if err := row.measure(ctx, c, kind, draws, told); err != nil {
				return nil, fmt.Errorf("profile %v, %d photos: %w", kind, n, err)
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out, nil
}

func (row *SmallRow) measure(ctx context.Context, c *measure.Corpus, kind profile.Kind, draws int, told func()) error {
	truth := measure.Keywords(c.Test)
	var all, found, chance []float64
	var pooled [][]rank.Keyword
	var pooledTruth [][]string
	for d := 1; d <= draws; d++ {
		said, err := probableKeywords(ctx, c.InOrderOf(d).Train[:row.Records], c.Test, kind)
		if err != nil {
			return err
		}
		_, off, err := reliability(said, truth, measure.AllKeywords)
		if err != nil {
			return err
		}
		all = append(all, off)
		for i := range said {
			said[i] = said[i][:min(measure.StandardKeywords, len(said[i]))]
		}
		if _, off, err = reliability(said, truth, measure.StandardKeywords); err != nil {
			return err
		}
		row.ECE = append(row.ECE, off)
		if off, err = chanceCalibrationError(said, d); err != nil {
			return err
		}
		chance, found = append(chance, off), append(found, measure.MeanKeywordsFound(measure.KeywordsOf(said), truth))
		pooled, pooledTruth = append(pooled, said...), append(pooledTruth, truth...)
		told()
	}
	row.All, row.Found, row.Chance = measure.RoundTo(measure.Mean(all), 4), measure.RoundTo(measure.Mean(found), 3), measure.RoundTo(measure.Mean(chance), 4)
	var err error
	_, row.Pooled, err = reliability(pooled, pooledTruth, measure.StandardKeywords)
	return err
}

// probableKeywords fits a profile to train, and returns all keywords of the
// neighbours of test with their probabilities, the most probable first.
func probableKeywords(ctx context.Context, train, test []user.Photo, kind profile.Kind) ([][]rank.Keyword, error) {
	fit, err := fitProfile(ctx, &measure.Corpus{Train: train}, kind, nil)
	if err != nil {
		return nil, err
	}
	vectors := func(images []user.Photo) (out []*vector.Vector, err error) {
		out = make([]*vector.Vector, len(images))
		for i := range images {
			if out[i], err = fit.Profile.Vector(images[i].Vectors); err != nil {
				return nil, fmt.Errorf("image %d: %w", i, err)
			}
		}
		return out, nil
	}
	records, err := vectors(train)
	if err != nil {
		return nil, err
	}
	asked, err := vectors(test)
	if err != nil {
		return nil, err
	}
	keywords, out := measure.Keywords(train), make([][]rank.Keyword, len(test))
	parallel.For(len(test), func(i int) {
		x, dis := measure.ToFloat64s(asked[i].X), make([]float64, len(records))
		for j, r := range records {
			dis[j] = distance.SquaredL2(measure.ToFloat64s(r.X), x)
		}
		out[i] = fit.Ranker.ByScore(measure.NearestRecords(dis, keywords, fit.Ranker.Neighbours()), asked[i].Guess, measure.AllKeywords)
	})
	return out, nil
}

// chanceCalibrationError returns the mean calibration error of true
// probabilities.
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

// Tables implements Result. Minimum and maximum follow the error by draw.
func (s *SmallCollections) Tables() []measure.Table {
	t := measure.Table{Name: "small", Title: fmt.Sprintf("What probabilities are worth after few photos, %d requests in the clear: calibration error of the five most probable words, mean, least and greatest of %d draws", s.Requests, s.Draws),
		Columns: []string{"profile", "photos", "error", "low", "high", "by chance", "all draws together", "error, all words", "words found"}}
	for _, x := range s.Skipped {
		t.Title += fmt.Sprintf("; profile %s was left out: %s", x.Profile, x.Reason)
	}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Profile, measure.FormatInt(r.Records)}, meanRange(r.ECE).cells(4),
			[]string{measure.FormatDecimal(r.Chance, 4), measure.FormatDecimal(r.Pooled, 4), measure.FormatDecimal(r.All, 4), measure.FormatDecimal(r.Found, 2)}))
	}
	return []measure.Table{t}
}
