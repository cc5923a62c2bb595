package profile_test

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/encoder/bundled"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/wordnet"
)

// classified returns photos of the bundled network's embeddings, with the two
// most probable words.
func classified(t *testing.T, n int, words []string) (photos []*feature.Vectors, keywords [][]string, classes [][]float32) {
	t.Helper()
	digest, err := hex.DecodeString(bundled.EncoderDigest)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := newPair(7).photos(n)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, v := range made {
		values := make([]float32, 1280)
		for i := range values {
			values[i] = float32(max(0, 2*rng.NormFloat64()))
		}
		v.Embedding = &feature.Embedding{Network: [32]byte(digest), Values: values}
		c, err := bundled.Classes(values)
		if err != nil {
			t.Fatal(err)
		}
		probability := func(w string) float32 { return wordnet.Probability(w, c) }
		best := slices.SortedFunc(slices.Values(words), func(a, b string) int { return cmp.Compare(probability(b), probability(a)) })
		photos, keywords, classes = append(photos, v), append(keywords, best[:2]), append(classes, c)
	}
	return photos, keywords, classes
}

// A profile that was written before the prior saturated keeps its linear prior.
func TestPriorOfClassesSaturates(t *testing.T) {
	words := []string{"dog", "bird", "car", "boat", "food", "fish", "snake", "house", "clothing", "cat", "fruit", "furniture", "tool", "insect"}
	photos, keywords, classes := classified(t, 60, words)
	f, err := profile.Fit(t.Context(), profile.Network, photos[:30], keywords[:30], profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := profile.Append(nil, f.Profile)
	if err != nil {
		t.Fatal(err)
	}
	const dim = 1 // the position of the dimensions
	flags := binary.LittleEndian.Uint16(b[dim:])
	if flags>>13 != 0b101 {
		t.Fatalf("dimensions %#x, want a regression with a prior that saturates and no text half", flags)
	}
	binary.LittleEndian.PutUint16(b[dim:], flags&^(1<<13))
	older, err := profile.Read(wire.NewReader(b, cpar.ErrCorrupt))
	if err == nil {
		err = older.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := 30; i < len(photos); i++ {
		now, err := f.Profile.Vector(photos[i])
		if err != nil {
			t.Fatal(err)
		}
		then, err := older.Vector(photos[i])
		if err != nil {
			t.Fatal(err)
		}
		for w, at := range now.Guess.Words {
			p := float64(wordnet.Probability(w, classes[i]))
			got, want := float64(now.Guess.Share[at]-then.Guess.Share[at]), 0.2*p/(p+0.1)-0.5*p
			if math.Abs(got-want) > 1e-5 {
				t.Errorf("photo %d, %s: classes of probability %g change the estimate by %g, want %g", i, w, p, got, want)
			}
		}
	}
}
