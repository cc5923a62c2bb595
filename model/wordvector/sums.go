// Package wordvector turns words into vectors like those of photos, so that an
// index finds photos by words.
//
//	rows and keywords of photos ─▶ Fit ─▶ Vectors: sums of each word's rows, a curve
//	text ─▶ Parse ─▶ Query: words with weights, negative to subtract
//	unit vectors of the words, weights ─▶ Combine ─▶ vector of length 1
//	similarity, share of the photos ─▶ Curve.Probability
//
// A word's vector is the mean vector of the photos that have the word, as in
// Rocchio, "Relevance feedback in information retrieval", 1971. Rows are the
// rounded vectors that an index encrypts, and all have nearly the same length.
// The similarity of a photo and a query is the cosine of their vectors. It is
// 1 − Dis/2 for the squared distance Dis of vectors of length 1.
package wordvector

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"cpar"
	"cpar/internal/wire"
)

// Sums holds, for each word, the sum of its photos' rows. Sums of integers are
// exact, so photos can be added and removed in any order.
type Sums struct {
	dim   int
	words map[string]*sum
}

type sum struct {
	photos int
	total  []int64
}

func NewSums(dim int) *Sums { return &Sums{dim: dim, words: map[string]*sum{}} }

// Add adds a photo's row to the sums of its keywords. Repetitions count once.
func (s *Sums) Add(row []int16, keywords []string) { s.add(row, keywords, 1) }

// Remove reverts Add with the same arguments.
func (s *Sums) Remove(row []int16, keywords []string) { s.add(row, keywords, -1) }

func (s *Sums) add(row []int16, keywords []string, sign int) {
	for i, w := range keywords {
		if slices.Contains(keywords[:i], w) {
			continue
		}
		of := s.of(w)
		of.photos += sign
		for k, v := range row {
			of.total[k] += int64(sign) * int64(v)
		}
	}
}

func (s *Sums) of(word string) *sum {
	if s.words[word] == nil {
		s.words[word] = &sum{total: make([]int64, s.dim)}
	}
	return s.words[word]
}

// Plus returns the sums of s and o, without words whose photos were all removed.
func (s *Sums) Plus(o *Sums) *Sums {
	out := NewSums(s.dim)
	for _, from := range []*Sums{s, o} {
		for word, more := range from.words {
			of := out.of(word)
			of.photos += more.photos
			for k, v := range more.total {
				of.total[k] += v
			}
		}
	}
	maps.DeleteFunc(out.words, func(_ string, of *sum) bool {
		return of.photos == 0 && !slices.ContainsFunc(of.total, func(v int64) bool { return v != 0 })
	})
	return out
}

// Dim returns the length of a row, or 0 if s is nil.
func (s *Sums) Dim() int {
	if s == nil {
		return 0
	}
	return s.dim
}

func (s *Sums) Words() []string { return slices.Sorted(maps.Keys(s.words)) }

// Vector returns a word's mean vector, scaled to length 1. It returns false for an
// unknown word, or if the photos' vectors cancel out.
func (s *Sums) Vector(word string) ([]float64, bool) {
	of, ok := s.words[word]
	if !ok || of.photos < 1 {
		return nil, false
	}
	out := make([]float64, s.dim)
	for k, v := range of.total {
		out[k] = float64(v)
	}
	return out, normalise(out)
}

func normalise(x []float64) bool {
	square := 0.0
	for _, v := range x {
		square += v * v
	}
	if !(square > 1e-12) {
		return false
	}
	for k := range x {
		x[k] /= math.Sqrt(square)
	}
	return true
}

// maxDim is the maximum length of a row that ReadSums accepts.
const maxDim = 512

// AppendBinary appends the length of a row, the number of words and, for each word
// in ascending order, its length and bytes, its number of photos and its sum. The
// last two are varints. If s is nil, AppendBinary appends only a row length of 0.
func (s *Sums) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint16(b, uint16(s.Dim()))
	if s == nil {
		return b, nil
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.words)))
	for _, word := range s.Words() {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(word)))
		b = append(b, word...)
		b = binary.AppendVarint(b, int64(s.words[word].photos))
		for _, v := range s.words[word].total {
			b = binary.AppendVarint(b, v)
		}
	}
	return b, nil
}

// ReadSums decodes the output of AppendBinary. Errors wrap cpar.ErrCorrupt.
func ReadSums(r *wire.Reader) (*Sums, error) {
	dim := int(r.U16("length of a row"))
	if dim > maxDim {
		r.Fail("rows of %d values", dim)
	}
	if dim == 0 || r.Err() != nil {
		return nil, r.Err()
	}
	s, before := NewSums(dim), ""
	for range r.Count(3+dim, "word vectors") {
		word := string(r.Bytes(int(r.U16("length of a word")), "word"))
		of := s.of(word)
		of.photos = int(r.Varint("photos of a word", cpar.MaxRecords))
		for k := range of.total {
			of.total[k] = r.Varint("word vector", cpar.MaxRecords*-math.MinInt16)
		}
		if r.Err() == nil && word <= before {
			r.Fail("word vectors are out of order")
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		before = word
	}
	return s, r.Err()
}

func (s *Sums) String() string { return fmt.Sprintf("vectors of %d words (redacted)", len(s.words)) }
