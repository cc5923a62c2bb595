package cpar

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cpar/internal/hint"
	"cpar/kdforest"
)

func sampleRequest(planes bool) *Request {
	q := &Request{
		Index:  IndexID{1, 2, 3},
		Params: Params{Scheme: SchemeCPAR, L: 10, Approx: 25, Prune: planes},
		Vector: []uint64{1, 2, 1 << 63},
		Order:  []OrderCiphertext{0, 7, 65535},
	}
	if planes {
		q.Planes = &PlaneRequest{Vector: []uint64{5, 6, 7, 8}, Scale: 9, Offset: 10}
	}
	return q
}

func sampleReply() *Reply {
	return &Reply{Index: IndexID{4}, Visited: 450, Touched: 1 << 40, Matches: []Match{
		{Record: 7, Score: -5, Keywords: []byte("0123456789")},
		{Record: 2, Score: 9, Keywords: []byte("abcdefghij")},
		{Record: 3, Score: 9, Keywords: []byte("klmnopqrst")},
	}}
}

func sampleManifest() *Manifest {
	m := &Manifest{
		Scheme: SchemeCPAR, ID: IndexID{9}, Records: 3, Dim: 5, Shift: 28,
		Trees: 2, Place: PlaceNode, PlaneShift: 44, OrderBytes: 2, Fields: 2, Planes: 3, KeywordBytes: 92,
	}
	for i, bytes := range []uint64{80, 40, 276, 3*4 + 2*3*16, 3 * 3 * 8, 1000, 2000} {
		kinds := []SegmentKind{SegmentVectors, SegmentVectors, SegmentKeywords, SegmentForest, SegmentPlanes, SegmentLedger, SegmentProfile}
		m.Segments = append(m.Segments, Segment{Kind: kinds[i], Bytes: bytes, Digest: Digest{byte(i)}})
	}
	return m
}

type binaryMarshaler interface{ MarshalBinary() ([]byte, error) }

func marshal(t testing.TB, v binaryMarshaler) []byte {
	t.Helper()
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decoders(t testing.TB) map[string]struct {
	bytes  []byte
	decode func([]byte) (binaryMarshaler, error)
} {
	type entry = struct {
		bytes  []byte
		decode func([]byte) (binaryMarshaler, error)
	}
	return map[string]entry{
		"request":                   {marshal(t, sampleRequest(true)), func(b []byte) (binaryMarshaler, error) { return DecodeRequest(b) }},
		"reply":                     {marshal(t, sampleReply()), func(b []byte) (binaryMarshaler, error) { return DecodeReply(b) }},
		"manifest":                  {marshal(t, sampleManifest()), func(b []byte) (binaryMarshaler, error) { return DecodeManifest(b) }},
		"manifest of scheme sealed": {marshal(t, sealedManifest(SchemeSealed)), func(b []byte) (binaryMarshaler, error) { return DecodeManifest(b) }},
		"sealed request":            {sealedBytes(kindSealedRequest, IndexID{1}, "x"), func(b []byte) (binaryMarshaler, error) { return DecodeRequest(b) }},
		"sealed reply":              {sealedBytes(kindSealedReply, IndexID{1}, "x"), func(b []byte) (binaryMarshaler, error) { return DecodeReply(b) }},
	}
}

func TestRoundTrip(t *testing.T) {
	for _, q := range []*Request{sampleRequest(true), sampleRequest(false)} {
		got, err := DecodeRequest(marshal(t, q))
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("request: got %+v, %v; want %+v", got, err, q)
		}
	}
	wide := sampleRequest(false)
	wide.Order[1] = 1 << 39
	if got, err := DecodeRequest(marshal(t, wide)); err != nil || !reflect.DeepEqual(got, wide) {
		t.Errorf("request with order-preserving encryption: got %+v, %v", got, err)
	}
	if got, err := DecodeReply(marshal(t, sampleReply())); err != nil || !reflect.DeepEqual(got, sampleReply()) {
		t.Errorf("reply: got %+v, %v", got, err)
	}
	if got, err := DecodeManifest(marshal(t, sampleManifest())); err != nil || !reflect.DeepEqual(got, sampleManifest()) {
		t.Errorf("manifest: got %+v, %v", got, err)
	}
}

