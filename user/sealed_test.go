package user

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cpar"
	cloud "cpar/cloud/sealed"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/user/vector"
)

// small is an index of one of the two schemes that is made quickly.
func small(s cpar.Scheme) Options { return Options{Scheme: s, PCA: 128} }

// opened is an index in a folder as a second device sees it.
type opened struct {
	*Owner
	folder   string
	manifest *cpar.Manifest
	segments map[cpar.Digest][]byte // of the whole index
	t        testing.TB
}

// open opens the index in folder with the key alone and holds what it needs.
func open(t testing.TB, key *Key, folder string) *opened {
	t.Helper()
	x := look(t, key, folder)
	if err := x.Hold(x.manifest, x.segments); err != nil {
		t.Fatal(err)
	}
	return x
}

// look is open without Hold.
func look(t testing.TB, key *Key, folder string) *opened {
	t.Helper()
	m, err := indexdir.ReadManifest(folder)
	if err != nil {
		t.Fatal(err)
	}
	x := &opened{folder: folder, manifest: m, segments: map[cpar.Digest][]byte{}, t: t}
	for _, s := range m.Segments {
		if x.segments[s.Digest], err = readSegment(folder, s); err != nil {
			t.Fatal(err)
		}
	}
	if x.Owner, err = Open(key, m, x.segment(cpar.SegmentLedger)); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *opened) segment(k cpar.SegmentKind) []byte {
	s, _ := x.manifest.Segment(k)
	return x.segments[s.Digest]
}

// cloud is the other side of a sealed index.
func (x *opened) cloud() *cloud.Index {
	x.t.Helper()
	p, err := lattice.DecodeParams(x.segment(cpar.SegmentParams))
	if err != nil {
		x.t.Fatal(err)
	}
	var groups []*lattice.Group
	for _, s := range x.manifest.Segments {
		if s.Kind != cpar.SegmentVectors {
			continue
		}
		for b := x.segments[s.Digest]; len(b) > 0; b = b[p.GroupSize():] {
			g, err := lattice.DecodeGroup(p, b[:p.GroupSize()])
			if err != nil {
				x.t.Fatal(err)
			}
			groups = append(groups, g)
		}
	}
	c, err := cloud.NewIndex(p, x.manifest.ID, groups)
	if err != nil {
		x.t.Fatal(err)
	}
	if c.Records() != int(x.manifest.Records) {
		x.t.Fatalf("the groups hold %d records, the manifest says %d", c.Records(), x.manifest.Records)
	}
	return c
}

// answer is what the cloud replies to the bytes of a request.
func (x *opened) answer(c *cloud.Index, request []byte) *lattice.Reply {
	x.t.Helper()
	q, err := lattice.DecodeRequest(x.exact.params, request)
	if err != nil {
		x.t.Fatal(err)
	}
	r, err := c.Evaluate(q, 1)
	if err != nil {
		x.t.Fatal(err)
	}
	return r
}

func (x *opened) reply(r *lattice.Reply) *cpar.Reply {
	return &cpar.Reply{Index: r.Index, Opaque: r.AppendBinary(x.exact.params, nil)}
}

func (x *opened) params(l int) cpar.Params {
	return cpar.Params{Scheme: x.manifest.Scheme, L: uint16(l), Approx: 1000}
}

// nearest asks for the records nearest to a photo, in whichever way.
func (x *opened) nearest(photo Image, l int) []Neighbour {
	x.t.Helper()
	if x.manifest.Scheme == cpar.SchemeLocal {
		near, err := x.Nearest(photo.Vectors, l)
		if err != nil {
			x.t.Fatal(err)
		}
		return near
	}
	pending, q, err := x.Request(photo.Vectors, x.params(l))
	if err != nil {
		x.t.Fatal(err)
	}
	b, err := q.MarshalBinary()
	if err != nil {
		x.t.Fatal(err)
	}
	near, err := pending.Neighbours(x.reply(x.answer(x.cloud(), b)))
	if err != nil {
		x.t.Fatal(err)
	}
	return near
}

