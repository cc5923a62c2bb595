package score

import (
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/wire"
	"cpar/kdforest"
)

type parts struct {
	m        *cpar.Manifest
	segments [][]byte
}

func (p *parts) add(kind cpar.SegmentKind, b []byte) {
	p.m.Segments = append(p.m.Segments, cpar.Segment{Kind: kind, Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	p.segments = append(p.segments, b)
}

func request(dim int) *cpar.Request {
	return &cpar.Request{Index: cpar.IndexID{1}, Vector: make([]uint64, dim), Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 1, Approx: 100}}
}

func lists(first ...byte) *parts {
	p := capia(4, 2)
	p.m.Scheme, p.m.Lists = cpar.SchemeCPAR, uint32(len(first))
	ledger, profile := p.m.Segments[3], p.m.Segments[4]
	p.m.Segments, p.segments = p.m.Segments[:3], p.segments[:3]
	var b []byte
	for _, f := range first {
		b = append(b, f, 0, 0, 0)
	}
	p.add(cpar.SegmentLists, b)
	p.add(cpar.SegmentCentroids, numbered(40, len(first), 3))
	p.m.Segments = append(p.m.Segments, ledger, profile)
	p.segments = append(p.segments, []byte("ledger"), []byte("profile"))
	return p
}

func numbered(first, n, dim int) (b []byte) {
	for i := range n {
		row := make([]uint64, dim)
		row[0] = uint64(first + i)
		b = wire.AppendWords(b, row)
	}
	return b
}

func capia(rows ...int) *parts {
	p := &parts{m: &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: cpar.IndexID{1}, Dim: 3, Shift: 4, KeywordBytes: 2}}
	n := 0
	for _, r := range rows {
		p.add(cpar.SegmentVectors, numbered(n, r, 3))
		n += r
	}
	p.m.Records = uint32(n)
	keywords := make([]byte, 2*n)
	for i := range n {
		keywords[2*i] = byte(i)
	}
	p.add(cpar.SegmentKeywords, keywords)
	p.add(cpar.SegmentLedger, []byte("ledger"))
	p.add(cpar.SegmentProfile, []byte("profile"))
	return p
}

