package user

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/scene"
	"cpar/user/dataset"
	"cpar/user/feature"
	"cpar/user/rank"
)

// madeRow is a row whose folds have merits: P and R are equal then.
func madeRow(p ProfileKind, r RankerKind, ms float64, bytes uint64, merits ...float64) Tuned {
	row := Tuned{Profile: p, Ranker: r, OwnerMS: ms, IndexBytes: IndexBytes{CAPIA: bytes}}
	for _, m := range merits {
		row.folds = append(row.folds, rank.Quality{P: m, R: m})
	}
	return row
}

// TestRecommend: every way the figures can come out.
func TestRecommend(t *testing.T) {
	paper := func(merits ...float64) []Tuned {
		return []Tuned{madeRow(ProfilePaper, RankerPaper, 30, 50e6, merits...), madeRow(ProfilePaper, RankerCalibrated, 30, 50e6, merits...)}
	}
	both := func(p ProfileKind, ms float64, bytes uint64, merits ...float64) []Tuned {
		return []Tuned{madeRow(p, RankerPaper, ms, bytes, 0.01, 0.02, 0.01), madeRow(p, RankerCalibrated, ms, bytes, merits...)}
	}
	for name, c := range map[string]struct {
		photos  int
		rows    [][]Tuned
		profile ProfileKind
		ranker  RankerKind
		reason  string
	}{
		"too few photos": {99, [][]Tuned{paper(0.1, 0.1, 0.1), both(ProfileLearned, 30, 5e6, 0.9, 0.9, 0.9)},
			ProfilePaper, RankerPaper, "99 photos are too few"},
		"one is best": {5000, [][]Tuned{paper(0.15, 0.16, 0.14), both(ProfileLearned, 30, 5e6, 0.25, 0.24, 0.26), both(ProfileNetwork, 90, 5e6, 0.35, 0.34, 0.36)},
			ProfileNetwork, RankerCalibrated, "profile network (ranker calibrated) finds most: harmonic mean of P and R 35.0 %; paper (ranker paper) 15.0 %, learned (ranker calibrated) 25.0 %"},
		"as good, and faster for the owner": {5000, [][]Tuned{paper(0.15, 0.16, 0.14), both(ProfileLearned, 30, 5e6, 0.25, 0.30, 0.28), both(ProfileNetwork, 90, 4e6, 0.30, 0.26, 0.31)},
			ProfileLearned, RankerCalibrated, "a photo costs you less (30 ms, not 90)"},
		"as good, and a smaller index": {5000, [][]Tuned{paper(0.25, 0.30, 0.29), both(ProfileLearned, 33, 5e6, 0.25, 0.30, 0.28)},
			ProfileLearned, RankerCalibrated, "its index is smaller (5.0 MB, not 50.0)"},
		"cheaper, but worse": {5000, [][]Tuned{paper(0.30, 0.31, 0.30), both(ProfileLearned, 33, 5e6, 0.25, 0.24, 0.25)},
			ProfilePaper, RankerPaper, "profile paper (ranker paper) finds most"},
		"another ranker, for certain": {5000, [][]Tuned{{madeRow(ProfilePaper, RankerPaper, 30, 5e7, 0.2, 0.3, 0.4), madeRow(ProfilePaper, RankerCalibrated, 30, 5e7, 0.25, 0.35, 0.46)}},
			ProfilePaper, RankerCalibrated, "only profile paper"},
		"another ranker, perhaps": {5000, [][]Tuned{{madeRow(ProfilePaper, RankerPaper, 30, 5e7, 0.2, 0.3, 0.4), madeRow(ProfilePaper, RankerCalibrated, 30, 5e7, 0.4, 0.3, 0.3)}},
			ProfilePaper, RankerPaper, "only profile paper"},
		"nothing is found": {5000, [][]Tuned{paper(0, 0, 0), both(ProfileLearned, 30, 5e6, 0, 0, 0)[1:]},
			ProfilePaper, RankerPaper, "nothing to do with what the photos look like"},
		"nothing was timed": {5000, [][]Tuned{{madeRow(ProfilePaper, RankerPaper, 0, 5e7, 0.2, 0.3, 0.4)}, {madeRow(ProfileNetwork, RankerCalibrated, 0, 5e6, 0.2, 0.3, 0.41)}},
			ProfileNetwork, RankerCalibrated, "finds most"},
	} {
		got := &Tuning{Photos: c.photos, Rows: slices.Concat(c.rows...)}
		got.decide()
		if got.Recommended.Profile != c.profile || got.Recommended.Ranker != c.ranker || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %v %v: %s", name, got.Recommended.Profile, got.Recommended.Ranker, got.Reason)
		}
	}
}

