package user

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"cpar"
	"cpar/user/vector"
)

// An index like another has its profile and its ranker, whatever it is an index of,
// and nothing is fitted again.
func TestLikeTakesWhatWasFitted(t *testing.T) {
	some, other := madeImages(90, 1), madeImages(60, 2)
	for _, kind := range []ProfileKind{ProfilePaper, ProfileLearned} {
		first, err := Setup(t.Context(), NewKey(), some, Options{Profile: kind, Ranker: RankerCalibrated, PCA: 128})
		if err != nil {
			t.Fatal(err)
		}
		var before []uint16
		if f, ok := first.profile.front.(*paperFront); ok {
			before = slices.Clone(f.baselines)
		}
		var mu sync.Mutex
		var stages []string
		progress := func(stage string, _, _ int) {
			mu.Lock()
			defer mu.Unlock()
			stages = append(stages, stage)
		}
		for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeSealed} {
			b, err := Setup(t.Context(), NewKey(), other, Options{Scheme: scheme, Like: first, Progress: progress})
			if err != nil {
				t.Fatal(err)
			}
			if b.Profile() != kind || b.Ranker() != RankerCalibrated || b.profile.ranker != first.profile.ranker || b.ID() == first.ID() {
				t.Errorf("profile %v, ranker %v, index %v like one of %v, %v", b.Profile(), b.Ranker(), b.ID(), kind, first.ID())
			}
			vectors := func(o *Owner) (out []*vector.Vector) {
				for _, im := range other[:5] {
					v, err := o.Vector(im.Vectors)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, v)
				}
				return out
			}
			if !reflect.DeepEqual(vectors(b.Owner), vectors(first.Owner)) {
				t.Errorf("profile %v, scheme %v: other vectors of the same photos", kind, scheme)
			}
		}
		for _, stage := range []string{"pca", "learn", "calibrate"} {
			if slices.Contains(stages, stage) {
				t.Errorf("profile %v: stage %s was done again", kind, stage)
			}
		}
		if !slices.Contains(stages, "vectors") {
			t.Errorf("profile %v: stages %v", kind, stages)
		}
		// Baselines are of the images indexed: those of the first stay.
		if f, ok := first.profile.front.(*paperFront); ok && !slices.Equal(f.baselines, before) {
			t.Error("an index like another changed the other's baselines")
		}
	}
}
