package kdforest

import (
	"fmt"
	"math/bits"
)

// Candidates appends to dst the records that Search visits with these options, ascending,
// without scoring any: for a caller who divides the scoring. As a Queue keeps the same
// hits in whatever order they come, the L nearest of these records are what Search finds.
// A search that prunes has no candidates: scores decide what it visits. The cost does
// not count a search by rank, which walks no tree. Errors wrap ErrInput.
func (f *Forest) Candidates(space Space, opt Options, dst []uint32) ([]uint32, Stats, error) {
	opt, err := f.check(space, opt)
	switch {
	case err != nil:
		return dst, Stats{}, err
	case opt.Prune:
		return dst, Stats{}, fmt.Errorf("%w: candidates of a search that prunes", ErrInput)
	case opt.Order == ByRank:
		dst, err = opt.Ballots.Candidates(space.(Ranker), opt.Visits, dst)
		return dst, Stats{}, err
	}
	s := searchers.Get().(*searcher)
	defer searchers.Put(s)
	s.start(f, space, opt)
	defer s.release()
	for s.round(opt.Visits) {
	}
	return s.visited.appendTo(dst), s.stats, nil
}

// appendTo appends the members of a set, ascending.
func (b bitset) appendTo(dst []uint32) []uint32 {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return dst
}
