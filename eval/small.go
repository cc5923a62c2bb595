package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cpar/eval/distance"
	"cpar/internal/parallel"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// Small is what probabilities are worth after few photos: an index of the first so many of
// each draw is asked, in the clear, for the five most probable keywords of every test image.
//
//	draw ─▶ its first n photos ─▶ profile.Fit ─▶ test images ─▶ what was said of words, and what was right
type SmallCollections struct {
	Requests int        `json:"requests"`
	Draws    int        `json:"draws"`
	Rows     []SmallRow `json:"rows"`
	// Skipped are profiles that could not be measured, with reasons.
	Skipped []SkippedProfile `json:"skipped"`
}

// A SmallRow is a profile fitted to so many photos. Errors are expected calibration errors in
// ten bins.
type SmallRow struct {
	Profile string `json:"profile"`
	Records int    `json:"n"`
	// ECE are those of the five most probable words, by draw.
	ECE []float64 `json:"ece_five"`
	// Chance is what probabilities that are exactly true would show on average: few test
	// images are right more or less often than they should.
	Chance float64 `json:"ece_five_by_chance"`
	// Pooled is the error over all draws together, which is less by chance.
	Pooled float64 `json:"ece_five_pooled"`
	All    float64 `json:"ece_all_words"` // mean over draws
	// Found is how many of the words that a person gave are among the five, mean over draws.
	Found float64 `json:"found"`
}

// smallSizes are the collections that the calibration error is promised for.
var smallSizes = []int{80, 200, 500}

// smallStep is a single step: its fits take seconds.
func SmallStep(ctx context.Context, r *Run, m Measurement) (Result, error) {
	network, err := r.inputs(m.Needs)
	if err != nil {
		return nil, err
	}
	x, err := RunStep(ctx, r, m.Name, []any{network, r.Draws}, func(ctx context.Context) (*SmallCollections, error) {
		c, err := r.Lab.read(ctx)
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

// MeasureSmall measures the profiles that learn from keywords, by draws 1 to draws. Sizes
// ascend; those that the collection does not have are left out.
func MeasureSmallCollections(ctx context.Context, c *Corpus, draws int, sizes []int, progress user.Progress) (*SmallCollections, error) {
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
			told := countStage(progress, fmt.Sprintf("%v, %d photos", kind, n), draws)
			row := SmallRow{Profile: kind.String(), Records: n}
			if err := row.measure(ctx, c, kind, draws, told); err != nil {
				return nil, fmt.Errorf("profile %v, %d photos: %w", kind, n, err)
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out, nil
}

// measure asks an index of every draw.
func (row *SmallRow) measure(ctx context.Context, c *Corpus, kind profile.Kind, draws int, told func()) error {
	truth := Keywords(c.Test)
	var all, found, chance []float64
	var pooled [][]rank.Keyword
	var pooledTruth [][]string
	for d := 1; d <= draws; d++ {
		said, err := probableKeywords(ctx, c.inOrderOf(d).Train[:row.Records], c.Test, kind)
		if err != nil {
			return err
		}
		_, off, err := reliability(said, truth, allKeywords)
		if err != nil {
			return err
		}
		all = append(all, off)
		for i := range said {
			said[i] = said[i][:min(standardKeywords, len(said[i]))]
		}
		if _, off, err = reliability(said, truth, standardKeywords); err != nil {
			return err
		}
		row.ECE = append(row.ECE, off)
		if off, err = chanceCalibrationError(said, d); err != nil {
			return err
		}
		chance, found = append(chance, off), append(found, meanKeywordsFound(keywordsOf(said), truth))
		pooled, pooledTruth = append(pooled, said...), append(pooledTruth, truth...)
		told()
	}
	row.All, row.Found, row.Chance = RoundTo(mean(all), 4), RoundTo(mean(found), 3), RoundTo(mean(chance), 4)
	var err error
	_, row.Pooled, err = reliability(pooled, pooledTruth, standardKeywords)
	return err
}

// probableWords fits a profile to some images, and returns all words of the neighbours of
// others with their probabilities, the most probable first.
func probableKeywords(ctx context.Context, train, test []user.Photo, kind profile.Kind) ([][]rank.Keyword, error) {
	fit, err := fitProfile(ctx, &Corpus{Train: train}, kind, nil)
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
	keywords, out := Keywords(train), make([][]rank.Keyword, len(test))
	parallel.For(len(test), func(i int) {
		x, dis := toFloat64s(asked[i].X), make([]float64, len(records))
		for j, r := range records {
			dis[j] = distance.SquaredL2(toFloat64s(r.X), x)
		}
		out[i] = fit.Ranker.ByProbability(nearestRecords(dis, keywords, fit.Ranker.Neighbours()), asked[i].Guess, allKeywords)
	})
	return out, nil
}

// errorByChance is the mean calibration error of probabilities that are true.
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

// Tables implements Result. The error by draw has the least and the greatest behind it.
func (s *SmallCollections) Tables() []Table {
	t := Table{Name: "small", Title: fmt.Sprintf("What probabilities are worth after few photos, %d requests in the clear: calibration error of the five most probable words, mean, least and greatest of %d draws", s.Requests, s.Draws),
		Columns: []string{"profile", "photos", "error", "low", "high", "by chance", "all draws together", "error, all words", "words found"}}
	for _, x := range s.Skipped {
		t.Title += fmt.Sprintf("; profile %s was left out: %s", x.Profile, x.Reason)
	}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Profile, FormatInt(r.Records)}, meanRange(r.ECE).cells(4),
			[]string{FormatDecimal(r.Chance, 4), FormatDecimal(r.Pooled, 4), FormatDecimal(r.All, 4), FormatDecimal(r.Found, 2)}))
	}
	return []Table{t}
}
