package aspe

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/rank"
	"cpar/model/vectorlayout"
	"cpar/user/internal/fixtures"
	"cpar/user/scorevector"
)

// TestSamplesAreNearestOthers checks neighbours by integer distances, even
// folds, and an unchanged collection.
func TestSamplesAreNearestOthers(t *testing.T) {
	for kind, photos := range kinds {
		x, c := fixtures.Index(t, cpar.SchemeCPAR, kind, photos(70, 4), syntheticphotos.Stuck{})
		layout := x.Profile.Layout()
		before := make([][]int16, len(c.Records))
		for i, z := range c.Z() {
			before[i] = slices.Clone(z)
		}
		budget, err := scorevector.NewLargestScale(layout)
		if err != nil {
			t.Fatal(err)
		}
		distance := func(i, j int) float64 {
			const scale = 1 << 10
			record, request := make([]int64, budget.Dim()), make([]int64, budget.Dim())
			err1 := budget.Record(record, c.Records[i].Z, c.Records[i].Vector.KL, 0)
			err2 := budget.Request(request, c.Records[j].Z, c.Records[j].Vector.KL, scale, 0)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			return max(0, budget.Dis(budget.PlainScore(record, request), scale))
		}
		for _, most := range []int{25, 1000} {
			samples, err := Samples(t.Context(), layout, c, most, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(samples) != min(most, 70) || !reflect.DeepEqual(c.Z(), before) {
				t.Fatalf("%v: %d samples, or another collection", kind, len(samples))
			}
			seen := map[int]bool{}
			for i, s := range samples {
				// The sample's record is the one missing from all its
				// neighbours.
				if s.Fold != i%folds || len(s.Near) != min(rank.MostNeighbours, 69) {
					t.Fatalf("%v: sample %d of fold %d has %d neighbours", kind, i, s.Fold, len(s.Near))
				}
				itself := -1
				for record := range 70 {
					fits := slices.Equal(c.Records[record].Keywords, s.Truth) && !seen[record]
					for _, n := range s.Near { // short vectors have many equal distances
						fits = fits && math.Abs(distance(int(n.Record), record)-n.Dis) < 1e-12
					}
					if fits {
						itself = record
					}
				}
				if itself < 0 {
					t.Fatalf("%v: sample %d is of no record", kind, i)
				}
				seen[itself] = true
				var want []float64
				for record := range 70 {
					if record != itself {
						want = append(want, distance(record, itself))
					}
				}
				slices.Sort(want)
				for j, n := range s.Near {
					if n.Dis != want[j] || n.Dis != distance(int(n.Record), itself) || int(n.Record) == itself || !slices.Equal(n.Keywords, c.Records[n.Record].Keywords) {
						t.Fatalf("%v: neighbour %d of record %d: %+v, want distance %g", kind, j, itself, n, want[j])
					}
				}
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := Samples(ctx, layout, c, 10, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: stopped: %v", kind, err)
		}
	}
}

func TestScannerScans(t *testing.T) {
	for kind := range kinds {
		x, _ := fixtures.Index(t, cpar.SchemeCPAR, kind, kinds[kind](20, 4), syntheticphotos.Stuck{})
		scan, err := Scanner(x.Profile.Layout(), 50)
		if err != nil {
			t.Fatal(err)
		}
		scan()
	}
	if _, err := Scanner(vectorlayout.Params{}, 5); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no layout: %v", err)
	}
}
