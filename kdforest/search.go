package kdforest

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

// Space provides the comparisons for one request. Its answers must not change
// during a search. Search calls it from one goroutine.
type Space interface {
	Scorer

	// Left reports whether the request lies on the plane or to its left. Unless
	// the space is a Ranker, Search calls it once for every plane.
	Left(plane uint32) bool

	// Beyond reports whether every record on the far side of the plane (away
	// from the request) has a score greater than `worst`. It may return false
	// when in doubt. Search calls it only if Options.Prune is set.
	Beyond(plane uint32, worst int64) bool
}

// Order is the order in which a tree visits records.
type Order uint8

const (
	// DepthFirst is the paper's order. The search descends to the request's
	// cell (the region of a leaf) and then walks back up. At each node it
	// visits the node's record first, and then the subtree on the far side of
	// the plane.
	DepthFirst Order = iota
	// ByRank visits the records whose cells are nearest in ranks (counts of
	// planes, see byrank.go), summed over all trees. It uses only order
	// comparisons and needs a Ranker.
	ByRank
	// BestBin is FLANN's order (bestbin.go). All trees share one heap of bins
	// (subtrees not entered yet). The next bin is the one with the smallest sum
	// of plane distances. BestBin needs a Metric.
	BestBin
)

// Metric is a Space that also knows the distances of planes.
type Metric interface {
	Space

	// Distance returns the request's distance from the plane, at least 0. Its
	// unit must be additive: the distance is squared if scores are squared L2,
	// and not squared if they are L1.
	Distance(plane uint32) float64

	// Reach converts a score into the unit of Distance. If the distances of the
	// planes in front of a record add up to more than Reach(worst), the
	// record's score is greater than `worst`. Reach must not decrease as the
	// score grows. Search calls it only if Options.Prune is set.
	Reach(worst int64) float64
}

type Options struct {
	Visits int   // number of distinct records to visit over all trees (see function Visits)
	L      int   // number of hits to return
	Prune  bool  // whether to skip far sides by Space.Beyond (in BestBin, by Metric.Reach) once there are L hits. ByRank refuses it
	Order  Order // order of visits in a tree

	// Trace, if set, is called for every visit in order, after the records of
	// the visit's round are scored.
	Trace func(Visit)

	// Ballots are needed by ByRank and must be made from the same forest. If
	// nil, Search makes them, in more time than the search itself.
	Ballots *Ballots

	fields []Field // result of Ranker.Fields, for ByRank
}

// Visit is the visit of one record, as passed to Options.Trace.
type Visit struct {
	Round int // from 0
	Tree  int // first tree to reach the record, or 0 with ByRank
	Hit
}

type Stats struct {
	Visited        int // distinct records scored
	Rounds         int // batches scored
	PlanesCompared int // planes compared at nodes (with ByRank, ranked planes)
	PlanesPruned   int // far sides skipped by Space.Beyond or Metric.Reach
}

// Visits returns the number of distinct records, over all trees, that a search
// at the paper's AP-X visits: max(l, ⌈X·n/100⌉), but at most n. Parameter
// `tenths` is X in tenths of a percent, from 1 to 1000. Errors wrap ErrInput.
func Visits(tenths, n, l int) (int, error) {
	switch {
	case tenths < 1 || tenths > 1000:
		return 0, fmt.Errorf("%w: AP of %d tenths of a percent is not within 0.1 and 100 percent", ErrInput, tenths)
	case n < 0 || uint64(n) >= uint64(None):
		return 0, fmt.Errorf("%w: visits of %d records", ErrInput, n)
	case l < 1:
		return 0, fmt.Errorf("%w: visits for the nearest %d", ErrInput, l)
	}
	share := (uint64(tenths)*uint64(n) + 999) / 1000
	return min(max(l, int(share)), n), nil
}

// Search visits up to opt.Visits records. It returns the opt.L nearest of these
// records, ordered by (score, record), and the cost. The forest must come from
// Build or have passed Validate. Errors wrap ErrInput.
//
// The trees advance in lock step. In every round, each tree moves to its next
// record that no tree has visited, and Search scores these records as one
// batch. With ByRank it scores DefaultBatch records per round, in ascending
// order of record.
//
// If opt.Visits ≥ n (AP-100), the result equals Scan's. Search then ignores
// opt.Prune, because the Space's bounds may be estimates.
func (f *Forest) Search(space Space, opt Options) ([]Hit, Stats, error) {
	opt, err := f.check(space, opt)
	if err != nil {
		return nil, Stats{}, err
	}
	hits, stats := f.search(space, opt)
	return hits, stats, nil
}

func (f *Forest) check(space Space, opt Options) (Options, error) {
	fail := func(format string, args ...any) (Options, error) {
		return opt, fmt.Errorf("%w: %s", ErrInput, fmt.Sprintf(format, args...))
	}
	switch {
	case opt.Visits < 1:
		return fail("searching with %d visits", opt.Visits)
	case opt.L < 1:
		return fail("searching for the nearest %d", opt.L)
	case opt.Order > BestBin:
		return fail("searching in order %d", opt.Order)
	}
	if opt.Order == ByRank {
		if opt.Prune {
			return fail("pruning a search by rank, but its visits are chosen before any score is known")
		}
		ranker, ok := space.(Ranker)
		if !ok {
			return fail("a search by rank needs a space with ranks")
		}
		if opt.Ballots == nil {
			opt.Ballots = NewBallots(f)
		}
		opt.fields = ranker.Fields()
		if err := opt.Ballots.check(f.Records, f.Planes, opt.fields); err != nil {
			return opt, err
		}
	}
	if _, ok := space.(Metric); opt.Order == BestBin && !ok {
		return fail("a best-bin search needs a space with distances")
	}
	if uint64(opt.Visits) >= uint64(f.Records) {
		opt.Visits = int(f.Records)
		opt.Prune = false
	}
	return opt, nil
}