// made builds an index in a folder of its own.
func made(t testing.TB, key *Key, images []Image, opt Options) (*Builder, string) {
	t.Helper()
	b, err := Setup(context.Background(), key, images, opt)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "index")
	if _, err := b.Encrypt(context.Background(), folder); err != nil {
		t.Fatal(err)
	}
	return b, folder
}

// TestExactSchemesAreTheirTwins: every score that the owner decrypts, or
// computes at home, is the integer of the twin in the clear, and the nearest are
// the same; for one record, for groups that are full and that are not, and for
// images that are all alike.
func TestExactSchemesAreTheirTwins(t *testing.T) {
	alike := slices.Repeat(madeImages(1, 1), 40)
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		for name, c := range map[string]struct {
			images []Image
			opt    Options
		}{
			"one":              {madeImages(1, 1), small(scheme)},
			"a full group":     {madeImages(32, 1), small(scheme)},
			"one more":         {madeImages(33, 1), small(scheme)},
			"alike":            {alike, small(scheme)},
			"PCA-32, block 64": {madeImages(70, 1), Options{Scheme: scheme, Block: 64}},
		} {
			key := NewKey()
			b, folder := made(t, key, c.images, c.opt)
			x := open(t, key, folder)
			twin, err := b.Twin()
			if err != nil {
				t.Fatal(err)
			}
			for _, photo := range append(madeImages(4, 9), c.images[0]) {
				v, err := x.Vector(photo.Vectors)
				if err != nil {
					t.Fatal(err)
				}
				want, err := twin.Scores(v)
				if err != nil {
					t.Fatal(err)
				}
				if got := x.scores(photo); !slices.Equal(got, want) {
					t.Fatalf("%v, %s: scores %v, the twin has %v", scheme, name, got, want)
				}
				hits, err := twin.Search(v, &Pending{params: x.params(10)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				near := x.nearest(photo, 10)
				if len(near) != len(hits) || len(hits) != min(10, len(c.images)) {
					t.Fatalf("%v, %s: %d neighbours, the twin has %d", scheme, name, len(near), len(hits))
				}
				for i, n := range near {
					dis, _ := twin.Dis(v, hits[i].Score)
					if n.Record != hits[i].Record || n.Dis != dis || !slices.Equal(n.Keywords, c.images[b.Image(n.Record)].Keywords) {
						t.Fatalf("%v, %s: neighbour %d is %+v, the twin has %+v", scheme, name, i, n, hits[i])
					}
				}
			}
		}
	}
}

// scores are all scores of a photo as the owner sees them.
func (x *opened) scores(photo Image) []int64 {
	x.t.Helper()
	v, err := x.Vector(photo.Vectors)
	if err != nil {
		x.t.Fatal(err)
	}
	if x.manifest.Scheme == cpar.SchemeLocal {
		u, _, err := x.exactRequest(v)
		if err != nil {
			x.t.Fatal(err)
		}
		return x.exact.held.Load().records.scores(u, 2)
	}
	pending, q, err := x.RequestVector(v, x.params(1))
	if err != nil {
		x.t.Fatal(err)
	}
	scores, err := pending.sealed.Scores(pending.sealed.held.hints, x.answer(x.cloud(), q.Opaque), 1)
	if err != nil {
		x.t.Fatal(err)
	}
	return scores
}

// TestHold: what is held must be what the profile vouches for, all of it.
func TestHold(t *testing.T) {
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		key := NewKey()
		_, folder := made(t, key, madeImages(40, 1), small(scheme))
		x := look(t, key, folder)
		if _, err := Open(NewKey(), x.manifest, x.segment(cpar.SegmentLedger)); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%v: another key: %v", scheme, err)
		}
		photo := madeImages(1, 9)[0]
		before := func() error {
			if scheme == cpar.SchemeLocal {
				_, err := x.Nearest(photo.Vectors, 3)
				return err
			}
			_, _, err := x.Request(photo.Vectors, x.params(3))
			return err
		}
		if err := before(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: before Hold: %v", scheme, err)
		}
		if err := x.Hold(x.manifest, nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: nothing fetched: %v", scheme, err)
		}
		needs := x.Needs(x.manifest)
		if len(needs) != 2 {
			t.Fatalf("%v needs %v", scheme, needs)
		}
		for _, s := range needs {
			bad := map[cpar.Digest][]byte{}
			for d, b := range x.segments {
				bad[d] = b
			}
			bad[s.Digest] = bytes.Clone(bad[s.Digest])
			bad[s.Digest][len(bad[s.Digest])/2] ^= 1
			if err := x.Hold(x.manifest, bad); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v, %v damaged: %v", scheme, s.Kind, err)
			}
		}
		// A manifest with other segments is refused, whatever their digests: the
		// profile does not vouch for them.
		for i, s := range x.manifest.Segments {
			if s.Kind == cpar.SegmentLedger {
				continue
			}
			m := *x.manifest
			m.Segments = slices.Clone(m.Segments)
			m.Segments[i].Digest[0] ^= 1
			if err := x.Hold(&m, x.segments); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v: another %v: %v", scheme, s.Kind, err)
			}
			if _, err := Open(key, &m, x.segment(cpar.SegmentLedger)); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v: opened with another %v: %v", scheme, s.Kind, err)
			}
		}
		if err := before(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: after none of it was held: %v", scheme, err)
		}
		if err := x.Hold(x.manifest, x.segments); err != nil {
			t.Fatal(err)
		}
		if err := before(); err != nil {
			t.Errorf("%v: after Hold: %v", scheme, err)
		}
	}
}

