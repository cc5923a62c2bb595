package aspe

import (
	"bytes"
	"cpar/model/feature"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/fixtures"
	"cpar/user/scorevector"
)

var pruning = cpar.Params{Scheme: cpar.SchemeCPAR, L: 5, Approx: 100, Prune: true}

// common counts the words that two requests share at the same position.
func common(a, b *cpar.Request) (n int) {
	for _, pair := range [][2][]uint64{{a.Vector, b.Vector}, {a.Planes.Vector, b.Planes.Vector}} {
		for i, x := range pair[0] {
			if x == pair[1][i] {
				n++
			}
		}
	}
	return n
}

// sameNoise counts the words of two ciphertexts whose difference is a multiple
// of w. Under equal noise these are all words.
func sameNoise(a, b []uint64, shift uint) (n int) {
	for i := range a {
		if (a[i]-b[i])&(1<<shift-1) == 0 {
			n++
		}
	}
	return n
}

// TestRequestsAreFresh checks that two requests for one photo share only their
// deterministic parts. SECURITY.md quotes this.
func TestRequestsAreFresh(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(30, 2), small)
	v := x.vector(syntheticphotos.Photos(1, 9)[0])
	_, p := x.ask(v, pruning)
	_, q := x.ask(v, pruning)
	if n := common(p, q); n > 0 {
		t.Errorf("two requests for one photo share %d words", n)
	}
	if !slices.Equal(p.Order, q.Order) {
		t.Error("order ciphertexts of one photo differ")
	}
}

// TestRequestsAreHedged repeats the random numbers. Requests for different
// photos must share nothing.
func TestRequestsAreHedged(t *testing.T) {
	x := setUpWith(t, profile.Paper, syntheticphotos.Photos(30, 2), small, syntheticphotos.Stuck{})
	v := x.vector(syntheticphotos.Photos(1, 9)[0])
	_, p := x.ask(v, pruning)
	if _, again := x.ask(v, pruning); common(p, again) != len(p.Vector)+len(p.Planes.Vector) {
		t.Error("the random numbers do not repeat: this test tests nothing")
	}
	levels, histogram := slices.Clone(v.Levels), slices.Clone(v.KL)
	levels[0]++
	histogram[0], histogram[1] = histogram[1], histogram[0]
	for name, other := range map[string]*vector.Vector{
		"another photo":     x.vector(syntheticphotos.Photos(1, 8)[0]),
		"another level":     {Levels: levels, KL: v.KL},
		"another histogram": {Levels: v.Levels, KL: histogram},
	} {
		_, q := x.ask(other, pruning)
		if common(p, q) > 0 {
			t.Errorf("%s: the requests share %d words", name, common(p, q))
		}
		w := x.budget.Cipher().RequestShift
		if n := sameNoise(p.Vector, q.Vector, w); n > len(p.Vector)/10 {
			t.Errorf("%s: %d of %d words have the same noise", name, n, len(p.Vector))
		}
	}
	// Vectors of learned profiles are rounded to z and to levels. Two that
	// differ only in levels must still share nothing.
	x = setUpWith(t, profile.Learned, syntheticphotos.Photos(30, 2), small, syntheticphotos.Stuck{})
	v = x.vector(syntheticphotos.Photos(1, 9)[0])
	w := &vector.Vector{X: v.X, Levels: slices.Clone(v.Levels)}
	for i := range w.Levels {
		w.Levels[i]++
	}
	bestBin := cpar.Params{Scheme: cpar.SchemeCPAR, L: 5, Approx: 100, Search: cpar.SearchBestBin}
	_, p = x.ask(v, bestBin)
	if _, q := x.ask(w, bestBin); common(p, q) > 0 {
		t.Errorf("requests at other points share %d words", common(p, q))
	}
}

