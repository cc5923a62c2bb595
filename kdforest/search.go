package kdforest

import (
	"fmt"
	"slices"
	"sync"
)

// Space answers for one request what a forest cannot know. Its answers must
// not change during a search; Search calls it from one goroutine.
type Space interface {
	Scorer

	// Left reports the side of the plane on which the request lies: true if
	// the request is on the plane or short of it. Trees share planes, so the
	// same plane may be asked about again.
	Left(plane uint32) bool

	// Beyond reports whether every record on the side of the plane away from
	// the request scores strictly more than worst. It may answer false when
	// in doubt, and is only called if Options.Prune is set.
	Beyond(plane uint32, worst int64) bool
}

// Order is the order in which a tree visits the records on its way.
type Order uint8

const (
	// BottomUp is the paper's: down to the cell of the request first, then
	// its records from the leaf upwards, each followed by its far side.
	BottomUp Order = iota
	// TopDown visits the record of every node on the way down. It spends its
	// first visits on the same few records near the roots for every request,
	// and is here to be compared with: on Corel-5k, ten trees, it finds 0.40
	// of the true top 10 at AP-2.5 and 0.78 at AP-10, BottomUp 0.54 and 0.79.
	TopDown
	// ByRank visits the records whose cells are fewest ranks away, summed over
	// all trees: order comparisons alone say which, before any is scored. Needs a
	// Ranker. byrank.go says how, doc.go what it finds.
	ByRank
	// BestBin is FLANN's: best bin first, over one heap shared by all trees, the
	// bin next to be entered being the one whose planes add up to the least
	// distance. Needs a Metric. bestbin.go says what Prune means here.
	BestBin
)

// Metric is a Space that can also tell how far its planes are.
type Metric interface {
	Space

	// Distance returns how far the request is from the plane, 0 or more, in a
	// unit in which the distances of several planes may be added up: the squared
	// distance where scores are squared L2, the distance itself for L1.
	Distance(plane uint32) float64

	// Reach converts a score into that unit: planes that add up to more than
	// Reach(worst) have nothing of score worst or less behind them. It does not
	// fall as the score grows, and is only called if Options.Prune is set.
	Reach(worst int64) float64
}

// Options bound a search.
type Options struct {
	Visits int   // distinct records to visit over all trees; see Visits
	L      int   // hits to return
	Prune  bool  // skip far sides that Space.Beyond (BestBin: Metric.Reach) gives up, once L hits are there; not ByRank
	Order  Order // of visits in a tree

	// Trace, if set, is told of every visit in the order of visits, after the
	// round's records were scored.
	Trace func(Visit)

	// Ballots are those of the forest, for ByRank. Where nil they are made for the
	// search, which takes longer than the search itself.
	Ballots *Ballots

	fields []Field // ByRank: the Ranker's
}

// Visit is one step of a search, for Options.Trace.
type Visit struct {
	Round int // from 0
	Tree  int // the tree that came to the record first; ByRank: 0, all have a say
	Hit
}

// Stats is what a search cost.
type Stats struct {
	Visited      int // distinct records scored
	Rounds       int // batches they were scored in
	PlanesAsked  int // calls of Space.Left, or planes asked about by rank
	PlanesPruned int // far sides that Space.Beyond or Metric.Reach gave up
}

// Visits is the paper's AP-X: the number of distinct records that a search at
// X percent visits over all trees, max(l, ⌈X·n/100⌉) and never more than n.
// X is given in tenths of a percent, 1 (AP-0.1) to 1000 (AP-100), so that the
// number is exact: 2.5 % is 25.
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