// TestHintsAreOfOneGeneration: hints of the same index and key do not open in
// another generation, even if a manifest were to name them.
func TestHintsAreOfOneGeneration(t *testing.T) {
	key := NewKey()
	_, folder := made(t, key, madeImages(3, 1), small(cpar.SchemeSealed))
	x := look(t, key, folder)
	if _, err := x.openHints(x.segment(cpar.SegmentHints)); err != nil {
		t.Fatal(err)
	}
	x.profile.exact.generation++
	if _, err := x.openHints(x.segment(cpar.SegmentHints)); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("opened: %v", err)
	}
	for _, n := range []int{0, 11, 27} {
		if _, err := x.openHints(make([]byte, n)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("hints of %d bytes: %v", n, err)
		}
	}
}

// TestSchemesServeThemselves: an index is asked by its own scheme only, and with
// a hint at what to do instead.
func TestSchemesServeThemselves(t *testing.T) {
	photo := madeImages(1, 9)[0].Vectors
	for _, scheme := range []cpar.Scheme{cpar.SchemeCAPIA, cpar.SchemeSealed, cpar.SchemeLocal} {
		b, err := Setup(context.Background(), NewKey(), madeImages(3, 1), small(scheme))
		if err != nil {
			t.Fatal(err)
		}
		if p := b.DefaultParams(); p.Scheme != scheme {
			t.Errorf("%v is asked by %+v", scheme, p)
		}
		for _, asked := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeSealed, cpar.SchemeLocal} {
			_, _, err := b.Request(photo, cpar.Params{Scheme: asked, L: 2, Approx: 1000})
			if scheme == cpar.SchemeCAPIA && asked == scheme {
				if err != nil {
					t.Error(err)
				}
				continue
			}
			if !errors.Is(err, cpar.ErrInput) {
				t.Errorf("an index of scheme %v asked by %v: %v", scheme, asked, err)
			}
		}
		if _, err := b.Nearest(photo, 2); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v searched at home before Hold: %v", scheme, err)
		}
		if g, want := b.Generation(), scheme != cpar.SchemeCAPIA; (g == 1) != want {
			t.Errorf("%v begins with generation %d", scheme, g)
		}
	}
}

