package rows

import (
	"math"
	"math/bits"
	"slices"

	"cpar/internal/parallel"
	"cpar/kdforest"
)

// Rows holds plaintext records, each a vector (row) and an addend.
type Rows struct {
	dim     int
	rows    []int16 // dim values per record
	addends []int64
}

func New(dim int) *Rows { return &Rows{dim: dim} }

func (r *Rows) Add(row []int16, addend int64) {
	r.rows = append(r.rows, row...)
	r.addends = append(r.addends, addend)
}

func (r *Rows) Append(o *Rows) {
	r.rows = append(r.rows, o.rows...)
	r.addends = append(r.addends, o.addends...)
}

func (r *Rows) Len() int { return len(r.addends) }

// At returns row i, which is not a copy, and its addend.
func (r *Rows) At(i int) (row []int16, addend int64) {
	return r.rows[i*r.dim : (i+1)*r.dim], r.addends[i]
}

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

// dot returns an inner product. The norm bounds (quantise.go) limit it to
// 2,101,000, which fits 32 bits.
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

// nearest returns the l lowest scores, in ascending order of (score, record). It
// leaves out the records in `skip` and absent scores.
func nearest(scores []int64, l int, skip Bitmap) []kdforest.Hit {
	queue := kdforest.NewQueue(l)
	for i, score := range scores {
		if score != absent && !skip.Has(i) {
			queue.Push(kdforest.Hit{Record: uint32(i), Score: score})
		}
	}
	return queue.Hits()
}

// absent is the score of a record that the request did not cover.
const absent = math.MaxInt64

// A Bitmap marks records, for example removed ones. The bit of record i is bit i
// mod 8 of byte i/8. The length depends only on the number of records.
type Bitmap []byte

func NewBitmap(records int) Bitmap { return make(Bitmap, (records+7)/8) }

func (b Bitmap) Has(record int) bool { return b[record/8]>>(record%8)&1 == 1 }

// With returns b extended to the given number of records, with the records in
// `more` marked.
func (b Bitmap) With(records int, more []int) Bitmap {
	out := append(slices.Clone(b), NewBitmap(records)[len(b):]...)
	for _, i := range more {
		out[i/8] |= 1 << (i % 8)
	}
	return out
}

// count returns the number of marked records. No bit after the last record is set.
func (b Bitmap) count() (n int) {
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