// forest builds an index with many equal rows, so that fields have few planes
// or none.
func forest(t *testing.T) *parts {
	t.Helper()
	const n, fields = 60, 5
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([][]uint16, n)
	for i := range rows {
		rows[i] = make([]uint16, fields)
		for j := range rows[i] {
			rows[i][j] = 10 * uint16(rng.IntN(1+3*j))
		}
	}
	built, planes, err := kdforest.Build(rows, kdforest.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := &cpar.Forest{Forest: *built}
	for _, p := range planes {
		f.Cuts = append(f.Cuts, cpar.Plane{Field: uint16(p.Dim), Order: cpar.OrderCiphertext(p.Value)})
	}
	encoded, err := f.AppendBinary(nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{m: &cpar.Manifest{Scheme: cpar.SchemeCPAR, ID: cpar.IndexID{2}, Records: n, Dim: 3, Shift: 4, Place: cpar.PlaceNode,
		Trees: uint8(len(f.Trees)), PlaneShift: 4, OrderBytes: 2, Fields: fields, Planes: f.Planes, KeywordBytes: 2}}
	p.add(cpar.SegmentVectors, numbered(0, n, 3))
	p.add(cpar.SegmentKeywords, make([]byte, 2*n))
	p.add(cpar.SegmentForest, encoded)
	p.add(cpar.SegmentPlanes, numbered(0, int(f.Planes), fields+1))
	p.add(cpar.SegmentLedger, []byte("ledger"))
	p.add(cpar.SegmentProfile, []byte("profile"))
	return p
}

func TestRowsAreFoundInAnyDivision(t *testing.T) {
	for _, rows := range [][]int{{6}, {3, 3}, {4, 2}, {2, 2, 2}, {1, 1, 1, 1, 1, 1}, {5, 1}} {
		p := capia(rows...)
		x, err := Load(p.m, p.segments)
		if err != nil {
			t.Errorf("%v: %v", rows, err)
			continue
		}
		for r := range uint32(6) {
			if row := x.vectors.row(r); len(row) != 3 || cap(row) != 3 || row[0] != uint64(r) {
				t.Errorf("%v: row %d is %v", rows, r, row)
			}
			if k := x.Keywords(r); len(k) != 2 || cap(k) != 2 || k[0] != byte(r) {
				t.Errorf("%v: keywords %d are %v", rows, r, k)
			}
		}
	}
	p := forest(t)
	x, err := Load(p.m, p.segments)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.m.Planes {
		if row := x.planes.row(i); len(row) != int(p.m.Fields)+1 || row[0] != uint64(i) {
			t.Errorf("plane %d is %v", i, row)
		}
	}
}

func TestInvertedFileIsLoaded(t *testing.T) {
	p := lists(0, 1, 5)
	x, err := Load(p.m, p.segments)
	if err != nil {
		t.Fatal(err)
	}
	if x.Cells.Len() != 3 || x.Cells.Records() != 6 || x.centroids.row(2)[0] != 42 || x.Forest != nil {
		t.Errorf("%+v, centroids %v", x.Cells, x.centroids)
	}
	q := request(3)
	q.Params = cpar.Params{Scheme: cpar.SchemeCPAR, L: 1, Approx: 100}
	if _, err := NewSpace(x, q); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "searches ivf, and scheme capia") {
		t.Errorf("a forest search of lists: %v, hint %q", err, hint.Of(err))
	}
	f := forest(t)
	if x, err = Load(f.m, f.segments); err != nil {
		t.Fatal(err)
	}
	q.Index, q.Params.Search = f.m.ID, cpar.SearchIVF
	if _, err := NewSpace(x, q); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "depth, rank and bestbin, and") {
		t.Errorf("a search of lists in a forest: %v, hint %q", err, hint.Of(err))
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		parts *parts
		spoil func(*parts)
		say   string
	}{
		"a last segment that is larger":  {capia(1, 5), nil, "unequal size"},
		"a last one larger than two":     {capia(2, 2, 3), nil, "unequal size"},
		"a smaller one in the middle":    {capia(3, 2, 3), nil, "unequal size"},
		"a larger one in the middle":     {capia(2, 3, 1), nil, "unequal size"},
		"an impossible manifest":         {capia(6), func(p *parts) { p.m.Records = 0 }, "0 records"},
		"one segment too few":            {capia(6), func(p *parts) { p.segments = p.segments[:2] }, "2 segments"},
		"one segment too many":           {capia(6), func(p *parts) { p.segments = append(p.segments, nil) }, "5 segments"},
		"short vectors":                  {capia(6), func(p *parts) { p.segments[0] = p.segments[0][:8] }, "has 8 bytes"},
		"long keywords":                  {capia(6), func(p *parts) { p.segments[1] = make([]byte, 13) }, "has 13 bytes"},
		"lists that start late":          {lists(1, 3), nil, "reading lists"},
		"an empty list":                  {lists(0, 3, 3), nil, "reading lists"},
		"lists in another order":         {lists(0, 4, 2), nil, "reading lists"},
		"a list beyond the last record":  {lists(0, 6), nil, "reading lists"},
		"not a forest":                   {forest(t), func(p *parts) { clear(p.segments[2]) }, "reading forest"},
		"a forest with a missing record": {forest(t), func(p *parts) { p.segments[2][4*p.m.Planes] = 200 }, "reading forest"},
	} {
		if c.spoil != nil {
			c.spoil(c.parts)
		}
		if _, err := Load(c.parts.m, c.parts.segments); !errors.Is(err, cpar.ErrCorrupt) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v; want ErrCorrupt and %q", name, err, c.say)
		}
	}
}

func TestLeftAndFields(t *testing.T) {
	p := forest(t)
	x, err := Load(p.m, p.segments)
	if err != nil {
		t.Fatal(err)
	}
	q := &cpar.Request{Index: p.m.ID, Vector: make([]uint64, p.m.Dim), Order: make([]cpar.OrderCiphertext, p.m.Fields),
		Params: cpar.Params{Scheme: cpar.SchemeCPAR, L: 1, Approx: 100, Search: cpar.SearchByRank}}
	for at := cpar.OrderCiphertext(0); at <= 130; at += 5 {
		for f := range q.Order {
			q.Order[f] = at
		}
		s, err := NewSpace(x, q)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]kdforest.Field, p.m.Fields)
		for i, c := range x.Forest.Cuts {
			if got, want := s.Left(uint32(i)), at <= c.Order; got != want {
				t.Errorf("request at %d, plane %d at %d: left %v", at, i, c.Order, got)
			}
			f := &want[c.Field]
			if f.Last == 0 {
				f.First = uint32(i)
			}
			f.Last = uint32(i + 1)
			if at > c.Order {
				f.Beyond++
			}
		}
		for f := range want {
			if f > 0 && want[f].Last == 0 {
				want[f].First, want[f].Last = want[f-1].Last, want[f-1].Last
			}
		}
		for range 2 {
			if got := s.Fields(); !slices.Equal(got, want) {
				t.Errorf("request at %d: fields %v, want %v", at, got, want)
			}
		}
	}
}
