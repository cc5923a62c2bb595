package quality

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/encoder"
	"cpar/eval/checkpoint"
	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// Plaintext rows match brute force, and encrypted rows are as good.
func TestProfiles(t *testing.T) {
	c := measuretest.Learnable(120, 40)
	l := measure.LabOf(c, "made")
	t.Cleanup(l.Close)
	p, err := MeasureProfiles(t.Context(), l, 0)
	if err != nil {
		t.Fatal(err)
	}
	if p.Records != 120 || p.Requests != 40 || p.CostRecords != 120 || p.CostKind != "real" || len(p.Rows) != 42 || len(p.Costs) != 18 || len(p.Details) != 3 || len(p.Skipped) != 0 {
		t.Fatalf("%+v", p)
	}
	checkProfileJSON(t, p)
	rows := map[string]ProfileRow{}
	for _, r := range p.Rows {
		rows[r.Profile+" "+r.Ranker+" "+r.Scheme] = r
	}
	for _, profile := range []string{"paper", "learned", "network"} {
		for _, ranker := range []string{"paper", "calibrated"} {
			plain := rows[profile+" "+ranker+" plain"]
			if plain.R < 30 || plain.R > 90 || plain.IndexBytes != 0 || plain.Cloud != 0 {
				t.Errorf("%+v", plain)
			}
			for _, scheme := range profileSchemes {
				r := rows[profile+" "+ranker+" "+scheme]
				// With few photos, one that changes ranks moves a mean over 21
				// keywords by 5.
				most := 6.
				switch {
				case strings.HasPrefix(scheme, "cpar"), scheme == "ivf@10": // the neighbours of twelve visits
					most = 25
				case profile == "paper":
					most = 12
				}
				if math.Abs(r.P-plain.P) > most || math.Abs(r.R-plain.R) > most || r.IndexBytes == 0 || r.Cloud <= 0 || r.Owner <= 0 || r.Dim == 0 {
					t.Errorf("%+v, in the clear %+v", r, plain)
				}
			}
		}
	}
	if a, b := rows["learned paper capia"], rows["paper paper capia"]; a.Dim >= b.Dim || a.IndexBytes == b.IndexBytes {
		t.Errorf("a short vector costs as much as a long one: %+v, %+v", a, b)
	}
	if want := measure.RoundTo(rows["learned paper capia"].Cloud/rows["paper paper capia"].Cloud, 4); p.CapiaRatio != want {
		t.Errorf("ratio %g, want %g", p.CapiaRatio, want)
	}
	for _, d := range p.Details {
		if d.OfPlain["sealed"] < 0.8 || d.OfPlain["ivf@100"] < 0.8 || d.Recall["ivf"] < 0.3 || d.Recall["rank"] < 0.3 || !(d.ECE > 0 && d.ECE < 0.5) {
			t.Errorf("%+v", d)
		}
		if f := d.Found; f.Human != 2 || f.Paper <= 0 || f.Probable <= 0 || f.Probable > 2 {
			t.Errorf("%+v", f)
		}
	}
	if len(p.Tables()) != 5 {
		t.Errorf("%d tables", len(p.Tables()))
	}
	checkPlainRows(t, c, rows["learned calibrated plain"], rows["learned paper plain"])
}

func checkProfileJSON(t *testing.T, p *Profiles) {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Rows []map[string]any }
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"profile", "ranker", "scheme", "neighbours", "dim", "P", "R", "Nplus", "index_bytes", "cloud_ms", "owner_ms"}
	for _, row := range got.Rows {
		for _, key := range want {
			if _, ok := row[key]; !ok || len(row) != len(want) {
				t.Fatalf("%v, want %v", row, want)
			}
		}
	}
}

