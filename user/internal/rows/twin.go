package rows

import (
	"fmt"
	"runtime"

	"cpar"
	"cpar/kdforest"
	"cpar/model/vector"
	"cpar/user/internal/index"
)

// A Twin holds the records of an index in plaintext. Tests compare every
// decrypted score with the score of the Twin. A Twin never leaves the owner.
type Twin struct {
	index *Index
	rows  *Rows
}

// Twin returns the plaintext of the collection given to SetUp.
func (b *Builder) Twin() (index.Twin, error) {
	t := &Twin{index: b.Index, rows: New(b.quantiser.Dim())}
	for i, r := range b.records {
		row, addend, err := b.quantiser.Record(r.Z, r.Vector.KL)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		t.rows.Add(row, addend)
	}
	return t, nil
}

func (t *Twin) Scores(v *vector.Vector) ([]int64, error) {
	u, err := t.Request(v)
	if err != nil {
		return nil, err
	}
	return t.rows.Scores(u, runtime.GOMAXPROCS(0)), nil
}

func (t *Twin) Row(record int) (row []int16, addend int64) { return t.rows.At(record) }

// Request returns a photo's request before encryption.
func (t *Twin) Request(v *vector.Vector) ([]int16, error) {
	u, _, err := t.index.request(v)
	return u, err
}

// Dis converts a score for this photo to a distance.
func (t *Twin) Dis(v *vector.Vector, score int64) (float64, error) {
	_, own, err := t.index.request(v)
	if err != nil {
		return 0, err
	}
	return t.index.quantiser.Dis(score, own), nil
}

// Search answers a request in plaintext. It visits no nodes.
func (t *Twin) Search(request index.ReplyReader, _ func(kdforest.Visit)) ([]kdforest.Hit, error) {
	reading, ok := request.(*ReplyReader)
	if !ok {
		return nil, fmt.Errorf("searching in the clear: %w: the request belongs to another scheme", cpar.ErrInput)
	}
	scores := t.rows.Scores(reading.u, runtime.GOMAXPROCS(0))
	t.index.hide(scores, reading.cluster)
	return nearest(scores, reading.l, t.index.skipped(reading.l)), nil
}