// search is Search without the checks, so that tests can prune at AP-100.
func (f *Forest) search(space Space, opt Options) ([]Hit, Stats) {
	s := searchers.Get().(*searcher)
	defer searchers.Put(s)
	return s.run(f, space, opt)
}

// searcher is the working memory of one search. It is pooled, so that a visit
// allocates nothing.
type searcher struct {
	space   Space
	metric  Metric // the same space, for BestBin
	order   Order
	prune   bool
	visited bitset // Vis of Algorithm 1: the records visited by any tree
	right   bitset // bit p+1 is set if the request lies right of plane p; bit 0 serves nodes without a plane
	queue   Queue
	walks   []walk // one per tree
	bins    bins   // BestBin: bins of all trees
	ahead   bin    // BestBin: the bin whose far child is entered next
	fresh   int    // BestBin: the first tree not yet descended
	stats   Stats

	election   election
	candidates []uint32
	unscored   []uint32

	records []uint32
	trees   []int
	scores  []int64
}

var searchers = sync.Pool{New: func() any { return new(searcher) }}

func (s *searcher) run(f *Forest, space Space, opt Options) ([]Hit, Stats) {
	s.start(f, space, opt)
	defer s.release()
	for s.round(opt.Visits) {
		s.score(opt.Trace)
	}
	return s.queue.Hits(), s.stats
}

func (s *searcher) round(visits int) bool {
	room := visits - s.stats.Visited
	if room == 0 {
		return false
	}
	switch s.order {
	case BestBin:
		s.collectBestBin(room)
	case ByRank:
		s.collectByRank()
	default:
		s.collect(room)
	}
	s.stats.Visited += len(s.records)
	return len(s.records) > 0
}

func (s *searcher) start(f *Forest, space Space, opt Options) {
	s.space, s.order, s.prune = space, opt.Order, opt.Prune
	s.metric, _ = space.(Metric)
	s.stats = Stats{}
	s.visited.reset(int(f.Records))
	if s.order != ByRank {
		s.comparePlanes(f.Planes)
	}
	s.queue.Reset(opt.L)
	trees := len(f.Trees)
	s.walks = slices.Grow(s.walks[:0], trees)[:trees]
	round := trees
	if s.order == ByRank {
		round = DefaultBatch
	}
	s.scores = slices.Grow(s.scores[:0], round)[:round]
	for t, tree := range f.Trees {
		s.walks[t].start(tree)
	}
	switch s.order {
	case BestBin:
		s.startBestBin()
	case ByRank:
		s.startByRank(opt.Ballots, opt.fields, opt.Visits)
	}
}

// comparePlanes compares the request with every plane in advance. A search then
// reads one bit at each node, from a table that fits in the L1 cache. Its
// outcome is random, so a branch on it would be mispredicted.
func (s *searcher) comparePlanes(planes uint32) {
	s.right.reset(int(planes) + 1)
	if ranker, ok := s.space.(Ranker); ok {
		for _, field := range ranker.Fields() {
			for p := range field.Beyond {
				s.right.add(field.First + p + 1)
			}
		}
		return
	}
	for p := range planes {
		if !s.space.Left(p) {
			s.right.add(p + 1)
		}
	}
}

// release drops references to the caller's data before the searcher is pooled.
func (s *searcher) release() {
	s.space, s.metric = nil, nil
	for t := range s.walks {
		s.walks[t].nodes = nil
	}
}

func (s *searcher) collect(room int) {
	s.records, s.trees = s.records[:0], s.trees[:0]
	for t := range s.walks {
		if len(s.records) == room {
			return
		}
		if record, ok := s.walks[t].next(s); ok {
			s.records = append(s.records, record)
			s.trees = append(s.trees, t)
		}
	}
}

func (s *searcher) score(trace func(Visit)) {
	scores := s.scores[:len(s.records)]
	s.space.Score(s.records, scores)
	for i, r := range s.records {
		hit := Hit{Record: r, Score: scores[i]}
		s.queue.Push(hit)
		if trace != nil {
			trace(Visit{Round: s.stats.Rounds, Tree: s.trees[i], Hit: hit})
		}
	}
	s.stats.Rounds++
}

// Candidates appends the records that Search would visit with these options to
// `dst`, in ascending order. It scores no records, so it returns an error if
// opt.Prune is set. It does not count the cost of a search by rank. Errors wrap
// ErrInput.
func (f *Forest) Candidates(space Space, opt Options, dst []uint32) ([]uint32, Stats, error) {
	opt, err := f.check(space, opt)
	switch {
	case err != nil:
		return dst, Stats{}, err
	case opt.Prune:
		return dst, Stats{}, fmt.Errorf("%w: candidates of a search that prunes", ErrInput)
	case opt.Order == ByRank:
		s := searchers.Get().(*searcher)
		defer searchers.Put(s)
		return s.election.run(opt.Ballots, opt.fields, opt.Visits, dst), Stats{}, nil
	}
	s := searchers.Get().(*searcher)
	defer searchers.Put(s)
	s.start(f, space, opt)
	defer s.release()
	for s.round(opt.Visits) {
	}
	return s.visited.appendTo(dst), s.stats, nil
}

func (b bitset) appendTo(dst []uint32) []uint32 {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return dst
}
