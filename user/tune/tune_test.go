package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/scene"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo/dataset"
	"cpar/user"
)

// testKey returns a key that allows every scheme.
func testKey() *user.Key { return user.NewKey(cpar.Schemes()...) }

func madeImages(n int, seed uint64) []user.Photo   { return syntheticphotos.Photos(n, seed) }
func madeEmbedded(n int, seed uint64) []user.Photo { return syntheticphotos.Embedded(n, seed) }

// madeRow returns a row whose folds have the given merits, with P = R.
func madeRow(p profile.Kind, r rank.Kind, ms float64, bytes uint64, merits ...float64) Row {
	var folds []rank.Quality
	for _, m := range merits {
		folds = append(folds, rank.Quality{P: m, R: m})
	}
	return Row{Profile: p, Ranker: r, OwnerMS: ms, IndexBytes: IndexBytes{CAPIA: bytes}, Validation: *rank.NewValidation(90, 5, folds)}
}

func TestRecommendCoversEveryOutcome(t *testing.T) {
	paper := func(merits ...float64) []Row {
		return []Row{madeRow(profile.Paper, rank.KindPaper, 30, 50e6, merits...), madeRow(profile.Paper, rank.KindCalibrated, 30, 50e6, merits...)}
	}
	both := func(p profile.Kind, ms float64, bytes uint64, merits ...float64) []Row {
		return []Row{madeRow(p, rank.KindPaper, ms, bytes, 0.01, 0.02, 0.01), madeRow(p, rank.KindCalibrated, ms, bytes, merits...)}
	}
	for name, c := range map[string]struct {
		photos  int
		rows    [][]Row
		profile profile.Kind
		ranker  rank.Kind
		reason  string
	}{
		"too few photos": {99, [][]Row{paper(0.1, 0.1, 0.1), both(profile.Learned, 30, 5e6, 0.9, 0.9, 0.9)},
			profile.Paper, rank.KindPaper, "99 photos are too few"},
		"one is best": {5000, [][]Row{paper(0.15, 0.16, 0.14), both(profile.Learned, 30, 5e6, 0.25, 0.24, 0.26), both(profile.Network, 90, 5e6, 0.35, 0.34, 0.36)},
			profile.Network, rank.KindCalibrated, "profile network (ranker calibrated) finds most: harmonic mean of the shares right and found 35.0 %; paper (ranker paper) 15.0 %, learned (ranker calibrated) 25.0 %"},
		"as good, and faster for the owner": {5000, [][]Row{paper(0.15, 0.16, 0.14), both(profile.Learned, 30, 5e6, 0.25, 0.30, 0.28), both(profile.Network, 90, 4e6, 0.30, 0.26, 0.31)},
			profile.Learned, rank.KindCalibrated, "a photo costs you less (30 ms, not 90)"},
		"as good, and a smaller index": {5000, [][]Row{paper(0.25, 0.30, 0.29), both(profile.Learned, 33, 5e6, 0.25, 0.30, 0.28)},
			profile.Learned, rank.KindCalibrated, "its index is smaller (5.0 MB, not 50.0)"},
		"cheaper, but worse": {5000, [][]Row{paper(0.30, 0.31, 0.30), both(profile.Learned, 33, 5e6, 0.25, 0.24, 0.25)},
			profile.Paper, rank.KindPaper, "profile paper (ranker paper) finds most"},
		"another ranker, for certain": {5000, [][]Row{{madeRow(profile.Paper, rank.KindPaper, 30, 5e7, 0.2, 0.3, 0.4), madeRow(profile.Paper, rank.KindCalibrated, 30, 5e7, 0.25, 0.35, 0.46)}},
			profile.Paper, rank.KindCalibrated, "only profile paper"},
		"another ranker, perhaps": {5000, [][]Row{{madeRow(profile.Paper, rank.KindPaper, 30, 5e7, 0.2, 0.3, 0.4), madeRow(profile.Paper, rank.KindCalibrated, 30, 5e7, 0.4, 0.3, 0.3)}},
			profile.Paper, rank.KindPaper, "only profile paper"},
		"nothing is found": {5000, [][]Row{paper(0, 0, 0), both(profile.Learned, 30, 5e6, 0, 0, 0)[1:]},
			profile.Paper, rank.KindPaper, "nothing to do with what the photos look like"},
		"nothing was timed": {5000, [][]Row{{madeRow(profile.Paper, rank.KindPaper, 0, 5e7, 0.2, 0.3, 0.4)}, {madeRow(profile.Network, rank.KindCalibrated, 0, 5e6, 0.2, 0.3, 0.41)}},
			profile.Network, rank.KindCalibrated, "finds most"},
	} {
		got := &Tuning{Photos: c.photos, Rows: slices.Concat(c.rows...)}
		got.decide()
		if got.Recommended.Profile != c.profile || got.Recommended.Ranker != c.ranker || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %v %v: %s", name, got.Recommended.Profile, got.Recommended.Ranker, got.Reason)
		}
	}
}

