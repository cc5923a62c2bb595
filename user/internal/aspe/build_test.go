package aspe

import (
	"slices"
	"testing"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/testing/syntheticphotos"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/index"
	"cpar/user/scorevector"
)

// TestFarPhotosFit checks that unusual photos are moved just enough to be
// encrypted and requested under any r.
func TestFarPhotosFit(t *testing.T) {
	for kind, photos := range kinds {
		x, c := fixtures.Index(t, cpar.SchemeCAPIA, kind, photos(40, 1), syntheticphotos.Stuck{})
		for key := range byte(30) {
			x.Key = seed.Secret{key}
			far := index.Collection{Records: slices.Clone(c.Records)}
			for i := range far.Records {
				z := slices.Clone(far.Records[i].Z)
				for j := range z {
					if i < 10 {
						z[j] = int16(300 - 600*(j%2))
					}
				}
				far.Records[i].Z = z
			}
			b, err := SetUp(t.Context(), x, &far, Options{Trees: None, Lists: 3}, nil)
			if err != nil {
				t.Fatalf("%v, key %d: %v", kind, key, err)
			}
			if b.Clamped() != 10 {
				t.Errorf("%v, key %d: %d photos were moved", kind, key, b.Clamped())
			}
			row := make([]int64, b.budget.Dim())
			for _, r := range far.Records {
				if err := b.budget.Record(row, r.Z, r.Vector.KL, 0); err != nil {
					t.Fatalf("%v, key %d: %v", kind, key, err)
				}
				if err := b.budget.Request(row, r.Z, r.Vector.KL, 1<<10, b.part.farthest); err != nil {
					t.Fatalf("%v, key %d: %v", kind, key, err)
				}
			}
			for _, mean := range b.centroids {
				if err := b.budget.Record(row, mean.Z, mean.Vector.KL, 0); err != nil || scorevector.SquaredNorm(mean.Z) > b.part.farthest {
					t.Fatalf("%v, key %d: a centroid: %v", kind, key, err)
				}
			}
		}
	}
}
