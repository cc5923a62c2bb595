package kdforest

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestCandidatesEqualVisits(t *testing.T) {
	rng := testRand(60)
	for trial := range 300 {
		n := 1 + rng.IntN(8)
		if trial%2 == 0 {
			n = 1 + rng.IntN(700)
		}
		rows := coarse(rng, n, 1+rng.IntN(6), 1+rng.IntN(200))
		f, planes := mustBuild(t, rows, BuildOptions{Trees: 1 + rng.IntN(10), Seed: [32]byte{byte(trial)}, Place: Place(trial / 2 % 2)})
		space := &plainSpace{rows: rows, planes: planes, request: coarse(rng, 1, len(rows[0]), 200)[0]}
		for _, order := range everyOrder {
			for _, visits := range []int{1, 1 + rng.IntN(n), n, math.MaxInt} {
				opt := Options{Visits: visits, L: 1 + rng.IntN(12), Order: order}
				space.scored = nil
				got, _, err := f.Candidates(space, opt, []uint32{7})
				if err != nil || len(space.scored) != 0 {
					t.Fatalf("n %d, %+v: %v, %d records scored", n, opt, err, len(space.scored))
				}
				hits, _, err := f.Search(space, opt)
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(space.scored)
				if want := append([]uint32{7}, space.scored...); !slices.Equal(got, want) {
					t.Fatalf("n %d, %+v: candidates %v, visited %v", n, opt, got, want)
				}
				queues := [4]*Queue{NewQueue(opt.L), NewQueue(opt.L), NewQueue(opt.L), NewQueue(opt.L)}
				for i, r := range got[1:] {
					queues[1+i%3].Push(Hit{Record: r, Score: l1(rows[r], space.request)})
				}
				for _, q := range queues[1:] {
					for _, h := range q.Hits() {
						queues[0].Push(h)
					}
				}
				if !slices.Equal(queues[0].Hits(), hits) {
					t.Fatalf("n %d, %+v: in parts %v, at once %v", n, opt, queues[0].Hits(), hits)
				}
			}
		}
	}
}

func TestCandidatesRefuses(t *testing.T) {
	f, space := sevenRecords(1)
	for _, opt := range []Options{{Visits: 0, L: 1}, {Visits: 1, L: 0}, {Visits: 6, L: 1, Prune: true}, {Visits: 1, L: 1, Order: 4}} {
		if got, _, err := f.Candidates(space, opt, nil); !errors.Is(err, ErrInput) || got != nil {
			t.Errorf("%+v: %v, %v", opt, got, err)
		}
	}
	if got, _, err := f.Candidates(space, Options{Visits: 7, L: 1, Prune: true}, nil); err != nil || len(got) != 7 {
		t.Errorf("%v, %v", got, err)
	}
}
