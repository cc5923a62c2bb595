package device

import (
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/model/profile"
	"cpar/user"
)

func TestAllCellsRequestsEveryCell(t *testing.T) {
	w := newWorld(t, 24)
	d, key, c := w.device("one"), user.NewKey(), w.cloud(t.TempDir())
	folder := w.build(d, key, "index", user.Options{Profile: profile.Learned, Cells: 4})
	m := w.push(d, c, folder, PushOptions{})
	x, err := d.Open(t.Context(), c, key, OpenOptions{Index: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	photos := []Photo{File(w.photos[3]), File(w.photos[9])}
	all := map[bool][]Annotated{}
	for _, exact := range []bool{false, true} {
		sent := 0
		if all[exact], err = x.Annotate(t.Context(), photos, AnnotateOptions{AllCells: exact, Ranking: user.Ranking{MaxKeywords: 3},
			Params: func(x *Index) (cpar.Params, error) {
				p := x.DefaultParams()
				p.L = 24
				return p, nil
			},
			Sending: func(int, *cpar.Request) error { sent++; return nil }}); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 2 * x.Asked(), true: 8}[exact]; sent != want {
			t.Errorf("exact %v: %d requests, want %d", exact, sent, want)
		}
	}
	for i, a := range all[true] {
		one := all[false][i]
		if a.Err != nil || one.Err != nil || len(a.Near) != 24 || len(one.Near) < lattice.CellSize(24, 4, true) || a.Near[0].Dis > one.Near[0].Dis+1e-9 {
			t.Errorf("photo %d: %d near of all clusters, %d of one, %v, %v", i, len(a.Near), len(one.Near), a.Err, one.Err)
		}
		if a.Sent*x.Asked() < 7*one.Sent/2 || a.Received*x.Asked() < 3*one.Received {
			t.Errorf("photo %d: %d bytes sent and %d received; one request has %d and %d", i, a.Sent, a.Received, one.Sent, one.Received)
		}
		var records []uint32
		for _, n := range a.Near {
			records = append(records, n.Record)
		}
		if slices.Sort(records); len(slices.Compact(records)) != 24 {
			t.Errorf("photo %d: a record twice", i)
		}
	}
}