func TestDecodersRejectDamage(t *testing.T) {
	for name, d := range decoders(t) {
		for n := range d.bytes {
			if _, err := d.decode(d.bytes[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s cut to %d bytes: %v, want ErrCorrupt", name, n, err)
			}
		}
		opaque := strings.HasPrefix(name, "sealed") // only package lattice knows its length
		if _, err := d.decode(append(bytes.Clone(d.bytes), 0)); !errors.Is(err, ErrCorrupt) && !opaque {
			t.Errorf("%s with an extra byte: %v, want ErrCorrupt", name, err)
		}
		later := bytes.Clone(d.bytes)
		later[6]++
		if _, err := d.decode(later); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), fmt.Sprintf("has version %d", later[6])) {
			t.Errorf("%s of a later version: %v, want ErrVersion", name, err)
		}
	}
	earlier := marshal(t, sampleManifest())
	earlier[6]--
	if _, err := DecodeManifest(earlier); !errors.Is(err, ErrVersion) || !strings.Contains(hint.Of(err), "cpar build") {
		t.Errorf("a manifest of an earlier version: %v; %s", err, hint.Of(err))
	}
	m := marshal(t, sampleManifest())
	for i := 8; i < len(m); i++ {
		bad := bytes.Clone(m)
		bad[i] ^= 1 << (i % 8)
		if _, err := DecodeManifest(bad); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("manifest with a bit of byte %d flipped: %v", i, err)
		}
	}
}

