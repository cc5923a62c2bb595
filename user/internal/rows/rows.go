package rows

import (
	"math"
	"slices"

	"cpar/internal/parallel"
	"cpar/kdforest"
)

// Rows are rows in the clear, one after the other.
type Rows struct {
	dim     int
	rows    []int16 // dim of each record
	addends []int64
}

// New has no rows yet.
func New(dim int) *Rows { return &Rows{dim: dim} }

// Add appends a row and its addend.
func (r *Rows) Add(row []int16, addend int64) {
	r.rows = append(r.rows, row...)
	r.addends = append(r.addends, addend)
}

// Append appends all rows of o.
func (r *Rows) Append(o *Rows) {
	r.rows = append(r.rows, o.rows...)
	r.addends = append(r.addends, o.addends...)
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.addends) }

// At is row i and its addend; the row is not a copy.
func (r *Rows) At(i int) (row []int16, addend int64) {
	return r.rows[i*r.dim : (i+1)*r.dim], r.addends[i]
}

// Scores are ⟨row, u⟩ + addend of every row.
func (r *Rows) Scores(u []int16, workers int) []int64 {
	out := make([]int64, r.Len())
	parallel.Ranges(len(out), workers, func(from, to int) {
		for i := from; i < to; i++ {
			row, addend := r.At(i)
			out[i] = int64(dot(row, u)) + addend
		}
	})
	return out
}

// dot is an inner product within 32 bits: the norms bound it by 2,101,000.
func dot(a, b []int16) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// nearest are the l least scores, in ascending order of (score, record), of the
// records that were not removed and have a score.
func nearest(scores []int64, l int, removed Bitmap) []kdforest.Hit {
	queue := kdforest.NewQueue(l)
	for i, score := range scores {
		if score != absent && !removed.Has(i) {
			queue.Push(kdforest.Hit{Record: uint32(i), Score: score})
		}
	}
	return queue.Hits()
}

// absent is the score of a record that was not asked about.
const absent = math.MaxInt64

// A Bitmap has bit i mod 8 of byte i/8 set where record i was removed. It is as
// long as the records need, whether or not any were.
type Bitmap []byte

// NewBitmap is for so many records, none of them removed.
func NewBitmap(records int) Bitmap { return make(Bitmap, (records+7)/8) }

// Has reports whether a record was removed.
func (b Bitmap) Has(record int) bool { return b[record/8]>>(record%8)&1 == 1 }

// With is b for so many records, at least as many as before, and with more of them
// removed.
func (b Bitmap) With(records int, removed []int) Bitmap {
	out := append(slices.Clone(b), NewBitmap(records)[len(b):]...)
	for _, i := range removed {
		out[i/8] |= 1 << (i % 8)
	}
	return out
}

// count is the number of records removed.
func (b Bitmap) count(records int) (n int) {
	for i := range records {
		if b.Has(i) {
			n++
		}
	}
	return n
}
