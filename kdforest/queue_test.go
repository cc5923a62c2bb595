package kdforest

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestQueueKeepsTheNearest(t *testing.T) {
	rng := testRand(30)
	for range 2000 {
		limit := rng.IntN(12)
		q := NewQueue(limit)
		var want []Hit
		for r := range rng.IntN(40) {
			h := Hit{Record: uint32(40 - r), Score: rng.Int64N(10) - 5}
			if r == 0 {
				h.Score = math.MaxInt64
			}
			q.Push(h)
			want = insertHit(want, h, limit)
			if q.Full() != (limit > 0 && len(want) == limit) {
				t.Fatalf("full %v with %d of %d", q.Full(), len(want), limit)
			}
			if q.Full() && q.Worst() != want[limit-1].Score {
				t.Fatalf("worst %d, want %d", q.Worst(), want[limit-1].Score)
			}
		}
		if got := q.Hits(); !slices.Equal(got, want) {
			t.Fatalf("kept %v, want %v", got, want)
		}
	}
}

func TestScanBatches(t *testing.T) {
	rng := testRand(31)
	rows := coarse(rng, 600, 3, 6)
	space := &plainSpace{rows: rows, request: rows[0]}
	want := make([]Hit, 0, 600)
	for i, row := range rows {
		want = insertHit(want, Hit{Record: uint32(i), Score: l1(row, rows[0])}, 13)
	}
	got, err := Scan(space, len(rows), 13)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v (%v), want %v", got, err, want)
	}
	for i, r := range space.scored {
		if int(r) != i {
			t.Fatalf("record %d in place %d", r, i)
		}
	}
	if len(space.scored) != len(rows) {
		t.Errorf("%d records scored", len(space.scored))
	}
	for _, c := range [][2]int{{-1, 1}, {100, 0}, {math.MaxUint32, 1}} {
		if _, err := Scan(space, c[0], c[1]); !errors.Is(err, ErrInput) {
			t.Errorf("Scan%v: %v", c, err)
		}
	}
}
