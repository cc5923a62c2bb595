package user

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/encoder"
	"cpar/encoder/prepare"
	"cpar/internal/hint"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/feature"
	"cpar/model/profile"
)

func TestOpenNeedsTheKeyOnly(t *testing.T) {
	key := testKey()
	for _, opt := range []Options{{}, {Scheme: cpar.SchemeLocal}, {Scheme: cpar.SchemeCAPIA}, {Scheme: cpar.SchemeCPAR, Order: OrderOPE},
		{Scheme: cpar.SchemeCPAR, PCA: 8, Trees: 2}, {PCA: 128}} {
		b, folder := build(t, key, madeImages(40, 2), opt)
		x := look(t, key, folder)
		if got, want := fmt.Sprint(x.Keywords()), fmt.Sprint(b.Keywords()); got != want {
			t.Errorf("%+v: words %s, want %s", opt, got, want)
		}
		// Both owners lay out the same plaintext request.
		v, err := x.Vector(madeImages(1, 3)[0].Vectors)
		if err != nil {
			t.Fatal(err)
		}
		p, err1 := x.Projector().Project(v)
		q, err2 := b.Projector().Project(v)
		if err1 != nil || err2 != nil || !slices.Equal(p, q) {
			t.Errorf("%+v: the second device makes another request: %v, %v", opt, err1, err2)
		}
		if _, err := Open(testKey(), x.manifest, x.with(x.segment(cpar.SegmentLedger))); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%+v: another key: %v, want ErrKey", opt, err)
		}
	}
}

func TestOpenAsksThePolicy(t *testing.T) {
	key := testKey()
	for _, scheme := range cpar.Schemes() {
		_, folder := build(t, key, madeImages(3, 1), small(scheme))
		x := look(t, key, folder)
		_, err := Open(key.Restricted(DefaultPolicy()), x.manifest, x.with(x.segment(cpar.SegmentLedger)))
		if Hides(scheme) != (err == nil) {
			t.Errorf("%v: %v", scheme, err)
		}
		if err != nil && (!errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), fmt.Sprint("cpar key allow ", scheme))) {
			t.Errorf("%v: %v; hint %q", scheme, err, hint.Of(err))
		}
		if _, err := Open(key.Restricted(0), x.manifest, x.with(x.segment(cpar.SegmentLedger))); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v, nothing allowed: %v", scheme, err)
		}
	}
}

// TestOpenChecksTheLedger checks that another ledger is rejected by its digest
// before the key is tried.
func TestOpenChecksTheLedger(t *testing.T) {
	key := testKey()
	_, one := build(t, key, madeImages(60, 1), Options{Profile: profile.Learned, Scheme: cpar.SchemeCAPIA})
	_, other := build(t, key, madeImages(60, 1), small(cpar.SchemeCAPIA))
	a, b := look(t, key, one), look(t, key, other)
	for _, k := range []*Key{key, testKey()} {
		if _, err := Open(k, a.manifest, a.with(b.segment(cpar.SegmentLedger))); !errors.Is(err, cpar.ErrCorrupt) || hint.Of(err) == "" {
			t.Errorf("another ledger: %v; hint %q", err, hint.Of(err))
		}
	}
	if _, err := Open(key, &cpar.Manifest{}, a.fetch); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a manifest without a ledger: %v", err)
	}
}

// TestManifestIsTheLedgers rejects any manifest that contradicts the ledger,
// even with matching digests.
func TestManifestIsTheLedgers(t *testing.T) {
	for _, scheme := range cpar.Schemes() {
		key := testKey()
		_, folder := build(t, key, madeImages(30, 1), small(scheme))
		x := look(t, key, folder)
		spoils := map[string]func(m *cpar.Manifest){
			"records":        func(m *cpar.Manifest) { m.Records++ },
			"scheme":         func(m *cpar.Manifest) { m.Scheme = scheme%4 + 1 },
			"coordinates":    func(m *cpar.Manifest) { m.Dim++ },
			"shift":          func(m *cpar.Manifest) { m.Shift++ },
			"trees":          func(m *cpar.Manifest) { m.Trees++ },
			"lists":          func(m *cpar.Manifest) { m.Lists++ },
			"fields":         func(m *cpar.Manifest) { m.Fields++ },
			"keyword blocks": func(m *cpar.Manifest) { m.KeywordBytes++ },
			"a segment less": func(m *cpar.Manifest) { m.Segments = m.Segments[1:] },
		}
		for i, s := range x.manifest.Segments {
			if s.Kind == cpar.SegmentLedger {
				continue
			}
			spoils[fmt.Sprint("digest of ", s.Kind)] = func(m *cpar.Manifest) { m.Segments[i].Digest[31] ^= 1 }
			spoils[fmt.Sprint("length of ", s.Kind)] = func(m *cpar.Manifest) { m.Segments[i].Bytes++ }
			spoils[fmt.Sprint("kind of ", s.Kind)] = func(m *cpar.Manifest) { m.Segments[i].Kind ^= 1 }
		}
		for name, spoil := range spoils {
			m := *x.manifest
			m.Segments = slices.Clone(m.Segments)
			spoil(&m)
			if _, err := Open(key, &m, x.with(x.segment(cpar.SegmentLedger))); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v, %s: %v", scheme, name, err)
			}
			if err := x.Hold(&m, x.segments); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v, %s, held: %v", scheme, name, err)
			}
		}
	}
}

