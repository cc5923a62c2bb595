package quality

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// Encryption costs little. Draw 0 is the collection's own order.
func TestMeasureDraw(t *testing.T) {
	c := measuretest.Learnable(120, 40)
	paper, err := fitProfile(t.Context(), c, profile.Paper, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := MeasureDraw(t.Context(), c, 3, paper, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Number != 3 || d.Records != 120 || d.Requests != 40 || len(d.Rows) != 3*2*len(drawSchemes) || len(d.Recalls) != 2*len(recallSearches) || len(d.Skipped) != 0 {
		t.Fatalf("%+v", d)
	}
	for i, row := range d.Rows {
		plain := d.Rows[i-i%len(drawSchemes)]
		most := 12.
		if row.Scheme == "cpar@10" || row.Scheme == "cpar-rank@10" { // ten neighbours of twelve visits
			most = 35 // P alone loses up to 28 of 63 in eight runs
		}
		if row.Scheme != drawSchemes[i%len(drawSchemes)] || plain.Scheme != "plain" || plain.R < 30 || plain.R > 90 || math.Abs(row.P-plain.P) > most || math.Abs(row.R-plain.R) > most || row.Found <= 0 || row.Found > 2 {
			t.Errorf("%+v, in the clear %+v", row, plain)
		}
	}
	for _, x := range d.Recalls {
		if x.Admitted != 40 && x.Related == relatedByOneKeyword || x.Admitted > 40 || x.Admitted == 0 || x.All <= 0 || len(x.Subsets) != fewDraws {
			t.Errorf("%s by %s: %d admitted, %g, %d draws", x.Search, x.Related, x.Admitted, x.All, len(x.Subsets))
		}
	}
	names := func(c *measure.Corpus) (out []*user.Photo) {
		for i := range c.Train {
			out = append(out, &user.Photo{Vectors: c.Train[i].Vectors})
		}
		return out
	}
	own, three := names(c), names(c.InOrderOf(3))
	if !reflect.DeepEqual(three, names(c.InOrderOf(3))) || reflect.DeepEqual(three, own) || reflect.DeepEqual(three, names(c.InOrderOf(4))) || !reflect.DeepEqual(own, names(c.InOrderOf(0))) || len(three) != len(own) {
		t.Error("the order of a draw must be its own")
	}
}

func TestDrawReordersItems(t *testing.T) {
	c := measuretest.Photos(t, 12).InOrderOf(1)
	for i, im := range c.Train {
		if !slices.Equal(im.Keywords, c.TrainItems[i].Keywords) {
			t.Errorf("image %d is not of file %s", i, c.TrainItems[i].Name)
		}
	}
}

func TestDrawsTables(t *testing.T) {
	draw := func(p float64, few []float64) Draw {
		return Draw{Records: 9, Requests: 4, Rows: []DrawRow{{Profile: "paper", Ranker: "paper", Scheme: "sealed", P: p, R: 2 * p, Nplus: int(p), Found: p / 10,
			Likely: []Likely{{Asked: 0.8, Written: p / 10, Right: 0.5, Found: p / 100}}}},
			Recalls: []DrawRecall{{Search: "capia", Related: relatedByOneKeyword, Admitted: 400, All: 50, Subsets: []float64{50, 50}}, {Search: "cpar@10", Related: relatedByOneKeyword, Admitted: 400, All: p, Subsets: few}}}
	}
	d := &Draws{Draws: []Draw{draw(10, []float64{20, 40}), draw(20, []float64{30, 10}), draw(33, nil)}}
	tables := d.Tables()
	if want := []string{"paper", "paper", "sealed", "21", "10", "33", "42", "20", "66", "21", "10", "33", "2.1", "1", "3.3"}; !slices.Equal(tables[0].Rows[0], want) {
		t.Errorf("%q, want %q", tables[0].Rows[0], want)
	}
	if want := []string{"paper", "sealed", "0.8", "2.1", "50", "50", "50", "21", "0"}; !slices.Equal(tables[1].Rows[0], want) {
		t.Errorf("%q, want %q", tables[1].Rows[0], want)
	}
	// All: 10, 20 and 33 of 50. Subsets: 10 to 40 of 50, upper median.
	if want := []string{"cpar@10", "one word", "400", "21", "10", "33", "42", "20", "66"}; !slices.Equal(tables[2].Rows[2], want) {
		t.Errorf("%q, want %q", tables[2].Rows[2], want)
	}
	if want := []string{"cpar@10", "one word", "50", "30", "10", "40", "60", "20", "80"}; !slices.Equal(tables[2].Rows[3], want) {
		t.Errorf("%q, want %q", tables[2].Rows[3], want)
	}
	same := measure.Interval{Value: 22.35, Low: 22.35, High: 22.35}
	if got := meanRange(slices.Repeat([]float64{22.35}, 9)); got != same {
		t.Errorf("of equal values: %v", got)
	}
	for _, table := range tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: %d columns, %q", table.Name, len(table.Columns), row)
			}
		}
	}
}

// By hand: request 1 has no image with all its keywords. Sea was found for one
// of its two requests, sky for its only one, car for none.
func TestDrawRecalls(t *testing.T) {
	indexed := [][]string{{"sea", "sky"}, {"sea", "sky", "car"}, {"boat"}}
	truth := [][]string{{"sea", "sky"}, {"sea", "car"}}
	if got := sharesAllKeywords(truth, indexed); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("all words shared: %v", got)
	}
	some := subsetWeights([]bool{true, false, true}, 1)
	if !slices.Equal(some[0], []float64{1, 0, 1}) || len(some) != fewDraws+1 || !slices.Equal(some[7], []float64{1, 0, 1}) {
		t.Errorf("of two requests that count: %v, %v", some[0], some[7])
	}
	many := make([]bool, 200)
	for i := range many {
		many[i] = i%2 == 0
	}
	for _, w := range subsetWeights(many, 1)[1:] {
		n := 0.
		for i, x := range w {
			if n += x; x != 0 && !many[i] {
				t.Fatalf("request %d does not count", i)
			}
		}
		if n != fewRequests {
			t.Fatalf("%g requests, want %d", n, fewRequests)
		}
	}
	b, err := user.Setup(t.Context(), user.NewKey(), measuretest.SyntheticCorpus(1, 20, 1).Train, user.Options{PCA: 128})
	if err != nil {
		t.Fatal(err)
	}
	near := [][]rank.Neighbour{{{Dis: 1, Keywords: []string{"sea", "sky", "boat"}}}, {{Dis: 1, Keywords: []string{"sky"}}}}
	r := &profileRun{owner: b, truth: truth, near: map[string][][]rank.Neighbour{}}
	for _, search := range recallSearches {
		r.near[search] = near
	}
	got, err := r.drawRecalls(indexed, 1)
	if err != nil {
		t.Fatal(err)
	}
	// One shared keyword: both requests count, sea 1/2, sky 1/1. All keywords:
	// only the first.
	if x := got[0]; x.Related != relatedByOneKeyword || x.Admitted != 2 || x.All != 75 || x.Subsets[0] != 75 {
		t.Errorf("%s: %d, %g, %g", x.Related, x.Admitted, x.All, x.Subsets[0])
	}
	if x := got[len(recallSearches)]; x.Related != relatedByAllKeywords || x.Admitted != 1 || x.All != 100 || x.Subsets[0] != 100 {
		t.Errorf("%s: %d, %g, %g", x.Related, x.Admitted, x.All, x.Subsets[0])
	}
}
