// Package syntheticphotos generates features of imaginary photos of a few
// kinds, for tests that need no real photos.
package syntheticphotos

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	"cpar/model/feature"
)

var Network = sha256.Sum256([]byte("a network"))

// Photos returns n photos of four kinds, with two keywords each.
func Photos(n int, seed uint64) []feature.Photo {
	rng := rand.New(rand.NewPCG(seed, 7))
	photos := make([]feature.Photo, n)
	for i := range photos {
		photos[i] = feature.Photo{Vectors: vectors(rng, i%4), Keywords: []string{fmt.Sprintf("kind %d", i%4), fmt.Sprintf("word %d", i%7)},
			Content: sha256.Sum256(fmt.Append(nil, "photo ", i, " of ", seed))}
	}
	return photos
}

// Embedded returns Photos with embeddings of 40 values that identify each
// photo's kind.
func Embedded(n int, seed uint64) []feature.Photo {
	photos := Photos(n, seed)
	rng := rand.New(rand.NewPCG(seed, 8))
	for i := range photos {
		e := &feature.Embedding{Network: Network, Values: make([]float32, 40)}
		for j := range e.Values {
			e.Values[j] = rng.Float32()
			if j%4 == i%4 {
				e.Values[j] += 2
			}
		}
		photos[i].Vectors.Embedding = e
	}
	return photos
}

func vectors(rng *rand.Rand, kind int) *feature.Vectors {
	histogram := func() []float32 {
		h := make([]float32, 48)
		sum := float32(0)
		for i := range h {
			// The conversion keeps arm64 from fusing the product with a sum, so
			// that photos are equal on every processor.
			h[i] = float32(rng.Float32() * rng.Float32())
			if i%4 == kind {
				h[i] += 1
			}
			sum += h[i]
		}
		for i := range h {
			h[i] /= sum
		}
		return h
	}
	fill := func(n int, f func(i int) float32) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	v := &feature.Vectors{
		RGB: histogram(), HSV: histogram(), Lab: histogram(),
		Gabor:  fill(256, func(i int) float32 { return rng.Float32() + float32(i%4*kind) }),
		GaborQ: fill(256, func(int) float32 { return float32(rng.IntN(8)) }),
		Haar:   fill(feature.HaarDim, func(i int) float32 { return rng.Float32() * float32(1+(i+kind)%5) }),
		HaarQ:  fill(feature.HaarDim, func(int) float32 { return float32(rng.IntN(3) - 1) }),
	}
	v.Patches = fill(feature.PatchDim, func(i int) float32 { return v.Gabor[i%len(v.Gabor)] })
	return v
}

// Stuck is a source of random bytes that repeats, as on cloned machines.
type Stuck struct{}

func (Stuck) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 7
	}
	return len(p), nil
}
