package user

import (
	"fmt"
	"runtime"

	"cpar"
	"cpar/kdforest"
	"cpar/user/vector"
)

// exactTwin is the twin of an index of scheme sealed or local: the same small
// integers in the clear, so that every score can be compared.
func (b *Builder) exactTwin() (*Twin, error) {
	t := &Twin{owner: b.Owner, vectors: b.vectors, exact: &plainRecords{dim: b.dim()}}
	for i, v := range b.vectors {
		row, addend, _, err := b.exact.record(widenZ(b.z[i]), v.KL)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		t.exact.add(row, addend)
	}
	return t, nil
}

// Scores are those of every record for a request of scheme sealed or local: the
// integers that the owner decrypts, or computes at home.
func (t *Twin) Scores(v *vector.Vector) ([]int64, error) {
	if t.exact == nil {
		return nil, fmt.Errorf("%w: scores of scheme %v depend on the request's scale", cpar.ErrInput, t.owner.profile.scheme)
	}
	u, _, err := t.owner.exactRequest(v)
	if err != nil {
		return nil, err
	}
	return t.exact.scores(u, runtime.GOMAXPROCS(0)), nil
}

// Row is the quantised vector of a record of scheme sealed or local, and its
// addend.
func (t *Twin) Row(record int) (row []int32, addend int64) {
	return t.exact.row(record), t.exact.addends[record]
}

// Request is the quantised vector of a photo as scheme sealed encrypts it.
func (t *Twin) Request(v *vector.Vector) ([]int32, error) {
	u, _, err := t.owner.exactRequest(v)
	return u, err
}

// Dis is the distance that a score of this photo stands for.
func (t *Twin) Dis(v *vector.Vector, score int64) (float64, error) {
	_, own, err := t.owner.exactRequest(v)
	if err != nil {
		return 0, err
	}
	return t.owner.exact.dis(score, own), nil
}

func (t *Twin) scan(v *vector.Vector, l int) ([]kdforest.Hit, error) {
	scores, err := t.Scores(v)
	if err != nil {
		return nil, err
	}
	found := nearestScores(scores, l, t.owner.profile.exact.isRemoved)
	hits := make([]kdforest.Hit, len(found))
	for i, x := range found {
		hits[i] = kdforest.Hit{Record: x.record, Score: x.score}
	}
	return hits, nil
}
