package quality

import (
	"context"
	"fmt"
	"math"

	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/embed"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

// alphas and gammas form the grid of the paper's four panels (plots of error
// and dimension against α and γ).
var (
	alphas = []float64{0.25, 0.5, 0.75, 1, 1.5, 2}
	gammas = []float64{10, 30, 100, 300, 1000}
)

const (
	// jlSeeds is the number of secrets over which the error is averaged.
	jlSeeds = 5

	panelRequests = 200
	panelRecords  = 2000
)

type AlphaGammaRow struct {
	Alpha     float64 `json:"alpha"`
	Gamma     float64 `json:"gamma"`
	Dimension int     `json:"dimension"`
	// Error is the mean relative error of the L1 distance, in percent.
	Error float64 `json:"error_percent"`
	// Theory is the expected Error √(4/(π·m̂)), where m̂ is Dimension.
	Theory float64 `json:"theory_percent"`
}

// AlphaGamma holds the errors of estimating L1 distances from a random
// projection with parameters α and γ. PCA-32 (PCA of Haar features to 1/32 of
// their dimension) has been applied.
type AlphaGamma struct {
	Pairs int             `json:"pairs"`
	Rows  []AlphaGammaRow `json:"rows"`
	// Seeds holds the errors at α = 1 and γ = 100 for jlSeeds secrets. Mean is
	// their mean.
	Seeds []float64 `json:"seeds_percent"`
	Mean  float64   `json:"mean_percent"`
}

func MeasureAlphaGamma(ctx context.Context, c *measure.Corpus, progress user.Progress) (*AlphaGamma, error) {
	train, test, err := measure.PlainVectors(c, 32)
	if err != nil {
		return nil, err
	}
	train, test = train[:min(panelRecords, len(train))], test[:min(panelRequests, len(test))]
	records, requests := measure.Levels(measure.Quantized(train)), measure.Levels(measure.Quantized(test))
	baselines, err := embed.Baselines(records, vector.Beta)
	if err != nil {
		return nil, err
	}
	exact := make([][]float64, len(test))
	for i, q := range test {
		for _, r := range train {
			exact[i] = append(exact[i], distance.L1(r.L1, q.L1))
		}
	}
	measureError := func(secret [32]byte, mhat int) (float64, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		p, err := embed.New(secret, len(baselines), vector.Beta, mhat, baselines)
		if err != nil {
			return 0, err
		}
		return relativeError(p, records, requests, exact)
	}
	a := &AlphaGamma{Pairs: len(train) * len(test)}
	total, done := len(alphas)*len(gammas)+jlSeeds, 0
	step := func() {
		done++
		progress.Report("alpha, gamma", done, total)
	}
	for _, alpha := range alphas {
		for _, gamma := range gammas {
			mhat := embed.Dimension(len(baselines), vector.Beta, alpha, gamma)
			e, err := measureError([32]byte{'a', 'g'}, mhat)
			if err != nil {
				return nil, fmt.Errorf("α = %g, γ = %g: %w", alpha, gamma, err)
			}
			// By the central limit theorem, an estimate of distance D has standard
			// deviation D·√(2/m̂), and the mean of |N(0,1)| is √(2/π).
			theory := 100 * math.Sqrt(4/(math.Pi*float64(mhat)))
			a.Rows = append(a.Rows, AlphaGammaRow{alpha, gamma, mhat, measure.RoundTo(e, 3), measure.RoundTo(theory, 3)})
			step()
		}
	}
	mhat := embed.Dimension(len(baselines), vector.Beta, profile.Alpha, profile.Gamma)
	errors := make([]float64, jlSeeds)
	for seed := range jlSeeds {
		e, err := measureError([32]byte{'a', 'g', 's', byte(seed)}, mhat)
		if err != nil {
			return nil, err
		}
		errors[seed], a.Seeds = e, append(a.Seeds, measure.RoundTo(e, 3))
		step()
	}
	a.Mean = measure.RoundTo(measure.Mean(errors), 3)
	return a, nil
}

// relativeError returns the mean of |estimate − D|/D over all pairs with
// distance D > 0, in percent.
func relativeError(p *embed.Projection, records, requests [][]uint16, exact [][]float64) (float64, error) {
	zs, err := p.EmbedAll(records)
	if err != nil {
		return 0, err
	}
	qs, err := p.EmbedAll(requests)
	if err != nil {
		return 0, err
	}
	unit := float64(p.MHat()) * vector.Beta / 2
	sums, counts := make([]float64, len(qs)), make([]int, len(qs))
	parallel.For(len(qs), func(i int) {
		for j, z := range zs {
			if d := exact[i][j]; d > 0 {
				sums[i] += math.Abs(float64(distance.SquaredL2Int(qs[i], z))/unit-d) / d
				counts[i]++
			}
		}
	})
	sum, n := 0.0, 0
	for i := range sums {
		sum, n = sum+sums[i], n+counts[i]
	}
	return 100 * sum / float64(max(n, 1)), nil
}

func (a *AlphaGamma) Tables() []measure.Table {
	grid := measure.Table{Name: "alphagamma", Title: fmt.Sprintf("Error of the L1 approximation, %d pairs, PCA-32", a.Pairs),
		Columns: []string{"alpha", "gamma", "dimension", "error %", "theory %"}}
	for _, r := range a.Rows {
		grid.Rows = append(grid.Rows, []string{measure.FormatDecimal(r.Alpha, 2), measure.FormatDecimal(r.Gamma, 0), measure.FormatInt(r.Dimension), measure.FormatDecimal(r.Error, 2), measure.FormatDecimal(r.Theory, 2)})
	}
	seeds := measure.Table{Name: "alphagamma-seeds", Title: "α = 1, γ = 100, by secret", Columns: []string{"secret", "error %"}}
	for i, e := range a.Seeds {
		seeds.Rows = append(seeds.Rows, []string{measure.FormatInt(i + 1), measure.FormatDecimal(e, 3)})
	}
	seeds.Rows = append(seeds.Rows, []string{"mean", measure.FormatDecimal(a.Mean, 3)})
	return []measure.Table{grid, seeds}
}
