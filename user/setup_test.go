package user

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
)

// TestPinnedIndex pins every byte of a small index with a fixed seed. Changes
// of format, derivation or distances must change this test and cpar.Version.
// The profile is fixed and the planes split levels, because the rounding of
// principal components depends on the processor.
func TestPinnedIndex(t *testing.T) {
	key := testKey()
	copy(key.secret[:], "a fixed key for this test only..")
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Scheme: cpar.SchemeCPAR}, "e35ddc7b979f512f"},
		{Options{Scheme: cpar.SchemeCPAR, WithLists: true}, "63a4b068b53f649c"},
		{Options{Scheme: cpar.SchemeIVF}, "9bacd95dcfeb6463"},
		{Options{Scheme: cpar.SchemeCAPIA}, "634ab50e55aab791"},
		{Options{Scheme: cpar.SchemeSealed}, "736dc57da740b0ea"},
		{Options{Scheme: cpar.SchemeLocal}, "4d82de39abc41b81"},
	} {
		c.opt.Fitted, c.opt.Split = pickingProfile(t), SplitOriginal
		c.opt.testOnlyRand = rand.NewChaCha8([32]byte{1})
		_, folder := build(t, key, madeImages(30, 1), c.opt)
		m, err := indexdir.ReadManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		// The manifest names every segment by its digest.
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("%v, with lists %v: the index has digest %s, pinned is %s", c.opt.Scheme, c.opt.WithLists, got, c.want)
		}
	}
}

// pickingProfile returns profile `paper` with components that each pick one
// coefficient, so that the result does not depend on the order of summation.
func pickingProfile(t *testing.T) *profile.Fitted {
	t.Helper()
	const out = feature.HaarDim / profile.DefaultPCA
	basis := append([]byte("cpar.pca"), 1, 0, 0, 0)
	basis = binary.LittleEndian.AppendUint32(basis, feature.HaarDim)
	basis = binary.LittleEndian.AppendUint32(basis, out)
	basis = append(basis, make([]byte, 4*feature.HaarDim)...) // the mean
	for i := range out {
		component := make([]float32, feature.HaarDim)
		component[i*profile.DefaultPCA] = 1
		basis, _ = binary.Append(basis, binary.LittleEndian, component)
	}
	b := binary.LittleEndian.AppendUint16([]byte{byte(profile.Paper)}, profile.DefaultPCA)
	for range 2 { // haar and haarq
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(basis))), basis...)
	}
	p, err := profile.Read(wire.NewReader(wire.AppendU16s(b, nil), cpar.ErrCorrupt))
	if err != nil {
		t.Fatal(err)
	}
	return &profile.Fitted{Profile: p}
}

func TestSetupDrawsTheOrder(t *testing.T) {
	images := madeImages(50, 1)
	for i := range images {
		images[i].Keywords = []string{fmt.Sprint("image ", i)}
	}
	for _, scheme := range cpar.Schemes() {
		moved := 0
		for range 3 {
			b := setUp(t, testKey(), images, Options{Scheme: scheme, PCA: 128, Trees: 1})
			seen := map[int]bool{}
			for i := range images {
				image := b.PhotoOf(uint32(i))
				seen[image] = true
				if image != i {
					moved++
				}
				if b.collection.Records[i].Keywords[0] != images[image].Keywords[0] {
					t.Fatalf("%v: record %d has the keywords of another image", scheme, i)
				}
				v, err := b.Vector(images[image].Vectors)
				if err != nil || !slices.Equal(v.Levels, b.Vectors()[i].Levels) {
					t.Fatalf("%v: record %d has the vector of another image", scheme, i)
				}
			}
			if len(seen) != len(images) {
				t.Fatalf("%v: %d of %d images are left", scheme, len(seen), len(images))
			}
		}
		if moved < 100 {
			t.Errorf("%v: %d of 150 records are not in the order of the images", scheme, moved)
		}
	}
}

func TestSmallCollections(t *testing.T) {
	one := madeImages(1, 1)
	for name, images := range map[string][]Photo{"one image": one, "identical images": slices.Repeat(one, 25), "two": madeImages(2, 1)} {
		for _, scheme := range cpar.Schemes() {
			key := testKey()
			_, folder := build(t, key, images, small(scheme))
			x := held(t, key, folder)
			if near := x.nearest(images[0], 30); len(near) != len(images) || x.manifest.Records != uint32(len(images)) || near[0].Dis > 0.025 {
				t.Errorf("%v, %s: found %v", scheme, name, near)
			}
		}
	}
	if _, err := Setup(context.Background(), testKey(), nil, Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no image: %v", err)
	}
}

