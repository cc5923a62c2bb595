package tune

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

func TestDecideCoversEveryOutcome(t *testing.T) {
	row := func(search string, ms, recall float64) Measured {
		return Measured{map[string]string{"depth": "cpar", "ivf": "ivf"}[search], search, ms, recall}
	}
	for name, c := range map[string]struct {
		photos, n      int
		depth, ivf     Measured
		scan           float64
		scheme, search string
		reason         string
	}{
		"a scan is fast":      {1000, 1000, row("depth", 0.1, 1), row("ivf", 0.1, 1), 4.9, "capia", "", "4.9 ms"},
		"the forest is best":  {9000, 9000, row("depth", 2, 0.9), row("ivf", 3, 0.95), 20, "cpar", "depth", "finds 90 %"},
		"the lists are best":  {9000, 9000, row("depth", 3, 0.9), row("ivf", 2, 0.81), 20, "ivf", "ivf", "finds 81 %"},
		"fast but finds less": {9000, 9000, row("depth", 1, 0.7), row("ivf", 5, 0.85), 20, "ivf", "ivf", "search ivf takes 5.0 ms"},
		"nothing finds":       {9000, 9000, row("depth", 1, 0.7), row("ivf", 1, 0.7), 20, "capia", "", "neither"},
		"nothing gained":      {9000, 9000, row("depth", 11, 0.9), row("ivf", 12, 0.9), 20, "capia", "", "too little"},
		"more than measured":  {20000, 80000, row("depth", 0.4, 0.9), row("ivf", 0.5, 0.9), 4, "cpar", "depth", "of 20000 of the 80000 photos"},
	} {
		got := &Choice{Photos: c.photos, Measured: []Measured{{"capia", "scan", c.scan, 1}, c.depth, c.ivf}}
		got.decide(c.n)
		if got.Scheme != c.scheme || got.Search != c.search || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %s %s: %s", name, got.Scheme, got.Search, got.Reason)
		}
	}
}

func TestApplySetsChosenScheme(t *testing.T) {
	opt := user.Options{Scheme: cpar.SchemeCPAR, PCA: 128, Trees: 3, Lists: 12, Order: user.OrderOPE}
	for _, c := range []struct {
		choice Choice
		scheme cpar.Scheme
		search cpar.Search
		trees  uint8
		lists  uint32
	}{
		{Choice{Scheme: "capia"}, cpar.SchemeCAPIA, 0, 0, 0},
		{Choice{Scheme: "cpar", Search: "depth"}, cpar.SchemeCPAR, cpar.SearchDepthFirst, 3, 0},
		{Choice{Scheme: "ivf", Search: "ivf"}, cpar.SchemeIVF, cpar.SearchIVF, 0, 12},
	} {
		chosen := c.choice.apply(opt)
		if chosen.Order != opt.Order || chosen.PCA != opt.PCA {
			t.Errorf("%+v: other options changed: %+v", c.choice, chosen)
		}
		b, err := user.Setup(t.Context(), testKey(), madeImages(60, 4), chosen)
		if err != nil {
			t.Fatal(err)
		}
		m, err := b.Encrypt(t.Context(), t.TempDir()+"/index")
		if err != nil {
			t.Fatal(err)
		}
		if m.Scheme != c.scheme || m.Trees != c.trees || m.Lists != c.lists || b.DefaultParams().Search != c.search {
			t.Errorf("%+v: %v with %d trees, %d lists, asked by %+v", c.choice, m.Scheme, m.Trees, m.Lists, b.DefaultParams())
		}
	}
}

