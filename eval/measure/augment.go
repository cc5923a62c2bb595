package measure

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"

	"cpar"
	"cpar/model/feature"
	"cpar/user"
)

// Larger collections are derived from the real one, only to measure cost and
// scaling. Accuracy is always measured on unmodified images. There are two
// ways:
//
//	pixels    crop a real photo, then extract its features as usual (up to
//	          pixelLimit)
//	features  mix and jitter the features of two images, ten times as fast
//	          (beyond pixelLimit)
//
// Both are seeded: image i is the same in every run.
const (
	AugmentSeed = 1
	// pixelLimit is the paper's n.
	pixelLimit = 20000
	// augmentSide is the longest side of an augmented photo. Package feature
	// counts colours at this size.
	augmentSide = 256
)

// cropped decodes a photo and returns a random part of it, 70 to 95 % as wide
// and as high, encoded.
func cropped(rng *rand.Rand, data []byte) ([]byte, error) {
	src, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decoding: %w: %w", cpar.ErrInput, err)
	}
	b := src.Bounds()
	part := func(from, length int) (int, int) {
		size := max(1, int(float64(length)*(0.7+0.25*rng.Float64())))
		return from + int(float64(length-size)*rng.Float64()), size
	}
	x, w := part(b.Min.X, b.Dx())
	y, h := part(b.Min.Y, b.Dy())
	crop := image.Rect(x, y, x+w, y+h)
	if long := max(w, h); long > augmentSide {
		w, h = max(1, w*augmentSide/long), max(1, h*augmentSide/long)
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.ApproxBiLinear.Scale(out, out.Bounds(), src, crop, draw.Src, nil)
	var buf bytes.Buffer
	if err := bmp.Encode(&buf, out); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return buf.Bytes(), nil
}

// augmented returns the first n images of the series made from pixels. Images
// derive from the photos in turn and keep their keywords. Their features are
// cached like a photo's.
func (l *Lab) augmented(ctx context.Context, c *Corpus, n int) ([]user.Photo, error) {
	if len(c.TrainItems) == 0 {
		return nil, fmt.Errorf("augmenting photos: %w: the collection has no files", cpar.ErrInput)
	}
	opt := feature.Options{Progress: func(done, total int) { l.Progress.Report("augmenting photos", done, total) }}
	if l.Cache != "" {
		var err error
		if opt.Cache, err = feature.OpenCache(l.Cache); err != nil {
			return nil, err
		}
	}
	load := func(i int) ([]byte, error) {
		rng := rand.New(rand.NewPCG(AugmentSeed, uint64(i)))
		data, err := os.ReadFile(c.TrainItems[i%len(c.TrainItems)].Path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
		}
		return cropped(rng, data)
	}
	out, errs, err := feature.ExtractAll(ctx, n, load, opt)
	if err != nil {
		return nil, err
	}
	for i := range out {
		it := c.TrainItems[i%len(c.TrainItems)]
		if errs[i] != nil {
			return nil, fmt.Errorf("augmenting %s: %w", it.Name, errs[i])
		}
		out[i].Keywords, out[i].Content = it.Keywords, [32]byte{}
	}
	return out, nil
}

// MixFeatures makes n images, each from the features of two: a weighted mean
// with five per cent of jitter for magnitudes and histograms, and the value of
// either image for phases and signs.
func MixFeatures(ctx context.Context, images []user.Photo, n int, progress user.Progress) ([]user.Photo, error) {
	out := make([]user.Photo, n)
	var done atomic.Int64
	return out, Each(ctx, n, func(i int) error {
		rng := rand.New(rand.NewPCG(AugmentSeed+1, uint64(i)))
		a, b := images[rng.IntN(len(images))], images[rng.IntN(len(images))]
		out[i] = user.Photo{Vectors: mix(rng, a.Vectors, b.Vectors), Keywords: a.Keywords}
		if k := int(done.Add(1)); k%256 == 0 || k == n {
			progress.Report("mixing features", k, n)
		}
		return nil
	})
}

func mix(rng *rand.Rand, a, b *feature.Vectors) *feature.Vectors {
	share := float32(0.5 + 0.5*rng.Float64()) // weight of a, whose keywords the image gets
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
	if a.Embedding != nil && b.Embedding != nil { // last, so that features do not depend on it
		out.Embedding = &feature.Embedding{Network: a.Embedding.Network, Values: blend(rng, share, a.Embedding.Values, b.Embedding.Values)}
	}
	return out
}

// blend returns a weighted mean of x and y with five per cent of jitter.
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

// EmbedAugmented gives augmented photos mixed embeddings if the corpus has
// embeddings. Running the network would take minutes, and these embeddings
// serve only to measure cost.
func EmbedAugmented(c *Corpus, images []user.Photo) {
	for i, im := range images {
		rng := rand.New(rand.NewPCG(AugmentSeed+2, uint64(i)))
		own, other := c.Train[i%len(c.Train)].Vectors.Embedding, c.Train[rng.IntN(len(c.Train))].Vectors.Embedding
		if own == nil || other == nil {
			return
		}
		values := blend(rng, float32(0.5+0.5*rng.Float64()), own.Values, other.Values)
		im.Vectors.Embedding = &feature.Embedding{Network: own.Network, Values: values}
	}
}
