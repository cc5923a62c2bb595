package eval

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/eval/distance"
	"cpar/internal/parallel"
	"cpar/model/embed"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// keywordsKept is the number of keywords per image in the standard protocol.
const standardKeywords = 5

// A QualityRow is one scheme's annotation quality.
type QualityRow struct {
	Scheme string `json:"scheme"`
	// Approx is AP-X in percent and Search the kind of search, for cpar and ivf.
	Approx     float64 `json:"approx,omitempty"`
	Search     string  `json:"search,omitempty"`
	Neighbours int     `json:"neighbours"`
	Quality
}

// A JLError is the mean relative error of the L1 distance through the unary
// map and the projection, over all pairs of a test and a training image.
type JLError struct {
	Seeds []float64 `json:"seeds_percent"`
	Mean  float64   `json:"mean_percent"`
	// Theory is √(4/(π·m̂)).
	Theory float64 `json:"theory_percent"`
}

// Corel5k is the standard protocol on one collection.
type Corel5k struct {
	Rows []QualityRow `json:"rows"`
	JL   JLError      `json:"jl_error"`
}

// MeasureCorel5k measures P, R and N+ in the clear with exact distances, in the clear
// through the projection, and encrypted.
func MeasureCorel5k(ctx context.Context, s *Session, c *Corpus, progress user.Progress) (*Corel5k, error) {
	r := new(Corel5k)
	train, truth := s.keywords(), Keywords(c.Test)
	exact, err := s.exactDistances()
	if err != nil {
		return nil, err
	}
	approx, err := s.projectedDistances(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range []int{5, 10} {
		r.Rows = append(r.Rows,
			QualityRow{Scheme: "plain-exact", Neighbours: k, Quality: MeasureQuality(annotatePlain(exact, train, k, standardKeywords), truth)},
			QualityRow{Scheme: "plain-jl", Neighbours: k, Quality: MeasureQuality(annotatePlain(approx, train, k, standardKeywords), truth)})
		for _, p := range []cpar.Params{
			{Scheme: cpar.SchemeCAPIA, L: uint16(k), Approx: 1000},
			searchParams(cpar.SearchDepthFirst, 1000, k),
			searchParams(cpar.SearchDepthFirst, 100, k),
			searchParams(cpar.SearchIVF, 100, k),
		} {
			run, err := s.runAll(ctx, p, progress, fmt.Sprintf("%v, %d neighbours", p.Scheme, k))
			if err != nil {
				return nil, err
			}
			row := QualityRow{Scheme: p.Scheme.String(), Neighbours: k, Quality: MeasureQuality(run.annotations(), truth)}
			if p.Scheme != cpar.SchemeCAPIA {
				row.Approx, row.Search = float64(p.Approx)/10, p.Search.String()
			}
			r.Rows = append(r.Rows, row)
		}
	}
	r.JL, err = s.jlError(ctx, progress)
	return r, err
}

// keywords returns the keywords of the records.
func (s *Session) keywords() [][]string { return Keywords(s.records()) }

func (r outcomes) annotations() [][]string {
	out := make([][]string, len(r))
	for i, o := range r {
		out[i] = keywordStrings(rank.Keywords(o.near, standardKeywords))
	}
	return out
}

func keywordStrings(list []rank.Keyword) []string {
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = k.Word
	}
	return out
}

// annotatePlain ranks the keywords of the k nearest records of each row and keeps the first ones.
func annotatePlain(dis [][]float64, keywords [][]string, k, kept int) [][]string {
	out := make([][]string, len(dis))
	for i, row := range dis {
		var near []rank.Neighbour
		for _, j := range ascending(row)[:min(k, len(row))] {
			near = append(near, rank.Neighbour{Dis: row[j], Keywords: keywords[j]})
		}
		out[i] = keywordStrings(rank.Keywords(near, kept))
	}
	return out
}

// ascending returns the indices of the values in ascending order, ties by index.
func ascending[T cmp.Ordered](values []T) []int {
	order := make([]int, len(values))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(values[a], values[b]), a-b) })
	return order
}

// eachRequest calls f for every request on all cores.
func (s *Session) eachRequest(ctx context.Context, f func(i int, v *vector.Vector) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, v := range s.Requests {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(i, v)
		})
	}
	return group.Wait()
}

// exactDistances returns Dis = D_L1 + D_KL on un-quantised features.
func (s *Session) exactDistances() ([][]float64, error) {
	records, err := s.unrounded(s.records())
	if err != nil {
		return nil, err
	}
	requests, err := s.unrounded(s.corpus.Test)
	if err != nil {
		return nil, err
	}
	return exactDis(records, requests), nil
}

// projectedDistances returns Dis with the L1 part estimated through the projection:
// ‖z − z_s‖²/(m̂·β/2).
func (s *Session) projectedDistances(ctx context.Context) ([][]float64, error) {
	records, err := s.Builder.Projector().ProjectAll(s.Builder.Vectors())
	if err != nil {
		return nil, err
	}
	requests, err := s.Builder.Projector().ProjectAll(s.Requests)
	if err != nil {
		return nil, err
	}
	unit := float64(len(requests[0])) * vector.Beta / 2
	out := make([][]float64, len(requests))
	return out, s.eachRequest(ctx, func(i int, v *vector.Vector) error {
		row := make([]float64, len(records))
		for j, rec := range s.Builder.Vectors() {
			row[j] = float64(distance.SquaredL2Int(requests[i], records[j]))/unit + distance.KL(rec.KL, v.KL)
		}
		out[i] = row
		return nil
	})
}

// jlSeeds is the number of projections for measuring the error.
const jlSeeds = 5

// jlError compares the projection with the exact L1 distance.
func (s *Session) jlError(ctx context.Context, progress user.Progress) (JLError, error) {
	records, err := s.unrounded(s.records())
	if err != nil {
		return JLError{}, err
	}
	requests, err := s.unrounded(s.corpus.Test)
	if err != nil {
		return JLError{}, err
	}
	exact := make([][]float64, len(requests))
	parallel.For(len(exact), func(i int) {
		for _, r := range records {
			exact[i] = append(exact[i], distance.L1(r.L1, requests[i].L1))
		}
	})
	profile := s.Builder.Profile().(*profile.PaperProfile)
	mhat := profile.Layout().JL
	e := JLError{Theory: RoundTo(theoryError(mhat), 2)}
	errors := make([]float64, jlSeeds)
	for seed := range jlSeeds {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		p, err := embed.New([32]byte{'j', 'l', byte(seed)}, profile.Dimensions(), vector.Beta, mhat, profile.Baselines())
		if err != nil {
			return e, err
		}
		if errors[seed], err = relativeError(p, levels(quantized(records)), levels(quantized(requests)), exact); err != nil {
			return e, err
		}
		e.Seeds = append(e.Seeds, RoundTo(errors[seed], 3))
		if progress != nil {
			progress("JL error", seed+1, jlSeeds)
		}
	}
	e.Mean = RoundTo(mean(errors), 3)
	return e, nil
}