func TestHoldNeedsEverySegment(t *testing.T) {
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(40, 1), small(scheme))
		x := look(t, key, folder)
		before := func() error {
			_, _, err := x.Request(madeImages(1, 9)[0].Vectors, x.params(3))
			return err
		}
		if err := before(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: before Hold: %v", scheme, err)
		}
		if err := x.Hold(x.manifest, nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: nothing fetched: %v", scheme, err)
		}
		needs := x.Needs(x.manifest)
		if len(needs) != 3 {
			t.Fatalf("%v needs %v", scheme, needs)
		}
		for _, s := range needs {
			for _, at := range []uint64{0, s.Bytes / 3, s.Bytes - 1} {
				bad := maps.Clone(x.segments)
				bad[s.Digest] = bytes.Clone(bad[s.Digest])
				bad[s.Digest][at] ^= 1
				err := x.Hold(x.manifest, bad)
				if !errors.Is(err, cpar.ErrCorrupt) || !strings.Contains(err.Error(), s.Kind.String()+" does not match its digest") {
					t.Errorf("%v, %s with a bit of byte %d flipped: %v", scheme, s.Kind, at, err)
				}
			}
		}
		if err := before(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: after a failed Hold: %v", scheme, err)
		}
		if err := x.Hold(x.manifest, x.segments); err != nil {
			t.Fatal(err)
		}
		if err := before(); err != nil {
			t.Errorf("%v: after Hold: %v", scheme, err)
		}
	}
	key := testKey()
	_, folder := build(t, key, madeImages(10, 1), small(cpar.SchemeCPAR))
	if x := look(t, key, folder); len(x.Needs(x.manifest)) != 0 || x.Hold(x.manifest, nil) != nil {
		t.Errorf("scheme cpar needs %v", x.Needs(x.manifest))
	}
}

// fakeNetwork takes images of two by two pixels.
type fakeNetwork struct{ encoder.Embedder }

func (fakeNetwork) Choice() encoder.Choice    { return encoder.Choice{Name: "a tensor", Size: 3} }
func (fakeNetwork) Size() (int, int)          { return 2, 2 }
func (fakeNetwork) Digest() [sha256.Size]byte { return [sha256.Size]byte{1} }

// TestAnotherNetworkIsRefused checks the digest before any request is made.
func TestAnotherNetworkIsRefused(t *testing.T) {
	p, err := prepare.Preset("clip", 2)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := encoder.NewEncoder(fakeNetwork{}, p)
	if err != nil {
		t.Fatal(err)
	}
	ofNetwork := func(images []Photo, digest [32]byte) []Photo {
		for i, im := range images {
			e := *im.Vectors.Embedding
			e.Network = digest
			v := *im.Vectors
			v.Embedding = &e
			images[i].Vectors = &v
		}
		return images
	}
	train := ofNetwork(madeEmbedded(60, 1), encoder.Digest())
	b := setUp(t, testKey(), train, Options{Profile: profile.Network, Scheme: cpar.SchemeCAPIA})
	others := setUp(t, testKey(), madeEmbedded(60, 1), Options{Profile: profile.Network, Scheme: cpar.SchemeCAPIA})
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "model file") {
			t.Errorf("%s: %v; hint %q", what, err, hint.Of(err))
		}
	}
	refused("no network", b.SetEncoder(nil))
	refused("another network", others.SetEncoder(encoder))
	if err := b.SetEncoder(encoder); err != nil {
		t.Errorf("its own network: %v", err)
	}
	ask := func(f *feature.Vectors) error {
		_, _, err := b.Request(f, b.DefaultParams())
		return err
	}
	refused("a photo without an embedding", ask(madeImages(1, 9)[0].Vectors))
	other := ofNetwork(slices.Clone(train[:1]), syntheticphotos.Network)[0]
	refused("another network's embedding", ask(other.Vectors))
	short := *train[0].Vectors
	short.Embedding = &feature.Embedding{Network: encoder.Digest(), Values: make([]float32, 39)}
	if err := ask(&short); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a short embedding: %v", err)
	}
	if err := ask(train[0].Vectors); err != nil {
		t.Errorf("its own network's embedding: %v", err)
	}
	// A collection with one embedding of another network.
	mixed := slices.Clone(train)
	mixed[3] = other
	_, err = Setup(context.Background(), testKey(), mixed, Options{Profile: profile.Network})
	refused("a mixed collection", err)
	// Other profiles need no network.
	if err := setUp(t, testKey(), madeImages(30, 1), small(cpar.SchemeSealed)).SetEncoder(nil); err != nil {
		t.Errorf("profile paper: %v", err)
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	for _, scheme := range cpar.Schemes() {
		key := testKey()
		b, folder := build(t, key, madeImages(10, 2), small(scheme))
		x := held(t, key, folder)
		pending, _, err := x.Request(madeImages(1, 9)[0].Vectors, x.params(2))
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]any{
			"key": key, "*key": *key, "owner": x.Owner, "builder's owner": b.Owner, "index": x.index, "source": x.index.Source,
			"scheme": x.scheme, "builder's scheme": b.twinBuilder, "pending": pending, "reading": pending.replyReader,
		} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
				got := fmt.Sprintf(verb, v)
				if !strings.Contains(got, "redacted") || strings.Contains(got, hex.EncodeToString(key.secret[:4])) || len(got) > 40 {
					t.Errorf("%v: %s prints as %.60q with %s", scheme, name, got, verb)
				}
			}
		}
	}
}
