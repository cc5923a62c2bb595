package profile

import (
	"context"
	"encoding/hex"
	"math"

	"cpar/encoder/bundled"
	"cpar/model/feature"
	"cpar/model/learn"
	"cpar/model/rank"
	"cpar/model/wordnet"
)

// nodeWeight and colourWeight are the kernel weights, relative to the
// embedding, of the probabilities of WordNet's nodes and of the colour
// histograms. priorShare scales the prior that is added to an estimate.
const nodeWeight, colourWeight, priorShare = 0.5, 0.2, 0.5

// The prior of a word whose classes have the probability p is
// classShare·p/(p + classHalf). With priorShare·p, sure classes would weigh too
// much, because people do not always name what a classifier recognises.
const classShare, classHalf = 0.2, 0.1

// classifies reports whether the profile's network is the bundled one, whose
// classes are known.
func (p *LearnedProfile) classifies() bool {
	return hex.EncodeToString(p.network[:]) == bundled.EncoderDigest
}

func (p *LearnedProfile) ridgeBlocks() []learn.RidgeBlock {
	blocks := []learn.RidgeBlock{{Length: p.embedding, Weight: 1}, {Length: 3 * feature.ColorDim, Weight: colourWeight}}
	if p.classifies() {
		blocks = append(blocks, learn.RidgeBlock{Length: wordnet.NumNodes(), Weight: nodeWeight})
	}
	return blocks
}

func (p *LearnedProfile) ridgeIn() (in int) {
	for _, b := range p.ridgeBlocks() {
		in += b.Length
	}
	return in
}

// ridgeRow returns the input of the kernel ridge regression: the embedding, the
// colour histograms and, for the bundled network, the probabilities of
// WordNet's nodes (classes and their hypernyms). It also returns the prior, nil
// if the network has neither classes nor a text half.
func (p *LearnedProfile) ridgeRow(photo *feature.Vectors) ([]float32, learn.Prior, error) {
	photo, err := photo.Load()
	if err != nil {
		return nil, nil, err
	}
	var row []float32
	for _, part := range [][]float32{photo.Embedding.Values, photo.RGB, photo.HSV, photo.Lab} {
		row = append(row, part...)
	}
	if p.text != nil {
		prior := p.text.Prior(photo.Embedding.Values)
		return row, func(word string) float64 { return priorShare * prior(word) }, nil
	}
	if !p.classifies() {
		return row, nil, nil
	}
	if err := wordnet.Check(); err != nil {
		return nil, nil, err
	}
	classes, err := bundled.Classes(photo.Embedding.Values)
	if err != nil {
		return nil, nil, err
	}
	prior := func(word string) float64 {
		v := float64(wordnet.Probability(word, classes))
		if !p.saturates {
			return priorShare * v
		}
		return classShare * v / (v + classHalf)
	}
	return append(row, wordnet.Nodes(classes)...), prior, nil
}

// keepNumber is the number of keywords per photo when rankers are compared.
const keepNumber = 5

// fitFewTags replaces the projection's keyword guesses by a kernel ridge
// regression, unless clearly fewer keywords are then found in cross-validation.
// All photos must be samples of `choice`. `text` may be nil.
func (p *LearnedProfile) fitFewTags(ctx context.Context, photos []*feature.Vectors, keywords [][]string, text TextVectors, choice *learn.Choice) error {
	if text != nil && !p.classifies() {
		embeddings := make([][]float32, len(photos))
		for i, photo := range photos {
			photo, err := photo.Load()
			if err != nil {
				return err
			}
			embeddings[i] = photo.Embedding.Values
		}
		var err error
		if p.text, err = FitTextPrior(embeddings, keywords, text); err != nil {
			return err
		}
	}
	p.saturates = p.classifies()
	rows, priors := make([][]float32, len(photos)), make([]learn.Prior, len(photos))
	for i, photo := range photos {
		var err error
		if rows[i], priors[i], err = p.ridgeRow(photo); err != nil {
			return err
		}
	}
	ridge, guesses, err := learn.FitKernelRidge(ctx, rows, keywords, priors, p.ridgeBlocks())
	if err != nil {
		return err
	}
	samples := make([]rank.Sample, len(choice.Samples))
	for i, s := range choice.Samples {
		s.Guess = guesses[s.Photo]
		samples[i] = s
	}
	ranker, quality, err := rank.Calibrate(ctx, samples, keywords, keepNumber, 0)
	if err != nil {
		return err
	}
	if quality.Found >= choice.Quality.Found*(1-1/math.Sqrt(float64(len(samples)))) {
		p.ridge, choice.Ranker, choice.Samples, choice.Quality = ridge, ranker, samples, quality
	} else {
		p.text, p.saturates = nil, false
	}
	return nil
}
