package rank

import "testing"

func TestMeasureByHand(t *testing.T) {
	given := [][]string{{"sky", "sea"}, {"sky", "fox"}, nil}
	truth := [][]string{{"sky", "sky", "tree"}, {"sea"}, {"sky"}}
	// sky: given twice, right once, present twice; sea: given once, wrong, present once;
	// tree: never given, present once; fox is not a word of the photos.
	if got, want := Measure(given, truth), (Quality{P: 0.5 / 3, R: 0.5 / 3, Nplus: 1, Words: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Measure(nil, nil); got != (Quality{}) {
		t.Errorf("of nothing: %+v", got)
	}
}
