package user

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
)

// bruteForce returns the squared L2 distances from a photo to every record in
// floating point.
func bruteForce(records []*vector.Vector, v *vector.Vector) []float64 {
	out := make([]float64, len(records))
	for i, r := range records {
		for j, x := range r.X {
			d := float64(x) - float64(v.X[j])
			out[i] += d * d
		}
	}
	return out
}

// TestLearntVectorsThroughEncryption compares decrypted with floating-point
// distances under every scheme.
func TestLearntVectorsThroughEncryption(t *testing.T) {
	for kind, images := range learntProfiles {
		train, photos := images(150, 1), images(12, 9)
		for _, scheme := range cpar.Schemes() {
			key := testKey()
			b, folder := build(t, key, train, Options{Scheme: scheme, Profile: kind, Trees: 3})
			x := held(t, key, folder)
			if x.Profile().Kind() != kind || x.Ranker().Kind() != rank.KindCalibrated || x.manifest.Dim > profile.MaxLearnedDim+3 {
				t.Fatalf("%v: %v, ranker %v, %d words", kind, x.Profile().Kind(), x.Ranker().Kind(), x.manifest.Dim)
			}
			for _, photo := range append(photos, train[7]) {
				v, err := x.Vector(photo.Vectors)
				if err != nil {
					t.Fatal(err)
				}
				want := bruteForce(b.Vectors(), v)
				near := x.nearest(photo, len(train))
				for i, n := range near {
					// The tolerance is six standard deviations of rounding (to
					// thousandths, eight times coarser in scheme sealed), its
					// mean, and a constant for noise and rounded lengths, which
					// matters for nearly equal vectors.
					step, mean := 0.001, 0.0
					if scheme == cpar.SchemeSealed {
						step = 0.008
						mean = float64(x.manifest.Dim) / 6 * step * step
					}
					off, most := n.Dis-want[n.Record], 6*math.Sqrt(2*want[n.Record]/3)*step+2e-3
					if off < -most || off > most+mean {
						t.Errorf("%v, %v: record %d at %.5f, in floats %.5f", kind, scheme, n.Record, n.Dis, want[n.Record])
					}
					if i > 0 && n.Dis < near[i-1].Dis-1e-4 {
						t.Errorf("%v, %v: %.5f after %.5f", kind, scheme, n.Dis, near[i-1].Dis)
					}
				}
				if len(near) != len(train) {
					t.Fatalf("%v, %v: %d records came back", kind, scheme, len(near))
				}
			}
			if n := x.nearest(train[7], 1)[0]; n.Dis > roundedAddend(scheme) || !slices.Equal(n.Keywords, train[7].Keywords) {
				t.Errorf("%v, %v: a photo of the collection is found as %+v", kind, scheme, n)
			}
		}
	}
}

// roundedAddend bounds the distance of a vector from itself: half a unit of the
// addend. A distance of one has 15,625 units in scheme sealed.
func roundedAddend(s cpar.Scheme) float64 {
	if s == cpar.SchemeSealed {
		return 1e-4
	}
	return 1e-5
}

// TestLearntIndexIsUpdated checks that additions use the learnt projection and
// that Compact drops unused words from the counts.
func TestLearntIndexIsUpdated(t *testing.T) {
	ctx := context.Background()
	for kind, images := range learntProfiles {
		for _, scheme := range growing {
			key := testKey()
			first, second := images(50, 1), images(3, 2)
			second[0].Keywords = []string{"kind 0", "a word of its own"}
			_, folder := build(t, key, first, Options{Scheme: scheme, Profile: kind})
			if _, err := Add(ctx, key, folder, second, nil); err != nil {
				t.Fatal(err)
			}
			x := held(t, key, folder)
			if n := x.nearest(second[0], 1)[0]; n.Dis > roundedAddend(scheme) || !slices.Equal(n.Keywords, second[0].Keywords) {
				t.Errorf("%v, %v: the added photo is found as %+v", kind, scheme, n)
			}
			ranker := func() string {
				b, err := x.Ranker().(*rank.Calibrated).MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			if !strings.Contains(ranker(), "a word of its own") {
				t.Errorf("%v, %v: a word that was added is not counted", kind, scheme)
			}
			if u, err := Remove(ctx, key, folder, contentsOfAll(second[:1]), UpdateOptions{}); err != nil || u.Removed != 1 {
				t.Fatalf("%v, %v: %+v, %v", kind, scheme, u, err)
			}
			if _, err := Compact(ctx, key, folder, UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			x = held(t, key, folder)
			if x.Records() != 52 || strings.Contains(ranker(), "a word of its own") || slices.Contains(x.Keywords(), "a word of its own") {
				t.Errorf("%v, %v: %d records, words %v", kind, scheme, x.Records(), x.Keywords())
			}
			if n := x.nearest(second[1], 1)[0]; n.Dis > roundedAddend(scheme) {
				t.Errorf("%v, %v: after Compact %+v", kind, scheme, n)
			}
		}
	}
}