func checkPlainRows(t *testing.T, c *measure.Corpus, calibrated, paper ProfileRow) {
	t.Helper()
	b, err := user.Setup(t.Context(), user.NewKey(cpar.SchemeCAPIA), c.Train, user.Options{Scheme: cpar.SchemeCAPIA, Profile: profile.Learned})
	if err != nil {
		t.Fatal(err)
	}
	vectors := func(images []user.Photo) (out [][]float64, guesses []*rank.Guess) {
		for _, im := range images {
			v, err := b.Vector(im.Vectors)
			if err != nil {
				t.Fatal(err)
			}
			out, guesses = append(out, measure.ToFloat64s(v.X)), append(guesses, v.Guess)
		}
		return out, guesses
	}
	records, _ := vectors(c.Train)
	requests, guesses := vectors(c.Test)
	for _, part := range []struct {
		want   ProfileRow
		ranker rank.Kind
		k      int
	}{{calibrated, rank.KindCalibrated, b.Ranker().Neighbours()}, {paper, rank.KindPaper, 10}} {
		var said [][]string
		for i, x := range requests {
			var near []rank.Neighbour
			for j, r := range records {
				near = append(near, rank.Neighbour{Dis: distance.SquaredL2(r, x), Keywords: c.Train[j].Keywords})
			}
			slices.SortStableFunc(near, func(a, b rank.Neighbour) int { return cmp.Compare(a.Dis, b.Dis) })
			scored, err := b.Rank(near[:part.k], user.Ranking{MaxKeywords: 5, Ranker: part.ranker, Guess: guesses[i]})
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, measure.KeywordsOf([][]rank.Keyword{scored})[0])
		}
		q := measure.MeasureQuality(said, measure.Keywords(c.Test))
		if w := part.want; q.P != w.P || q.R != w.R || q.Nplus != w.Nplus || part.k != w.Neighbours || w.Profile != "learned" || w.Ranker != part.ranker.String() {
			t.Errorf("brute force finds %+v with %d neighbours, the row says %+v", q, part.k, w)
		}
	}
}

// Another photo's neighbours show up as a loss of the paper's ranker, which has
// no guess of the photo's own. After so few photos, the guess may have the whole vote
// of the calibrated ranker.
func TestProfilesDetectWrongNeighbours(t *testing.T) {
	run, err := runProfile(t.Context(), measuretest.Learnable(120, 40), profile.Network, nil)
	if err != nil {
		t.Fatal(err)
	}
	measure := func() (out *Profiles, plain, capia ProfileRow) { // of the paper's ranker
		out = new(Profiles)
		if err := out.quality(run); err != nil {
			t.Fatal(err)
		}
		return out, out.Rows[0], out.Rows[1]
	}
	right, plain, row := measure()
	if plain.Scheme != "plain" || row.Scheme != "capia" || row.Ranker != "paper" || math.Abs(plain.R-row.R) > 6 {
		t.Errorf("%+v, in the clear %+v", row, plain)
	}
	capia := run.near["capia"]
	run.near["capia"] = append(slices.Clone(capia[5:]), capia[:5]...)
	wrong, plain, row := measure()
	if loss := plain.R - row.R; loss < 10 || loss < plain.R/5 {
		t.Errorf("with neighbours of other photos: %+v, in the clear %+v", row, plain)
	}
	a, b := right.Details[0], wrong.Details[0]
	if b.OfPlain["capia"] > 0.5 || a.OfPlain["capia"] < 0.8 || b.OfPlain["sealed"] != a.OfPlain["sealed"] || b.Recall["ivf"] > a.Recall["ivf"]/2 || b.Found.Paper > a.Found.Paper/2 {
		t.Errorf("right %+v\nwrong %+v", a, b)
	}
}

func TestProfileProbabilities(t *testing.T) {
	said := [][]rank.Keyword{{{Word: "sea", Probability: 0.92}, {Word: "sky", Probability: 0.08}}, {{Word: "car", Probability: 0.96}}, nil}
	truth := [][]string{{"sea"}, {"sky"}, {"car"}}
	// 0.92 and 0.96 share a bin, predicted 0.94 and half correct. 0.08 is
	// wrong.
	if ece, err := reliability(said, truth, measure.AllKeywords); err != nil || math.Abs(ece-(2*0.44+0.08)/3) > 1e-4 {
		t.Errorf("%g, %v", ece, err)
	}
	if ece, err := reliability(said, truth, 1); err != nil || math.Abs(ece-0.44) > 1e-4 {
		t.Errorf("of the first word alone: %g, %v", ece, err)
	}
}

