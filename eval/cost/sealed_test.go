package cost

import (
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/user"
)

func TestSealedFindsTheNearest(t *testing.T) {
	c := measuretest.SyntheticCorpus(1, 150, 12)
	s, err := MeasureSealed(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Top10Equal != 1 || s.LocalEqual != 1 {
		t.Errorf("the ten nearest are those in the clear for %g of the requests sealed, %g local", s.Top10Equal, s.LocalEqual)
	}
	if len(s.Quality) != 4 {
		t.Fatalf("%d rows", len(s.Quality))
	}
	for i := 0; i < 4; i += 2 {
		if plain, hidden := s.Quality[i], s.Quality[i+1]; plain.Scheme != "plain-jl" || hidden.Scheme != "sealed" || hidden.R < plain.R-5 || hidden.R > plain.R+5 {
			t.Errorf("in the clear %+v, sealed %+v", plain, hidden)
		}
	}
}

// Work is the same in records and bytes for any contents and request.
func TestServerWorkDoesNotDependOnContent(t *testing.T) {
	type work struct {
		visited       uint32
		touched       uint64
		request, sent int
	}
	var all []work
	for seed := range uint64(2) {
		c := measuretest.SyntheticCorpus(seed+1, 70, 4)
		s, _, err := measure.OpenSealed(t.Context(), c.Train, user.Options{Scheme: cpar.SchemeSealed, PCA: 128})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, v := range measure.VectorsOf(s.Owner, c, 4) {
			_, q, err := s.Owner.RequestVector(v, s.Params(10))
			if err != nil {
				t.Fatal(err)
			}
			replies, err := s.Cloud.Annotate(t.Context(), 1, []*cpar.Request{q})
			if err != nil {
				t.Fatal(err)
			}
			r := replies[0]
			all = append(all, work{r.Visited, r.Touched, len(q.Opaque), len(r.Opaque)})
		}
	}
	for i, w := range all {
		if w != all[0] || w.visited != 70 || w.touched == 0 {
			t.Errorf("request %d takes %+v, the first %+v", i, w, all[0])
		}
	}
	if len(all) != 8 {
		t.Errorf("%d requests", len(all))
	}
}

func TestSealedGrows(t *testing.T) {
	c := measuretest.SyntheticCorpus(1, 100, 5)
	l := measure.LabOf(c, "made")
	t.Cleanup(l.Close)
	cost, err := MeasureSealedCost(t.Context(), l, 100)
	if err != nil {
		t.Fatal(err)
	}
	if cost.Cloud <= 0 || cost.Encrypt <= 0 || cost.Read <= 0 || cost.LocalScan <= 0 || cost.Request < 100_000 || cost.Index == 0 || cost.Hints == 0 || cost.Table == 0 {
		t.Errorf("%+v", cost)
	}
	rows, err := MeasureSealedGrowth(t.Context(), l, []int{100, 300})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Records != 100 || rows[1].Records != 300 || rows[1].Reply <= rows[0].Reply || rows[1].Index <= rows[0].Index || rows[1].Add <= 0 {
		t.Errorf("%+v", rows)
	}
	if tables := (&Sealed{Records: 100, Requests: 5, Cost: cost, Growth: rows}).Tables(); len(tables) != 3 {
		t.Errorf("%d tables", len(tables))
	}
}