// The scan and the searches run on the plaintext of the index, and the profile
// is fitted once.
func TestChooseMeasuresTheIndex(t *testing.T) {
	images := madeImages(300, 4)
	var mu sync.Mutex
	fitted := 0
	progress := func(stage string, done, _ int) {
		mu.Lock()
		defer mu.Unlock()
		if stage == "pca" && done == 0 {
			fitted++
		}
	}
	b, c, err := Choose(t.Context(), testKey(), images, user.Options{PCA: 128, Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	if c.Scheme != "capia" || b.Scheme() != cpar.SchemeCAPIA || b.DefaultParams().Scheme != cpar.SchemeCAPIA || c.Photos != 300 {
		t.Errorf("300 photos: %+v", c)
	}
	if fitted != 1 {
		t.Errorf("the profile was fitted %d times", fitted)
	}
	if len(c.Measured) != 3 || c.Measured[0].Recall < 0.999 || c.Measured[1].Recall <= 0.1 || c.Measured[2].Recall <= 0.1 {
		t.Errorf("measured %+v", c.Measured)
	}
	for _, m := range c.Measured {
		if !(m.MS > 0) {
			t.Errorf("search %s took %g ms", m.Search, m.MS)
		}
	}
	for record := range images {
		if v, err := b.Vector(images[b.PhotoOf(uint32(record))].Vectors); err != nil || !slices.Equal(v.Levels, b.Vectors()[record].Levels) {
			t.Fatalf("record %d is not of image %d", record, b.PhotoOf(uint32(record)))
		}
	}
}

// Choose selects sealed if cpar and capia cannot hide the collection or the key
// does not allow them, even with a fitted profile.
func TestChooseHidesShortVectors(t *testing.T) {
	images := madeImages(60, 4)
	b, c, err := Choose(t.Context(), testKey(), images, user.Options{Profile: profile.Learned, Trees: 3, Lists: 6})
	if err != nil {
		t.Fatal(err)
	}
	if c.Scheme != "sealed" || !strings.Contains(c.Reason, "too short") || b.Profile().Kind() != profile.Learned || b.Ranker().Kind() != rank.KindCalibrated || b.Validation == nil {
		t.Errorf("%+v: profile %v, ranker %v", c, b.Profile().Kind(), b.Ranker().Kind())
	}
	if m, err := b.Encrypt(t.Context(), t.TempDir()+"/index"); err != nil || int(m.Dim) != b.Profile().Dimensions() {
		t.Errorf("%+v, %v", m, err)
	}
	if b, c, err = Choose(t.Context(), testKey(), images, user.Options{Fitted: b.Fitted()}); err != nil || c.Scheme != "sealed" || b.Scheme() != cpar.SchemeSealed {
		t.Errorf("fitted before: %+v, %v", c, err)
	}
	for _, key := range []*user.Key{user.NewKey(), user.NewKey(cpar.SchemeCPAR, cpar.SchemeCAPIA)} {
		b, c, err := Choose(t.Context(), key, images, user.Options{PCA: 128})
		if err != nil || c.Scheme != "sealed" || b.Scheme() != cpar.SchemeSealed || !strings.Contains(c.Reason, "key does not allow") || len(c.Measured) != 0 {
			t.Errorf("a key that allows %v: %+v, %v", key.Policy(), c, err)
		}
	}
}

func TestBuildDecidesOnlyWhatIsPlanned(t *testing.T) {
	images := madeEmbedded(100, 4)
	build := func(o Plan) (*user.Builder, Decided) {
		t.Helper()
		o.PCA = 128
		b, d, err := Build(t.Context(), testKey(), images, o)
		if err != nil {
			t.Fatal(err)
		}
		return b, d
	}
	if b, d := build(Plan{}); d.Tuning != nil || d.Choice != nil || b.Profile().Kind() != profile.Paper || b.Scheme() != user.DefaultScheme {
		t.Errorf("nothing asked: %+v", d)
	}
	if b, d := build(Plan{Suited: true}); d.Tuning != nil || b.Profile().Kind() != profile.Network {
		t.Errorf("suited: profile %v", b.Profile().Kind())
	}
	if b, d := build(Plan{TryScheme: true}); d.Choice == nil || b.Scheme() != cpar.SchemeCAPIA || b.Profile().Kind() != profile.Paper {
		t.Errorf("a scheme tried: %+v", d)
	}
	o := Plan{TryProfiles: true, TryScheme: true}
	o.Tune.PCA = 128
	b, d := build(o)
	if d.Tuning == nil || d.Choice == nil || b.Profile().Kind() != d.Tuning.Recommended.Profile || b.Ranker().Kind() != d.Tuning.Recommended.Ranker || b.Scheme().String() != d.Choice.Scheme {
		t.Errorf("both tried: %+v", d)
	}
}