func TestOldIndexStaysWhole(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "index")
	b := setUp(t, testKey(), madeImages(30, 2), small(cpar.SchemeCPAR))
	first, err := b.Encrypt(context.Background(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Encrypt(context.Background(), folder); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("encrypted twice under one id: %v", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	for _, scheme := range cpar.Schemes() {
		if _, err := setUp(t, testKey(), madeImages(30, 2), small(scheme)).Encrypt(stopped, folder); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, stopped: %v", scheme, err)
		}
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

// TestFarPhotosAreClamped checks that unusual photos are moved towards the
// baseline on both sides and nothing wraps.
func TestFarPhotosAreClamped(t *testing.T) {
	flat := func(at int) *feature.Vectors {
		v := *madeImages(1, 1)[0].Vectors
		for _, part := range []*[]float32{&v.RGB, &v.HSV, &v.Gabor, &v.GaborQ} {
			one := make([]float32, len(*part))
			one[at] = 1
			*part = one
		}
		v.Haar, v.HaarQ = make([]float32, feature.HaarDim), make([]float32, feature.HaarDim)
		v.Haar[at], v.HaarQ[at] = 1000, 1
		return &v
	}
	var images []Photo
	for i := range 30 {
		at := 0
		if i >= 18 {
			at = 1 + i%3
		}
		images = append(images, Photo{Vectors: flat(at), Keywords: []string{fmt.Sprint("at ", at)}})
	}
	for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeSealed} {
		key := testKey()
		b, folder := build(t, key, images, Options{Scheme: scheme})
		if b.Clamped() == 0 {
			t.Errorf("%v: no record was clamped", scheme)
		}
		x := held(t, key, folder)
		for at := range 10 {
			near := x.nearest(Photo{Vectors: flat(at)}, 30)
			if len(near) != 30 || !slices.IsSortedFunc(near, func(a, b rank.Neighbour) int { return int(min(max(1e3*(a.Dis-b.Dis), -1), 1)) }) {
				t.Errorf("%v, request at %d: %v", scheme, at, near)
			}
			// Even a distant photo is nearest to its own kind.
			if at < 4 && near[0].Keywords[0] != fmt.Sprint("at ", at) {
				t.Errorf("%v: nearest to a photo at %d is %v", scheme, at, near[0])
			}
		}
	}
}

func TestSetupRejectsUnreadableKeywords(t *testing.T) {
	many := make([]string, 32)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, words := range map[string][]string{
		"not UTF-8": {"a\xff"}, "empty": {""}, "too long": {strings.Repeat("a", 70000)}, "32 of them": many,
	} {
		images := madeImages(3, 1)
		images[1].Keywords = words
		if _, err := Setup(context.Background(), testKey(), images, Options{}); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}

func TestSetupChecksFirst(t *testing.T) {
	worked := func(string, int, int) { t.Error("work was done") }
	key := NewKey()
	for name, opt := range map[string]Options{
		"a scheme that the key does not allow": {Scheme: cpar.SchemeCAPIA},
		"blocks that cannot be asked":          {Block: 16, Careful: true},
		"no such profile":                      {Profile: 7},
	} {
		opt.Progress = worked
		if _, err := Setup(t.Context(), key, madeImages(3, 1), opt); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Setup(t.Context(), key, madeImages(3, 1), Options{Scheme: cpar.SchemeCAPIA}); !strings.Contains(hint.Of(err), "cpar key allow capia") {
		t.Errorf("hint %q", hint.Of(err))
	}
}

func TestBuildersReportValidation(t *testing.T) {
	images := madeImages(60, 5)
	for _, c := range []struct {
		opt  Options
		want bool
	}{
		{Options{}, false},
		{Options{Ranker: rank.KindCalibrated}, true},
		{Options{Profile: profile.Learned}, true},
		{Options{Profile: profile.Learned, Ranker: rank.KindPaper}, true},
	} {
		c.opt.Scheme, c.opt.PCA = cpar.SchemeCAPIA, 128
		b := setUp(t, testKey(), images, c.opt)
		if v := b.Validation; (v != nil) != c.want || v != nil && (v.Photos != 60 || !(v.P > 0)) {
			t.Errorf("%v, %v: %+v", c.opt.Profile, c.opt.Ranker, v)
		}
	}
}

func TestIndexBytes(t *testing.T) {
	images := madeImages(40, 5)
	for _, kind := range []profile.Kind{profile.Paper, profile.Learned} {
		for _, scheme := range cpar.Schemes() {
			if scheme == cpar.SchemeCPAR || scheme == cpar.SchemeIVF {
				continue // forest and cells are not counted
			}
			b, folder := build(t, testKey(), images, Options{Scheme: scheme, Profile: kind, PCA: 128})
			m, err := indexdir.ReadManifest(folder)
			if err != nil {
				t.Fatal(err)
			}
			got, err := IndexBytes(scheme, b.Profile(), b.Ranker(), Keywords(images))
			if err != nil || got != m.Bytes() {
				t.Errorf("%v, %v: %d bytes predicted, %d written; %v", scheme, kind, got, m.Bytes(), err)
			}
		}
	}
}

func TestSuitedProfile(t *testing.T) {
	mixed := madeEmbedded(120, 1)
	mixed[119].Vectors.Embedding = nil
	bare := madeImages(120, 1)
	for i := range bare[:21] {
		bare[i].Keywords = nil
	}
	same := madeEmbedded(120, 1)
	for i := range same {
		same[i].Keywords = []string{"dog"}
	}
	for i := range same[:4] {
		same[i].Keywords = []string{"dog", "cat"}
	}
	for name, c := range map[string]struct {
		images []Photo
		want   profile.Kind
	}{
		"no image":                   {nil, profile.Paper},
		"20 embeddings":              {madeEmbedded(20, 1), profile.Network},
		"19 embeddings":              {madeEmbedded(19, 1), profile.Paper},
		"not all with embeddings":    {mixed, profile.Learned},
		"a hundred with keywords":    {madeImages(100, 1), profile.Learned},
		"99 with keywords, 21 bare":  {bare, profile.Paper},
		"few, with keywords":         {madeImages(99, 1), profile.Paper},
		"a hundred of 120":           {append(madeImages(1, 2), bare...), profile.Learned},
		"embeddings without keyword": {[]Photo{{Vectors: madeEmbedded(1, 1)[0].Vectors}}, profile.Paper},
		"one keyword for all":        {same, profile.Paper},
	} {
		if got := SuitedProfile(c.images); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
