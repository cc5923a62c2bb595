// Package measuretest makes collections, sessions and networks for tests of the
// evaluation, without photos or models.
package measuretest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/encoder"
	"cpar/encoder/prepare"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

func Photos(t *testing.T, n int) *measure.Corpus {
	t.Helper()
	dir := t.TempDir()
	c := new(measure.Corpus)
	for k := range n {
		img := image.NewRGBA(image.Rect(0, 0, 96, 64))
		for i := range 96 * 64 {
			img.Set(i%96, i/96, color.RGBA{uint8(i * (k + 1)), uint8(i / 96 * 4), uint8(40 * k), 255})
		}
		var buf bytes.Buffer
		if err := png.Encode(&buf, img); err != nil {
			t.Fatal(err)
		}
		it := dataset.Photo{Path: filepath.Join(dir, string(rune('a'+k))+".png"), Name: string(rune('a' + k)), Keywords: []string{"word " + string(rune('a'+k))}}
		if err := os.WriteFile(it.Path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		c.TrainItems = append(c.TrainItems, it)
	}
	return c
}

func NewLab(t testing.TB, train, test int) *measure.Lab {
	l := measure.LabOf(SyntheticCorpus(3, train, test), "made")
	t.Cleanup(l.Close)
	return l
}

// SyntheticCorpus returns random features around a few centres. Some histogram
// bins vary much more than others.
func SyntheticCorpus(seed uint64, train, test int) *measure.Corpus {
	const centres = 12
	rng := rand.New(rand.NewPCG(seed, 1))
	middle := make([]*feature.Vectors, centres)
	for i := range middle {
		middle[i] = RandomFeatures(rng, nil)
	}
	image := func(i int) user.Photo {
		c := i % centres
		words := []string{"word" + string(rune('a'+c)), "every"}
		return user.Photo{Vectors: RandomFeatures(rng, middle[c]), Keywords: words}
	}
	c := new(measure.Corpus)
	for i := range train {
		c.Train = append(c.Train, image(i))
	}
	for i := range test {
		c.Test = append(c.Test, image(i))
	}
	return c
}

// RandomFeatures draws features near `centre`, or independent features if
// `centre` is nil.
func RandomFeatures(rng *rand.Rand, centre *feature.Vectors) *feature.Vectors {
	part := func(n int, near []float32, positive bool) []float32 {
		out := make([]float32, n)
		for i := range out {
			spread := 0.05
			if i%8 == 0 {
				spread = 0.5
			}
			x := rng.NormFloat64()
			if near != nil {
				x = float64(near[i]) * (1 + spread*rng.NormFloat64())
			}
			if positive {
				x = math.Abs(x)
			}
			out[i] = float32(x)
		}
		return out
	}
	centre = cmp.Or(centre, new(feature.Vectors))
	// Smoothing requires lab histograms with sum 1.
	histogram := func(near []float32) []float32 {
		h, sum := part(48, near, true), float32(0)
		for _, x := range h {
			sum += x
		}
		for i := range h {
			h[i] /= sum
		}
		return h
	}
	v := &feature.Vectors{
		RGB: histogram(centre.RGB), HSV: histogram(centre.HSV), Lab: histogram(centre.Lab),
		Gabor: part(256, centre.Gabor, true), GaborQ: part(256, centre.GaborQ, true),
		Haar: part(4096, centre.Haar, true), HaarQ: part(4096, centre.HaarQ, false),
	}
	v.Patches = slices.Repeat(v.Gabor, feature.PatchDim)[:feature.PatchDim]
	return v
}

// MustSession builds an index with a forest, and vectors of 8 requests.
func MustSession(t *testing.T, records int) *measure.Session {
	t.Helper()
	return NewSession(t, SyntheticCorpus(1, records, 8), user.Options{PCA: 128})
}

func RequestFor(t *testing.T, s *measure.Session, i int, p cpar.Params) *cpar.Request {
	t.Helper()
	_, q, err := s.Builder.RequestVector(s.Requests[i], p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Learnable returns a corpus with synthetic embeddings. Each photo has one
// keyword that its features predict and one that they do not, so that no
// quality is 0 or 100 %.
func Learnable(train, test int) *measure.Corpus {
	c := SyntheticCorpus(5, train, test)
	rng := rand.New(rand.NewPCG(5, 2))
	for _, half := range [][]user.Photo{c.Train, c.Test} {
		for i := range half {
			half[i].Keywords = []string{half[i].Keywords[0], fmt.Sprintf("unseen %d", rng.IntN(9))}
			values := make([]float32, 24)
			for j := range values {
				values[j] = rng.Float32()
				if j == i%12 {
					values[j] += 2
				}
			}
			half[i].Vectors.Embedding = &feature.Embedding{Network: [32]byte{7}, Values: values}
		}
	}
	return c
}

// fakeNetwork embeds an image of 8×8 pixels as the brightness of its rows.
type fakeNetwork struct{ digest byte }

func (f fakeNetwork) Embed(image []float32) ([]float32, error) {
	out := make([]float32, 8)
	for i, x := range image {
		out[i/8%8] += x
	}
	return out, nil
}

func (f fakeNetwork) Choice() encoder.Choice { return encoder.Choice{Name: "rows", Size: 8} }

func (f fakeNetwork) Size() (int, int) { return 8, 8 }

func (f fakeNetwork) Digest() [32]byte { return [32]byte{f.digest} }

func (f fakeNetwork) Runtime() string { return "fake" }

func (f fakeNetwork) Metadata() map[string]string { return nil }

func (f fakeNetwork) Close() error { return nil }

func (f fakeNetwork) Preprocessing() (prepare.Preprocessing, bool, error) {
	return prepare.Preprocessing{}, false, nil
}

func OpenFake(t *testing.T, digest byte) *encoder.Encoder {
	t.Helper()
	p, err := prepare.Preset("tensorflow", 8)
	if err != nil {
		t.Fatal(err)
	}
	n, err := encoder.NewEncoder(fakeNetwork{digest}, p)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func NewSession(t testing.TB, c *measure.Corpus, opt user.Options) *measure.Session {
	t.Helper()
	s, err := measure.NewSession(context.Background(), c, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
