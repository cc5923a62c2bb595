package cloud_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/sealed"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/cloud/trace"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
)

var sealedID = cpar.IndexID{9, 8}

type sealedFixture struct {
	p        lattice.Params
	m        *cpar.Manifest
	segments [][]byte
	groups   []*lattice.Group
}

func elements(r *rand.Rand, n int) []byte {
	x := make([]uint64, n)
	for i := range x {
		x[i] = r.Uint64N(lattice.Fast.Q)
	}
	return lattice.AppendWords(nil, x)
}

// newSealed builds a vectors segment for each list of counts, with a group for
// each count. Groups depend only on their position.
func newSealed(t *testing.T, counts ...[]int) *sealedFixture {
	t.Helper()
	p, err := lattice.Params{LogN: lattice.Fast.LogN, Dim: 40, Block: 16, LogT: 16, RecordNorm: 150, RequestNorm: 150, Addend: 1000}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	s := &sealedFixture{p: p, m: &cpar.Manifest{Scheme: cpar.SchemeSealed, ID: sealedID, Dim: 40, KeywordBytes: cpar.KeywordPageBytes(8)}}
	r := rand.New(rand.NewPCG(1, 2))
	for _, some := range counts {
		var b []byte
		for _, n := range some {
			g := &lattice.Group{Index: sealedID, Count: n, Addends: elements(r, p.Records()), Matrix: elements(r, p.Words())}
			g.Seed[0] = byte(len(s.groups))
			s.groups = append(s.groups, g)
			s.m.Records += uint32(n)
			b = g.AppendBinary(b)
		}
		s.add(cpar.SegmentVectors, b)
	}
	if pages := s.m.Records / cpar.KeywordPageRecords; pages > 0 {
		s.add(cpar.SegmentKeywords, make([]byte, pages*s.m.KeywordBytes))
	}
	s.add(cpar.SegmentKeywords, bytes.Repeat([]byte{byte(s.m.Records)}, int(cpar.KeywordTailBytes(s.m.KeywordBytes))))
	s.add(cpar.SegmentLedger, []byte("ledger"))
	params, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.add(cpar.SegmentParams, params)
	for i := range counts {
		hints := sha256.Sum256(s.segments[i])
		s.add(cpar.SegmentHints, hints[:])
	}
	s.add(cpar.SegmentProfile, []byte("profile"))
	s.add(cpar.SegmentIdentities, make([]byte, 28+cpar.IdentityBytes*s.m.Records))
	return s
}

