package encoder

import (
	"errors"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/photo/decode"
)

// This file tries each network on two synthetic images before the first photo,
// because a wrong tensor or a damaged file often produces a useless embedding.
//
// The test measures the distance of the embeddings relative to their length.
// Cosines would be near 1 for many networks, because their embeddings share a
// large component. For the same image, float16 arithmetic alone moves
// embeddings by about 10⁻³, and another runtime by 10⁻⁴.

// minDistance is the minimum distance of the two embeddings, relative to the
// longer one. It corresponds to a cosine of 1 − 5·10⁻⁷.
const minDistance = 1e-3

func (n *Encoder) try() error {
	var both [2][]float32
	for i := range both {
		embedding, err := n.Embed(testImage(i))
		if err == nil {
			err = checkEmbedding(embedding)
		}
		if err != nil {
			return n.trialError(err)
		}
		both[i] = embedding
	}
	if distance(both[0], both[1]) < minDistance {
		return n.trialError(errors.New("two different images have the same embedding"))
	}
	return nil
}

func (n *Encoder) trialError(err error) error {
	if !errors.Is(err, cpar.ErrInput) {
		err = fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return hint.Add(fmt.Errorf("trying the network on synthetic images, tensor %s: %w", n.Choice(), err),
		"name another tensor with --embedding, or check --preprocessing")
}

// checkEmbedding refuses values that are not finite or all the same.
func checkEmbedding(embedding []float32) error {
	var highest, lowest, size float64 = math.Inf(-1), math.Inf(1), 0
	for _, v := range embedding {
		x := float64(v)
		highest, lowest, size = max(highest, x), min(lowest, x), max(size, math.Abs(x))
	}
	switch {
	case math.IsNaN(size) || math.IsInf(size, 0):
		return errNotFinite
	case size == 0:
		return errors.New("all values of the embedding are 0")
	case highest-lowest <= 1e-6*size:
		return fmt.Errorf("all values of the embedding are the same, %g", embedding[0])
	}
	return nil
}

func distance(a, b []float32) float64 {
	var between, ofA, ofB float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		between += (x - y) * (x - y)
		ofA += x * x
		ofB += y * y
	}
	return math.Sqrt(between / max(ofA, ofB))
}

// testImage draws one of two images: a colour gradient, or tiles of many sizes.
func testImage(which int) *decode.Image {
	const width, height = 320, 256
	p := &decode.Image{Width: width, Height: height, RGB: make([]byte, 3*width*height)}
	for i := range p.RGB {
		x, y, c := i/3%width, i/3/width, i%3
		p.RGB[i] = byte((255*(c+1) - x/4 - y*c) / 4)
		if which == 1 {
			p.RGB[i] = byte(51 * ((x/(8+x/40) + (c+1)*y/(8+y/40)) % 5))
		}
	}
	return p
}
