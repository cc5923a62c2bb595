package encoder

import (
	"errors"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/photo/decode"
)

// Each network is tried on two synthetic images before the first photo, because
// a wrong tensor, wrong preprocessing or a damaged file often produces a
// useless embedding that would otherwise be noticed only after an hour.
//
// The two images differ everywhere, so a working network embeds them
// differently. Their cosine may still be high, because many networks add a
// large common component to all embeddings. The test therefore measures the
// distance relative to the embeddings' length. The arithmetic of float16 alone
// moves embeddings by about 10⁻³, runtimes by 10⁻⁴.

// minDistance is the minimum distance of the two embeddings, relative to their
// length. It corresponds to a cosine of 1 − 5·10⁻⁷.
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

// checkEmbedding refuses an embedding of zero length or of equal values.
func checkEmbedding(embedding []float32) error {
	var most, least, size float64 = math.Inf(-1), math.Inf(1), 0
	for _, v := range embedding {
		x := float64(v)
		most, least, size = max(most, x), min(least, x), max(size, math.Abs(x))
	}
	switch {
	case math.IsNaN(size) || math.IsInf(size, 0):
		return errNotFinite
	case size == 0:
		return errors.New("all values of the embedding are 0")
	case most-least <= 1e-6*size:
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

// testImage draws one of two images: a bright glow over a banded landscape, or
// coloured tiles of many sizes in the dark.
func testImage(which int) *decode.Image {
	const width, height = 320, 256
	p := &decode.Image{Width: width, Height: height, RGB: make([]byte, 3*width*height)}
	for y := range height {
		for x := range width {
			var red, green, blue float64
			fx, fy := float64(x)/width, float64(y)/height
			if which == 0 {
				light := math.Exp(-8 * ((fx-0.6)*(fx-0.6) + (fy-0.3)*(fy-0.3)))
				band := 0.5 + 0.5*math.Sin(24*fy+6*fx*fx)
				red, green, blue = 0.45+0.55*light, 0.55+0.3*light+0.1*band*fy, 0.9-0.5*fy
			} else {
				tile := (x/(8+x/40) + y/(8+y/40)) % 5
				noise := float64(x*7919^y*104729) / 97
				noise -= math.Floor(noise)
				red, green, blue = 0.1+0.15*float64(tile), 0.05+0.3*noise*fx, 0.02+0.2*float64((tile*2)%5)*(1-fy)
			}
			at := 3 * (y*width + x)
			for c, v := range []float64{red, green, blue} {
				p.RGB[at+c] = byte(255 * min(1, max(0, v)))
			}
		}
	}
	return p
}
