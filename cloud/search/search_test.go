package search

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"cpar"
	"cpar/cloud/score"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
	"cpar/kdforest"
)

// fakeIndex has the right shape but meaningless words.
func fakeIndex(t testing.TB, n, dim, fields int) *score.Index {
	t.Helper()
	return fakeIndexOf(t, cpar.PlaceNode, n, dim, fields)
}

func fakeIndexOf(t testing.TB, place cpar.Place, n, dim, fields int) *score.Index {
	t.Helper()
	m, segments := parts(t, place, n, dim, fields)
	for i, b := range segments {
		if len(b) > 8<<20 {
			segments[i] = huge(t, b)
		}
	}
	x, err := score.Load(m, segments)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func parts(t testing.TB, place cpar.Place, n, dim, fields int) (*cpar.Manifest, [][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	rows := make([][]uint16, n)
	for i := range rows {
		rows[i] = make([]uint16, fields)
		for j := range rows[i] {
			rows[i][j] = uint16(rng.NormFloat64()*20 + 500)
		}
	}
	build := kdforest.BuildOptions{}
	if place == cpar.PlaceLeaf {
		build.Place = kdforest.PlaceLeaf
	}
	forest, planes, err := kdforest.Build(rows, build)
	if err != nil {
		t.Fatal(err)
	}
	words := func(n int) []byte {
		b := make([]byte, 0, 8*n)
		for range n {
			b = wire.AppendWords(b, []uint64{rng.Uint64() >> 20})
		}
		return b
	}
	f := &cpar.Forest{Forest: *forest}
	for _, p := range planes {
		f.Cuts = append(f.Cuts, cpar.Plane{Field: uint16(p.Dim), Order: cpar.OrderCiphertext(p.Value)})
	}
	enc, err := f.AppendBinary(nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := &cpar.Manifest{Scheme: cpar.SchemeCPAR, ID: cpar.IndexID{1}, Records: uint32(n), Dim: uint32(dim), Shift: 28, Place: place,
		Trees: uint8(len(forest.Trees)), PlaneShift: 45, OrderBytes: 2, Fields: uint32(fields), Planes: forest.Planes, KeywordBytes: 92}
	rowsOfPlanes := words(int(forest.Planes) * (fields + 1))
	copy(rowsOfPlanes, wire.AppendWords(nil, append([]uint64{1}, make([]uint64, fields)...)))
	var lists []byte
	for at := 0; at < n; at += 1 + rng.IntN(2*n/lengthOf(n)) {
		lists = binary.LittleEndian.AppendUint32(lists, uint32(at))
		if at == 0 {
			at = n / 8
		}
	}
	m.Lists = uint32(len(lists) / 4)
	segments := [][]byte{words(n * dim), make([]byte, n*92), enc, rowsOfPlanes, lists, words(int(m.Lists) * dim), {0}, {1}}
	for i, k := range []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentKeywords, cpar.SegmentForest, cpar.SegmentPlanes, cpar.SegmentLists, cpar.SegmentCentroids, cpar.SegmentLedger, cpar.SegmentProfile} {
		m.Segments = append(m.Segments, cpar.Segment{Kind: k, Bytes: uint64(len(segments[i])), Digest: sha256.Sum256(segments[i])})
	}
	return m, segments
}

func lengthOf(n int) int { return min(256, max(2, int(math.Sqrt(float64(n))))) }

func huge(t testing.TB, b []byte) []byte {
	all, free, err := indexdir.Allocate(uint64(len(b)))
	if err != nil {
		t.Log(err)
		return b
	}
	t.Cleanup(free)
	copy(all, b)
	return all
}

func request(x *score.Index, p cpar.Params, seed uint64) *cpar.Request {
	rng := rand.New(rand.NewPCG(2, seed))
	q := &cpar.Request{Index: x.Manifest.ID, Params: p, Vector: make([]uint64, x.Manifest.Dim)}
	for i := range q.Vector {
		q.Vector[i] = rng.Uint64() >> 30
	}
	if p.UsesForest() {
		for range x.Manifest.Fields {
			q.Order = append(q.Order, cpar.OrderCiphertext(rng.NormFloat64()*20+500))
		}
	}
	if p.UsesPlanes() {
		q.Planes = &cpar.PlaneRequest{Vector: make([]uint64, x.Manifest.Fields+1), Scale: 1 << 16}
		for i := range q.Planes.Vector {
			q.Planes.Vector[i] = rng.Uint64()
		}
	}
	return q
}

func params(scheme cpar.Scheme, approx uint16) cpar.Params {
	return cpar.Params{Scheme: scheme, L: 10, Approx: approx}
}

func TestFullForestEqualsScan(t *testing.T) {
	x := fakeIndex(t, 700, 20, 8)
	for seed := range uint64(30) {
		q := request(x, params(cpar.SchemeCPAR, 1000), seed)
		forest, err := Annotate(x, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Params.Scheme, q.Order = cpar.SchemeCAPIA, nil
		scan, err := Annotate(x, q)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(forest, scan) {
			t.Fatalf("request %d: AP-100 gives %+v, the scan %+v", seed, forest, scan)
		}
	}
}

func TestRepliesCountWork(t *testing.T) {
	x := fakeIndex(t, 1000, 20, 8)
	for approx, visited := range map[uint16]uint32{1000: 1000, 100: 100, 25: 25, 1: 10} {
		a, err := Annotate(x, request(x, params(cpar.SchemeCPAR, approx), 1))
		if err != nil {
			t.Fatal(err)
		}
		if a.Visited != visited || a.Touched != uint64(visited)*20*8 || len(a.Matches) != 10 {
			t.Errorf("AP-%g: %d visited, %d bytes, %d matches", float64(approx)/10, a.Visited, a.Touched, len(a.Matches))
		}
	}
	pruned := request(x, cpar.Params{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100, Prune: true}, 1)
	a, err := Annotate(x, pruned)
	if err != nil {
		t.Fatal(err)
	}
	if planes := a.Touched - uint64(a.Visited)*20*8; planes == 0 || planes%(9*8) != 0 {
		t.Errorf("pruning touched %d bytes of planes", planes)
	}
}

func TestRequestThatDoesNotFit(t *testing.T) {
	x := fakeIndex(t, 50, 20, 8)
	capia := *x
	capia.Forest, capia.Cells = nil, nil
	for name, spoil := range map[string]func(*cpar.Request) *score.Index{
		"another index":           func(q *cpar.Request) *score.Index { q.Index[0]++; return x },
		"short vector":            func(q *cpar.Request) *score.Index { q.Vector = q.Vector[1:]; return x },
		"long vector":             func(q *cpar.Request) *score.Index { q.Vector = append(q.Vector, 1); return x },
		"no order":                func(q *cpar.Request) *score.Index { q.Order = nil; return x },
		"capia with order":        func(q *cpar.Request) *score.Index { q.Params.Scheme = cpar.SchemeCAPIA; return x },
		"planes not asked for":    func(q *cpar.Request) *score.Index { q.Planes = &cpar.PlaneRequest{}; return x },
		"pruning without planes":  func(q *cpar.Request) *score.Index { q.Params.Prune = true; return x },
		"planes of another width": func(q *cpar.Request) *score.Index { q.Params.Prune = true; q.Planes = &cpar.PlaneRequest{}; return x },
		"an index with no forest": func(q *cpar.Request) *score.Index { return &capia },
		"an index with no lists": func(q *cpar.Request) *score.Index {
			q.Params.Search, q.Order = cpar.SearchIVF, nil
			return &capia
		},
		"lists with order": func(q *cpar.Request) *score.Index { q.Params.Search = cpar.SearchIVF; return x },
		"lists with planes": func(q *cpar.Request) *score.Index {
			q.Params.Search, q.Order, q.Planes = cpar.SearchIVF, nil, &cpar.PlaneRequest{}
			return x
		},
		"best bin without planes": func(q *cpar.Request) *score.Index { q.Params.Search = cpar.SearchBestBin; return x },
		"no neighbours":           func(q *cpar.Request) *score.Index { q.Params.L = 0; return x },
	} {
		q := request(x, params(cpar.SchemeCPAR, 100), 1)
		if _, err := Annotate(spoil(q), q); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}

func TestBeyondCannotWrap(t *testing.T) {
	x := fakeIndex(t, 50, 20, 8)
	q := request(x, cpar.Params{Scheme: cpar.SchemeCPAR, L: 10, Approx: 500, Prune: true}, 1)
	clear(q.Planes.Vector)
	q.Planes.Vector[0] = 1 << 62
	if scores, err := x.PlaneScores(q); err != nil || scores[0] != 1<<17 {
		t.Fatalf("plane 0 scores %d, %v", scores[0], err)
	}
	for _, c := range []struct {
		scale, offset uint64
		worst         int64
		want          bool
	}{
		{0, 0, -1, true}, {0, 0, 0, false}, {0, 1, -2, true}, {0, 1, -1, false},
		{0, ^uint64(0), -1 << 63, false}, {^uint64(0), 0, 1 << 40, true},
		// 2¹⁷·2⁶³/2¹⁶ is 2⁶⁴, which wraps to 0 in a word.
		{1 << 63, 0, 0, true}, {1 << 63, 1, 1<<63 - 1, true}, {1<<63 - 1, 1<<63 - 2, 1<<63 - 1, true},
		{1<<63 - 1, 1<<63 - 1, 1<<63 - 1, false}, {1<<63 - 1, 1<<64 - 1, -1, false}, {1<<63 - 1, 1<<64 - 1, -2, true},
	} {
		q.Planes.Scale, q.Planes.Offset = c.scale, c.offset
		s, err := score.NewSpace(x, q)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Beyond(0, c.worst); got != c.want {
			t.Errorf("scale %d, offset %d, worst %d: %v, want %v", c.scale, c.offset, c.worst, got, c.want)
		}
	}
}
