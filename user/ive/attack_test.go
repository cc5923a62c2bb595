package ive

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// These attacks demonstrate in a toy dimension what SECURITY.md says about
// known records.

// knownPairs returns known vectors and their scores for one request.
func knownPairs(t *testing.T, noise *Noise, p Params, known, bound int64) (records [][]int64, scores []int64, request []int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	k := mustKey(t, 9, p)
	request = vector(r, p.Dim, bound)
	q := make([]uint64, p.Dim)
	if err := k.EncryptRequest(q, request, noise); err != nil {
		t.Fatal(err)
	}
	for range known {
		v, c := vector(r, p.Dim, bound), make([]uint64, p.Dim)
		if err := k.EncryptRecord(c, v, noise); err != nil {
			t.Fatal(err)
		}
		records, scores = append(records, v), append(scores, p.Score(c, q))
	}
	return records, scores, request
}

// Without noise, m known records and their scores determine a request by linear
// equations.
func TestLeakKnownRecordsGiveARequestAway(t *testing.T) {
	p := Params{Dim: 12, RecordShift: 14, RequestShift: 14}
	records, scores, request := knownPairs(t, InsecureNoNoise(secret(1)), p, int64(p.Dim), 1000)
	got, err := solve(records, scores)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, request) {
		t.Errorf("solved for %v, the request is %v", got, request)
	}
}

// With the pipeline's noise, least squares with a few more known records does
// the same.
func TestLeakNoiseDoesNotHideARequest(t *testing.T) {
	p := Params{Dim: 12, RecordShift: DistanceShift, RequestShift: DistanceShift}
	records, scores, request := knownPairs(t, NewNoise(secret(2)), p, 4*int64(p.Dim), 1000)
	a, b := mat.NewDense(len(records), p.Dim, nil), mat.NewVecDense(len(records), nil)
	for i, v := range records {
		for j, x := range v {
			a.Set(i, j, float64(x))
		}
		b.SetVec(i, float64(scores[i]))
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	for j, want := range request {
		if got := x.AtVec(j); got < float64(want)-0.5 || got > float64(want)+0.5 {
			t.Errorf("element %d is read as %.2f, it is %d", j, got, want)
		}
	}
}

func solve(rows [][]int64, right []int64) ([]int64, error) {
	m := len(rows)
	a := make([][]*big.Rat, m)
	for i, row := range rows {
		for _, x := range append(slices.Clone(row), right[i]) {
			a[i] = append(a[i], new(big.Rat).SetInt64(x))
		}
	}
	for c := range m {
		p := c
		for p < m && a[p][c].Sign() == 0 {
			p++
		}
		if p == m {
			return nil, errors.New("the records are dependent")
		}
		a[c], a[p] = a[p], a[c]
		inverse := new(big.Rat).Inv(a[c][c])
		for j := range a[c] {
			a[c][j].Mul(a[c][j], inverse)
		}
		for i := range m {
			if f := new(big.Rat).Set(a[i][c]); i != c {
				for j := range a[i] {
					a[i][j].Sub(a[i][j], new(big.Rat).Mul(f, a[c][j]))
				}
			}
		}
	}
	out := make([]int64, m)
	for i := range out {
		if !a[i][m].IsInt() {
			return nil, errors.New("the solution is not whole")
		}
		out[i] = a[i][m].Num().Int64()
	}
	return out, nil
}