// TestEveryAlteredScoreIsNoticed: whichever score a cloud alters, swaps,
// replays or drops, the reply is refused.
func TestEveryAlteredScoreIsNoticed(t *testing.T) {
	key := NewKey()
	images := madeImages(40, 1)
	_, folder := made(t, key, images, small(cpar.SchemeSealed))
	x := open(t, key, folder)
	c := x.cloud()
	photo := madeImages(1, 9)[0].Vectors
	ask := func() (*Pending, *lattice.Reply) {
		pending, q, err := x.Request(photo, x.params(5))
		if err != nil {
			t.Fatal(err)
		}
		return pending, x.answer(c, q.Opaque)
	}
	refused := func(name string, pending *Pending, r *lattice.Reply) {
		t.Helper()
		if near, err := pending.Neighbours(x.reply(r)); !errors.Is(err, cpar.ErrCloud) || near != nil {
			t.Errorf("%s: %v, %v; want ErrCloud", name, near, err)
		}
	}
	unit := uint64(1) << (x.exact.params.ReplyBits() - x.exact.params.LogT) // of one score
	for i := range images {
		pending, r := ask()
		r.Scores[i] = (r.Scores[i] + unit) & (1<<x.exact.params.ReplyBits() - 1)
		refused(fmt.Sprintf("score %d larger by 1", i), pending, r)
	}
	pending, r := ask()
	r.Scores[3], r.Scores[4] = r.Scores[4], r.Scores[3]
	refused("two scores swapped", pending, r)
	pending, r = ask()
	clear(r.Scores)
	refused("no scores", pending, r)
	pending, r = ask()
	r.Scores = r.Scores[:39]
	refused("one score dropped", pending, r)

	// Replies that say that they answer something else, and those that lie.
	_, old := ask()
	pending, r = ask()
	refused("the reply to another request", pending, old)
	lie := *old
	lie.Number = r.Number
	refused("that reply under the right number", pending, &lie)
	pending, r = ask()
	r.State[0] ^= 1
	refused("another state", pending, r)
	pending, r = ask()
	r.Index[0] ^= 1
	refused("another index", pending, r)

	// The bytes of it, each once.
	pending, r = ask()
	good := x.reply(r)
	for _, at := range []int{0, 4, 5, 6, 8, 24, 40, 72, 76, len(good.Opaque) - 1} {
		bad := &cpar.Reply{Index: good.Index, Opaque: bytes.Clone(good.Opaque)}
		bad.Opaque[at] ^= 0x80
		if at == len(good.Opaque)-1 {
			bad.Opaque = bad.Opaque[:at]
		}
		if near, err := pending.Neighbours(bad); !errors.Is(err, cpar.ErrCloud) || near != nil {
			t.Errorf("byte %d altered: %v", at, err)
		}
	}
	if _, err := pending.Neighbours(&cpar.Reply{Index: x.ID()}); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("a reply of another scheme: %v", err)
	}
	// None of these used the request up: the right reply is still read, and read
	// again.
	first, err := pending.Neighbours(good)
	if err != nil || len(first) != 5 {
		t.Fatalf("the right reply: %v, %v", first, err)
	}
	again, err := pending.Keywords(good, 3)
	if err != nil || len(again) != 3 {
		t.Errorf("read again: %v, %v", again, err)
	}
	// Another reply to it is not.
	r.Scores[0] = (r.Scores[0] + unit) & (1<<x.exact.params.ReplyBits() - 1)
	if _, err := pending.Neighbours(x.reply(r)); err == nil {
		t.Error("a second reply to one request was decrypted")
	}
}

