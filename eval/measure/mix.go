package measure

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"cpar"
	"cpar/model/feature"
	"cpar/user"
)

// mixSeed makes image i the same in every run.
const mixSeed = 2

// MixFeatures makes n images for measuring costs, which do not depend on
// content. Accuracy is always measured on real images. Each new image mixes two
// real images. Its magnitudes and histograms are weighted means with five per
// cent of jitter. Each phase and sign is copied from one of the two images.
func MixFeatures(ctx context.Context, images []user.Photo, n int, progress user.Progress) ([]user.Photo, error) {
	if len(images) == 0 {
		return nil, fmt.Errorf("%w: no images to mix", cpar.ErrInput)
	}
	out := make([]user.Photo, n)
	var done atomic.Int64
	return out, Each(ctx, n, func(i int) error {
		rng := rand.New(rand.NewPCG(mixSeed, uint64(i)))
		a, b := images[rng.IntN(len(images))], images[rng.IntN(len(images))]
		out[i] = user.Photo{Vectors: mix(rng, a.Vectors, b.Vectors), Keywords: a.Keywords}
		if k := int(done.Add(1)); k%256 == 0 || k == n {
			progress.Report("mixing features", k, n)
		}
		return nil
	})
}

func mix(rng *rand.Rand, a, b *feature.Vectors) *feature.Vectors {
	share := float32(0.5 + 0.5*rng.Float64()) // weight of image a, which also gives the keywords
	choose := func(x, y []float32) []float32 {
		z := make([]float32, len(x))
		for i := range x {
			if z[i] = x[i]; rng.Float32() > share {
				z[i] = y[i]
			}
		}
		return z
	}
	out := feature.New()
	for _, block := range feature.Blocks() {
		x, y := block.Of(a), block.Of(b)
		if block.Kind == feature.Quantised {
			copy(block.Of(out), choose(x, y))
		} else {
			copy(block.Of(out), blend(rng, share, x, y))
		}
		if block.Kind == feature.Histogram {
			normalise(block.Of(out))
		}
	}
	if a.Embedding != nil && b.Embedding != nil { // drawn last, so that the other features do not depend on embeddings
		out.Embedding = &feature.Embedding{Network: a.Embedding.Network, Values: blend(rng, share, a.Embedding.Values, b.Embedding.Values)}
	}
	return out
}

func blend(rng *rand.Rand, share float32, x, y []float32) []float32 {
	z := make([]float32, len(x))
	for i := range x {
		z[i] = (share*x[i] + (1-share)*y[i]) * (0.95 + 0.1*rng.Float32())
	}
	return z
}

func normalise(histogram []float32) {
	sum := float32(0)
	for _, x := range histogram {
		sum += x
	}
	for i := range histogram {
		histogram[i] /= max(sum, math.SmallestNonzeroFloat32)
	}
}