func (s *sealedFixture) add(kind cpar.SegmentKind, b []byte) {
	s.m.Segments = append(s.m.Segments, cpar.Segment{Kind: kind, Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	s.segments = append(s.segments, b)
}

func (s *sealedFixture) push(t *testing.T, c *cloud.Cloud) (sent []cpar.SegmentKind) {
	t.Helper()
	missing, err := c.Missing(context.Background(), store.IndexRef{Index: s.m.ID}, s.m)
	if err != nil {
		t.Fatal(err)
	}
	for i, seg := range s.m.Segments {
		if !slices.Contains(missing, seg.Digest) {
			continue
		}
		sent = append(sent, seg.Kind)
		if err := c.PutSegment(context.Background(), store.IndexRef{Index: s.m.ID}, seg.Digest, int64(seg.Bytes), bytes.NewReader(s.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.m.MarshalBinary()
	if err == nil {
		err = c.PutManifest(context.Background(), store.IndexRef{Index: s.m.ID}, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

func (s *sealedFixture) request(seed uint64) (*lattice.Request, *cpar.Request) {
	r := rand.New(rand.NewPCG(seed, 3))
	q := &lattice.Request{Index: s.m.ID, Matrix: elements(r, s.p.Words())}
	q.Number[0] = byte(seed)
	return q, &cpar.Request{Index: s.m.ID, Params: cpar.Params{Scheme: cpar.SchemeSealed}, Opaque: q.AppendBinary(nil)}
}

func (s *sealedFixture) want(t *testing.T, q *lattice.Request) []byte {
	t.Helper()
	x, err := sealed.NewIndex(s.p, s.m.ID, 0, s.groups)
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.Evaluate(t.Context(), 1, q)
	if err != nil {
		t.Fatal(err)
	}
	return a[0]
}

func TestSealed(t *testing.T) {
	for _, memory := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge} {
		data := t.TempDir()
		c, err := cloud.New(data, store.Options{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Workers = 3
		s := newSealed(t, []int{128, 128, 128, 128}, []int{107})
		s.push(t, c)
		q1, first := s.request(1)
		q2, second := s.request(2)
		seen := new(trace.Request)
		one, err := annotate(seen.NewContext(t.Context()), c, store.IndexRef{Index: sealedID}, first)
		if o := seen.Outcome(); o.Visited != 619 || o.Touched == 0 {
			t.Errorf("%v: %d records and %d bytes are counted", memory, o.Visited, o.Touched)
		}
		if err != nil {
			t.Fatal(err)
		}
		both, err := c.Annotate(t.Context(), store.IndexRef{Index: sealedID}, []*cpar.Request{second, first})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Opaque, s.want(t, q1)) || !bytes.Equal(both[1].Opaque, one.Opaque) || !bytes.Equal(both[0].Opaque, s.want(t, q2)) {
			t.Errorf("%v: replies differ from the expected ones", memory)
		}
		if one.Visited != s.m.Records || one.Touched != uint64(5*s.p.GroupSize()) {
			t.Errorf("visited %d records, %d bytes", one.Visited, one.Touched)
		}

		// Groups are copied into memory, but the owner's hints are not.
		if got := indexdir.RowBytes(s.m); got != uint64(5*s.p.GroupSize()) {
			t.Errorf("%d bytes would be copied", got)
		}

		old, err := c.Get(context.Background(), store.IndexRef{Index: sealedID})
		if err != nil {
			t.Fatal(err)
		}
		next := newSealed(t, []int{128, 128, 128, 128}, []int{128, 9})
		want := []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentKeywords, cpar.SegmentHints, cpar.SegmentIdentities}
		if sent := next.push(t, c); !slices.Equal(sent, want) {
			t.Errorf("the update sent %v, want %v", sent, want)
		}
		if after, err := annotate(t.Context(), c, store.IndexRef{Index: sealedID}, first); err != nil || !bytes.Equal(after.Opaque, next.want(t, q1)) {
			t.Errorf("after the update: %v", err)
		}
		if got := old.Manifest().Records; got != s.m.Records {
			t.Errorf("the old index has %d records", got)
		}
		for i, b := range old.Segments() {
			if sha256.Sum256(b) != s.m.Segments[i].Digest {
				t.Errorf("segment %d of the old index has changed", i)
			}
		}
		old.Release()
		files, err := os.ReadDir(filepath.Join(data, "indexes", sealedID.String(), "segments"))
		if err != nil || len(files) != len(next.m.Segments) {
			t.Errorf("%d segments are stored, %d are named; %v", len(files), len(next.m.Segments), err)
		}
	}
}

func TestRequestsThatDoNotFit(t *testing.T) {
	c, err := cloud.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := newSealed(t, []int{5})
	s.push(t, c)
	capia := pushed(t, c, 4)
	local := &cpar.Manifest{Scheme: cpar.SchemeLocal, ID: cpar.IndexID{3}, Records: 2, Dim: 8, KeywordBytes: cpar.KeywordPageBytes(8)}
	index := &sealedFixture{m: local}
	index.add(cpar.SegmentVectors, make([]byte, cpar.LocalBlockBytes(8)))
	index.add(cpar.SegmentKeywords, make([]byte, cpar.KeywordTailBytes(local.KeywordBytes)))
	index.add(cpar.SegmentLedger, []byte("ledger"))
	index.add(cpar.SegmentProfile, []byte("profile"))
	index.add(cpar.SegmentIdentities, make([]byte, 28+2*cpar.IdentityBytes))
	index.push(t, c)

	_, good := s.request(1)
	short, other := *good, *good
	short.Opaque = good.Opaque[:len(good.Opaque)-8]
	other.Opaque = bytes.Clone(good.Opaque)
	other.Opaque[8]++
	scan := &cpar.Request{Index: capia, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}, Vector: []uint64{1, 0}}
	for name, k := range map[string]struct {
		id   cpar.IndexID
		q    *cpar.Request
		says string
	}{
		"cut short":               {sealedID, &short, "needs"},
		"of another index":        {sealedID, &other, "it is for index"},
		"a scan of sealed groups": {sealedID, scan, "a request of scheme capia"},
		"sealed to capia":         {capia, good, "a request of scheme sealed"},
		"sealed to local":         {local.ID, good, "searched by its owner"},
		"a scan of local blocks":  {local.ID, scan, "searched by its owner"},
	} {
		_, err := annotate(t.Context(), c, store.IndexRef{Index: k.id}, k.q)
		if !errors.Is(err, cpar.ErrInput) || errors.Is(err, cpar.ErrCorrupt) || !strings.Contains(err.Error(), k.says) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(k.says, "scheme") && hint.Of(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	if _, err := c.Annotate(t.Context(), store.IndexRef{Index: sealedID}, []*cpar.Request{good, &short}); err == nil || !strings.Contains(err.Error(), "request 2 of 2") {
		t.Errorf("batch: %v", err)
	}
	if _, err := annotate(t.Context(), c, store.IndexRef{Index: sealedID}, good); err != nil {
		t.Errorf("a good request after bad ones: %v", err)
	}
}

func TestSealedIndexesThatDoNotFit(t *testing.T) {
	c, err := cloud.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, change := range map[string]func(*sealedFixture){
		"half a group": func(s *sealedFixture) { s.replace(0, s.segments[0][:len(s.segments[0])-8]) },
		"a group of another index": func(s *sealedFixture) {
			b := bytes.Clone(s.segments[0])
			b[8]++
			s.replace(0, b)
		},
		"a word beyond the modulus": func(s *sealedFixture) {
			b := bytes.Clone(s.segments[0])
			b[len(b)-1] = 0xff
			s.replace(0, b)
		},
		"another number of records": func(s *sealedFixture) {
			s.m.Records++
			s.replace(6, make([]byte, 28+cpar.IdentityBytes*s.m.Records))
		},
		"another dimension": func(s *sealedFixture) { s.m.Dim++ },
		"bad parameters":    func(s *sealedFixture) { s.replace(3, make([]byte, cpar.ParamsBytes)) },
	} {
		s := newSealed(t, []int{5})
		change(s)
		for i, seg := range s.m.Segments {
			if err := c.PutSegment(context.Background(), store.IndexRef{Index: s.m.ID}, seg.Digest, int64(seg.Bytes), bytes.NewReader(s.segments[i])); err != nil {
				t.Fatal(err)
			}
		}
		b, err := s.m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.PutManifest(context.Background(), store.IndexRef{Index: s.m.ID}, b); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	newSealed(t, []int{5}).push(t, c)
}

func (s *sealedFixture) replace(i int, b []byte) {
	s.segments[i] = b
	s.m.Segments[i].Bytes, s.m.Segments[i].Digest = uint64(len(b)), sha256.Sum256(b)
}

func TestJoinedSealedShardsEqualWhole(t *testing.T) {
	s := newSealed(t, []int{128, 128}, []int{128, 7}, []int{128}, []int{1}, []int{5, 5, 5})
	whole, err := sealed.Load(s.m, s.segments)
	if err != nil {
		t.Fatal(err)
	}
	var requests []*cpar.Request
	for seed := range uint64(5) {
		_, q := s.request(seed)
		requests = append(requests, q)
	}
	want, err := whole.Annotate(t.Context(), 1, requests)
	if err != nil {
		t.Fatal(err)
	}
	for least, parts := range map[uint64]int{1: 5, s.m.Segments[0].Bytes + 1: 2, 1 << 40: 1} {
		all := shard.Split(s.m, least)
		if len(all) != parts {
			t.Fatalf("shards of at least %d bytes: %d, want %d", least, len(all), parts)
		}
		replies := make([][]*cpar.Reply, len(requests))
		for _, p := range all {
			some := slices.Clone(s.segments)
			for i, needed := range p.Needs(s.m) {
				if !needed {
					some[i] = nil
				}
			}
			x, err := sealed.LoadShard(s.m, p, some)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Annotate(t.Context(), 2, requests)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range got {
				replies[i] = append(replies[i], r)
			}
		}
		for i, q := range requests {
			if got, err := cloud.Join(q, replies[i]); err != nil || !bytes.Equal(got.Opaque, want[i].Opaque) {
				t.Errorf("%d shards give another reply than the whole index (%v)", parts, err)
			}
		}
		if parts > 1 {
			slices.Reverse(replies[0])
			if got, err := cloud.Join(requests[0], replies[0]); err == nil && bytes.Equal(got.Opaque, want[0].Opaque) {
				t.Error("shards in another order give the same reply")
			}
			if _, err := cloud.Join(requests[0], []*cpar.Reply{replies[0][0], replies[1][1]}); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("replies to two requests were joined: %v", err)
			}
		}
	}
}
