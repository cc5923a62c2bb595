package ivf

import (
	"fmt"

	"cpar/kdforest"
)

// Cells assigns records to cells. Cell i holds the records First[i] to
// First[i+1]−1. A Cells contains no vectors. It is immutable and safe for
// concurrent use.
type Cells struct {
	// First has k+1 elements. It ascends strictly from 0 to the number of
	// records, so no cell is empty.
	First []uint32
}

// Len returns k, the number of cells.
func (l *Cells) Len() int { return max(0, len(l.First)-1) }

func (l *Cells) Records() int {
	if len(l.First) == 0 {
		return 0
	}
	return int(l.First[len(l.First)-1])
}

// Validate checks that untrusted cells are safe for Search: every record from 0
// to Records−1 is in exactly one cell, and no cell is empty. It cannot check
// that the records of a cell are near each other. A wrong assignment makes
// Search miss near records. Errors wrap kdforest.ErrCorrupt.
func (l *Cells) Validate() error {
	if len(l.First) == 0 || l.First[0] != 0 {
		return fmt.Errorf("%w: cells do not begin with record 0", kdforest.ErrCorrupt)
	}
	for i, first := range l.First[1:] {
		if first <= l.First[i] {
			return fmt.Errorf("%w: cell %d goes from record %d to before %d", kdforest.ErrCorrupt, i, l.First[i], first)
		}
	}
	if n := l.First[len(l.First)-1]; n == kdforest.None {
		return fmt.Errorf("%w: %d records, which is too many", kdforest.ErrCorrupt, n)
	}
	return nil
}
