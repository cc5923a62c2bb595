package attack

import (
	"context"
	"math"
	"slices"

	"cpar/model/feature"
)

// Linking: are two requests for one photo? The cloud compares each new request
// with one request in its log: the right one, or any if there is none. It
// answers yes if the two are more similar than 999 of 1,000 pairs in the log,
// which needs neither photo nor key. Half of the new requests are for photos in
// the log, so guessing is right half of the time.
const linkQuantile = 0.999

// Larger is more similar.
type similarity struct {
	name    string
	view    func(*Observation) []float64
	compare func(a, b []float64) float64
}

var similarities = []similarity{
	{"link-order", func(s *Observation) []float64 { return floats(s.Order) }, func(a, b []float64) float64 {
		off := 0.0
		for i, x := range a {
			off -= math.Abs(x - b[i])
		}
		return off
	}},
	// Correlation cancels the secret scale and offset of a request.
	{"link-scores", func(s *Observation) []float64 { return standardised(s.Scores) }, func(a, b []float64) float64 {
		return dot(a, b) / float64(len(a))
	}},
	{"link-path", func(s *Observation) []float64 {
		path := floats(s.Path)
		slices.Sort(path)
		return path
	}, jaccard},
}

// link logs requests for photos and repeats them. changed, if not nil, replaces
// the photos in the second round.
func link(ctx context.Context, t *Target, photos, changed []*feature.Vectors) ([]Row, error) {
	half := len(photos) / 2
	log, _, err := t.view(ctx, photos[:half], false)
	if err != nil {
		return nil, err
	}
	unseen, _, err := t.view(ctx, photos[half:2*half], false)
	if err != nil {
		return nil, err
	}
	suffix := ""
	again := photos[:half]
	if changed != nil {
		suffix, again = "-changed-copy", changed[:half]
	}
	second, _, err := t.view(ctx, again, false)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, by := range similarities {
		if by.view(log.Observations[0]) == nil {
			continue
		}
		yes := newLinker(by, log)
		right := 0
		for i := range half {
			if yes.linked(i, second.Observations[i]) {
				right++
			}
			if !yes.linked(i, unseen.Observations[i]) {
				right++
			}
		}
		rows = append(rows, proportion(by.name+suffix, log.Scheme, 0, right, 2*half, 0.5))
	}
	return rows, nil
}

type linker struct {
	by        similarity
	log       [][]float64
	threshold float64
}

func newLinker(by similarity, log *View) *linker {
	l := &linker{by: by}
	for _, s := range log.Observations {
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

func floats[T uint32 | uint64](list []T) []float64 {
	if len(list) == 0 {
		return nil
	}
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = float64(x)
	}
	return out
}

// jaccard returns the share of two sorted lists that is in both.
func jaccard(a, b []float64) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
