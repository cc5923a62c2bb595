package score

import (
	"unsafe"

	"cpar/internal/modq"
)

// A table holds encrypted vectors as rows of words modulo 2⁶⁴.
type table struct {
	dim    int        // words per row
	per    int        // rows in each chunk except the last, which may have fewer
	first  uint32     // number of the first row, above 0 if earlier rows are in other shards
	chunks [][]uint64 // one or more whole rows each
}

func (t *table) row(i uint32) []uint64 {
	i -= t.first
	c, at := int(i)/t.per, int(i)%t.per*t.dim
	return t.chunks[c][at : at+t.dim : at+t.dim]
}

func (t *table) bytes(n int) uint64 { return uint64(n) * uint64(t.dim) * 8 }

func (t *table) rowsFrom(first uint32, n int) []uint64 {
	first -= t.first
	c, at := int(first)/t.per, int(first)%t.per
	rows := t.chunks[c][at*t.dim:]
	return rows[:min(len(rows), n*t.dim)]
}

func (t *table) run(dst []uint64, first uint32, x []uint64) {
	for len(dst) > 0 {
		part := t.rowsFrom(first, len(dst))
		n := len(part) / t.dim
		modq.Rows(dst[:n], part, x)
		dst, first = dst[n:], first+uint32(n)
	}
}

func (t *table) gather(dst []uint64, index []uint32, x []uint64) {
	if len(t.chunks) == 1 && t.first == 0 {
		modq.Gather(dst, t.chunks[0], index, x)
		return
	}
	for len(index) > maxSorted {
		t.gatherSorted(dst[:maxSorted], index[:maxSorted], x)
		dst, index = dst[maxSorted:], index[maxSorted:]
	}
	t.gatherSorted(dst, index, x)
}

// maxSorted is the number of rows sorted by chunk at once. It exceeds the ten
// rows that a round of depth-first search scores and is small enough for
// insertion sort.
const maxSorted = 32

// gatherSorted processes the rows of each chunk together, which allows
// prefetching.
func (t *table) gatherSorted(dst []uint64, index []uint32, x []uint64) {
	var order [maxSorted]uint8
	var rows [maxSorted]uint32
	var products [maxSorted]uint64
	for i := range index {
		at := i
		for ; at > 0 && index[order[at-1]] > index[i]; at-- {
			order[at] = order[at-1]
		}
		order[at] = uint8(i)
	}
	for first := 0; first < len(index); {
		chunk, last := int(index[order[first]]-t.first)/t.per, first
		for ; last < len(index) && int(index[order[last]]-t.first)/t.per == chunk; last++ {
			rows[last-first] = index[order[last]] - t.first - uint32(chunk*t.per)
		}
		modq.Gather(products[:last-first], t.chunks[chunk], rows[:last-first], x)
		for i, p := range products[:last-first] {
			dst[order[first+i]] = p
		}
		first = last
	}
}

// add appends a chunk, or extends the last chunk if both are adjacent in
// memory.
func (t *table) add(rows []uint64) {
	if n := len(t.chunks); n > 0 {
		last := t.chunks[n-1]
		if cap(last)-len(last) >= len(rows) && unsafe.SliceData(last[:len(last)+1][len(last):]) == unsafe.SliceData(rows) {
			t.chunks[n-1] = last[: len(last)+len(rows) : cap(last)]
			return
		}
	}
	t.chunks = append(t.chunks, rows)
}

// close sets the field `per`. It reports whether all chunks except the last
// have the same size, so that one division finds any row.
func (t *table) close() bool {
	if len(t.chunks) == 0 {
		return true
	}
	t.per = len(t.chunks[0]) / t.dim
	for i, c := range t.chunks {
		if len(c) != len(t.chunks[0]) && (i != len(t.chunks)-1 || len(c) > len(t.chunks[0])) {
			return false
		}
	}
	return true
}
