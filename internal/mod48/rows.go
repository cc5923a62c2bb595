package mod48

import "fmt"

// An Operand is the rows of a request, prepared to be multiplied by those of many matrices.
type Operand struct {
	m    *Modulus
	x    []uint64 // the request's rows
	rows int
	// halves are what the kernels for AVX2 take instead: of eight words their lower and upper halves, each
	// in a half of a word, then in four words the sums of the halves of the first four, and of the last.
	halves []uint64
}

// Prepare returns the operand of so many rows, all of one length, one after the other. It refers to x.
func (m *Modulus) Prepare(x []uint64, rows int) *Operand {
	if rows < 1 || len(x)%rows != 0 || len(x)/rows%block != 0 {
		panic(fmt.Sprintf("mod48: %d words are not %d rows of whole blocks", len(x), rows))
	}
	o := new(Operand)
	o.prepare(m, x, rows)
	return o
}

// prepare makes o an operand, with the memory that it had before.
func (o *Operand) prepare(m *Modulus, x []uint64, rows int) {
	o.m, o.x, o.rows = m, x, rows
	if active != withAVX2 {
		return
	}
	size := len(x)/8*12 + 1 // the last word is read in part, and ignored
	if cap(o.halves) < size {
		o.halves = make([]uint64, size)
	}
	o.halves = o.halves[:size]
	to := o.halves
	for ; len(x) >= 8; x = x[8:] {
		for i, w := range x[:8] {
			to[i] = w&(1<<24-1) | w>>24<<32
		}
		for i := range 4 {
			first, last := to[i], to[4+i]
			to[8+i] = first&(1<<32-1) + first>>32 + (last&(1<<32-1)+last>>32)<<32
		}
		to = to[12:]
	}
}

// Rows multiplies the rows of four matrices by those of o: dst[k][s] = ⟨row k of matrices[s], row k
// of o⟩ mod q. All have len(dst) contiguous rows.
//
// The rows of each matrix are read in order, and what follows them is prefetched: matrices whose
// next parts follow in memory are read as fast as memory delivers.
func (o *Operand) Rows(dst [][Streams]uint64, matrices *[Streams][]byte) {
	if len(dst) != o.rows {
		panic(fmt.Sprintf("mod48: products of %d rows, not %d", len(dst), o.rows))
	}
	for _, b := range matrices {
		_ = b[:WordBytes*len(o.x)] // assembly checks no bounds
	}
	n := len(o.x) / o.rows
	if n <= limit {
		o.multiply(dst, matrices, 0, n)
		return
	}
	// Row by row, in parts of which the sums fit.
	var part [1][Streams]uint64
	for k := range dst {
		dst[k] = [Streams]uint64{}
		for from := k * n; from < (k+1)*n; from += limit {
			o.multiply(part[:], matrices, from, min(limit, (k+1)*n-from))
			for s, p := range part[0] {
				dst[k][s] = o.m.add(dst[k][s], p)
			}
		}
	}
}
