package user

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/user/feature"
)

func build(t *testing.T, key *Key, images []Image, opt Options) (*Builder, *indexdir.Index) {
	t.Helper()
	b, err := Setup(context.Background(), key, images, opt)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "index")
	if _, err := b.Encrypt(context.Background(), folder); err != nil {
		t.Fatal(err)
	}
	x, err := indexdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Release)
	return b, x
}

// TestPinnedIndex pins every byte of a small index made with a fixed seed:
// whoever changes the format, a derivation or a distance has to say so here
// and in cpar.Version. Pinned on amd64; another processor may round the PCA
// otherwise.
func TestPinnedIndex(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the bytes are pinned for amd64")
	}
	key := new(Key)
	copy(key.secret[:], "a fixed key for this test only..")
	for name, want := range map[cpar.Scheme]string{
		cpar.SchemeCPAR:   "3e4914cf3c5b67a6",
		cpar.SchemeCAPIA:  "7883c063721e6f24",
		cpar.SchemeSealed: "e90e8e473333f01a",
		cpar.SchemeLocal:  "1e591ebb8ce344fd",
	} {
		_, x := build(t, key, madeImages(30, 1), Options{Scheme: name, testOnlyRand: rand.NewChaCha8([32]byte{1})})
		m, err := x.Manifest().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		// The manifest names every segment by its digest.
		sum := sha256.Sum256(m)
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("%v: the index has digest %s, pinned is %s", name, got, want)
		}
	}
}

func TestOpenNeedsTheKeyOnly(t *testing.T) {
	key := NewKey()
	for _, opt := range []Options{{}, {Scheme: cpar.SchemeCAPIA}, {Order: OrderOPE}, {PCA: 8, Trees: 2}, {PCA: 128}} {
		b, x := build(t, key, madeImages(40, 2), opt)
		o, err := Open(key, x.Manifest(), x.Segment(cpar.SegmentLedger))
		if err != nil {
			t.Fatalf("%+v: %v", opt, err)
		}
		if got, want := fmt.Sprint(o.Words()), fmt.Sprint(b.Words()); got != want {
			t.Errorf("%+v: words %s, want %s", opt, got, want)
		}
		// Both owners lay the same request out, in the clear.
		v, err := o.Vector(madeImages(1, 3)[0].Vectors)
		if err != nil {
			t.Fatal(err)
		}
		p, err1 := o.requestVector(v, 1500)
		q, err2 := b.requestVector(v, 1500)
		if err1 != nil || err2 != nil || fmt.Sprint(p) != fmt.Sprint(q) {
			t.Errorf("%+v: the second device makes another request: %v, %v", opt, err1, err2)
		}
		if _, err := Open(NewKey(), x.Manifest(), x.Segment(cpar.SegmentLedger)); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%+v: another key: %v, want ErrKey", opt, err)
		}
	}
}

// TestBuildsShareNothing: two indexes of one collection under one key have no
// ciphertext in common.
func TestBuildsShareNothing(t *testing.T) {
	key := NewKey()
	images := madeImages(10, 2)
	_, a := build(t, key, images, Options{})
	_, b := build(t, key, images, Options{})
	for i, s := range a.Segments() {
		kind := a.Manifest().Segments[i].Kind
		if kind == cpar.SegmentForest || kind == cpar.SegmentLists {
			continue // shapes, of which small ones repeat
		}
		seen := map[string]bool{}
		for at := 0; at+16 <= len(s); at += 8 {
			seen[string(s[at:at+16])] = true
		}
		other := b.Segments()[i]
		for at := 0; at+16 <= len(other); at += 8 {
			if seen[string(other[at:at+16])] {
				t.Errorf("%v: 16 bytes at %d of one index stand in the other", kind, at)
				break
			}
		}
	}
}

