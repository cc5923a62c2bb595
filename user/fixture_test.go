package user

import (
	"fmt"
	"math/rand/v2"

	"cpar/user/feature"
)

// madeImages returns n images of a few kinds, as features: photographs are not
// needed to test what comes after them.
func madeImages(n int, seed uint64) []Image {
	rng := rand.New(rand.NewPCG(seed, 7))
	images := make([]Image, n)
	for i := range images {
		images[i] = Image{Vectors: madeVectors(rng, i%4), Keywords: []string{fmt.Sprintf("kind %d", i%4), fmt.Sprintf("word %d", i%7)}}
	}
	return images
}

func madeVectors(rng *rand.Rand, kind int) *feature.Vectors {
	histogram := func() []float32 {
		h := make([]float32, 48)
		sum := float32(0)
		for i := range h {
			h[i] = rng.Float32() * rng.Float32()
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
	return &feature.Vectors{
		RGB: histogram(), HSV: histogram(), Lab: histogram(),
		Gabor:  fill(256, func(i int) float32 { return rng.Float32() + float32(i%4*kind) }),
		GaborQ: fill(256, func(int) float32 { return float32(rng.IntN(8)) }),
		Haar:   fill(4096, func(i int) float32 { return rng.Float32() * float32(1+(i+kind)%5) }),
		HaarQ:  fill(4096, func(int) float32 { return float32(rng.IntN(3) - 1) }),
	}
}