// A count that exceeds the input causes no allocation.
func TestHugeCountsAllocateNothing(t *testing.T) {
	q := marshal(t, sampleRequest(false))
	// The number of vector words follows 32 fixed bytes.
	copy(q[32:], []byte{255, 255, 255, 255})
	if allocs := testing.AllocsPerRun(10, func() {
		if _, err := DecodeRequest(q); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v", err)
		}
	}); allocs > 20 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestManifestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*Manifest){
		"no records":              func(m *Manifest) { m.Records = 0 },
		"records without vectors": func(m *Manifest) { m.Records++ },
		"no trees":                func(m *Manifest) { m.Trees = 0 },
		"capia with trees":        func(m *Manifest) { m.Scheme = SchemeCAPIA },
		"no profile":              func(m *Manifest) { m.Segments = m.Segments[:5] },
		"two profiles":            func(m *Manifest) { m.Segments = append(m.Segments, m.Segments[5]) },
		"half a row":              func(m *Manifest) { m.Segments[0].Bytes, m.Segments[1].Bytes = 84, 36 },
		"out of order":            func(m *Manifest) { m.Segments[2], m.Segments[3] = m.Segments[3], m.Segments[2] },
		"unknown kind":            func(m *Manifest) { m.Segments[5].Kind = 77 },
		"shift":                   func(m *Manifest) { m.Shift = 63 },
		"order bytes":             func(m *Manifest) { m.OrderBytes = 3 },
		"one digest for two":      func(m *Manifest) { m.Segments[1].Digest = m.Segments[0].Digest },
	} {
		m := sampleManifest()
		spoil(m)
		if _, err := m.MarshalBinary(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// Only an empty file may be named twice.
func TestManifestRejectsRepeatedDigests(t *testing.T) {
	m := sampleManifest()
	m.Planes = 0
	m.Segments[3].Bytes, m.Segments[4].Bytes = 2*3*16, 0
	m.Segments[5].Digest = m.Segments[4].Digest
	if err := m.Validate(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "digest of another") {
		t.Errorf("a ledger with the digest of the empty planes segment: %v", err)
	}
	m.Segments[5].Bytes = 0
	if err := m.Validate(); err != nil {
		t.Errorf("two empty segments: %v", err)
	}
	m = &Manifest{Scheme: SchemeCAPIA, Records: 60000, Dim: 1, KeywordBytes: 1}
	for range m.Records {
		m.Segments = append(m.Segments, Segment{Kind: SegmentVectors, Bytes: 8, Digest: Digest{1}})
	}
	m.Segments = append(m.Segments, Segment{Kind: SegmentKeywords, Bytes: 60000, Digest: Digest{2}}, Segment{Kind: SegmentLedger, Bytes: 1, Digest: Digest{3}}, Segment{Kind: SegmentProfile, Bytes: 1, Digest: Digest{4}})
	if err := m.Validate(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one row named 60000 times: %v", err)
	}
	for i := range m.Records {
		m.Segments[i].Digest = Digest{5, byte(i), byte(i >> 8)}
	}
	if err := m.Validate(); err != nil {
		t.Errorf("60000 rows: %v", err)
	}
}

func TestManifestSegmentsMatchTheStructure(t *testing.T) {
	both := sampleManifest()
	both.Place, both.Segments[3].Bytes = PlaceLeaf, 3*4+2*5*16
	both.Lists = 2
	ledger, profile := both.Segments[5], both.Segments[6]
	both.Segments = append(both.Segments[:5], Segment{SegmentLists, 8, Digest{10}}, Segment{SegmentCentroids, 2 * 5 * 8, Digest{11}}, ledger, profile)
	lists := *both
	lists.Trees, lists.PlaneShift, lists.OrderBytes, lists.Fields, lists.Planes = 0, 0, 0, 0, 0
	lists.Segments = slices.Delete(slices.Clone(both.Segments), 3, 5)
	ivf := lists
	ivf.Scheme = SchemeIVF
	capia := lists
	capia.Scheme, capia.Lists = SchemeCAPIA, 0
	capia.Segments = slices.Delete(slices.Clone(lists.Segments), 3, 5)
	for _, c := range []struct {
		name          string
		m             *Manifest
		serves        [4]bool // depth, rank, best bin, inverted file
		defaultSearch Search
	}{
		// Earlier versions wrote the first two.
		{"both", both, [4]bool{true, true, true, true}, SearchDepthFirst},
		{"lists only, of scheme cpar", &lists, [4]bool{false, false, false, true}, SearchIVF},
		{"forest only", sampleManifest(), [4]bool{true, true, true, false}, SearchDepthFirst},
		{"ivf", &ivf, [4]bool{}, SearchIVF},
		{"capia", &capia, [4]bool{}, 0},
	} {
		got, err := DecodeManifest(marshal(t, c.m))
		if err != nil || !reflect.DeepEqual(got, c.m) {
			t.Errorf("%s: read as %+v, %v", c.name, got, err)
		}
		for how, want := range c.serves {
			if got := c.m.Serves(Params{Scheme: SchemeCPAR, Search: Search(how)}); got != want {
				t.Errorf("%s serves %v: %v, want %v", c.name, Search(how), got, want)
			}
		}
		if got := c.m.Serves(Params{Scheme: SchemeIVF, Search: SearchIVF}); got != (c.m.Lists > 0) {
			t.Errorf("%s serves scheme ivf: %v", c.name, got)
		}
		p := c.m.DefaultParams()
		if p.Validate() != nil || !c.m.Serves(p) || p.Search != c.defaultSearch || p.Scheme != c.m.Scheme {
			t.Errorf("%s: default parameters %+v", c.name, p)
		}
	}
	for name, spoil := range map[string]func(*Manifest){
		"neither trees nor lists": func(m *Manifest) { *m = capia; m.Scheme = SchemeCPAR },
		"ivf without lists":       func(m *Manifest) { *m = capia; m.Scheme = SchemeIVF },
		"ivf with trees":          func(m *Manifest) { m.Scheme = SchemeIVF },
		"capia with lists":        func(m *Manifest) { *m = lists; m.Scheme = SchemeCAPIA },
		"planes without trees":    func(m *Manifest) { *m = lists; m.Planes = 1 },
		"a place without trees":   func(m *Manifest) { *m = lists; m.Place = PlaceNode },
		"an unknown place":        func(m *Manifest) { m.Place = 2 },
		"more lists than records": func(m *Manifest) { *m = lists; m.Lists = 4 },
		"no centroids":            func(m *Manifest) { m.Segments = slices.Delete(m.Segments, 6, 7) },
		"one list too many":       func(m *Manifest) { m.Segments[5].Bytes += 4 },
		"trees of another shape":  func(m *Manifest) { m.Place = PlaceNode },
	} {
		m := *both
		m.Segments = slices.Clone(both.Segments)
		spoil(&m)
		if _, err := m.MarshalBinary(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

func TestForestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]uint16, 40)
	for i := range rows {
		rows[i] = []uint16{uint16(rng.IntN(9)), uint16(rng.IntN(9)), uint16(rng.IntN(9))}
	}
	forest, planes, err := kdforest.Build(rows, kdforest.BuildOptions{Trees: 3})
	if err != nil {
		t.Fatal(err)
	}
	f := &Forest{Forest: *forest}
	for _, p := range planes {
		f.Cuts = append(f.Cuts, Plane{Field: uint16(p.Dim), Order: OrderCiphertext(p.Value)})
	}
	for _, width := range []uint8{2, 8} {
		m := &Manifest{Records: 40, Trees: 3, Place: PlaceNode, Fields: 3, Planes: forest.Planes, OrderBytes: width}
		b, err := f.AppendBinary(nil, width)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeForest(m, b)
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Fatalf("width %d: got %+v, %v", width, got, err)
		}
		for i := range b {
			bad := bytes.Clone(b)
			bad[i] ^= 0x80
			if got, err := DecodeForest(m, bad); err == nil && reflect.DeepEqual(got, f) {
				t.Fatalf("width %d: changing byte %d goes unnoticed", width, i)
			}
		}
		if _, err := DecodeForest(m, b[:len(b)-1]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("width %d truncated: %v", width, err)
		}
	}
}

func TestNamesAreParsed(t *testing.T) {
	for _, s := range schemes.All() {
		if got, err := ParseScheme(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	if _, err := ParseScheme("scheme 3"); !errors.Is(err, ErrInput) {
		t.Errorf("scheme 3: %v", err)
	}
	id := IndexID{0xab, 15: 0x01}
	if got, err := ParseIndexID(id.String()); err != nil || got != id {
		t.Errorf("%v: %v, %v", id, got, err)
	}
	d := Digest{0xcd, 31: 0x02}
	if got, err := ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("%v: %v, %v", d, got, err)
	}
	for _, bad := range []string{"", "ab", strings.ToUpper(id.String()), id.String() + "00", "../../../../etc/passwd/aaaaaaaaaa", strings.Repeat("zz", 16)} {
		if _, err := ParseIndexID(bad); !errors.Is(err, ErrInput) {
			t.Errorf("index id %q: %v", bad, err)
		}
		if _, err := ParseDigest(bad); !errors.Is(err, ErrInput) {
			t.Errorf("digest %q: %v", bad, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, d := range decoders(f) {
		f.Add(d.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, d := range decoders(t) {
			v, err := d.decode(b)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
					t.Errorf("%s: %v is neither ErrCorrupt nor ErrVersion", name, err)
				}
				continue
			}
			if again := marshal(t, v); !bytes.Equal(again, b) {
				t.Errorf("%s: decoded, then encoded differently:\n%x\n%x", name, b, again)
			}
		}
	})
}