// The step depends on the network.
func TestProfilesOfPhotos(t *testing.T) {
	c := measuretest.Photos(t, 20)
	dir := filepath.Dir(c.TrainItems[0].Path)
	manifest := "path,keywords\n"
	for i, it := range c.TrainItems {
		manifest += filepath.Base(it.Path) + ",every;kind " + string(rune('a'+i%2)) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.csv"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	labWith := func(n *encoder.Encoder) *measure.Lab {
		l := &measure.Lab{Data: dir, Cache: cache}
		l.SetNetwork(n)
		return l
	}
	network := measuretest.OpenFake(t, 1)
	p := &measure.Plan{Measurements: []measure.Measurement{{Name: "profiles", Needs: measure.NeedsSize | measure.NeedsModel, Get: measure.OfSize(MeasureProfiles)}}, Lab: labWith(network), Runner: &checkpoint.Runner{Dir: t.TempDir(), Origin: checkpoint.Origin{Machine: "a machine"}}, N: 24}
	var record checkpoint.Record
	p.Done = func(r checkpoint.Record, err error) { record = r }
	result, err := p.Measure(t.Context(), "profiles")
	if err != nil {
		t.Fatal(err)
	}
	first, inputs := result.(*Profiles), record.Inputs
	if len(first.Skipped) != 0 || len(first.Details) != 3 || first.Runtime != "fake" || first.CostRecords != 24 || first.CostKind != "real and mixed" {
		t.Errorf("%+v", first)
	}
	digest := network.Digest()
	large, err := p.Lab.Collection(t.Context(), 24)
	if err != nil {
		t.Fatal(err)
	}
	for i, im := range large.Train {
		if e := im.Vectors.Embedding; e == nil || e.Network != digest || len(e.Values) != 8 {
			t.Errorf("image %d of the larger collection has embedding %+v", i, e)
		}
	}
	for _, cost := range first.Costs {
		if cost.Features <= 0 || cost.Cloud <= 0 || cost.Encrypt <= 0 || cost.Request == 0 || cost.ProfileBytes == 0 || cost.ProfileBytes >= cost.IndexBytes {
			t.Errorf("%+v", cost)
		}
	}
	// The step exists for this network only.
	p.Lab = labWith(measuretest.OpenFake(t, 1))
	if _, err := p.Measure(t.Context(), "profiles"); err != nil || !record.Reused || record.Inputs != inputs {
		t.Errorf("the same network: %+v, %v", record, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // missing results would be measured
	for name, n := range map[string]*encoder.Encoder{"another network": measuretest.OpenFake(t, 2), "no network": nil} {
		p.Lab = labWith(n)
		if _, err := p.Measure(ctx, "profiles"); err == nil {
			t.Errorf("%s: the results of the first were taken", name)
		}
	}
}

// Features do not depend on mixed embeddings.
func TestMixedEmbeddings(t *testing.T) {
	c := measuretest.Learnable(12, 1)
	mixed, err := measure.MixFeatures(t.Context(), c.Train, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	bare := &measure.Corpus{}
	for _, im := range c.Train {
		v := *im.Vectors
		v.Embedding = nil
		bare.Train = append(bare.Train, user.Photo{Vectors: &v, Keywords: im.Keywords})
	}
	without, err := measure.MixFeatures(t.Context(), bare.Train, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, im := range mixed {
		if e := im.Vectors.Embedding; e == nil || len(e.Values) != 24 || e.Network != ([32]byte{7}) {
			t.Fatalf("image %d: %+v", i, e)
		}
		im.Vectors.Embedding = nil
		if !reflect.DeepEqual(im, without[i]) {
			t.Errorf("image %d has other features than without embeddings", i)
		}
	}
}
