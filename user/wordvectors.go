package user

import (
	"context"

	"cpar"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/model/wordvector"
	"cpar/user/internal/rows"
)

// This file maintains the vectors by which an index is searched for words (search.go):
// for each word, the sum of the rows (rounded vectors) of its photos.

// fitVectors computes the vectors of all words of a new index, and lets them
// determine how many hidden cells a search asks. It computes none for profile
// "paper", whose vectors have no meaningful mean, and for schemes that cannot be
// updated. Such indexes have no cells.
func (l *ledger) fitVectors(ctx context.Context, s schemeBuilder) error {
	l.search, l.rows = nil, nil
	b, ok := s.(*rows.Builder)
	if !ok || l.profile.Kind() == profile.Paper {
		return nil
	}
	all, keywords, err := b.Incoming()
	if err != nil {
		return err
	}
	l.rows = wordvector.NewSums(l.profile.Layout().JL)
	if l.search, err = wordvector.Fit(ctx, l.rows.Dim(), all, keywords); err != nil {
		return err
	}
	var words []*vector.Vector
	for _, w := range l.search.Sums.Words() {
		if x, ok := l.search.Sums.Vector(w); ok {
			v, err := combined([][]float64{x}, []float64{1})
			if err != nil {
				return err
			}
			words = append(words, v)
		}
	}
	return b.Divide(ctx, words)
}

// combined returns the vector of a query for words with the given vectors.
func combined(vectors [][]float64, weights []float64) (*vector.Vector, error) {
	x, err := wordvector.Combine(vectors, weights)
	if err != nil {
		return nil, err
	}
	return vector.Embedded(x, len(x))
}

// sums returns the sums of all photos.
func (l *ledger) sums() *wordvector.Sums { return l.search.Sums.Plus(l.rows) }

// recount returns the ledger's sums after a change, or nil if the index has no
// vectors of words. `before` holds the keywords of all records before it.
func (u *updater) recount(ctx context.Context, c change, added *rows.Rows, before [][]string) (*wordvector.Sums, error) {
	l := u.owner.ledger
	if l.rows == nil {
		return nil, nil
	}
	delta := wordvector.NewSums(l.rows.Dim())
	first := len(u.keywords) - added.Len()
	for i := range added.Len() {
		row, _ := added.At(i)
		delta.Add(row, u.keywords[first+i])
	}
	touched := map[int]bool{}
	for _, record := range c.remove {
		touched[record] = true
	}
	for record := range c.keywords {
		touched[record] = true
	}
	if len(touched) > 0 {
		err := u.rows.DecryptAll(ctx, u.segments(cpar.SegmentVectors), u.fetch, func(record int, row []int16, _ int64, _ bool) {
			if touched[record] {
				delta.Remove(row, before[record])
				delta.Add(row, u.keywords[record])
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return l.rows.Plus(delta), nil
}

// fold moves sums that have become long into the profile, and reports whether
// the profile must be rewritten.
func (l *ledger) fold() bool {
	if l.rows == nil {
		return false
	}
	if b, err := l.rows.AppendBinary(nil); err == nil && len(b) <= maxSums {
		return false
	}
	search := *l.search
	search.Sums = l.sums()
	l.search, l.rows = &search, wordvector.NewSums(l.rows.Dim())
	return true
}

// VectorBytes returns the number of bytes that the index keeps for the vectors
// of its words, 0 if it has none.
func (o *Owner) VectorBytes() int {
	a, _ := o.ledger.search.AppendBinary(nil)
	b, _ := o.ledger.rows.AppendBinary(nil)
	return len(a) + len(b)
}
