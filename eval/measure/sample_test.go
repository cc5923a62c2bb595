package measure_test

import (
	"testing"

	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/photo/dataset"
)

func TestSampleAndMixed(t *testing.T) {
	items := make([]dataset.Photo, 10)
	for i := range items {
		items[i].Name = string(rune('a' + i))
	}
	var names string
	for _, it := range measure.EvenlySpaced(items, 4) {
		names += it.Name
	}
	if names != "acfh" || len(measure.EvenlySpaced(items, 10)) != 10 || len(measure.EvenlySpaced(items, 11)) != 10 {
		t.Errorf("the sample is %s", names)
	}
	c := measuretest.SyntheticCorpus(3, 20, 5)
	for _, n := range []int{7, 20, 45} {
		got, err := c.Mixed(t.Context(), n, nil)
		if err != nil || len(got.Train) != n || len(got.Test) != 5 || len(c.Train) != 20 {
			t.Fatalf("%d images of %d (%v)", len(got.Train), n, err)
		}
		for i, im := range got.Train {
			if (i < 20) != (im.Vectors == c.Train[min(i, 19)].Vectors) {
				t.Errorf("image %d of %d is not what it should be", i, n)
			}
		}
	}
}
