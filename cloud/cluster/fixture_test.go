package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/blob"
	"cpar/cloud/placement"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/internal/lattice"
	"cpar/internal/testing/buckettest"
	"cpar/internal/wire"
	"cpar/kdforest"
)

type index struct {
	m        *cpar.Manifest
	segments [][]byte
	requests []*cpar.Request
}

func (x *index) add(kind cpar.SegmentKind, b []byte) {
	x.m.Segments = append(x.m.Segments, cpar.Segment{Kind: kind, Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	x.segments = append(x.segments, b)
}

func (x *index) manifest(t testing.TB) []byte {
	t.Helper()
	b, err := x.m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func random(rng *rand.Rand, n int) []byte {
	var b []byte
	for range n {
		b = wire.AppendWords(b, []uint64{rng.Uint64() >> 20})
	}
	return b
}

func scanned(id byte, seed uint64, vectors int) *index {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := &index{m: &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: cpar.IndexID{id}, Records: uint32(50 * vectors), Dim: 6, Shift: 30, KeywordBytes: 8}}
	for range vectors {
		x.add(cpar.SegmentVectors, random(rng, 50*6))
	}
	x.add(cpar.SegmentKeywords, random(rng, 50*vectors))
	x.add(cpar.SegmentLedger, []byte("ledger"))
	x.add(cpar.SegmentProfile, []byte("profile"))
	for range 5 {
		q := &cpar.Request{Index: x.m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 7, Approx: 1000}, Vector: make([]uint64, 6)}
		for i := range q.Vector {
			q.Vector[i] = rng.Uint64()
		}
		x.requests = append(x.requests, q)
	}
	return x
}

func forested(t testing.TB, id byte) *index {
	t.Helper()
	const n, dim, fields = 300, 6, 4
	rng := rand.New(rand.NewPCG(uint64(id), 2))
	rows := make([][]uint16, n)
	for i := range rows {
		for range fields {
			rows[i] = append(rows[i], uint16(rng.NormFloat64()*20+500))
		}
	}
	forest, planes, err := kdforest.Build(rows, kdforest.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := &cpar.Forest{Forest: *forest}
	for _, p := range planes {
		f.Cuts = append(f.Cuts, cpar.Plane{Field: uint16(p.Dim), Order: cpar.OrderCiphertext(p.Value)})
	}
	encoded, err := f.AppendBinary(nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	x := &index{m: &cpar.Manifest{Scheme: cpar.SchemeCPAR, ID: cpar.IndexID{id}, Records: n, Dim: dim, Shift: 28, Place: cpar.PlaceNode,
		Trees: uint8(len(forest.Trees)), PlaneShift: 45, OrderBytes: 2, Fields: fields, Planes: forest.Planes, KeywordBytes: 8}}
	for range 3 {
		x.add(cpar.SegmentVectors, random(rng, n/3*dim))
	}
	x.add(cpar.SegmentKeywords, random(rng, n))
	x.add(cpar.SegmentForest, encoded)
	x.add(cpar.SegmentPlanes, random(rng, int(forest.Planes)*(fields+1)))
	x.add(cpar.SegmentLedger, []byte("ledger"))
	x.add(cpar.SegmentProfile, []byte("profile"))
	for _, search := range []cpar.Search{0, cpar.SearchByRank, cpar.SearchBestBin} {
		q := &cpar.Request{Index: x.m.ID, Params: cpar.Params{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100, Search: search}}
		for range dim {
			q.Vector = append(q.Vector, rng.Uint64()>>30)
		}
		for range fields {
			q.Order = append(q.Order, cpar.OrderCiphertext(rng.NormFloat64()*20+500))
		}
		if q.Params.UsesPlanes() {
			q.Planes = &cpar.PlaneRequest{Scale: 1 << 16, Vector: make([]uint64, fields+1)}
			for i := range q.Planes.Vector {
				q.Planes.Vector[i] = rng.Uint64()
			}
		}
		x.requests = append(x.requests, q)
	}
	return x
}

func sealedIndex(t testing.TB, id byte) *index {
	t.Helper()
	p, err := lattice.Params{LogN: lattice.Fast.LogN, Dim: 40, Block: 16, LogT: 16, RecordNorm: 150, RequestNorm: 150, Addend: 1000}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(id), 3))
	elements := func(n int) []byte {
		words := make([]uint64, n)
		for i := range words {
			words[i] = rng.Uint64N(lattice.Fast.Q)
		}
		return lattice.AppendWords(nil, words)
	}
	x := &index{m: &cpar.Manifest{Scheme: cpar.SchemeSealed, ID: cpar.IndexID{id}, Dim: 40, KeywordBytes: cpar.KeywordPageBytes(8)}}
	for i, n := range []int{128, 128, 90} {
		g := &lattice.Group{Index: x.m.ID, Count: n, Addends: elements(p.Records()), Matrix: elements(p.Words()), Seed: [32]byte{byte(i)}}
		x.m.Records += uint32(n)
		x.add(cpar.SegmentVectors, g.AppendBinary(nil))
	}
	if pages := x.m.Records / cpar.KeywordPageRecords; pages > 0 {
		x.add(cpar.SegmentKeywords, make([]byte, pages*x.m.KeywordBytes))
	}
	x.add(cpar.SegmentKeywords, make([]byte, cpar.KeywordTailBytes(x.m.KeywordBytes)))
	x.add(cpar.SegmentLedger, []byte("ledger"))
	b, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	x.add(cpar.SegmentParams, b)
	for i := range 3 {
		x.add(cpar.SegmentHints, bytes.Repeat([]byte{byte(i)}, 32))
	}
	x.add(cpar.SegmentProfile, []byte("profile"))
	x.add(cpar.SegmentIdentities, make([]byte, 28+cpar.IdentityBytes*x.m.Records))
	for i := range 3 {
		q := &lattice.Request{Index: x.m.ID, Matrix: elements(p.Words())}
		q.Number[0] = byte(i)
		x.requests = append(x.requests, &cpar.Request{Index: x.m.ID, Params: cpar.Params{Scheme: cpar.SchemeSealed}, Opaque: q.AppendBinary(nil)})
	}
	return x
}

func (x *index) push(t testing.TB, s *cloud.Cloud, k store.IndexRef, put func(context.Context, store.IndexRef, []byte) error) error {
	t.Helper()
	x.upload(t, s, k)
	return put(t.Context(), k, x.manifest(t))
}

func (x *index) upload(t testing.TB, s *cloud.Cloud, k store.IndexRef) {
	t.Helper()
	for i, seg := range x.m.Segments {
		if err := s.PutSegment(t.Context(), k, seg.Digest, int64(seg.Bytes), bytes.NewReader(x.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
}

func (x *index) want(t testing.TB) [][]byte {
	t.Helper()
	c, err := cloud.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	k := store.IndexRef{Index: x.m.ID}
	if err := x.push(t, c, k, c.PutManifest); err != nil {
		t.Fatal(err)
	}
	replies, err := c.Annotate(t.Context(), k, x.requests)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, replies)
}

func encoded(t testing.TB, replies []*cpar.Reply) (out [][]byte) {
	t.Helper()
	for _, r := range replies {
		b, err := r.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

type table struct {
	mu     sync.Mutex
	of     map[store.IndexRef]pointer
	last   uint64
	before func(what string) error
}

func (p *table) call(what string, f func() error) error {
	p.mu.Lock()
	before := p.before
	p.mu.Unlock()
	if before != nil {
		if err := before(what); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return f()
}

func (p *table) get(_ context.Context, k store.IndexRef, _ bool) (out pointer, err error) {
	err = p.call("get", func() error { out = p.of[k]; return nil })
	return out, err
}

func (p *table) set(_ context.Context, k store.IndexRef, next pointer, revision uint64) error {
	return p.call("set", func() error {
		if p.of[k].revision != revision {
			return errChanged
		}
		p.last++
		next.revision, next.since = p.last, time.Now()
		p.of[k] = next
		if next.digest == (cpar.Digest{}) && !next.changing {
			delete(p.of, k)
		}
		return nil
	})
}

func (p *table) age(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, x := range p.of {
		x.since = x.since.Add(-by)
		p.of[k] = x
	}
}

// A fleet consists of routers and nodes over one object storage and one table. It
// is also their transport, which encodes messages as for NATS.
type fleet struct {
	t        testing.TB
	bucket   *buckettest.Memory
	place    buckettest.Endpoint
	pointers *table
	members  *members

	mu    sync.Mutex
	nodes map[string]*Node
	// meet, if set, may answer a query instead of its node.
	meet  func(node string, q *shardQuery) (replies []*cpar.Reply, err error, done bool)
	asked int
}

func newFleet(t testing.TB, nodes int) *fleet {
	f := &fleet{t: t, bucket: &buckettest.Memory{}, pointers: &table{of: map[store.IndexRef]pointer{}}, members: newMembers(func() {}), nodes: map[string]*Node{}}
	f.place = f.bucket.Serve(t)
	for i := range nodes {
		f.join(fmt.Sprintf("n%d", i))
	}
	return f
}

func (f *fleet) cloud(o store.Options) *cloud.Cloud {
	b, err := blob.Open(f.place.Address, blob.Options{Credential: f.place.Credential, Attempts: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := remote.Open(b, remote.Options{Data: f.t.TempDir()})
	if err != nil {
		f.t.Fatal(err)
	}
	c := cloud.Over(s, o)
	c.Workers = 1
	f.t.Cleanup(func() { c.Close() })
	return c
}

func (f *fleet) join(name string) *Node {
	n := NewNode(f.cloud(store.Options{}), slog.New(slog.DiscardHandler))
	f.t.Cleanup(n.Close)
	f.mu.Lock()
	f.nodes[name] = n
	f.mu.Unlock()
	f.beat(Beat{Node: name})
	return n
}

func (f *fleet) beat(b Beat) {
	m, _ := json.Marshal(b)
	f.members.hear(m, time.Now())
}

func (f *fleet) ask(ctx context.Context, node string, q *shardQuery) ([]*cpar.Reply, error) {
	b, err := q.encode()
	if err != nil {
		return nil, err
	}
	if q, err = decodeShardQuery(b); err != nil {
		return nil, err
	}
	f.mu.Lock()
	n, meet := f.nodes[node], f.meet
	f.asked++
	f.mu.Unlock()
	if meet != nil {
		if replies, err, done := meet(node, q); done {
			if errors.Is(err, errNobody) {
				return nil, err
			}
			return decodeAnswer(encodeAnswer(replies, err))
		}
	}
	if n == nil {
		return nil, errNobody
	}
	return decodeAnswer(encodeAnswer(n.answer(ctx, q)))
}

func (f *fleet) router() (*Routed, *cloud.Cloud) {
	c := f.cloud(store.Options{})
	return &Routed{c, &Router{transport: f, members: f.members, versions: newVersions(f.pointers, c.ManifestBytes, 1)}}, c
}

func (f *fleet) check(r *Routed, k store.IndexRef, x *index, want [][]byte, what string) {
	f.t.Helper()
	replies, err := r.router.Annotate(f.t.Context(), k, x.requests)
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	if got := encoded(f.t, replies); !slices.EqualFunc(got, want, bytes.Equal) {
		f.t.Fatalf("%s: the replies differ from a single machine's", what)
	}
}

func (f *fleet) held(k store.IndexRef, x *index) {
	f.t.Helper()
	s, err := newIndexVersion(x.manifest(f.t), k, 1)
	if err != nil {
		f.t.Fatal(err)
	}
	stay := f.members.current().stay
	for i, p := range s.shards {
		for _, n := range stay.Nodes(placement.SlotOf(k.Tenant, k.Index, i), Replicas) {
			if !f.nodes[stay.Name(n)].cloud.ShardLoaded(k, s.version, p) {
				f.t.Errorf("shard %d is not loaded at %s", i, stay.Name(n))
			}
		}
	}
}