func TestTuneRejectsUselessCollections(t *testing.T) {
	none := madeImages(20, 1)
	for i := range none {
		none[i].Keywords = nil
	}
	for name, images := range map[string][]user.Photo{"no image": nil, "one image": madeImages(1, 1), "no keywords": none} {
		if _, err := Tune(t.Context(), images, Options{PCA: 128}); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tune(ctx, madeImages(20, 1), Options{PCA: 128}); !errors.Is(err, context.Canceled) {
		t.Errorf("when the context has ended: %v", err)
	}
}

// Three photos cannot be divided into the folds for learning.
func TestTuneHandlesThreePhotos(t *testing.T) {
	got, err := Tune(t.Context(), madeImages(3, 1), Options{PCA: 128})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || len(got.LeftOut) != 1 || got.LeftOut[0].Profile != profile.Learned || got.Recommended.Profile != profile.Paper || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	b, err := user.Setup(t.Context(), testKey(), madeImages(3, 1), got.Apply(user.Options{Scheme: cpar.SchemeCAPIA}))
	if err != nil || b.Profile().Kind() != profile.Paper || b.Ranker().Kind() != rank.KindPaper {
		t.Error(err)
	}
}

// Each profile has rows, whose sizes equal those of the indexes built from
// Tune's fits.
func TestTuneSizesMatchBuiltIndexes(t *testing.T) {
	images := madeEmbedded(120, 5)
	folder := t.TempDir()
	var items []dataset.Photo
	for i := range 2 {
		jpg, _, err := scene.RenderJPEG(7, i)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, dataset.Photo{Name: "p", Path: filepath.Join(folder, fmt.Sprint(i))})
		if err := os.WriteFile(items[i].Path, jpg, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Tune(t.Context(), images, Options{PCA: 128, Photos: items})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 6 || len(got.LeftOut) != 0 || got.Photos != 120 {
		t.Fatalf("%+v", got)
	}
	for i, row := range got.Rows {
		if row.Profile != profile.Kinds()[i/2] || row.Ranker != []rank.Kind{rank.KindPaper, rank.KindCalibrated}[i%2] || row.Neighbours < 5 ||
			row.CloudMS <= 0 || row.Photos != 120 || row.Keywords != 5 || !(row.P > 0 && row.P <= 100) || !(row.R > 0 && row.R <= 100) {
			t.Errorf("row %d: %+v", i, row)
		}
		if timed := row.OwnerMS > 0; timed != (row.Profile != profile.Network) { // no model was given
			t.Errorf("row %d: %g ms", i, row.OwnerMS)
		}
		got.Recommended.Profile, got.Recommended.Ranker = row.Profile, row.Ranker
		for scheme, want := range map[cpar.Scheme]uint64{cpar.SchemeCAPIA: row.IndexBytes.CAPIA, cpar.SchemeSealed: row.IndexBytes.Sealed} {
			b, err := user.Setup(t.Context(), testKey(), images, got.Apply(user.Options{Scheme: scheme}))
			if err != nil {
				t.Fatal(err)
			}
			if b.Profile().Kind() != row.Profile || b.Ranker().Kind() != row.Ranker || b.Ranker().Neighbours() != row.Neighbours || b.Profile().Dimensions() != row.Dim || b.Validation.P != row.P {
				t.Errorf("row %d: built %v, %v, %d neighbours, %d dimensions, %+v", i, b.Profile().Kind(), b.Ranker().Kind(), b.Ranker().Neighbours(), b.Profile().Dimensions(), b.Validation)
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
