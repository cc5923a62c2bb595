package user

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/cloud"
	visible "cpar/cloud/score"
	"cpar/cloud/sealed"
	"cpar/cloud/search"
	"cpar/cloud/shard"
	"cpar/internal/indexdir"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/rank"
)

func testKey() *Key { return NewKey(cpar.Schemes()...) }

func madeImages(n int, seed uint64) []Photo   { return syntheticphotos.Photos(n, seed) }
func madeEmbedded(n int, seed uint64) []Photo { return syntheticphotos.Embedded(n, seed) }

// learntProfiles holds test photos for the profiles with squared L2 distances.
var learntProfiles = map[profile.Kind]func(n int, seed uint64) []Photo{profile.Learned: madeImages, profile.Network: madeEmbedded}

// growing are the schemes whose indexes can be updated.
var growing = []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal}

// small returns options that build quickly, for scheme cpar with both
// structures.
func small(s cpar.Scheme) Options {
	return Options{Scheme: s, PCA: 128, Trees: 2, WithLists: true, Lists: 3}
}

// itself bounds the distance of a photo from itself that rounding the histogram
// causes under profile `paper`. Scheme sealed uses coarser steps.
func itself(s cpar.Scheme) float64 {
	if s == cpar.SchemeSealed {
		return 0.1
	}
	return 0.025
}

func setUp(t testing.TB, key *Key, images []Photo, opt Options) *Builder {
	t.Helper()
	b, err := Setup(context.Background(), key, images, opt)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func build(t testing.TB, key *Key, images []Photo, opt Options) (*Builder, string) {
	t.Helper()
	b, folder := setUp(t, key, images, opt), filepath.Join(t.TempDir(), "index")
	if _, err := b.Encrypt(context.Background(), folder); err != nil {
		t.Fatal(err)
	}
	return b, folder
}

// opened is an index in a folder as a second device sees it.
type opened struct {
	*Owner
	folder   string
	manifest *cpar.Manifest
	segments map[cpar.Digest][]byte // of the whole index
	t        testing.TB
}

// held opens the index in folder and holds what requests need.
func held(t testing.TB, key *Key, folder string) *opened {
	t.Helper()
	x := look(t, key, folder)
	if err := x.Hold(x.manifest, x.segments); err != nil {
		t.Fatal(err)
	}
	return x
}

// look opens the index without calling Hold.
func look(t testing.TB, key *Key, folder string) *opened {
	t.Helper()
	m, err := indexdir.ReadManifest(folder)
	if err != nil {
		t.Fatal(err)
	}
	x := &opened{folder: folder, manifest: m, segments: map[cpar.Digest][]byte{}, t: t}
	for _, s := range m.Segments {
		if x.segments[s.Digest], err = indexdir.ReadSegment(folder, s); err != nil {
			t.Fatal(err)
		}
	}
	if x.Owner, err = Open(key, m, x.fetch); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *opened) fetch(s cpar.Segment) ([]byte, error) { return x.segments[s.Digest], nil }

// with returns a Fetch that substitutes the ledger.
func (x *opened) with(ledger []byte) Fetch {
	return func(s cpar.Segment) ([]byte, error) {
		if s.Kind == cpar.SegmentLedger {
			return ledger, nil
		}
		return x.fetch(s)
	}
}

// adding adds photos without looking for duplicates.
func adding(ctx context.Context, images []Photo) func(u *updater) error {
	return func(u *updater) error { return u.change(ctx, change{add: images}) }
}

func contentsOfAll(images []Photo) (out [][32]byte) {
	for _, im := range images {
		out = append(out, im.Content)
	}
	return out
}

func (x *opened) segment(k cpar.SegmentKind) []byte {
	s, _ := x.manifest.Segment(k)
	return x.segments[s.Digest]
}

// answer returns an honest server's reply, nil for a local search.
func (x *opened) answer(q *cpar.Request) *cpar.Reply {
	x.t.Helper()
	if q == nil {
		return nil
	}
	q = x.sent(q)
	if x.manifest.Scheme.Scored() {
		reply, err := search.Annotate(x.cloud(), q)
		if err != nil {
			x.t.Fatal(err)
		}
		return reply
	}
	c, err := sealed.Load(x.manifest, x.inOrder())
	if err != nil {
		x.t.Fatal(err)
	}
	replies, err := c.Annotate(context.Background(), 1, []*cpar.Request{q})
	if err != nil {
		x.t.Fatal(err)
	}
	if joined := x.joined(q); !bytes.Equal(joined.Opaque, replies[0].Opaque) {
		x.t.Error("machines with one segment of vectors each reply differently from one with all")
	}
	return replies[0]
}

// joined merges the replies of nodes that hold one segment of vectors each.
func (x *opened) joined(q *cpar.Request) *cpar.Reply {
	x.t.Helper()
	var replies []*cpar.Reply
	for _, p := range shard.Split(x.manifest, 1) {
		c, err := sealed.LoadShard(x.manifest, p, x.inOrder())
		if err != nil {
			x.t.Fatal(err)
		}
		some, err := c.Annotate(context.Background(), 1, []*cpar.Request{q})
		if err != nil {
			x.t.Fatal(err)
		}
		replies = append(replies, some...)
	}
	joined, err := cloud.Join(q, replies)
	if err != nil {
		x.t.Fatal(err)
	}
	return joined
}

// sent encodes and decodes a request.
func (x *opened) sent(q *cpar.Request) *cpar.Request {
	x.t.Helper()
	b, err := q.MarshalBinary()
	if err != nil {
		x.t.Fatal(err)
	}
	if q, err = cpar.DecodeRequest(b); err != nil {
		x.t.Fatal(err)
	}
	return q
}

func (x *opened) cloud() *visible.Index {
	x.t.Helper()
	c, err := visible.Load(x.manifest, x.inOrder())
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

func (x *opened) inOrder() (segments [][]byte) {
	for _, s := range x.manifest.Segments {
		segments = append(segments, x.segments[s.Digest])
	}
	return segments
}

// params requests l records with exhaustive search.
func (x *opened) params(l int) cpar.Params {
	p := x.DefaultParams()
	p.L, p.Approx = uint16(l), 1000
	return p
}

func (x *opened) nearest(photo Photo, l int) []rank.Neighbour {
	x.t.Helper()
	pending, q, err := x.Request(photo.Vectors, x.params(l))
	if err != nil {
		x.t.Fatal(err)
	}
	near, err := pending.Neighbours(x.answer(q))
	if err != nil {
		x.t.Fatal(err)
	}
	return near
}

// sharesRun reports whether 12 aligned bytes of a, a nonce's length, occur
// aligned in b. It ignores message headers and small numbers.
func (x *opened) sharesRun(a, b []byte) bool {
	seen := map[[12]byte]bool{}
	for at := 0; at+12 <= len(a); at += 4 {
		seen[[12]byte(a[at:])] = true
	}
	id := x.ID()
	for at := 0; at+12 <= len(b); at += 4 {
		run := b[at : at+12]
		header := bytes.Contains(run, []byte("CPAR")) || bytes.Contains(run, id[:4]) || bytes.Contains(run, id[12:]) || bytes.Contains(id[:], run) || bytes.Contains(run, make([]byte, 6))
		if seen[[12]byte(run)] && !header {
			return true
		}
	}
	return false
}
