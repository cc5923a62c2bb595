package eval

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

// Collections larger than the real one are made from it, only to measure cost and
// scaling; accuracy is always measured on untouched images. There are two ways:
//
//	pixels    a crop, a flip and a shift of colours of a real photo, whose
//	          features are then extracted like any other's (up to pixelLimit)
//	features  two images' features mixed and jittered, ten times as fast
//	          (beyond that)
//
// Both are seeded: image i is the same in every run.
const (
	augmentSeed = 1
	// pixelLimit is the paper's n. Further images are mixed from features.
	pixelLimit = 20000
	// augmentSide bounds the longest side of an augmented photo: colours are counted at
	// that size anyway (package feature).
	augmentSide = 256
)

// shift is a modification of a photo.
type augmentation struct {
	left, top, width, height float64 // the crop, as shares
	flip                     bool
	gain, offset             [3]float64 // of red, green, blue
}

func drawShift(rng *rand.Rand) augmentation {
	s := augmentation{width: 0.7 + 0.25*rng.Float64(), height: 0.7 + 0.25*rng.Float64(), flip: rng.IntN(2) == 1}
	s.left, s.top = (1-s.width)*rng.Float64(), (1-s.height)*rng.Float64()
	for c := range 3 {
		s.gain[c], s.offset[c] = 0.85+0.3*rng.Float64(), 24*rng.Float64()-12
	}
	return s
}

// apply returns the shifted photo as a BMP file.
func (s augmentation) apply(data []byte) ([]byte, error) {
	src, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decoding: %w: %w", cpar.ErrInput, err)
	}
	b := src.Bounds()
	crop := image.Rect(
		b.Min.X+int(s.left*float64(b.Dx())), b.Min.Y+int(s.top*float64(b.Dy())),
		b.Min.X+int((s.left+s.width)*float64(b.Dx())), b.Min.Y+int((s.top+s.height)*float64(b.Dy())))
	if crop.Empty() {
		crop = b
	}
	w, h := crop.Dx(), crop.Dy()
	if long := max(w, h); long > augmentSide {
		w, h = max(1, w*augmentSide/long), max(1, h*augmentSide/long)
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.ApproxBiLinear.Scale(out, out.Bounds(), src, crop, draw.Src, nil)
	s.colours(out)
	var buf bytes.Buffer
	if err := bmp.Encode(&buf, out); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return buf.Bytes(), nil
}

// colours flips the picture and shifts its colours.
func (s augmentation) colours(img *image.RGBA) {
	var table [3][256]uint8
	for c := range table {
		for v := range table[c] {
			table[c][v] = uint8(max(0, min(255, s.gain[c]*float64(v)+s.offset[c])))
		}
	}
	w := img.Bounds().Dx()
	for y := range img.Bounds().Dy() {
		row := img.Pix[y*img.Stride:][:4*w]
		for x := range w {
			p := row[4*x:]
			p[0], p[1], p[2], p[3] = table[0][p[0]], table[1][p[1]], table[2][p[2]], 255
		}
		if s.flip {
			for x := range w / 2 {
				a, b := img.RGBAAt(x, y), img.RGBAAt(w-1-x, y)
				img.SetRGBA(x, y, color.RGBA(b))
				img.SetRGBA(w-1-x, y, color.RGBA(a))
			}
		}
	}
}

// augmentPixels makes images first to first+n of the series: each from one photo, in
// turn, with its keywords.
func augmentPixels(ctx context.Context, items []dataset.Photo, first, n int, progress func(done int)) ([]user.Photo, error) {
	load := func(i int) ([]byte, error) {
		rng := rand.New(rand.NewPCG(augmentSeed, uint64(first+i)))
		data, err := os.ReadFile(items[(first+i)%len(items)].Path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
		}
		return drawShift(rng).apply(data)
	}
	out, errs, err := feature.ExtractAll(ctx, n, load, feature.Options{Progress: func(done, _ int) { progress(done) }})
	if err != nil {
		return nil, err
	}
	for i := range out {
		it := items[(first+i)%len(items)]
		if errs[i] != nil {
			return nil, fmt.Errorf("augmenting %s: %w", it.Name, errs[i])
		}
		out[i].Keywords, out[i].Content = it.Keywords, [32]byte{}
	}
	return out, nil
}

// mixFeatures makes n images, each from the features of two: a weighted mean for
// magnitudes and histograms, with five per cent of jitter; for phases and signs the value
// of one or the other.
func mixFeatures(ctx context.Context, images []user.Photo, n int, progress user.Progress) ([]user.Photo, error) {
	out := make([]user.Photo, n)
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			rng := rand.New(rand.NewPCG(augmentSeed+1, uint64(i)))
			a, b := images[rng.IntN(len(images))], images[rng.IntN(len(images))]
			out[i] = user.Photo{Vectors: mix(rng, a.Vectors, b.Vectors), Keywords: a.Keywords}
			if k := int(done.Add(1)); progress != nil && (k%256 == 0 || k == n) {
				progress("mixing features", k, n)
			}
			return nil
		})
	}
	return out, group.Wait()
}

func mix(rng *rand.Rand, a, b *feature.Vectors) *feature.Vectors {
	share := float32(0.5 + 0.5*rng.Float64()) // weight of a, whose keywords the image gets
	blend := func(x, y []float32, histogram bool) []float32 {
		z := make([]float32, len(x))
		sum := float32(0)
		for i := range x {
			z[i] = (share*x[i] + (1-share)*y[i]) * (0.95 + 0.1*rng.Float32())
			sum += z[i]
		}
		if histogram && sum > 0 {
			for i := range z {
				z[i] /= sum
			}
		}
		return z
	}
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
			copy(block.Of(out), blend(x, y, block.Kind == feature.Histogram))
		}
	}
	if a.Embedding != nil && b.Embedding != nil { // last, so that features do not depend on it
		out.Embedding = &feature.Embedding{Network: a.Embedding.Network, Values: blend(a.Embedding.Values, b.Embedding.Values, false)}
	}
	return out
}

// embedAugmented gives augmented photos embeddings if the corpus has them. They are not
// computed by the network, which would take minutes and be wasted, but mixed from the
// photo's own and another's, as in mix. They serve only to measure cost.
func embedAugmented(c *Corpus, images []user.Photo) {
	for i, im := range images {
		rng := rand.New(rand.NewPCG(augmentSeed+2, uint64(i)))
		own, other := c.Train[i%len(c.Train)].Vectors.Embedding, c.Train[rng.IntN(len(c.Train))].Vectors.Embedding
		if own == nil || other == nil {
			return
		}
		share := float32(0.5 + 0.5*rng.Float64())
		values := make([]float32, len(own.Values))
		for j := range values {
			values[j] = (share*own.Values[j] + (1-share)*other.Values[j]) * (0.95 + 0.1*rng.Float32())
		}
		im.Vectors.Embedding = &feature.Embedding{Network: own.Network, Values: values}
	}
}