// The noise is that of the folds: of one and the same photos that of differences.
func TestNoise(t *testing.T) {
	a, b := madeRow(0, 0, 0, 0, 0.2, 0.3, 0.4), madeRow(0, 0, 0, 0, 0.22, 0.32, 0.42)
	if got := standardError(&a.Validation, &b.Validation, false); math.Abs(got-math.Sqrt(2*0.01/3)) > 1e-12 {
		t.Errorf("standard error %g", got)
	}
	if got := standardError(&a.Validation, &b.Validation, true); got > 1e-12 {
		t.Errorf("standard error of equal differences %g", got)
	}
	if !withinNoise(&a.Validation, &b.Validation, false) || withinNoise(&a.Validation, &b.Validation, true) {
		t.Error("a difference of 0.02 in every fold is certain of the same photos, and only of them")
	}
}

// TestValidateMeasuresOtherFolds: a ranker is measured on photos that its
// parameters were not chosen on, by the protocol of package rank.
func TestValidateMeasuresOtherFolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var samples []rank.Sample
	var collection [][]string
	word := func(k int) []string { return []string{fmt.Sprint("w", k), fmt.Sprint("v", k/2)} }
	for i := range 90 {
		k := rng.IntN(9)
		s := rank.Sample{Truth: word(k), Fold: i % 3}
		for j := range 30 {
			of := rng.IntN(9)
			if rng.Float64() < 0.3 {
				of = k
			}
			s.Near = append(s.Near, rank.Neighbour{Dis: float64(j + 1), Keywords: word(of)})
		}
		samples, collection = append(samples, s), append(collection, s.Truth)
	}
	got, err := validate(samples, collection, RankerCalibrated, 3)
	if err != nil || len(got.folds) != 3 || got.Photos != 90 || got.Keywords != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	in := func(fold int) func(rank.Sample) bool { return func(s rank.Sample) bool { return s.Fold == fold } }
	for fold := range 3 {
		others := slices.DeleteFunc(slices.Clone(samples), in(fold))
		for i := range others { // 0 and 1
			others[i].Fold = (others[i].Fold - fold + 2) % 3
		}
		c, quality, err := rank.Calibrate(others, collection, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		say := func(of []rank.Sample) rank.Quality {
			var said, truth [][]string
			for _, s := range of {
				var words []string
				for _, k := range c.Keywords(s.Near, 3) {
					words = append(words, k.Word)
				}
				said, truth = append(said, words), append(truth, s.Truth)
			}
			return rank.Measure(said, truth)
		}
		own := slices.DeleteFunc(slices.Clone(samples), func(s rank.Sample) bool { return !in(fold)(s) })
		if want := say(own); math.Abs(got.folds[fold].P-want.P) > 1e-12 || math.Abs(got.folds[fold].R-want.R) > 1e-12 {
			t.Errorf("fold %d: %+v, want %+v", fold, got.folds[fold], want)
		}
		// What package rank measures on the samples it chose by is measured alike.
		var p, r, nplus float64
		for other := range 2 {
			q := say(slices.DeleteFunc(slices.Clone(others), func(s rank.Sample) bool { return s.Fold != other }))
			p, r, nplus = p+q.P/2, r+q.R/2, nplus+q.Nplus/2
		}
		if math.Abs(p-quality.P) > 1e-9 || math.Abs(r-quality.R) > 1e-9 || nplus != quality.Nplus {
			t.Errorf("fold %d: P %g, R %g, N+ %g, package rank has %+v", fold, p, r, nplus, quality)
		}
	}
	if _, err := validate(samples[:1], collection, RankerPaper, 3); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("one sample: %v", err)
	}
}

