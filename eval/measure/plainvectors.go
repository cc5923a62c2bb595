package measure

import (
	"context"
	"fmt"

	"cpar"
	"cpar/model/feature"
	"cpar/model/pca"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

// An Unquantized is a vector of profile "paper". L1 holds the elements of its
// L1 part before quantisation.
type Unquantized struct {
	*vector.Vector
	L1 []float64
}

func newUnrounded(f vector.Features) (u Unquantized, err error) {
	if u.Vector, err = vector.New(f); err == nil {
		u.L1, err = vector.L1(f)
	}
	return u, err
}

func Quantized(list []Unquantized) []*vector.Vector {
	return Map(list, func(u Unquantized) *vector.Vector { return u.Vector })
}

// Unrounded returns the vectors of images in the session's profile, which must
// be "paper".
func (s *Session) Unrounded(images []user.Photo) ([]Unquantized, error) {
	p, ok := s.Builder.Profile().(*profile.PaperProfile)
	if !ok {
		return nil, fmt.Errorf("measuring distances of L1 and KL: %w: the index has profile %v", cpar.ErrInput, s.Builder.Profile().Kind())
	}
	return eachImage(images, func(i int, f *feature.Vectors) (Unquantized, error) {
		features, err := p.Features(f)
		if err != nil {
			return Unquantized{}, err
		}
		return newUnrounded(features)
	})
}

// Records returns the images in the order of their records.
func (s *Session) Records() []user.Photo {
	out := make([]user.Photo, len(s.Corpus.Train))
	for record := range out {
		out[record] = s.Corpus.Train[s.Builder.PhotoOf(uint32(record))]
	}
	return out
}

func eachImage(images []user.Photo, assemble1 func(i int, f *feature.Vectors) (Unquantized, error)) ([]Unquantized, error) {
	out := make([]Unquantized, len(images))
	return out, Each(context.Background(), len(images), func(i int) (err error) {
		if out[i], err = assemble1(i, images[i].Vectors); err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
		return nil
	})
}

// PlainVectors returns the plaintext vectors of a corpus. PCA, fitted on the
// training images, divides the dimension of the Haar features by `factor`. A
// factor of 0 means no PCA.
func PlainVectors(c *Corpus, factor int) (train, test []Unquantized, err error) {
	var haar, haarq func(images []user.Photo) ([][]float64, error)
	for _, part := range []struct {
		to *func([]user.Photo) ([][]float64, error)
		of func(*feature.Vectors) []float32
	}{
		{&haar, func(v *feature.Vectors) []float32 { return v.Haar }},
		{&haarq, func(v *feature.Vectors) []float32 { return v.HaarQ }},
	} {
		rows := func(images []user.Photo) [][]float32 {
			return Map(images, func(im user.Photo) []float32 { return part.of(im.Vectors) })
		}
		if factor == 0 {
			*part.to = func(images []user.Photo) ([][]float64, error) {
				return Map(rows(images), ToFloat64s), nil
			}
			continue
		}
		basis, err := pca.Fit(context.Background(), rows(c.Train), feature.HaarDim/factor, 1)
		if err != nil {
			return nil, nil, fmt.Errorf("fitting PCA-%d: %w", factor, err)
		}
		*part.to = func(images []user.Photo) ([][]float64, error) { return basis.ProjectAll(rows(images)) }
	}
	for _, half := range []struct {
		images []user.Photo
		to     *[]Unquantized
	}{{c.Train, &train}, {c.Test, &test}} {
		if *half.to, err = assemble(half.images, haar, haarq); err != nil {
			return nil, nil, err
		}
	}
	return train, test, nil
}

func assemble(images []user.Photo, haar, haarq func([]user.Photo) ([][]float64, error)) ([]Unquantized, error) {
	h, err := haar(images)
	if err != nil {
		return nil, err
	}
	q, err := haarq(images)
	if err != nil {
		return nil, err
	}
	return eachImage(images, func(i int, f *feature.Vectors) (Unquantized, error) {
		return newUnrounded(vector.Features{
			RGB: ToFloat64s(f.RGB), HSV: ToFloat64s(f.HSV), Lab: ToFloat64s(f.Lab),
			Gabor: ToFloat64s(f.Gabor), GaborQ: ToFloat64s(f.GaborQ), Haar: h[i], HaarQ: q[i],
		})
	})
}

func ToFloat64s(x []float32) []float64 {
	return Map(x, func(v float32) float64 { return float64(v) })
}