func TestRequestsAreFresh(t *testing.T) {
	b, _ := build(t, NewKey(), madeImages(30, 2), Options{})
	v := madeImages(1, 9)[0].Vectors
	params := cpar.Params{Scheme: cpar.SchemeCPAR, L: 5, Approx: 100, Prune: true}
	_, p, err := b.Request(v, params)
	if err != nil {
		t.Fatal(err)
	}
	_, q, err := b.Request(v, params)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := range p.Vector {
		if p.Vector[i] == q.Vector[i] {
			same++
		}
	}
	for i := range p.Planes.Vector {
		if p.Planes.Vector[i] == q.Planes.Vector[i] {
			same++
		}
	}
	if same > 0 {
		t.Errorf("two requests for one photo share %d words", same)
	}
	// Deterministic by definition; SECURITY.md says so.
	if fmt.Sprint(p.Order) != fmt.Sprint(q.Order) {
		t.Error("order ciphertexts of one photo differ")
	}
}

func TestSmallCollections(t *testing.T) {
	one := madeImages(1, 1)
	same := madeImages(1, 1)
	for len(same) < 25 {
		same = append(same, same[0])
	}
	for name, images := range map[string][]Image{"one image": one, "identical images": same, "two": madeImages(2, 1)} {
		b, x := build(t, NewKey(), images, Options{})
		if _, _, err := b.Request(images[0].Vectors, b.DefaultParams()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if x.Manifest().Records != uint32(len(images)) {
			t.Errorf("%s: %d records", name, x.Manifest().Records)
		}
	}
	if _, err := Setup(context.Background(), NewKey(), nil, Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no image: %v", err)
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, opt := range map[string]Options{
		"PCA-7": {PCA: 7}, "65 trees": {Trees: 65}, "no such scheme": {Scheme: 9}, "no such order": {Order: 2},
	} {
		if _, err := Setup(context.Background(), NewKey(), madeImages(3, 1), opt); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}

// TestRepliesThatDoNotAnswer: a cloud that answers something else is found out
// as far as it can be.
func TestRepliesThatDoNotAnswer(t *testing.T) {
	b, x := build(t, NewKey(), madeImages(30, 2), Options{})
	blocks := x.Segment(cpar.SegmentKeywords)
	good := func() *cpar.Reply {
		a := &cpar.Reply{Index: b.ID(), Visited: 10}
		for i := range uint32(5) {
			at := int(i) * int(x.Manifest().KeywordBytes)
			a.Matches = append(a.Matches, cpar.Match{Record: i, Score: int64(i), Keywords: bytes.Clone(blocks[at : at+int(x.Manifest().KeywordBytes)])})
		}
		return a
	}
	pending, _, err := b.Request(madeImages(1, 9)[0].Vectors, cpar.Params{Scheme: cpar.SchemeCPAR, L: 5, Approx: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pending.Keywords(good(), 5); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*cpar.Reply)
		want  error
	}{
		"another index":         {func(a *cpar.Reply) { a.Index[3]++ }, cpar.ErrCloud},
		"too many":              {func(a *cpar.Reply) { a.Matches = append(a.Matches, a.Matches[0]) }, cpar.ErrCloud},
		"too few":               {func(a *cpar.Reply) { a.Matches = a.Matches[:4] }, cpar.ErrCloud},
		"no such record":        {func(a *cpar.Reply) { a.Matches[4].Record = 30 }, cpar.ErrCloud},
		"a record twice":        {func(a *cpar.Reply) { a.Matches[4] = a.Matches[3] }, cpar.ErrCloud},
		"another's keywords":    {func(a *cpar.Reply) { a.Matches[4].Keywords = a.Matches[3].Keywords }, cpar.ErrCorrupt},
		"altered keywords":      {func(a *cpar.Reply) { a.Matches[2].Keywords[20] ^= 1 }, cpar.ErrCorrupt},
		"keywords cut short":    {func(a *cpar.Reply) { a.Matches[2].Keywords = a.Matches[2].Keywords[:9] }, cpar.ErrCorrupt},
		"record under a new no": {func(a *cpar.Reply) { a.Matches[2].Record = 20 }, cpar.ErrCorrupt},
	} {
		a := good()
		c.spoil(a)
		if _, err := pending.Keywords(a, 5); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestOldIndexStaysWhole(t *testing.T) {
	setup := func() *Builder {
		b, err := Setup(context.Background(), NewKey(), madeImages(30, 2), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	folder := filepath.Join(t.TempDir(), "index")
	b := setup()
	first, err := b.Encrypt(context.Background(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Encrypt(context.Background(), folder); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("encrypted twice under one id: %v", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := setup().Encrypt(stopped, folder); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	x, err := indexdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if fmt.Sprint(x.Manifest()) != fmt.Sprint(first) {
		t.Error("the index is not the first one")
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	key := NewKey()
	b, _ := build(t, key, madeImages(10, 2), Options{})
	pending, _, err := b.Request(madeImages(1, 9)[0].Vectors, b.DefaultParams())
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"key": key, "*key": *key, "owner": b.Owner, "pending": pending} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			got := fmt.Sprintf(verb, v)
			if !strings.Contains(got, "redacted") || strings.Contains(got, hex.EncodeToString(key.secret[:4])) || len(got) > 40 {
				t.Errorf("%s prints as %q with %s", name, got, verb)
			}
		}
	}
}

func FuzzProfile(f *testing.F) {
	for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeSealed, cpar.SchemeLocal} {
		b, err := Setup(context.Background(), NewKey(), madeImages(6, 2), Options{Scheme: scheme, PCA: 128, Trees: 1})
		if err != nil {
			f.Fatal(err)
		}
		enc, err := b.profile.appendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc)
		f.Add(enc[:40])
	}
	for profile, images := range embeddedProfiles {
		b, err := Setup(context.Background(), NewKey(), images(20, 2), Options{Scheme: cpar.SchemeCAPIA, Profile: profile})
		if err != nil {
			f.Fatal(err)
		}
		enc, err := b.profile.appendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodeProfile(data)
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) && !errors.Is(err, cpar.ErrInput) {
				t.Errorf("%v is of no kind", err)
			}
			return
		}
		again, err := p.appendBinary(nil)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("decoded, then encoded otherwise: %v", err)
		}
	})
}

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	key := NewKey()
	open, closed := filepath.Join(dir, "open"), filepath.Join(dir, "closed")
	if err := key.WriteFile(open, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := key.WriteFile(open, ""); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("overwriting: %v", err)
	}
	text, err := encryptWithPassphrase([]byte(keyPrefix+hex.EncodeToString(key.secret[:])+"\n"), "open sesame", 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(closed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	say := func(s string) func() (string, error) {
		return func() (string, error) { asked++; return s, nil }
	}
	for _, path := range []string{open, closed} {
		got, err := ReadKeyFile(path, say("open sesame"))
		if err != nil || *got != *key {
			t.Errorf("%s: read another key, or %v", filepath.Base(path), err)
		}
	}
	if asked != 1 {
		t.Errorf("asked for a passphrase %d times, want once, for the encrypted file", asked)
	}
	damaged := append(bytes.Clone(text[:len(text)/2]), text[len(text)/2+9:]...)
	for name, c := range map[string]struct {
		text []byte
		pass string
	}{
		"wrong passphrase": {text, "open barley"},
		"empty passphrase": {text, ""},
		"damaged":          {damaged, "open sesame"},
		"empty file":       {nil, ""},
		"no key":           {[]byte("hello\n"), ""},
		"half a key":       {[]byte(keyPrefix + "abcd\n"), ""},
		"not hexadecimal":  {[]byte(keyPrefix + strings.Repeat("zz", 32) + "\n"), ""},
		"too long":         {[]byte(keyPrefix + strings.Repeat("ab", 40) + "\n"), ""},
	} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeyFile(path, say(c.pass)); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
	}
	if _, err := ReadKeyFile(filepath.Join(dir, "absent"), nil); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("absent: %v", err)
	}
}

func TestShuffleKeepsEveryImage(t *testing.T) {
	images := madeImages(50, 1)
	before := map[*feature.Vectors]string{}
	for _, im := range images {
		before[im.Vectors] = fmt.Sprint(im.Keywords)
	}
	first := images[0].Vectors
	moved := 0
	for range 5 {
		Shuffle(images)
		for _, im := range images {
			if before[im.Vectors] != fmt.Sprint(im.Keywords) {
				t.Fatal("an image lost its keywords")
			}
		}
		seen := map[*feature.Vectors]bool{}
		for _, im := range images {
			seen[im.Vectors] = true
		}
		if len(seen) != 50 {
			t.Fatalf("%d of 50 images are left", len(seen))
		}
		if images[0].Vectors != first {
			moved++
		}
	}
	if moved == 0 {
		t.Error("the first image stayed first five times")
	}
}

// TestCopiesWeighTheSame: between copies of the photo that is asked for, only
// noise differs, and noise must not make weights.
func TestCopiesWeighTheSame(t *testing.T) {
	b, x := build(t, NewKey(), madeImages(30, 2), Options{})
	pending, _, err := b.Request(madeImages(1, 9)[0].Vectors, cpar.Params{Scheme: cpar.SchemeCAPIA, L: 4, Approx: 1000})
	if err != nil {
		t.Fatal(err)
	}
	size := int(x.Manifest().KeywordBytes)
	a := &cpar.Reply{Index: b.ID()}
	for i := range 4 {
		// Dis of −5·10⁻⁴ to 10⁻³: within what noise and ε can make of 0.
		dis := float64(i-1) * 5e-4
		score := int64(float64(pending.scale) * (b.budget.Unit()*dis - float64(b.budget.Offset())))
		a.Matches = append(a.Matches, cpar.Match{Record: uint32(i), Score: score, Keywords: x.Segment(cpar.SegmentKeywords)[i*size : (i+1)*size]})
	}
	near, err := pending.Neighbours(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range near {
		if n.Dis != 0 {
			t.Errorf("record %d: distance %g, want 0", n.Record, n.Dis)
		}
	}
	words, err := pending.Keywords(a, 10)
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.75; words[len(words)-1].Weight != want {
		t.Errorf("a keyword of one of four copies weighs %g, want %g", words[len(words)-1].Weight, want)
	}
}

// TestFarPhotosAreClamped: photos unlike all others are moved towards the
// baseline, on both sides, and nothing wraps.
func TestFarPhotosAreClamped(t *testing.T) {
	flat := func(at int) *feature.Vectors {
		v := *madeImages(1, 1)[0].Vectors
		for _, part := range []*[]float32{&v.RGB, &v.HSV, &v.Gabor, &v.GaborQ} {
			one := make([]float32, len(*part))
			one[at] = 1
			*part = one
		}
		v.Haar, v.HaarQ = make([]float32, haarDim), make([]float32, haarDim)
		v.Haar[at], v.HaarQ[at] = 1000, 1
		return &v
	}
	var images []Image
	for i := range 30 {
		at := 0
		if i >= 18 {
			at = 1 + i%3
		}
		images = append(images, Image{Vectors: flat(at), Keywords: []string{fmt.Sprint("at ", at)}})
	}
	b, _ := build(t, NewKey(), images, Options{})
	if b.Clamped == 0 {
		t.Error("no record was clamped")
	}
	for at := range 10 {
		if _, _, err := b.Request(flat(at), b.DefaultParams()); err != nil {
			t.Errorf("request at %d: %v", at, err)
		}
	}
}

func TestKeywordsThatCouldNotBeReadAgain(t *testing.T) {
	many := make([]string, 32)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, words := range map[string][]string{
		"not UTF-8": {"a\xff"}, "empty": {""}, "too long": {strings.Repeat("a", 70000)}, "32 of them": many,
	} {
		images := madeImages(3, 1)
		images[1].Keywords = words
		if _, err := Setup(context.Background(), NewKey(), images, Options{}); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}
