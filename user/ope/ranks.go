package ope

import (
	"fmt"
	"math"
	"slices"

	"cpar"
)

// Ranks number the splits of one field in ascending order. A node stores the
// rank of its split, a request sends the rank of its level, and
//
//	level ≤ split  ⇔  Of(level) ≤ OfSplit(split)
//
// for every level. The server learns the position of the request's levels among
// the splits, which the comparison requires, and the number of distinct splits
// per field.
type Ranks struct {
	splits []int
}

// NewRanks takes the distinct splits of a field in ascending order, possibly
// none. Errors wrap cpar.ErrInput.
func NewRanks(splits []int) (*Ranks, error) {
	if len(splits) > math.MaxUint16 {
		return nil, fmt.Errorf("ranking %d splits of a field, two bytes hold %d: %w", len(splits), math.MaxUint16, cpar.ErrInput)
	}
	for i := 1; i < len(splits); i++ {
		if splits[i] <= splits[i-1] {
			return nil, fmt.Errorf("ranking splits: %d follows %d, they must ascend: %w", splits[i], splits[i-1], cpar.ErrInput)
		}
	}
	return &Ranks{splits: slices.Clone(splits)}, nil
}

// Of returns the rank of any level: the number of splits below it.
func (r *Ranks) Of(level int) uint16 {
	i, _ := slices.BinarySearch(r.splits, level)
	return uint16(i)
}

// OfSplit returns the rank of a split, below the number of splits.
func (r *Ranks) OfSplit(split int) (uint16, error) {
	i, ok := slices.BinarySearch(r.splits, split)
	if !ok {
		return 0, fmt.Errorf("ranking a split: %d is not a split of this field: %w", split, cpar.ErrInput)
	}
	return uint16(i), nil
}