func TestTuneRefuses(t *testing.T) {
	none := madeImages(20, 1)
	for i := range none {
		none[i].Keywords = nil
	}
	for name, images := range map[string][]Image{"no image": nil, "one image": madeImages(1, 1), "no keywords": none} {
		if _, err := Tune(t.Context(), images, TuneOptions{PCA: 128}); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tune(ctx, madeImages(20, 1), TuneOptions{PCA: 128}); !errors.Is(err, context.Canceled) {
		t.Errorf("when the context has ended: %v", err)
	}
}

// Three photos cannot be divided into the folds that learning needs.
func TestTuneThreePhotos(t *testing.T) {
	got, err := Tune(t.Context(), madeImages(3, 1), TuneOptions{PCA: 128})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || len(got.LeftOut) != 1 || got.LeftOut[0].Profile != ProfileLearned || got.Recommended.Profile != ProfilePaper || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	b, err := Setup(t.Context(), NewKey(), madeImages(3, 1), got.Apply(Options{Scheme: cpar.SchemeCAPIA}))
	if err != nil || b.Profile() != ProfilePaper || b.Ranker() != RankerPaper {
		t.Error(err)
	}
}

// TestTune: rows of every profile, whose sizes are those of the indexes that are
// then built of what Tune has fitted.
func TestTune(t *testing.T) {
	images := madeImages(120, 5)
	giveEmbeddings(images, 16)
	folder := t.TempDir()
	var items []dataset.Item
	for i := range 2 {
		jpg, _, err := scene.RenderJPEG(7, i)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, dataset.Item{Name: "p", Path: filepath.Join(folder, fmt.Sprint(i))})
		if err := os.WriteFile(items[i].Path, jpg, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Tune(t.Context(), images, TuneOptions{PCA: 128, Items: items})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 6 || len(got.LeftOut) != 0 || got.Photos != 120 {
		t.Fatalf("%+v", got)
	}
	for i, row := range got.Rows {
		if row.Profile != profileKinds[i/2] || row.Ranker != []RankerKind{RankerPaper, RankerCalibrated}[i%2] || row.Neighbours < 5 ||
			row.CloudMS <= 0 || row.Photos != 120 || row.Keywords != 5 || !(row.P > 0 && row.P <= 100) || !(row.R > 0 && row.R <= 100) {
			t.Errorf("row %d: %+v", i, row)
		}
		if timed := row.OwnerMS > 0; timed != (row.Profile != ProfileNetwork) { // of which no model was given
			t.Errorf("row %d: %g ms", i, row.OwnerMS)
		}
		got.Recommended.Profile, got.Recommended.Ranker = row.Profile, row.Ranker
		for scheme, want := range map[cpar.Scheme]uint64{cpar.SchemeCAPIA: row.IndexBytes.CAPIA, cpar.SchemeSealed: row.IndexBytes.Sealed} {
			b, err := Setup(t.Context(), NewKey(), images, got.Apply(Options{Scheme: scheme}))
			if err != nil {
				t.Fatal(err)
			}
			if b.Profile() != row.Profile || b.Ranker() != row.Ranker || b.Neighbours() != row.Neighbours || b.Dimensions() != row.Dim || b.Validation.P != row.P {
				t.Errorf("row %d: built %v, %v, %d neighbours, %d dimensions, %+v", i, b.Profile(), b.Ranker(), b.Neighbours(), b.Dimensions(), b.Validation)
			}
			m, err := b.Encrypt(t.Context(), t.TempDir()+"/index")
			if err != nil {
				t.Fatal(err)
			}
			if m.Bytes() != want {
				t.Errorf("row %d, scheme %v: %d bytes, Tune says %d", i, scheme, m.Bytes(), want)
			}
		}
	}
	b, err := json.Marshal(got)
	if err != nil || !strings.Contains(string(b), `"profile":"learned","ranker":"calibrated","neighbours":`) || !strings.Contains(string(b), `"owner_ms":`) {
		t.Errorf("%s, %v", b, err)
	}
}

// giveEmbeddings gives images embeddings that go with their kinds.
func giveEmbeddings(images []Image, dim int) {
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range images {
		e := &feature.Embedding{Values: make([]float32, dim)}
		for j := range e.Values {
			e.Values[j] = rng.Float32()
			if j%4 == i%4 {
				e.Values[j] += 2
			}
		}
		images[i].Vectors.Embedding = e
	}
}

// TestValidationOfBuilders: what is learnt from keywords says how well.
func TestValidationOfBuilders(t *testing.T) {
	images := madeImages(60, 5)
	for _, c := range []struct {
		opt  Options
		want bool
	}{
		{Options{}, false},
		{Options{Ranker: RankerCalibrated}, true},
		{Options{Profile: ProfileLearned}, true},
		{Options{Profile: ProfileLearned, Ranker: RankerPaper}, true},
	} {
		c.opt.Scheme, c.opt.PCA = cpar.SchemeCAPIA, 128
		b, err := Setup(t.Context(), NewKey(), images, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if v := b.Validation; (v != nil) != c.want || v != nil && (v.Photos != 60 || !(v.P > 0)) {
			t.Errorf("%v, %v: %+v", c.opt.Profile, c.opt.Ranker, v)
		}
	}
}
