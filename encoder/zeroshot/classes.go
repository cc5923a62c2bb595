package zeroshot

import (
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/model/wordnet"
)

// PrepareClasses returns an Annotator that needs no text half. Instead,
// o.Encoder must be a classifier of ImageNet (encoder.OpenClassifier).
// WordNet, a dictionary with a hierarchy of terms, relates its classes to
// words. The score of a word estimates the probability that a person would give
// it: OfferedShare times the sum of the probabilities of its classes. If
// o.Asked is empty, the words of Everyday are offered. Words without a class
// are never returned.
func PrepareClasses(o Options) (*Annotator, error) {
	if err := wordnet.Check(); err != nil {
		return nil, err
	}
	words := o.Asked
	if len(words) == 0 {
		words = Everyday()
	}
	return &Annotator{opt: o, ranker: classRanker(words),
		name: fmt.Sprintf("classes %x %q %d %g", o.Encoder.Digest(), words, o.MaxKeywords, o.MinScore)}, nil
}

// OfferedShare is the share of the classes in a photo that a person would name.
// On the 4,500 training photos of Corel-5k, the calibration error of the five
// best words is lowest with one half (.013, and .051 with 1).
const OfferedShare = 0.5

// classRanker ranks its words by the classes of ImageNet.
type classRanker []string

func (r classRanker) Rank(values []float32, limit int, minScore float64, known []string) ([]Score, error) {
	if n := len(values); n != wordnet.Classes && n != wordnet.Classes+1 {
		return nil, fmt.Errorf("ranking words: %w: %d classes, want %d", cpar.ErrInput, n, wordnet.Classes)
	}
	classes := probabilities(values[len(values)-wordnet.Classes:]) // leaves out the class "background"
	shares := make([]float64, len(r))
	for i, word := range r {
		shares[i] = OfferedShare * float64(wordnet.Probability(word, classes))
	}
	return best(r, shares, limit, max(minScore, math.SmallestNonzeroFloat64), known), nil
}

// probabilities returns the softmax of `values`. If these values add up to 1,
// it returns them unchanged, because the network then already ends in a
// softmax.
func probabilities(values []float32) []float32 {
	sum, largest := 0.0, slices.Max(values)
	for _, x := range values {
		sum += float64(x)
	}
	if slices.Min(values) >= 0 && math.Abs(sum-1) < 0.01 {
		return values
	}
	out := make([]float32, len(values))
	sum = 0
	for _, x := range values {
		sum += math.Exp(float64(x - largest))
	}
	for i, x := range values {
		out[i] = float32(math.Exp(float64(x-largest)) / sum)
	}
	return out
}
