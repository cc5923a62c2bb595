package profile_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
)

// A madePair is an image half and a text half with a common space, in which the
// embedding of a photo is the mean of its words' vectors, with noise and with an
// offset that all photos share.
type madePair struct {
	rng   *rand.Rand
	words map[string][]float32
	names []string
	gap   []float32
}

const pairDim, pairWords = 48, 40

func newPair(seed uint64) *madePair {
	p := &madePair{rng: rand.New(rand.NewPCG(seed, 9)), words: map[string][]float32{}}
	p.gap = p.normal(1.5)
	for i := range pairWords {
		name := fmt.Sprintf("word %02d", i)
		p.names, p.words[name] = append(p.names, name), p.normal(1)
	}
	return p
}

func (p *madePair) normal(scale float64) []float32 {
	v := make([]float32, pairDim)
	for i := range v {
		v[i] = float32(scale * p.rng.NormFloat64())
	}
	return v
}

// photos returns n photos with one to four words each.
func (p *madePair) photos(n int) (vectors []*feature.Vectors, keywords [][]string) {
	for i, f := range syntheticphotos.Embedded(n, p.rng.Uint64()) {
		var list []string
		values := p.normal(0.6)
		for _, w := range p.rng.Perm(pairWords)[:1+i%4] {
			list = append(list, p.names[w])
			for k, x := range p.words[p.names[w]] {
				values[k] += x / float32(1+i%4)
			}
		}
		for k, x := range p.gap {
			values[k] += x
		}
		v := *f.Vectors
		v.Embedding = &feature.Embedding{Network: v.Embedding.Network, Values: values}
		vectors, keywords = append(vectors, &v), append(keywords, list)
	}
	return vectors, keywords
}

func (p *madePair) text(words []string) (out [][]float32, _ error) {
	for _, w := range words {
		out = append(out, p.words[w])
	}
	return out, nil
}

func embeddingsOf(photos []*feature.Vectors) (out [][]float32) {
	for _, f := range photos {
		out = append(out, f.Embedding.Values)
	}
	return out
}

// foundOfFive returns the mean number of a photo's keywords among the five best
// guesses.
func foundOfFive(t *testing.T, p profile.Profile, photos []*feature.Vectors, keywords [][]string) (found float64) {
	t.Helper()
	for i, photo := range photos {
		v, err := p.Vector(photo)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range best(v.Guess) {
			if slices.Contains(keywords[i], word) {
				found += 1 / float64(len(photos))
			}
		}
	}
	return found
}

func best(g *rank.Guess) []string {
	words := slices.SortedFunc(maps.Keys(g.Words), func(a, b string) int {
		return cmp.Or(cmp.Compare(g.Share[g.Words[b]], g.Share[g.Words[a]]), cmp.Compare(a, b))
	})
	return words[:min(5, len(words))]
}

func TestTextPriorFindsPlantedWords(t *testing.T) {
	pair := newPair(1)
	photos, keywords := pair.photos(30)
	p, err := profile.FitTextPrior(embeddingsOf(photos), keywords, pair.text)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	photos, keywords = pair.photos(100)
	right, sum := 0.0, 0.0
	for i, photo := range photos {
		prior, own, other := p.Prior(photo.Embedding.Values), 0.0, 0.0
		for _, word := range pair.names {
			if x := prior(word); slices.Contains(keywords[i], word) {
				own += x / float64(len(keywords[i]))
			} else {
				other += x / float64(pairWords-len(keywords[i]))
			}
			sum += prior(word)
		}
		if own > 5*other {
			right++
		}
		if prior("another word") != 0 {
			t.Error("a word without a vector has an estimate")
		}
	}
	if right < 75 || math.Abs(sum/100-2) > 0.5 { // of 2.5 a photo, because an estimate is at most 1
		t.Errorf("the planted words stand out in %g of 100 photos, and %g are expected a photo", right, sum/100)
	}
}

// Halves of two networks teach nothing, which the fit notices.
func TestTextPriorOfForeignHalvesIsNone(t *testing.T) {
	none := 0
	for seed := range uint64(10) {
		pair, other := newPair(seed), newPair(seed+100)
		photos, keywords := pair.photos(100)
		p, err := profile.FitTextPrior(embeddingsOf(photos), keywords, other.text)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			none++
			continue
		}
		for word := range pair.words { // hardly more than equal shares
			if x := p.Prior(photos[0].Embedding.Values)(word); x > 0.5 {
				t.Errorf("%s has %g", word, x)
			}
		}
	}
	if none < 4 {
		t.Errorf("%d of 10 foreign pairs have no prior", none)
	}
	pair := newPair(1)
	photos, keywords := pair.photos(20)
	short := func(words []string) ([][]float32, error) { return make([][]float32, len(words)), nil }
	if _, err := profile.FitTextPrior(embeddingsOf(photos), keywords, short); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

// With the text half, profile network finds more keywords after few photos,
// also when it was read from an index.
func TestTextPriorHelpsAfterFewPhotos(t *testing.T) {
	pair := newPair(2)
	photos, keywords := pair.photos(30)
	asked, truth := pair.photos(200)
	var found [2]float64
	for i, text := range []profile.TextVectors{nil, pair.text} {
		f, err := profile.Fit(context.Background(), profile.Network, photos, keywords, profile.Options{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		found[i] = foundOfFive(t, f.Profile, asked, truth)
		b, err := profile.Append(nil, f.Profile)
		if err != nil {
			t.Fatal(err)
		}
		again, err := profile.Read(wire.NewReader(b, cpar.ErrCorrupt))
		if err == nil {
			err = again.Validate()
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err1 := f.Profile.Vector(asked[0])
		w, err2 := again.Vector(asked[0])
		if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(v.Guess, w.Guess) {
			t.Errorf("another guess after reading: %v", err)
		}
	}
	t.Logf("of five, %.2f are found without the text half, and %.2f with it", found[0], found[1])
	if found[1] < found[0]+0.3 {
		t.Error("the text half does not help")
	}
}

func TestTextPriorEncoding(t *testing.T) {
	pair := newPair(3)
	photos, keywords := pair.photos(30)
	p, err := profile.FitTextPrior(embeddingsOf(photos), keywords, pair.text)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := p.MarshalBinary()
	few, err := profile.FitTextPrior(embeddingsOf(photos[:8]), keywords[:8], pair.text)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := few.MarshalBinary(); len(c) != len(b) {
		t.Errorf("the length reveals the number of words: %d and %d bytes", len(c), len(b))
	}
	var q profile.TextPrior
	if err := q.UnmarshalBinary(b); err != nil || !reflect.DeepEqual(p, &q) {
		t.Errorf("read otherwise: %v", err)
	}
	for cut := 0; cut < len(b); cut += 997 {
		if err := new(profile.TextPrior).UnmarshalBinary(b[:cut]); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
	for name, at := range map[string]int{"temperature": 5, "length of the words": 12, "order of the words": 14, "padding": len(b) - 1} {
		c := bytes.Clone(b)
		c[at] ^= 0xff
		if err := new(profile.TextPrior).UnmarshalBinary(c); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s changed: %v", name, err)
		}
	}
}