// Search visits up to opt.Visits records and returns the opt.L nearest of them
// by (score, record), with what it cost. f must be valid (Build, Validate).
//
// The trees advance in lock step. In every round each tree in turn, tree 0
// first, goes on to its next record that no tree has visited; the records of
// the round, at most one a tree, are scored as one batch. (In the order BestBin
// a round is the next few records of all trees, as many as there are trees; in
// the order ByRank it is the next DefaultBatch of all that are visited, ascending.)
// The search ends when the visits are spent, or when no tree has anything left.
// All of this is decided by the Space's answers alone.
//
// With opt.Visits ≥ n (AP-100) every record is visited and the result is that
// of Scan; opt.Prune is then ignored, because the Space's bounds may be
// estimates.
func (f *Forest) Search(space Space, opt Options) ([]Hit, Stats, error) {
	switch {
	case opt.Visits < 1:
		return nil, Stats{}, fmt.Errorf("%w: searching with %d visits", ErrInput, opt.Visits)
	case opt.L < 1:
		return nil, Stats{}, fmt.Errorf("%w: searching for the nearest %d", ErrInput, opt.L)
	case opt.Order > BestBin:
		return nil, Stats{}, fmt.Errorf("%w: searching in order %d", ErrInput, opt.Order)
	}
	if opt.Order == ByRank {
		if opt.Prune {
			return nil, Stats{}, fmt.Errorf("%w: pruning a search by rank, which settles its visits before any score", ErrInput)
		}
		ranker, ok := space.(Ranker)
		if !ok {
			return nil, Stats{}, fmt.Errorf("%w: searching by rank a space without ranks", ErrInput)
		}
		if opt.Ballots == nil {
			opt.Ballots = NewBallots(f)
		}
		opt.fields = ranker.Fields()
		if err := opt.Ballots.check(f.Records, f.Planes, opt.fields); err != nil {
			return nil, Stats{}, err
		}
	}
	if _, ok := space.(Metric); opt.Order == BestBin && !ok {
		return nil, Stats{}, fmt.Errorf("%w: searching best bin first a space without distances", ErrInput)
	}
	if uint64(opt.Visits) >= uint64(f.Records) {
		opt.Visits = int(f.Records)
		opt.Prune = false
	}
	hits, stats := f.search(space, opt)
	return hits, stats, nil
}

// search is Search with the options as they are meant: tests prune at AP-100.
func (f *Forest) search(space Space, opt Options) ([]Hit, Stats) {
	s := searchers.Get().(*searcher)
	defer searchers.Put(s)
	return s.run(f, space, opt)
}

// searcher is the memory of one search. It is pooled, so that a visit
// allocates nothing.
type searcher struct {
	space   Space
	metric  Metric // the space once more, for BestBin
	order   Order
	prune   bool
	visited bitset // Vis of Algorithm 1: records, whatever tree they were met in
	queue   Queue
	walks   []walk // one a tree
	bins    bins   // BestBin: of all trees
	ahead   bin    // BestBin: its far child is entered next
	fresh   int    // BestBin: trees not yet descended, the first of them
	stats   Stats

	// ByRank: all that is visited, and what of it is not scored yet.
	election   election
	candidates []uint32
	unscored   []uint32

	// The batch of the round.
	records []uint32
	trees   []int
	scores  []int64
}

var searchers = sync.Pool{New: func() any { return new(searcher) }}

func (s *searcher) run(f *Forest, space Space, opt Options) ([]Hit, Stats) {
	s.start(f, space, opt)
	defer s.release()
	for s.stats.Visited < opt.Visits {
		switch room := opt.Visits - s.stats.Visited; s.order {
		case BestBin:
			s.collectBestBin(room)
		case ByRank:
			s.collectByRank()
		default:
			s.collect(room)
		}
		if len(s.records) == 0 {
			break
		}
		s.score(opt.Trace)
	}
	return s.queue.Hits(), s.stats
}

func (s *searcher) start(f *Forest, space Space, opt Options) {
	s.space, s.order, s.prune = space, opt.Order, opt.Prune
	s.metric, _ = space.(Metric)
	s.stats = Stats{}
	s.visited.reset(int(f.Records))
	s.queue.reset(opt.L)
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

// release lets go of the caller's things before the searcher is pooled.
func (s *searcher) release() {
	s.space, s.metric = nil, nil
	for t := range s.walks {
		s.walks[t].nodes = nil
	}
}

// collect gathers the next round: one record a tree, at most room of them.
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

// score scores the round and shows it to the queue.
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
	s.stats.Visited += len(s.records)
	s.stats.Rounds++
}
