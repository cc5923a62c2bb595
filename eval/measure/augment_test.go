package measure_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/feature"
)

func TestAugmentedPhotosAreTheSameInEveryRun(t *testing.T) {
	c := measuretest.Photos(t, 3)
	l := &measure.Lab{Cache: t.TempDir()}
	a, err := l.Augmented(context.Background(), c, 7)
	if err != nil {
		t.Fatal(err)
	}
	for what, other := range map[string]*measure.Lab{"from the cache": l, "without a cache": {}} {
		b, err := other.Augmented(context.Background(), c, 7)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("another run %s makes others (%v)", what, err)
		}
	}
	if reflect.DeepEqual(a[0].Vectors.RGB, a[3].Vectors.RGB) || reflect.DeepEqual(a[0].Vectors.Gabor, a[3].Vectors.Gabor) {
		t.Error("two images of one photo are alike")
	}
	for i, im := range a {
		if im.Keywords[0] != c.TrainItems[i%3].Keywords[0] {
			t.Errorf("image %d has keywords %v", i, im.Keywords)
		}
	}
}

func TestCollectionGrowsToRequestedSize(t *testing.T) {
	l := measuretest.NewLab(t, 40, 5)
	real, err := l.Corpus(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Collection(context.Background(), 30)
	if err != nil || len(c.Train) != 30 || real.Kind(30) != "real" {
		t.Fatal(len(c.Train), err)
	}
	if _, err := l.Collection(context.Background(), 50); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("photos that are no files were augmented: %v", err)
	}
	if a, b := real.Kind(20000), real.Kind(20001); a != "augmented" || b != "augmented and mixed" {
		t.Errorf("%q and %q", a, b)
	}
	mixed, err := measure.MixFeatures(context.Background(), real.Train, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := measure.MixFeatures(context.Background(), real.Train, 3, nil)
	if !reflect.DeepEqual(mixed, again) || reflect.DeepEqual(mixed[0].Vectors, mixed[1].Vectors) {
		t.Error("mixed images must be the same in every run, and not the same as each other")
	}
	sum := float32(0)
	for _, x := range mixed[0].Vectors.RGB {
		sum += x
	}
	if math.Abs(float64(sum)-1) > 1e-5 || len(mixed[0].Vectors.Haar) != feature.HaarDim {
		t.Errorf("a mixed histogram sums to %g", sum)
	}
}
