package measure

import (
	"bytes"
	"encoding/csv"
	"math"
	"reflect"
	"testing"
)

func TestProtocolsMatchCountingByHand(t *testing.T) {
	truth := [][]string{{"sea", "sky"}, {"car"}}
	indexed := [][]string{{"sea"}, {"sky", "car"}}
	j := NewJudge(truth, indexed)
	if !j.Admitted[0] || j.Admitted[1] {
		t.Errorf("admitted %v: the first has two related images, the second one", j.Admitted)
	}
	all := []Marks{j.Mark(0, []string{"sea", "dog"}), j.Mark(1, []string{"car"})}
	once := []float64{1, 1}
	// Paper: sea 1/1, sky 0/1 (not output). No request has dog.
	paper := j.Tally(all, once, true)
	if got := paper.Recall(true); got != 100 {
		t.Errorf("over the words that were output: %g", got)
	}
	if got := paper.Recall(false); got != 50 {
		t.Errorf("over all words of admitted requests: %g", got)
	}
	// Standard: sea 1, sky 0, car 1.
	if got := j.Tally(all, once, false).Recall(false); math.Abs(got-200.0/3) > 1e-9 {
		t.Errorf("standard: %g", got)
	}
	// A request drawn twice counts twice.
	if got := j.Tally(all, []float64{2, 0}, false).Recall(false); got != 50 {
		t.Errorf("drawn twice: %g", got)
	}
	predicted := [][]string{{"sea", "dog"}, {"car"}}
	if got, want := RoundTo(j.Tally(all, once, false).Recall(false), 2), MeasureQuality(predicted, truth).R; got != want {
		t.Errorf("%g here, %g by Measure", got, want)
	}
}

func TestTableCSV(t *testing.T) {
	table := Table{Name: "x", Columns: []string{"a", "b"}, Rows: [][]string{{"1,5", `say "so"`}, {"", "z"}}}
	var buf bytes.Buffer
	if err := table.WriteCSV(&buf); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&buf).ReadAll()
	if err != nil || !reflect.DeepEqual(got, append([][]string{table.Columns}, table.Rows...)) {
		t.Errorf("%q, %v", got, err)
	}
	for x, want := range map[float64]string{0.012345: "0.0123", 1234.6: "1235", 3.14159: "3.14", 0: "0"} {
		if got := FormatSignificant(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}

func TestMeasureQuality(t *testing.T) {
	got := MeasureQuality([][]string{{"sea", "sky"}, {"sea", "car"}}, [][]string{{"sea"}, {"sky", "car"}})
	// Precision: sea 1/2, sky 0/1, car 1/1. Recall: sea 1/1, sky 0/1, car 1/1.
	if want := (Quality{P: 50, R: RoundTo(200.0/3, 2), F1: RoundTo(400.0/7, 2), Nplus: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
