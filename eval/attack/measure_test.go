package attack

import (
	"errors"
	"reflect"
	"testing"

	"cpar"
	"cpar/eval/estimate"
	"cpar/eval/measure/measuretest"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/photo/decode"
)

func TestChangedCopy(t *testing.T) {
	c := measuretest.Photos(t, 2)
	var plain, copies [2]*feature.Vectors
	for i, it := range c.TrainItems {
		data, err := decode.ReadFile(it.Path)
		if err != nil {
			t.Fatal(err)
		}
		if plain[i], err = feature.NewExtractor().Photo(data, feature.Options{}); err != nil {
			t.Fatal(err)
		}
		if copies[i], err = changedCopy(it); err != nil {
			t.Fatal(err)
		}
	}
	off := func(a, b *feature.Vectors) (sum float64) {
		for i, x := range a.RGB {
			sum += max(float64(x-b.RGB[i]), float64(b.RGB[i]-x))
		}
		return sum
	}
	for i := range plain {
		if same, other := off(plain[i], copies[i]), off(plain[1-i], copies[i]); same == 0 || same >= other {
			t.Errorf("the copy of photo %d is %.3f from it and %.3f from the other photo", i, same, other)
		}
	}
	if _, err := changedCopy(dataset.Photo{Path: t.TempDir()}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a folder: %v", err)
	}
}

func TestAttackTables(t *testing.T) {
	a := &Attacks{Records: 9, Requests: 8, Rows: []Row{
		{Attack: "a", Scheme: "cpar", Known: 3, Success: 0.5, Baseline: 0.125, Low: 0.25, High: 0.75, Trials: 8, Refused: "damaged data"},
		{Attack: "b", Scheme: "cpar", Profile: "learned", Known: 5, Estimate: &estimate.Estimate{Samples: 5, Dimension: 6, BlockSize: 142, Delta: 1.00769, Bits: 41.464}},
	}}
	tables := a.Tables()
	if want := [][]string{{"a", "cpar", "paper", "3", "50", "25", "75", "12.5", "8", "damaged data"}}; !reflect.DeepEqual(tables[0].Rows, want) {
		t.Errorf("%q", tables[0].Rows)
	}
	if want := [][]string{{"b", "cpar", "learned", "5", "5", "6", "142", "1.00769", "41"}}; !reflect.DeepEqual(tables[1].Rows, want) {
		t.Errorf("%q", tables[1].Rows)
	}
}
