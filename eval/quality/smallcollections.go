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
	// Found is the number of human keywords among five that are forced, by draw.
	Found []float64 `json:"found_of_five"`
	// Likely keywords are those above the threshold that cpar annotate uses by
	// default.
	Likely LikelyRow `json:"likely"`
}

// A LikelyRow describes the keywords that cpar annotate writes. Values are by
// draw.
type LikelyRow struct {
	Threshold []float64 `json:"threshold"`
	Written   []float64 `json:"written"` // keywords per photo
	Right     []float64 `json:"right"`   // share of them; 0 if there are none
	Found     []float64 `json:"found"`   // share of the human keywords
	Without   []float64 `json:"without"` // share of photos without a keyword
}

// likelyShare is the default of cpar annotate --right.
const likelyShare = 2.0 / 3

func (r *LikelyRow) add(said [][]rank.Keyword, truth [][]string, threshold float64) {
	var written, right, human, without float64
	for i, list := range said {
		none := true
		for _, k := range list {
			if k.Probability >= threshold {
				none = false
				written++
				if slices.Contains(truth[i], k.Word) {
					right++
				}
			}
		}
		if none {
			without++
		}
		human += float64(len(truth[i]))
	}
	n := float64(len(said))
	r.Threshold, r.Written = append(r.Threshold, threshold), append(r.Written, written/n)
	r.Right, r.Found = append(r.Right, right/max(1, written)), append(r.Found, right/human)
	r.Without = append(r.Without, without/n)
}

// smallSizes are the numbers of tagged photos.
var smallSizes = []int{30, 100, 300, 1000}

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
	var all, chance []float64
	var pooled [][]rank.Keyword
	var pooledTruth [][]string
	for d := 1; d <= draws; d++ {
		said, threshold, err := probableKeywords(ctx, c.InOrderOf(d).Train[:row.Records], c.Test, kind)
		if err != nil {
			return err
		}
		_, off, err := reliability(said, truth, measure.AllKeywords)
		if err != nil {
			return err
		}
		all = append(all, off)
		row.Likely.add(said, truth, threshold)
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
		chance, row.Found = append(chance, off), append(row.Found, measure.MeanKeywordsFound(measure.KeywordsOf(said), truth))
		pooled, pooledTruth = append(pooled, said...), append(pooledTruth, truth...)
		told()
	}
	row.All, row.Chance = measure.RoundTo(measure.Mean(all), 4), measure.RoundTo(measure.Mean(chance), 4)
	var err error
	_, row.Pooled, err = reliability(pooled, pooledTruth, measure.StandardKeywords)
	return err
}

// probableKeywords fits a profile to train, and returns all keywords of the
// neighbours of test with their probabilities, in the order of cpar annotate,
// and its default threshold.
func probableKeywords(ctx context.Context, train, test []user.Photo, kind profile.Kind) ([][]rank.Keyword, float64, error) {
	fit, err := fitProfile(ctx, &measure.Corpus{Train: train}, kind, nil)
	if err != nil {
		return nil, 0, err
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
		return nil, 0, err
	}
	asked, err := vectors(test)
	if err != nil {
		return nil, 0, err
	}
	keywords, out := measure.Keywords(train), make([][]rank.Keyword, len(test))
	parallel.For(len(test), func(i int) {
		x, dis := measure.ToFloat64s(asked[i].X), make([]float64, len(records))
		for j, r := range records {
			dis[j] = distance.SquaredL2(measure.ToFloat64s(r.X), x)
		}
		out[i] = fit.Ranker.ByScore(measure.NearestRecords(dis, keywords, fit.Ranker.Neighbours()), asked[i].Guess, measure.AllKeywords)
	})
	return out, fit.Ranker.Threshold(likelyShare), nil
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

func (r *LikelyRow) cells() []string {
	mean := func(x []float64, times float64, digits int) string {
		return measure.FormatDecimal(times*measure.Mean(x), digits)
	}
	return append([]string{mean(r.Written, 1, 2)}, append(r.rightCells(), mean(r.Found, 100, 0), mean(r.Without, 100, 0))...)
}

// rightCells returns the share of right keywords over all draws together, and
// its range over the draws that write any.
func (r *LikelyRow) rightCells() []string {
	var right, written float64
	var shares []float64
	for d, w := range r.Written {
		right, written = right+w*r.Right[d], written+w
		if w > 0 {
			shares = append(shares, r.Right[d])
		}
	}
	if written == 0 {
		return []string{"", "", ""}
	}
	percent := func(share float64) string { return measure.FormatDecimal(100*share, 0) }
	return []string{percent(right / written), percent(slices.Min(shares)), percent(slices.Max(shares))}
}

// Tables implements Result. Minimum and maximum follow the error by draw.
func (s *SmallCollections) Tables() []measure.Table {
	t := measure.Table{Name: "small", Title: fmt.Sprintf("What probabilities are worth after few photos, %d requests in the clear: calibration error of the five most probable words, mean, least and greatest of %d draws", s.Requests, s.Draws),
		Columns: []string{"profile", "photos", "error", "low", "high", "by chance", "all draws together", "error, all words", "found of five", "low", "high",
			"written", "right %", "low", "high", "human words %", "without a word %"}}
	for _, x := range s.Skipped {
		t.Title += fmt.Sprintf("; profile %s was left out: %s", x.Profile, x.Reason)
	}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Profile, measure.FormatInt(r.Records)}, meanRange(r.ECE).cells(4),
			[]string{measure.FormatDecimal(r.Chance, 4), measure.FormatDecimal(r.Pooled, 4), measure.FormatDecimal(r.All, 4)}, meanRange(r.Found).cells(2), r.Likely.cells()))
	}
	return []measure.Table{t}
}
