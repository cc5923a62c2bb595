package user

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/vocabulary"
)

// Offsets in a ledger, as specified in docs/FORMAT.md.
const (
	versionAt    = 6
	schemeAt     = 40
	recordsAt    = 41
	liveAt       = 45
	generationAt = 49
	begunAt      = 57
	beforeAt     = 97
	historyAt    = 101
	featuresAt   = historyAt + minAncestors*ancestorBytes // with at most minAncestors
	nameAt       = featuresAt + 2
	wordsAt      = nameAt + 2 + maxNameBytes
)

func openPlain(key *Key, plain []byte, f fitted) (l *ledger, s scheme, err error) {
	r := wire.NewReader(plain, cpar.ErrCorrupt)
	if l, err = readLedger(r); err != nil {
		return nil, nil, err
	}
	if err = l.addFitted(f); err != nil {
		return nil, nil, err
	}
	var x *index.Index
	if x, err = l.index(key, rand.NewChaCha8([32]byte{})); err == nil {
		s, err = l.openScheme(x, r)
	}
	return l, s, err
}

func TestLedgerIsKept(t *testing.T) {
	key := testKey()
	check := func(images []Photo, opt Options) {
		t.Helper()
		b := setUp(t, key, images, opt)
		b.ledger.generation, b.ledger.begun, b.ledger.contents, b.ledger.history = 7, 3, [32]byte{5}, History{6: 1, 15: 2}
		b.ledger.name, b.ledger.choices = "family", testChoices(t)
		plain, err := b.ledger.appendBinary(nil, b.twinBuilder)
		if err != nil {
			t.Fatal(err)
		}
		l, s, err := openPlain(key, plain, b.ledger.fitted)
		if err != nil {
			t.Fatalf("%v, %v: %v", opt.Scheme, opt.Profile, err)
		}
		if again, err := l.appendBinary(nil, s); err != nil || !bytes.Equal(again, plain) {
			t.Errorf("%v, %v: read, then written differently: %v", opt.Scheme, opt.Profile, err)
		}
		if l.id != b.ID() || l.origin != b.ID() || l.scheme != opt.Scheme || l.records != len(images) || l.generation != 7 || l.begun != 3 || l.contents != [32]byte{5} || !bytes.Equal(l.history, b.ledger.history) ||
			l.name != "family" || !l.choices.people || l.choices.vocabulary.Word("hound") != "dog" || l.choices.former == nil || l.live != len(images) || l.ranker.Kind() != b.Ranker().Kind() || !slices.Equal(l.dict.Words(), b.Keywords()) {
			t.Errorf("%v, %v: read as %+v", opt.Scheme, opt.Profile, l)
		}
		for cut := 0; cut < len(plain); cut += 1 + len(plain)/97 {
			if _, _, err := openPlain(key, plain[:cut], b.ledger.fitted); !errors.Is(err, cpar.ErrCorrupt) {
				t.Fatalf("%v, %v cut to %d of %d bytes: %v", opt.Scheme, opt.Profile, cut, len(plain), err)
			}
		}
		// The padding ends at the scheme's own part.
		common, err := b.ledger.appendBinary(nil, nothing{})
		if err != nil {
			t.Fatal(err)
		}
		plain[len(common)-1] = 1
		if _, _, err := openPlain(key, plain, b.ledger.fitted); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v, %v with padding that is not zero: %v", opt.Scheme, opt.Profile, err)
		}
	}
	for _, scheme := range cpar.Schemes() {
		check(madeImages(11, 1), small(scheme))
	}
	for kind, images := range learntProfiles {
		check(images(30, 1), Options{Scheme: cpar.SchemeSealed, Profile: kind})
	}
	check(madeImages(60, 1), Options{Scheme: cpar.SchemeCAPIA, PCA: 128, Ranker: rank.KindCalibrated})
}

