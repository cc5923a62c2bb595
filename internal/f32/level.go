package f32

// A level is an index of `levels`: plain Go, or a set of vector instructions.
type level int

const plain level = 0

func (l level) String() string { return levels[l].name }

// active is the level in use. Tests vary it.
var active = best()

// A tiling holds the sizes in which a level cuts and packs matrices.
type tiling struct {
	rows  int // maximum number of rows per tile
	lanes int // values per register (a row of a tile has one or two registers)
	depth int // rows of b in a block, so that a strip of b, 2·lanes wide, and a strip of a fit in the first-level cache
	few   int // maximum number of remaining columns that tiles do not compute
	// Tiles of float64 have at most wideRows rows of wideWidth values.
	wideRows, wideWidth int
}

func (l level) tiling() tiling { return levels[l].tiling }

func (t tiling) width() int { return 2 * t.lanes }

const (
	// blockColumns is the number of columns of b packed at a time: half a
	// megabyte at depth 256.
	blockColumns = 512
	// blockRows is the number of rows of a in a block, so that the block stays
	// in the second-level cache.
	blockRows = 144
)

// strips describes n rows cut into `count` strips of almost equal height. The
// last ones may be higher by a row.
type strips struct{ n, count int }

func stripsOf(n, most int) strips { return strips{n, (n + most - 1) / most} }

// part returns the first row and the height of strip i.
func (s strips) part(i int) (first, size int) {
	size, low := s.n/s.count, s.count-s.n%s.count
	return i*size + max(0, i-low), size + min(1, max(0, i-low+1))
}

func (t tiling) depths(k int) strips { return stripsOf(k, t.depth) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
