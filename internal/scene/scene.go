// Package scene paints annotated images, such as a beach, a city at night, or
// firs in fog, for tests and for the demo.
//
//	seed, i ─▶ kind of scene ─▶ layers, back to front ─▶ image (256 × 192) + keywords
//
// On one platform, the result is a pure function of seed and i. On another
// platform, fused multiply-adds may change a pixel by one level. An image with
// i ≥ N is new to a collection of the first N images but has the same style.
//
// Keywords are visible by construction. Each layer has keywords, the painting
// remembers the last layer at each pixel, and a keyword is listed if enough of
// its pixels remain.
//
// The noise follows K. Perlin, "An Image Synthesizer", 1985 (with random
// lattice values), summed in octaves as in Ebert et al., "Texturing &
// Modeling".
package scene

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"math/rand/v2"
)

const (
	// Width and Height are in pixels.
	Width  = 256
	Height = 192

	jpegQuality = 90
)

// RenderJPEG paints image i of a seed as a JPEG file and lists its visible
// keywords, largest first.
func RenderJPEG(seed uint64, i int) (jpg []byte, keywords []string, err error) {
	p := paint(seed, i, "")
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p.img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, nil, fmt.Errorf("encoding scene %d: %w", i, err)
	}
	return b.Bytes(), p.keywords(), nil
}

func paint(seed uint64, i int, testOnlyWithout string) *painting {
	kind, rng := kinds[kindOf(seed, i)], stream(seed, uint64(i), "picture")
	p := newPainting(rng, pick(rng, kind.moods...))
	p.testOnlyWithout = testOnlyWithout
	kind.paint(p)
	p.finish()
	return p
}

// kindOf deals the kinds like cards, so that consecutive images contain similar
// numbers of each kind.
func kindOf(seed uint64, i int) int {
	n := uint64(len(kinds))
	deal := stream(seed, uint64(i)/n, "kinds").Perm(len(kinds))
	return deal[uint64(i)%n]
}

// stream returns an independent generator for each purpose and index. ChaCha8
// tolerates seeds that differ in a few bits.
func stream(seed, index uint64, purpose string) *rand.Rand {
	var key [32]byte
	for k := range 8 {
		key[k], key[8+k] = byte(seed>>(8*k)), byte(index>>(8*k))
	}
	copy(key[16:], purpose)
	return rand.New(rand.NewChaCha8(key))
}
