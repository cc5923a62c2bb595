package user

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/kdforest"
)

// TestDecide: every way the measurement can come out.
func TestDecide(t *testing.T) {
	row := func(search string, ms, recall float64) Measured { return Measured{search, ms, recall} }
	for name, c := range map[string]struct {
		photos, n      int
		rank, ivf      Measured
		scan           float64
		scheme, search string
		reason         string
	}{
		"a scan is fast":      {1000, 1000, row("rank", 0.1, 1), row("ivf", 0.1, 1), 4.9, "capia", "", "4.9 ms"},
		"the forest is best":  {9000, 9000, row("rank", 2, 0.9), row("ivf", 3, 0.95), 20, "cpar", "rank", "finds 90 %"},
		"the lists are best":  {9000, 9000, row("rank", 3, 0.9), row("ivf", 2, 0.81), 20, "cpar", "ivf", "finds 81 %"},
		"fast but finds less": {9000, 9000, row("rank", 1, 0.7), row("ivf", 5, 0.85), 20, "cpar", "ivf", "search ivf takes 5.0 ms"},
		"nothing finds":       {9000, 9000, row("rank", 1, 0.7), row("ivf", 1, 0.7), 20, "capia", "", "neither"},
		"nothing gained":      {9000, 9000, row("rank", 11, 0.9), row("ivf", 12, 0.9), 20, "capia", "", "too little"},
		"more than measured":  {20000, 80000, row("rank", 0.4, 0.9), row("ivf", 0.5, 0.9), 4, "cpar", "rank", "of 20000 of the 80000 photos"},
	} {
		got := &Choice{Photos: c.photos, Measured: []Measured{{"scan", c.scan, 1}, c.rank, c.ivf}}
		got.decide(c.n)
		if got.Scheme != c.scheme || got.Search != c.search || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %s %s: %s", name, got.Scheme, got.Search, got.Reason)
		}
	}
}

// TestChooseMeasuresTheIndex: what is measured is the scan and the searches of
// the index in the clear, and the builder is left with what was chosen.
func TestChooseMeasuresTheIndex(t *testing.T) {
	images := madeImages(300, 4)
	b, c, err := Choose(context.Background(), NewKey(), images, Options{PCA: 128, Trees: 3, Lists: 12})
	if err != nil {
		t.Fatal(err)
	}
	if c.Scheme != "capia" || b.forest != nil || b.lists != nil || b.DefaultParams().Scheme != cpar.SchemeCAPIA {
		t.Errorf("300 photos: %+v", c)
	}
	if len(c.Measured) != 3 || c.Measured[0].Recall < 0.999 || c.Measured[1].Recall <= 0.1 || c.Measured[2].Recall <= 0.1 {
		t.Errorf("measured %+v", c.Measured)
	}
	for _, m := range c.Measured {
		if !(m.MS > 0) {
			t.Errorf("search %s took %g ms", m.Search, m.MS)
		}
	}
	// No order of lists is left in an index that has none.
	if !slices.IsSorted(b.images) {
		t.Errorf("records are numbered %v", b.images[:20])
	}
	for _, opt := range []Options{{PCA: 128, Trees: 3, Lists: None}, {PCA: 128, Trees: None, Lists: 12}} {
		if err := b.restructure(context.Background(), b.key, opt); err != nil {
			t.Fatal(err)
		}
		if (b.forest == nil) != (opt.Trees == None) || (b.lists == nil) != (opt.Lists == None) {
			t.Errorf("%+v: forest %v, lists %v", opt, b.forest != nil, b.lists != nil)
		}
		if _, err := b.Encrypt(context.Background(), t.TempDir()+"/index"); err != nil {
			t.Errorf("%+v: %v", opt, err)
		}
		b.encrypted = false // of this index, once more
		for record := range b.images {
			if v, err := b.Vector(images[b.Image(uint32(record))].Vectors); err != nil || !slices.Equal(v.Levels, b.vectors[record].Levels) {
				t.Fatalf("%+v: record %d is not of image %d", opt, record, b.Image(uint32(record)))
			}
		}
	}
}

// TestChooseHidesShortVectors: what cpar and capia cannot hide goes to sealed.
func TestChooseHidesShortVectors(t *testing.T) {
	images := madeImages(60, 4)
	b, c, err := Choose(t.Context(), NewKey(), images, Options{Profile: ProfileLearned, Trees: 3, Lists: 6})
	if err != nil {
		t.Fatal(err)
	}
	if c.Scheme != "sealed" || c.Reason == "" || b.Profile() != ProfileLearned || b.Ranker() != RankerCalibrated || b.Validation == nil || b.dim() != b.Dimensions() {
		t.Errorf("%+v: profile %v, ranker %v, %d words", c, b.Profile(), b.Ranker(), b.dim())
	}
	if _, err := b.Encrypt(t.Context(), t.TempDir()+"/index"); err != nil {
		t.Error(err)
	}
}

// TestWordSpaceIsThePlainSpace: the kernels that Choose measures with score
// what the twin scores.
func TestWordSpaceIsThePlainSpace(t *testing.T) {
	b, err := Setup(context.Background(), NewKey(), madeImages(60, 3), Options{PCA: 128, Trees: 1})
	if err != nil {
		t.Fatal(err)
	}
	twin, err := b.Twin()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := b.requestVector(b.vectors[7], 1500)
	if err != nil {
		t.Fatal(err)
	}
	twins := &plainSpace{twin: twin, rows: twin.records, request: plain}
	words := &wordSpace{plainSpace: *twins, rows: asWords(twin.records), request: asWords(plain)}
	records := make([]uint32, 40)
	for i := range records {
		records[i] = rand.Uint32N(60)
	}
	want, got, run := make([]int64, 40), make([]int64, 40), make([]int64, 60)
	twins.Score(records, want)
	words.Score(records, got)
	words.Run(0, run)
	for i, r := range records {
		if got[i] != want[i] || run[r] != want[i] {
			t.Fatalf("record %d scores %d and %d, the twin %d", r, got[i], run[r], want[i])
		}
	}
	hits, err := kdforest.Scan(twins, 60, kept+1, 0)
	if err != nil || !slices.Equal(words.scan(60, kept+1), hits) {
		t.Errorf("the scan finds %v, the twin %v, %v", words.scan(60, kept+1), hits, err)
	}
}