// TestSealedShapeTellsNothing: two requests for one photo, and two indexes of
// equal shape over different photos with different words, have equal lengths
// everywhere and no run of 16 bytes in common outside headers and parameters.
func TestSealedShapeTellsNothing(t *testing.T) {
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		key := NewKey()
		others := madeImages(40, 5)
		for i := range others {
			others[i].Keywords = append(others[i].Keywords, fmt.Sprintf("a longer word, number %d", i))
		}
		_, fa := made(t, key, madeImages(40, 1), small(scheme))
		_, fb := made(t, key, others, small(scheme))
		a, b := open(t, key, fa), open(t, key, fb)
		if len(a.manifest.Segments) != len(b.manifest.Segments) {
			t.Fatalf("%v: %d and %d segments", scheme, len(a.manifest.Segments), len(b.manifest.Segments))
		}
		for i, s := range a.manifest.Segments {
			o := b.manifest.Segments[i]
			if s.Kind != o.Kind || s.Bytes != o.Bytes {
				t.Errorf("%v: segments %v of %d and %v of %d bytes", scheme, s.Kind, s.Bytes, o.Kind, o.Bytes)
			}
			if s.Kind != cpar.SegmentParams && sharesRun(a.segments[s.Digest], b.segments[o.Digest], 24) {
				t.Errorf("%v: the %v of two indexes have 16 bytes in common", scheme, s.Kind)
			}
		}
		if scheme == cpar.SchemeLocal {
			continue
		}
		photo := madeImages(1, 9)[0].Vectors
		var sent [][]byte
		for _, l := range []int{1, 1000} {
			_, q, err := a.Request(photo, a.params(l))
			if err != nil {
				t.Fatal(err)
			}
			if q.Params != (cpar.Params{Scheme: cpar.SchemeSealed}) {
				t.Errorf("the request shows %+v", q.Params)
			}
			enc, err := q.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, enc)
		}
		if len(sent[0]) != len(sent[1]) || sharesRun(sent[0][24:], sent[1][24:], 0) {
			t.Error("two requests differ in length or share 16 bytes")
		}
	}
}

// sharesRun is whether 16 bytes of a, at a multiple of 8, stand anywhere at a
// multiple of 8 in b. The first skip bytes of both are headers.
func sharesRun(a, b []byte, skip int) bool {
	seen := map[[16]byte]bool{}
	for at := skip; at+16 <= len(a); at += 8 {
		seen[[16]byte(a[at:])] = true
	}
	for at := skip; at+16 <= len(b); at += 8 {
		// Headers of groups repeat: magic, kind, version, index id.
		if run := [16]byte(b[at:]); seen[run] && !strings.HasPrefix(string(run[:]), "CPAR") && binary.LittleEndian.Uint64(run[8:]) != 0 {
			return true
		}
	}
	return false
}

func TestExactSecretsDoNotPrint(t *testing.T) {
	key := NewKey()
	_, folder := made(t, key, madeImages(3, 1), small(cpar.SchemeSealed))
	x := open(t, key, folder)
	pending, _, err := x.Request(madeImages(1, 9)[0].Vectors, x.params(2))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"owner": x.Owner, "exact": x.exact, "pending": pending, "sealed pending": pending.sealed, "blocks": x.exact.blocks} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			got := fmt.Sprintf(verb, v)
			if !strings.Contains(got, "redacted") || strings.Contains(got, hex.EncodeToString(key.secret[:4])) || len(got) > 40 {
				t.Errorf("%s prints as %q with %s", name, got, verb)
			}
		}
	}
}

