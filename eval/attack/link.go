package attack

import (
	"context"
	"math"
	"slices"

	simd "gonum.org/v1/gonum/floats"

	"cpar/model/feature"
)

// Linking: are two requests for one photo? The cloud compares each new request
// with one request in its log. This is the request for the same photo if the
// log contains it, and an arbitrary one otherwise. The cloud answers yes if the
// two are more similar than 999 of 1,000 pairs in the log. It needs neither
// photos nor the key. Half of the new requests are for photos in the log, so a
// random answer is right half of the time.
const linkQuantile = 0.999

// A similarity compares requests. Field `compare` returns larger values for
// more similar requests.
type similarity struct {
	name    string
	view    func(*Observation) []float64
	compare func(a, b []float64) float64
}

var similarities = []similarity{
	{"link-order", func(s *Observation) []float64 { return floats(s.Order) }, func(a, b []float64) float64 {
		return -simd.Distance(a, b, 1)
	}},
	// Correlation does not depend on a request's secret scale and offset.
	{"link-scores", func(s *Observation) []float64 { return standardised(s.Scores) }, func(a, b []float64) float64 {
		return simd.Dot(a, b) / float64(len(a))
	}},
	{"link-path", func(s *Observation) []float64 { return slices.Sorted(slices.Values(floats(s.Path))) }, jaccard},
}

// link logs requests for half of `photos` and then repeats them. If `changed`
// is not nil, the repeated requests are for the photos in `changed`.
func link(ctx context.Context, t *Target, photos, changed []*feature.Vectors) ([]Row, error) {
	half := len(photos) / 2
	suffix, again := "", photos[:half]
	if changed != nil {
		suffix, again = "-changed-copy", changed[:half]
	}
	views := make([]*View, 3)
	for i, some := range [][]*feature.Vectors{photos[:half], photos[half : 2*half], again} {
		var err error
		if views[i], _, err = t.view(ctx, some, false); err != nil {
			return nil, err
		}
	}
	log, unseen, second := views[0], views[1], views[2]
	var rows []Row
	for _, by := range similarities {
		if by.view(log.Observations[0]) == nil {
			continue
		}
		right := newLinker(by, log.Observations).right(second.Observations, unseen.Observations)
		rows = append(rows, proportion(by.name+suffix, log.Scheme, 0, right, 2*half, 0.5))
	}
	return rows, nil
}

type linker struct {
	by        similarity
	log       [][]float64
	threshold float64
}

func newLinker(by similarity, log []*Observation) *linker {
	l := &linker{by: by}
	for _, s := range log {
		l.log = append(l.log, by.view(s))
	}
	var all []float64
	for i, a := range l.log {
		for _, b := range l.log[:i] {
			all = append(all, by.compare(a, b))
		}
	}
	l.threshold = math.Inf(-1)
	if len(all) > 0 {
		slices.Sort(all)
		l.threshold = all[int(math.Ceil(linkQuantile*float64(len(all)-1)))]
	}
	return l
}

func (l *linker) linked(i int, s *Observation) bool {
	return l.by.compare(l.log[i], l.by.view(s)) > l.threshold
}

// right counts the correct answers about new requests. `repeats[i]` observes a
// request for photo i of the log. `others` observes equally many requests for
// other photos.
func (l *linker) right(repeats, others []*Observation) int {
	return count(len(repeats), func(i int) bool { return l.linked(i, repeats[i]) }) +
		count(len(others), func(i int) bool { return !l.linked(i, others[i]) })
}

func floats[T uint32 | uint64](list []T) (out []float64) {
	for _, x := range list {
		out = append(out, float64(x))
	}
	return out
}

// jaccard returns the Jaccard index of two sorted lists.
func jaccard(a, b []float64) float64 {
	both := count(len(a), func(i int) bool {
		_, found := slices.BinarySearch(b, a[i])
		return found
	})
	return float64(both) / float64(len(a)+len(b)-both)
}
