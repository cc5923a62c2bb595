package user

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"cpar"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
)

// TestFittedIsTakenOver checks that Setup adopts a fitted profile and ranker
// without fitting again.
func TestFittedIsTakenOver(t *testing.T) {
	some, other := madeImages(90, 1), madeImages(60, 2)
	for _, kind := range []profile.Kind{profile.Paper, profile.Learned} {
		first, err := Setup(t.Context(), testKey(), some, Options{Profile: kind, Ranker: rank.KindCalibrated, PCA: 128})
		if err != nil {
			t.Fatal(err)
		}
		var before []uint16
		paper, ok := first.Profile().(*profile.PaperProfile)
		if ok {
			before = slices.Clone(paper.Baselines())
		}
		var mu sync.Mutex
		var stages []string
		progress := func(stage string, _, _ int) {
			mu.Lock()
			defer mu.Unlock()
			stages = append(stages, stage)
		}
		for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeSealed} {
			b, err := Setup(t.Context(), testKey(), other, Options{Scheme: scheme, Fitted: first.Fitted(), Ranker: rank.KindCalibrated, Progress: progress})
			if err != nil {
				t.Fatal(err)
			}
			if b.Profile().Kind() != kind || b.Ranker() != first.Ranker() || b.ID() == first.ID() {
				t.Errorf("profile %v, ranker %v, index %v like one of %v, %v", b.Profile().Kind(), b.Ranker().Kind(), b.ID(), kind, first.ID())
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
		// Baselines depend on the indexed photos, so the first index keeps its
		// own.
		if ok && !slices.Equal(paper.Baselines(), before) {
			t.Error("an index like another changed the other's baselines")
		}
	}
}