// TestExactProfileRoundTrip of the two schemes; FuzzProfile has more.
func TestExactProfileRoundTrip(t *testing.T) {
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		b, err := Setup(context.Background(), NewKey(), madeImages(11, 1), small(scheme))
		if err != nil {
			t.Fatal(err)
		}
		b.profile.exact.remove(10)
		enc, err := b.profile.appendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeProfile(enc)
		if err != nil || !reflect.DeepEqual(got.exact, b.profile.exact) || got.scheme != scheme {
			t.Errorf("%v: read as %+v, %v", scheme, got, err)
		}
		for cut := len(enc) - 70000; cut < len(enc); cut += 997 {
			if _, err := decodeProfile(enc[:cut]); !errors.Is(err, cpar.ErrCorrupt) {
				t.Fatalf("%v cut to %d of %d bytes: %v", scheme, cut, len(enc), err)
			}
		}
		bad := bytes.Clone(enc)
		bad[len(bad)-1] = 1
		if _, err := decodeProfile(bad); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v with padding that is not zero: %v", scheme, err)
		}
		b.profile.exact.remove(11) // of 11 records
		if enc, err = b.profile.appendBinary(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := decodeProfile(enc); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v with a record removed that is not there: %v", scheme, err)
		}
	}
}

func BenchmarkSealedOwner(b *testing.B) {
	key := NewKey()
	_, folder := made(b, key, madeImages(640, 1), Options{Scheme: cpar.SchemeSealed})
	x := open(b, key, folder)
	v, err := x.Vector(madeImages(1, 9)[0].Vectors)
	if err != nil {
		b.Fatal(err)
	}
	scores := make([]int64, 20000)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range scores {
		scores[i] = rng.Int64N(1<<21) - 1<<20
	}
	u, _, err := x.exactRequest(v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("request", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := x.RequestVector(v, x.params(10)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check of 20000", func(b *testing.B) {
		for b.Loop() {
			x.profile.exact.check.fit(x.exact.rho, scores, u)
		}
	})
	b.Run("nearest of 20000", func(b *testing.B) {
		for b.Loop() {
			nearestScores(scores, 10, func(int) bool { return false })
		}
	})
	b.Run("local scan of 20000", func(b *testing.B) {
		r := &plainRecords{dim: len(u), rows: make([]int16, 20000*len(u)), addends: scores}
		for b.Loop() {
			r.scores(u, 1)
		}
	})
}

// copyFolder restores a backup.
func copyFolder(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestBlocksThatCanBeAsked: an index of which a request is more than a cloud takes
// is not built.
func TestBlocksThatCanBeAsked(t *testing.T) {
	if cpar.MaxRequestBytes != cpar.MaxRequestBytes {
		t.Errorf("a cloud takes %d bytes, not %d", cpar.MaxRequestBytes, cpar.MaxRequestBytes)
	}
	for _, c := range []struct {
		pca, block int
		ok         bool
	}{
		{32, 0, true}, {32, 16, false}, {32, 32, false}, {32, 64, true}, {32, 128, true}, {32, 256, true}, {32, 512, false},
		{32, 96, false}, {32, -64, false}, {8, 64, false}, {8, 128, true}, {16, 64, true}, {64, 32, false}, {128, 32, false}, {128, 64, true},
	} {
		o, err := Options{Scheme: cpar.SchemeSealed, PCA: c.pca, Block: c.block}.withDefaults()
		if !c.ok {
			if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
				t.Errorf("PCA-%d, blocks of %d: %v; %s", c.pca, c.block, err, hint.Of(err))
			}
			continue
		}
		if err != nil {
			t.Errorf("PCA-%d, blocks of %d: %v", c.pca, c.block, err)
			continue
		}
		q, err := newQuantiser(paperShape(vector.Dimension(haarDim/o.PCA)), o.Block)
		if err != nil || q.params.RequestSize() > cpar.MaxRequestBytes {
			t.Errorf("PCA-%d, blocks of %d: requests of %d bytes, %v", c.pca, c.block, q.params.RequestSize(), err)
		}
	}
	// Before anything is computed.
	if _, err := Setup(context.Background(), NewKey(), madeImages(1, 1), Options{Scheme: cpar.SchemeSealed, Block: 32}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("blocks of 32: %v", err)
	}
}