// TestIndexesAreHedged repeats the random numbers. Different records under one
// key must share no ciphertext.
func TestIndexesAreHedged(t *testing.T) {
	photos := syntheticphotos.Photos(12, 2)
	scan := Options{Trees: None, Lists: None}
	write := func(change func(x *indexed)) *indexed {
		x := setUpWith(t, profile.Paper, photos, scan, syntheticphotos.Stuck{})
		x.Scheme = cpar.SchemeCAPIA
		change(x)
		return x.write()
	}
	first := write(func(*indexed) {})
	if again := write(func(*indexed) {}); !bytes.Equal(first.at.Segment(cpar.SegmentVectors), again.at.Segment(cpar.SegmentVectors)) {
		t.Error("the random numbers do not repeat: this test tests nothing")
	}
	for name, change := range map[string]func(x *indexed){
		"another z":           func(x *indexed) { x.collection.Records[11].Z[3]++ },
		"another histogram":   func(x *indexed) { k := x.collection.Records[11].Vector.KL; k[0], k[1] = k[1], k[0] },
		"another order":       func(x *indexed) { x.collection.Reorder([]uint32{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) },
		"another state of it": func(x *indexed) { x.Generation++ },
		"another index":       func(x *indexed) { *x = *otherID(t, photos, scan) },
		"histograms swapped": func(x *indexed) {
			a, b := x.collection.Records[0].Vector, x.collection.Records[1].Vector
			a.KL, b.KL = b.KL, a.KL
		},
	} {
		a, b := first.words(cpar.SegmentVectors), write(change).words(cpar.SegmentVectors)
		for i := range a {
			if a[i] == b[i] {
				t.Errorf("%s: word %d of the vectors stayed", name, i)
				break
			}
		}
		if n := sameNoise(a, b, first.budget.Cipher().RecordShift); n > len(a)/10 {
			t.Errorf("%s: %d of %d words have the same noise", name, n, len(a))
		}
	}
}

// TestPartsAreHedged does the same for centroids and planes.
func TestPartsAreHedged(t *testing.T) {
	write := func(change func(x *indexed)) *indexed {
		x := setUpWith(t, profile.Paper, syntheticphotos.Photos(40, 2), Options{Trees: 2, Lists: 4, Order: OrderOPE}, syntheticphotos.Stuck{})
		change(x)
		return x.write()
	}
	first := write(func(*indexed) {})
	for kind, c := range map[cpar.SegmentKind]struct {
		shift  uint
		change func(x *indexed)
	}{
		cpar.SegmentCentroids: {first.budget.Cipher().RecordShift, func(x *indexed) { x.centroids[0].Z[0]++ }},
		cpar.SegmentPlanes:    {scorevector.PlaneRecordShift, func(x *indexed) { x.part.planes[len(x.part.planes)-1].Value-- }},
	} {
		a, b := first.words(kind), write(c.change).words(kind)
		if len(a) != len(b) || len(a) == 0 || slices.Equal(a, b) {
			t.Fatalf("%v: %d and %d words", kind, len(a), len(b))
		}
		if n := sameNoise(a, b, c.shift); n > len(a)/10 {
			t.Errorf("%v: %d of %d words have the same noise", kind, n, len(a))
		}
	}
}

func (x *indexed) words(kind cpar.SegmentKind) (out []uint64) {
	for b := x.at.Segment(kind); len(b) > 0; b = b[8:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}

func otherID(t *testing.T, photos []feature.Photo, opt Options) *indexed {
	x, c := fixtures.Index(t, cpar.SchemeCAPIA, profile.Paper, photos, syntheticphotos.Stuck{})
	x.ID[0]++
	b, err := SetUp(t.Context(), x, c, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &indexed{Builder: b, t: t}
}

func TestPruneIsRejectedForSquaredDistances(t *testing.T) {
	x := setUp(t, profile.Learned, syntheticphotos.Photos(60, 1), small)
	_, _, err := x.Request(x.vector(syntheticphotos.Photos(1, 9)[0]), pruning)
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "squared") {
		t.Error(err)
	}
}

// TestForestWithoutPlanesAnswers checks that a forest of identical photos, which has no planes,
// still answers requests.
func TestForestWithoutPlanesAnswers(t *testing.T) {
	x := setUp(t, profile.Paper, slices.Repeat(syntheticphotos.Photos(1, 1), 25), Options{Trees: 2, Lists: None}).write()
	v := x.vector(syntheticphotos.Photos(1, 9)[0])
	for _, p := range []cpar.Params{pruning, {Scheme: cpar.SchemeCPAR, L: 5, Approx: 100, Search: cpar.SearchBestBin}} {
		reading, q := x.ask(v, p)
		if q.Planes != nil || q.Params.UsesPlanes() || len(q.Order) != 0 {
			t.Errorf("%+v: asked with %+v, %d planes' fields", p, q.Params, len(q.Order))
		}
		if near, err := reading.Read(x.answer(x.cloud(), q)); err != nil || len(near) != 5 {
			t.Errorf("%+v: %v, %v", p, near, err)
		}
	}
	if _, err := x.planes(); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a key of planes: %v", err)
	}
}

// reply holds the first n records with the given distances.
func (x *indexed) reply(reading *ReplyReader, n int, dis func(i int) float64) *cpar.Reply {
	blocks, size := x.at.Segment(cpar.SegmentKeywords), int(x.at.Manifest().KeywordBytes)
	a := &cpar.Reply{Index: x.ID, Visited: uint32(n)}
	for i := range n {
		score := int64(float64(reading.scale) * (x.budget.Unit()*dis(i) - float64(x.budget.Offset())))
		a.Matches = append(a.Matches, cpar.Match{Record: uint32(i), Score: score, Keywords: bytes.Clone(blocks[i*size : (i+1)*size])})
	}
	return a
}

func TestFalseRepliesAreRejected(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(30, 2), small).write()
	reading, _ := x.ask(x.vector(syntheticphotos.Photos(1, 9)[0]), cpar.Params{Scheme: cpar.SchemeCPAR, L: 5, Approx: 100})
	good := func() *cpar.Reply { return x.reply(reading, 5, func(i int) float64 { return float64(1 + i) }) }
	near, err := reading.Read(good())
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range near {
		if n.Record != uint32(i) || n.Dis < float64(1+i)-1e-6 || n.Dis > float64(1+i)+1e-6 || !slices.Equal(n.Keywords, x.collection.Records[i].Keywords) {
			t.Errorf("neighbour %d: %+v", i, n)
		}
	}
	for name, c := range map[string]struct {
		spoil func(*cpar.Reply) *cpar.Reply
		want  error
	}{
		"none":                  {func(*cpar.Reply) *cpar.Reply { return nil }, cpar.ErrCloud},
		"another index":         {func(a *cpar.Reply) *cpar.Reply { a.Index[3]++; return a }, cpar.ErrCloud},
		"another scheme's":      {func(a *cpar.Reply) *cpar.Reply { return &cpar.Reply{Index: a.Index, Opaque: []byte{1}} }, cpar.ErrCloud},
		"too many":              {func(*cpar.Reply) *cpar.Reply { return x.reply(reading, 6, func(int) float64 { return 1 }) }, cpar.ErrCloud},
		"too few":               {func(a *cpar.Reply) *cpar.Reply { a.Matches = a.Matches[:4]; return a }, cpar.ErrCloud},
		"no such record":        {func(a *cpar.Reply) *cpar.Reply { a.Matches[4].Record = 30; return a }, cpar.ErrCloud},
		"a record twice":        {func(a *cpar.Reply) *cpar.Reply { a.Matches[4] = a.Matches[3]; return a }, cpar.ErrCloud},
		"another's keywords":    {func(a *cpar.Reply) *cpar.Reply { a.Matches[4].Keywords = a.Matches[3].Keywords; return a }, cpar.ErrCorrupt},
		"altered keywords":      {func(a *cpar.Reply) *cpar.Reply { a.Matches[2].Keywords[20] ^= 1; return a }, cpar.ErrCorrupt},
		"keywords cut short":    {func(a *cpar.Reply) *cpar.Reply { a.Matches[2].Keywords = a.Matches[2].Keywords[:9]; return a }, cpar.ErrCorrupt},
		"record under a new no": {func(a *cpar.Reply) *cpar.Reply { a.Matches[2].Record = 20; return a }, cpar.ErrCorrupt},
	} {
		if near, err := reading.Read(c.spoil(good())); !errors.Is(err, c.want) || near != nil {
			t.Errorf("%s: %v, %v; want %v", name, near, err, c.want)
		}
	}
}

// TestCopiesWeighTheSame checks that noise does not distinguish copies of the
// requested photo.
func TestCopiesWeighTheSame(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(30, 2), small).write()
	reading, _ := x.ask(x.vector(syntheticphotos.Photos(1, 9)[0]), cpar.Params{Scheme: cpar.SchemeCAPIA, L: 4, Approx: 1000})
	// Distances from −5·10⁻⁴ to 10⁻³, within noise and ε of 0.
	near, err := reading.Read(x.reply(reading, 4, func(i int) float64 { return float64(i-1) * 5e-4 }))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range near {
		near[i].Keywords = []string{fmt.Sprint("copy ", i)}
		if n.Dis != 0 {
			t.Errorf("record %d: distance %g, want 0", n.Record, n.Dis)
		}
	}
	words := rank.PaperRanker{}.Rank(near, nil, 10, false)
	if want := 0.75; len(words) != 4 || words[3].Weight != want {
		t.Errorf("keywords of four copies weigh %v, want %g each", words, want)
	}
}
