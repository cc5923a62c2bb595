package aspe

import (
	"slices"
	"testing"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/testing/syntheticphotos"
	"cpar/user/internal/fixtures"
	"cpar/user/scorevector"
)

// TestFarPhotosFit: photos unlike any photograph are moved so far that they can be
// encrypted and asked about, whatever r the key gives; others stay.
func TestFarPhotosFit(t *testing.T) {
	for kind, photos := range kinds {
		x, c := fixtures.Index(t, cpar.SchemeCAPIA, kind, photos(40, 1), syntheticphotos.Stuck{})
		for key := range byte(30) {
			x.Key = seed.Secret{key}
			far := *c
			far.Z = nil
			for i, z := range c.Z {
				z = slices.Clone(z)
				for j := range z {
					if i < 10 {
						z[j] = int16(300 - 600*(j%2))
					}
				}
				far.Z = append(far.Z, z)
			}
			b, err := SetUp(t.Context(), x, &far, Options{Trees: None, Lists: 3}, nil)
			if err != nil {
				t.Fatalf("%v, key %d: %v", kind, key, err)
			}
			if b.Clamped() != 10 {
				t.Errorf("%v, key %d: %d photos were moved", kind, key, b.Clamped())
			}
			row := make([]int64, b.budget.Dim())
			for i, z := range far.Z {
				if err := b.budget.Record(row, z, far.Vectors[i].KL, 0); err != nil {
					t.Fatalf("%v, key %d: %v", kind, key, err)
				}
				if err := b.budget.Request(row, z, far.Vectors[i].KL, 1<<10, b.part.farthest); err != nil {
					t.Fatalf("%v, key %d: %v", kind, key, err)
				}
			}
			for _, mean := range b.centroids {
				if err := b.budget.Record(row, mean.z, mean.histogram, 0); err != nil || scorevector.SquaredNorm(mean.z) > b.part.farthest {
					t.Fatalf("%v, key %d: a centroid: %v", kind, key, err)
				}
			}
		}
	}
}
