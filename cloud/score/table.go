package score

import (
	"slices"
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
	var rows [256][]uint64
	for some := range slices.Chunk(index, len(rows)) {
		for i, r := range some {
			rows[i] = t.row(r)
		}
		modq.Gather(dst, rows[:len(some)], x)
		dst = dst[len(some):]
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
