package ivf

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"cpar/kdforest"
)

// Scorer computes the scores of rows (records or centroids) for one request. A
// row's score must not change during a search. Search calls a Scorer from one
// goroutine.
type Scorer interface {
	// Run sets scores[i] to the score of row first+i. A smaller score is
	// nearer. The caller owns and reuses the slice. A row's score must not
	// depend on `first` or on the length of `scores`.
	Run(first uint32, scores []int64)
}

// longestRun bounds the memory of a search. Longer cells are read in several
// runs.
const longestRun = 1 << 14

type Options struct {
	Visits int // records to visit, see kdforest.Visits
	L      int // hits to return

	// Trace, if set, is called for every visit, in order. A call occurs after
	// all records of the same run are scored.
	Trace func(Visit)
}

// Visit is one step of a search, for Options.Trace.
type Visit struct {
	Cell uint32 // the cell of the record
	kdforest.Hit
}

type Stats struct {
	Centroids int // centroids scored, which is the number of cells
	Cells     int // cells read, at least in part
	Visited   int // records scored
	Runs      int // calls of Run for records
}

// Search visits up to opt.Visits records. It returns the opt.L nearest visited
// records by (score, record), and the cost. l must be valid. Errors wrap
// kdforest.ErrInput.
//
// Search reads the cells in order of (centroid score, cell). It reads each cell
// from the first record on, and perhaps only part of the last cell. If
// opt.Visits is at least the number of records, kdforest.Scan returns the same
// result.
func (l *Cells) Search(centroids, records Scorer, opt Options) ([]kdforest.Hit, Stats, error) {
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
		stats.Cells++
		first, last := int(l.First[list.number]), int(l.First[list.number+1])
		last = first + min(last-first, opt.Visits-stats.Visited)
		for ; first < last; first += longestRun {
			scores := s.room(min(longestRun, last-first))
			records.Run(uint32(first), scores)
			for i, score := range scores {
				hit := kdforest.Hit{Record: uint32(first + i), Score: score}
				queue.Push(hit)
				if opt.Trace != nil {
					opt.Trace(Visit{Cell: list.number, Hit: hit})
				}
			}
			stats.Visited += len(scores)
			stats.Runs++
		}
	}
	return queue.Hits(), stats, nil
}

type searcher struct {
	order  []ranked
	scores []int64
}

type ranked struct {
	score  int64
	number uint32
}

var searchers = sync.Pool{New: func() any { return new(searcher) }}

func (s *searcher) room(n int) []int64 {
	s.scores = slices.Grow(s.scores[:0], n)[:n]
	return s.scores
}

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
