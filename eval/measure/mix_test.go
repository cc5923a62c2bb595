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
	if c, err = l.Collection(context.Background(), 50); err != nil || len(c.Train) != 50 || real.Kind(50) != "real and mixed" {
		t.Errorf("%d images, %v", len(c.Train), err)
	}
	if _, err := measuretest.NewLab(t, 0, 5).Collection(context.Background(), 50); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no images were mixed: %v", err)
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
