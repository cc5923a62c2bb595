package zeroshot

import (
	"crypto/sha256"
	"errors"
	"image/color"
	"math"
	"slices"
	"testing"

	"cpar"
	"cpar/model/wordnet"
	"cpar/photo/decode"
)

const tiger, seashore = 292, 978

// A classifier answers every image with the same values.
type classifier []float32

func (c classifier) Digest() [sha256.Size]byte              { return [sha256.Size]byte{1} }
func (c classifier) Embed(*decode.Image) ([]float32, error) { return c, nil }

func wordsOf(t *testing.T, values []float32, o Options) []Score {
	t.Helper()
	o.Encoder = classifier(values)
	p, err := PrepareClasses(o)
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Keywords(paint(t, t.TempDir(), "a.png", color.White), []string{"Cat"})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Logits with and without a first class, and probabilities, give the same words.
func TestClassesGiveWords(t *testing.T) {
	logits := make([]float32, wordnet.Classes)
	logits[tiger], logits[seashore] = 20, 19
	probabilities := make([]float32, wordnet.Classes)
	probabilities[tiger] = float32(1 / (1 + math.Exp(-1)))
	probabilities[seashore] = 1 - probabilities[tiger]
	for _, values := range [][]float32{logits, append([]float32{30}, logits...), probabilities} {
		found := wordsOf(t, values, Options{MaxKeywords: 5, MinScore: 0.1})
		if len(found) < 2 || found[0].Word != "tiger" || math.Abs(found[0].Score-OfferedShare*float64(probabilities[tiger])) > 1e-4 {
			t.Errorf("%d values: %+v", len(values), found)
		}
		if !slices.ContainsFunc(found, func(s Score) bool { return s.Word == "coast" || s.Word == "beach" }) {
			t.Errorf("%d values: %+v", len(values), found)
		}
	}
	if found := wordsOf(t, logits, Options{Asked: []string{"animal", "cat", "justice"}, MaxKeywords: 5}); len(found) != 1 || found[0].Word != "animal" {
		t.Errorf("%+v", found)
	}
}

func TestClassesOfAnotherNumberAreRefused(t *testing.T) {
	p, err := PrepareClasses(Options{Encoder: classifier(make([]float32, 10))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Keywords(paint(t, t.TempDir(), "a.png", color.White), nil); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}
