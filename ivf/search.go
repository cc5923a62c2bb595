package ivf

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"cpar/kdforest"
)

// Scorer gives the distance of rows, records or centroids, to one request. Its
// answers must not change during a search; Search calls it from one goroutine.
type Scorer interface {
	// Run sets scores[i] to the score of row first+i; smaller is nearer. The
	// slice belongs to the caller, who reuses it. The score of a row is the same
	// whatever run it comes in.
	Run(first uint32, scores []int64)
}

// longestRun bounds the memory of a search, whatever lists it is given; lists
// that are longer come in several runs.
const longestRun = 1 << 14

// Options bound a search.
type Options struct {
	Visits int // records to visit; see kdforest.Visits
	L      int // hits to return

	// Trace, if set, is told of every visit in the order of visits, after the
	// run's records were scored.
	Trace func(Visit)
}

// Visit is one step of a search, for Options.Trace.
type Visit struct {
	List uint32 // the record's
	kdforest.Hit
}

// Stats is what a search cost.
type Stats struct {
	Centroids int // scored: all there are
	Lists     int // entered
	Visited   int // records scored
	Runs      int // calls of Run for records
}

// Search visits up to opt.Visits records and returns the opt.L nearest of them
// by (score, record), with what it cost. l must be valid.
//
// All centroids are scored (centroids.Run, row i is list i's). Lists are read in
// the order of (score of the centroid, list), each from its first record to its
// last and in one run as far as it can be, until the visits are spent: of the
// last list only as many records as are left to visit.
//
// With opt.Visits ≥ n every record is visited and the result is that of
// kdforest.Scan.
func (l *Lists) Search(centroids, records Scorer, opt Options) ([]kdforest.Hit, Stats, error) {
	switch {
	case opt.Visits < 1:
		return nil, Stats{}, fmt.Errorf("%w: searching with %d visits", kdforest.ErrInput, opt.Visits)
	case opt.L < 1:
		return nil, Stats{}, fmt.Errorf("%w: searching for the nearest %d", kdforest.ErrInput, opt.L)
	}
	s := searchers.Get().(*searcher)
	defer searchers.Put(s)
	s.rank(centroids, l.Len())
	stats := Stats{Centroids: l.Len()}
	queue := kdforest.NewQueue(opt.L)
	for _, list := range s.order {
		if stats.Visited >= opt.Visits {
			break
		}
		stats.Lists++
		first, last := int(l.First[list.number]), int(l.First[list.number+1])
		last = first + min(last-first, opt.Visits-stats.Visited)
		for ; first < last; first += longestRun {
			scores := s.room(min(longestRun, last-first))
			records.Run(uint32(first), scores)
			for i, score := range scores {
				hit := kdforest.Hit{Record: uint32(first + i), Score: score}
				queue.Push(hit)
				if opt.Trace != nil {
					opt.Trace(Visit{List: list.number, Hit: hit})
				}
			}
			stats.Visited += len(scores)
			stats.Runs++
		}
	}
	return queue.Hits(), stats, nil
}

// searcher is the memory of one search. It is pooled, so that a search
// allocates what it returns and little else.
type searcher struct {
	order  []ranked
	scores []int64
}

// ranked is a list and the score of its centroid.
type ranked struct {
	score  int64
	number uint32
}

var searchers = sync.Pool{New: func() any { return new(searcher) }}

// room returns memory for n scores.
func (s *searcher) room(n int) []int64 {
	s.scores = slices.Grow(s.scores[:0], n)[:n]
	return s.scores
}

// rank sets s.order to all k lists, nearest centroid first.
func (s *searcher) rank(centroids Scorer, k int) {
	s.order = s.order[:0]
	if k == 0 {
		return
	}
	scores := s.room(k)
	centroids.Run(0, scores)
	for i, score := range scores {
		s.order = append(s.order, ranked{score: score, number: uint32(i)})
	}
	slices.SortFunc(s.order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.number, b.number))
	})
}

// Runs makes a Scorer of one that is asked for records by number, as a forest's
// space is. It is for one goroutine.
func Runs(s kdforest.Scorer) Scorer { return &runs{Scorer: s} }

type runs struct {
	kdforest.Scorer
	numbers []uint32
}

func (r *runs) Run(first uint32, scores []int64) {
	for len(scores) > 0 {
		n := min(len(scores), kdforest.DefaultBatch)
		r.numbers = r.numbers[:0]
		for i := range n {
			r.numbers = append(r.numbers, first+uint32(i))
		}
		r.Score(r.numbers, scores[:n])
		first += uint32(n)
		scores = scores[n:]
	}
}