func testChoices(t *testing.T) choices {
	v, err := vocabulary.Parse([]byte("never = ['selfie']\n[synonyms]\nhound = 'dog'"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := vocabulary.Parse([]byte("never = ['todo']"))
	if err != nil {
		t.Fatal(err)
	}
	return choices{people: true, vocabulary: v, former: before}
}

// TestLedgerTellsNothingByItsLength checks that added words do not change the
// length until they fill the padding, which then doubles.
func TestLedgerTellsNothingByItsLength(t *testing.T) {
	b := setUp(t, testKey(), madeImages(10, 1), small(cpar.SchemeSealed))
	size := func(words ...string) int {
		b.ledger.added = words
		plain, err := b.ledger.appendBinary(nil, b.twinBuilder)
		if err != nil {
			t.Fatal(err)
		}
		return len(plain)
	}
	none, word := size(), strings.Repeat("a longer word, ", 8)[:100]
	if size("one") != none || size(slices.Repeat([]string{word}, 40)...) != none {
		t.Error("words show")
	}
	b.ledger.choices = testChoices(t)
	if size() != none || size("one") != none {
		t.Error("choices show")
	}
	b.ledger.choices = choices{}
	if one, many := size(slices.Repeat([]string{word}, 41)...), size(slices.Repeat([]string{word}, 80)...); one != none+minWords || many != one {
		t.Errorf("with more words than there was room for %d and %d bytes, not %d", one, many, none+minWords)
	}
	if got := size(slices.Repeat([]string{word}, 81)...); got != none+3*minWords {
		t.Errorf("with twice as many %d bytes, not %d", got, none+3*minWords)
	}
}

// resealed alters a ledger with the key, as another version of this program
// might.
func resealed(t *testing.T, key *Key, x *opened, spoil func(plain []byte) []byte) (*cpar.Manifest, []byte) {
	t.Helper()
	plain, err := decryptLedger(x.segment(cpar.SegmentLedger), key, x.ID())
	if err != nil {
		t.Fatal(err)
	}
	plain = spoil(plain)
	encrypted := aead.New(x.index.Secret("profile")).Seal(nil, seed.New(seed.Secret{3}), plain, ledgerBinding(x.ID()))
	m := *x.manifest
	m.Segments = slices.Clone(m.Segments)
	for i, s := range m.Segments {
		if s.Kind == cpar.SegmentLedger {
			m.Segments[i].Digest, m.Segments[i].Bytes = sha256.Sum256(encrypted), uint64(len(encrypted))
		}
	}
	return &m, encrypted
}

// TestOtherVersionsAreRefused checks ledgers and feature versions. With other
// features, every distance would be slightly wrong without notice.
func TestOtherVersionsAreRefused(t *testing.T) {
	for _, scheme := range cpar.Schemes() {
		key := testKey()
		_, folder := build(t, key, madeImages(3, 1), small(scheme))
		x := look(t, key, folder)
		le := binary.LittleEndian
		for name, c := range map[string]struct {
			at        int
			now, then uint16
		}{
			"the ledger before":   {versionAt, ledgerVersion, oldLedgerVersion - 1},
			"the ledger to come":  {versionAt, ledgerVersion, ledgerVersion + 1},
			"features as before":  {featuresAt, feature.Version, feature.Version - 1},
			"features as to come": {featuresAt, feature.Version, feature.Version + 1},
		} {
			m, ledger := resealed(t, key, x, func(plain []byte) []byte {
				if got := le.Uint16(plain[c.at:]); got != c.now {
					t.Fatalf("%s: version %d at byte %d", name, got, c.at)
				}
				le.PutUint16(plain[c.at:], c.then)
				return plain
			})
			_, err := Open(key, m, x.with(ledger))
			if !errors.Is(err, cpar.ErrVersion) || !strings.Contains(hint.Of(err), "cpar build") {
				t.Errorf("%v, %s: %v; hint %q", scheme, name, err, hint.Of(err))
			}
		}
		// A ledger of another version may have any format.
		m, ledger := resealed(t, key, x, func(plain []byte) []byte {
			clear(plain[8:])
			le.PutUint16(plain[versionAt:], ledgerVersion+1)
			return plain
		})
		if _, err := Open(key, m, x.with(ledger)); !errors.Is(err, cpar.ErrVersion) {
			t.Errorf("%v, another thing: %v", scheme, err)
		}
		m, ledger = resealed(t, key, x, func(plain []byte) []byte { return plain })
		if _, err := Open(key, m, x.with(ledger)); err != nil {
			t.Errorf("%v, as it was: %v", scheme, err)
		}
	}
}

func TestDamagedLedgersAreRefused(t *testing.T) {
	key := testKey()
	opt := small(cpar.SchemeSealed)
	opt.Name = "family"
	_, folder := build(t, key, madeImages(3, 1), opt)
	x := look(t, key, folder)
	for name, spoil := range map[string]func(plain []byte){
		"no ledger":                 func(b []byte) { b[0] = 'X' },
		"of another kind":           func(b []byte) { b[4]++ },
		"a reserved byte":           func(b []byte) { b[5] = 1 },
		"another index":             func(b []byte) { b[8]++ },
		"no such scheme":            func(b []byte) { b[schemeAt] = 99 },
		"another scheme":            func(b []byte) { b[schemeAt] = byte(cpar.SchemeLocal) },
		"no record":                 func(b []byte) { clear(b[recordsAt:generationAt]) },
		"too many records":          func(b []byte) { b[recordsAt+3] = 0xff },
		"none to be found":          func(b []byte) { b[liveAt] = 0 },
		"fewer to be found":         func(b []byte) { b[liveAt]-- },
		"more to be found":          func(b []byte) { b[liveAt]++ },
		"no generation":             func(b []byte) { clear(b[generationAt:begunAt]) },
		"begun at nothing":          func(b []byte) { clear(b[begunAt : begunAt+8]) },
		"begun after it":            func(b []byte) { b[begunAt] = 2 },
		"other contents":            func(b []byte) { b[begunAt+8]++ },
		"states that are not there": func(b []byte) { b[beforeAt+3] = 1 },
		"padding of the states":     func(b []byte) { b[featuresAt-1] = 1 },
		"a name of no characters":   func(b []byte) { copy(b[nameAt+2:], "\x00") },
		"a name beyond its room":    func(b []byte) { b[nameAt+1] = 0xff },
		"padding of the name":       func(b []byte) { b[nameAt+2+len("family")] = 'x' },
		"words that are not there":  func(b []byte) { b[wordsAt+2] = 1 },
		"a word that is not UTF-8":  func(b []byte) { copy(b[wordsAt:], "\x01\x00\x00\x00\x01\x00\xff") },
		"a word twice":              func(b []byte) { copy(b[wordsAt:], "\x01\x00\x00\x00\x06\x00kind 0") },
		"padding of the words":      func(b []byte) { b[wordsAt+minWords-1] = 1 },
	} {
		m, ledger := resealed(t, key, x, func(plain []byte) []byte { spoil(plain); return plain })
		if _, err := Open(key, m, x.with(ledger)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDigestCoversWholeLedger checks that any difference between generations changes the
// digest, and that a decoded generation keeps it.
func TestDigestCoversWholeLedger(t *testing.T) {
	key, images := testKey(), madeImages(6, 2)
	images[4].Keywords, images[5].Keywords = nil, nil // no segment shows which one is gone
	for _, scheme := range growing {
		b, folder := build(t, key, images, small(scheme))
		states := map[[32]byte]string{look(t, key, folder).Digest(): "built"}
		if states[b.Digest()] == "" {
			t.Errorf("%v: written as %x", scheme, b.Digest())
		}
		for name, work := range map[string]func(u *updater) error{
			"less one":     func(u *updater) error { return u.remove(t.Context(), contentsOfAll(images[4:5])) },
			"less another": func(u *updater) error { return u.remove(t.Context(), contentsOfAll(images[5:])) },
			"more":         adding(t.Context(), madeImages(1, 9)),
			"compacted":    func(u *updater) error { return u.compact(t.Context()) },
		} {
			fork := copyFolder(t, folder)
			if _, err := update(key, fork, "testing", UpdateOptions{}, work); err != nil {
				t.Fatal(err)
			}
			x := look(t, key, fork)
			if other, known := states[x.Digest()]; known {
				t.Errorf("%v: %s has the state of %s", scheme, name, other)
			}
			states[x.Digest()] = name
		}
	}
}

func TestLedgerRecordsAncestors(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, madeImages(5, 2), small(cpar.SchemeLocal))
	var states [][32]byte
	for range minAncestors + 3 { // more than the smallest padding holds
		states = append(states, look(t, key, folder).Digest())
		if _, err := update(key, folder, "testing", UpdateOptions{}, adding(t.Context(), madeImages(1, 9))); err != nil {
			t.Fatal(err)
		}
	}
	o := look(t, key, folder)
	for i, s := range states {
		distance := o.Generation() - uint64(i+1)
		if !o.History().Has(s, distance) {
			t.Errorf("not made from generation %d", i+1)
		}
		for _, other := range []uint64{distance - 1, distance + 1, -distance} {
			if o.History().Has(s, other) || o.History().Has([32]byte{1}, distance) {
				t.Errorf("generation %d, or another state, at distance %d", i+1, int64(other))
			}
		}
	}
}

// TestLedgerOfVersion7Opens rewrites a ledger as version 7 did, with the whole
// digests of its last ancestors.
func TestLedgerOfVersion7Opens(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, madeImages(5, 2), small(cpar.SchemeLocal))
	var states [][32]byte
	for range 3 {
		states = append([][32]byte{look(t, key, folder).Digest()}, states...)
		if _, err := update(key, folder, "testing", UpdateOptions{}, adding(t.Context(), madeImages(1, 9))); err != nil {
			t.Fatal(err)
		}
	}
	x := look(t, key, folder)
	m, ledger := resealed(t, key, x, func(plain []byte) []byte {
		binary.LittleEndian.PutUint16(plain[versionAt:], 7)
		old := slices.Clone(plain[:historyAt])
		for _, s := range states {
			old = append(old, s[:]...)
		}
		return append(old, plain[featuresAt:]...)
	})
	o, err := Open(key, m, x.with(ledger))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range states {
		if !o.History().Has(s, uint64(i+1)) {
			t.Errorf("the ancestor at distance %d is lost", i+1)
		}
	}
	next := o.ledger.after()
	if !next.history.Has(o.Digest(), 1) || !next.history.Has(states[2], 4) {
		t.Error("the next generation lost its ancestors")
	}
	plain, err := next.appendBinary(nil, o.scheme)
	if err != nil || binary.LittleEndian.Uint16(plain[versionAt:]) != ledgerVersion {
		t.Errorf("the next generation has another version: %v", err)
	}
}

func TestHistoryIsPaddedAndBounded(t *testing.T) {
	var h History
	for n := range uint64(40) {
		if got, want := len(h)+h.padding(), 8*map[bool]int{true: 16, false: map[bool]int{true: 32, false: 64}[n <= 32]}[n <= 16]; got != want {
			t.Errorf("%d ancestors take %d bytes, want %d", n, got, want)
		}
		h = h.after([32]byte{byte(n)})
	}
	h = make(History, maxAncestors*ancestorBytes)
	if h = h.after([32]byte{1}); len(h) != maxAncestors*ancestorBytes || !h.Has([32]byte{1}, 1) || !h.Has([32]byte{}, maxAncestors) || h.Has([32]byte{}, maxAncestors+1) {
		t.Errorf("%d bytes", len(h))
	}
}

func TestNonceLimitDoesNotOverflow(t *testing.T) {
	l := &ledger{records: cpar.MaxRecords, generation: math.MaxUint64, begun: 1}
	if err := l.checkNonces(); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("2²⁷ records 2⁶⁴ times: %v", err)
	}
	l.generation = 1 << 45
	if err := l.checkNonces(); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("2⁶⁴ pages: %v", err)
	}
	l.records, l.generation = 254*cpar.KeywordPageRecords, 1<<24
	if err := l.checkNonces(); err != nil {
		t.Errorf("2³² pages: %v", err)
	}
	if l.generation++; l.checkNonces() == nil {
		t.Error("more than 2³² pages")
	}
	if l.begun++; l.checkNonces() != nil {
		t.Error("2³² pages of an id that began later")
	}
}

func FuzzLedger(f *testing.F) {
	key, profiles := testKey(), map[profile.Kind]fitted{}
	add := func(images []Photo, opt Options) {
		b, err := Setup(context.Background(), key, images, opt)
		if err != nil {
			f.Fatal(err)
		}
		enc, err := b.ledger.appendBinary(nil, b.twinBuilder)
		if err != nil {
			f.Fatal(err)
		}
		profiles[opt.Profile] = b.ledger.fitted
		f.Add(byte(opt.Profile), enc)
		f.Add(byte(opt.Profile), enc[:140])
	}
	for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeSealed, cpar.SchemeLocal} {
		add(madeImages(6, 2), Options{Name: "family", Scheme: scheme, PCA: 128, Trees: 1})
	}
	for kind, images := range learntProfiles {
		add(images(20, 2), Options{Scheme: cpar.SchemeCAPIA, Profile: kind})
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		p, ok := profiles[profile.Kind(kind)]
		if !ok {
			return
		}
		l, s, err := openPlain(key, data, p)
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) && !errors.Is(err, cpar.ErrInput) {
				t.Errorf("%v wraps none of our errors", err)
			}
			return
		}
		again, err := l.appendBinary(nil, s)
		if binary.LittleEndian.Uint16(data[versionAt:]) < ledgerVersion {
			return // written anew, with short digests and choices
		}
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("decoded, then encoded differently: %v", err)
		}
	})
}
