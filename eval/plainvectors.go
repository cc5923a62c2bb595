package eval

import (
	"context"
	"fmt"
	"math"

	"cpar"

	"cpar/eval/distance"
	"cpar/internal/parallel"
	"cpar/model/feature"
	"cpar/model/pca"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

// An unrounded vector is a plaintext vector of profile paper with the elements of its L1
// part before they become levels.
type unquantized struct {
	*vector.Vector
	L1 []float64
}

func newUnrounded(f vector.Features) (u unquantized, err error) {
	if u.Vector, err = vector.New(f); err == nil {
		u.L1, err = vector.L1(f)
	}
	return u, err
}

// rounded returns the vectors without these.
func quantized(list []unquantized) []*vector.Vector {
	out := make([]*vector.Vector, len(list))
	for i, u := range list {
		out[i] = u.Vector
	}
	return out
}

// unrounded assembles the vectors of images as the session's profile does, which must be paper.
func (s *Session) unrounded(images []user.Photo) ([]unquantized, error) {
	p, ok := s.Builder.Profile().(*profile.PaperProfile)
	if !ok {
		return nil, fmt.Errorf("measuring distances of L1 and KL: %w: the index has profile %v", cpar.ErrInput, s.Builder.Profile().Kind())
	}
	return eachImage(images, func(i int, f *feature.Vectors) (unquantized, error) {
		features, err := p.Features(f)
		if err != nil {
			return unquantized{}, err
		}
		return newUnrounded(features)
	})
}

// records returns the images of the records, in order.
func (s *Session) records() []user.Photo {
	out := make([]user.Photo, len(s.corpus.Train))
	for record := range out {
		out[record] = s.corpus.Train[s.Builder.PhotoOf(uint32(record))]
	}
	return out
}

// eachImage makes a vector from every image on all cores.
func eachImage(images []user.Photo, assemble1 func(i int, f *feature.Vectors) (unquantized, error)) ([]unquantized, error) {
	out, errs := make([]unquantized, len(images)), make([]error, len(images))
	parallel.For(len(images), func(i int) { out[i], errs[i] = assemble1(i, images[i].Vectors) })
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
	}
	return out, nil
}

// plainVectors assembles the plaintext vectors of a corpus with PCA-factor, fitted on the
// training images as in Setup; 0 means no PCA.
func plainVectors(c *Corpus, factor int) (train, test []unquantized, err error) {
	var haar, haarq func(images []user.Photo) ([][]float64, error)
	for _, part := range []struct {
		to *func([]user.Photo) ([][]float64, error)
		of func(*feature.Vectors) []float32
	}{
		{&haar, func(v *feature.Vectors) []float32 { return v.Haar }},
		{&haarq, func(v *feature.Vectors) []float32 { return v.HaarQ }},
	} {
		rows := func(images []user.Photo) [][]float32 {
			out := make([][]float32, len(images))
			for i, im := range images {
				out[i] = part.of(im.Vectors)
			}
			return out
		}
		if factor == 0 {
			*part.to = func(images []user.Photo) ([][]float64, error) {
				out := make([][]float64, len(images))
				for i, r := range rows(images) {
					out[i] = toFloat64s(r)
				}
				return out, nil
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
		to     *[]unquantized
	}{{c.Train, &train}, {c.Test, &test}} {
		if *half.to, err = assemble(half.images, haar, haarq); err != nil {
			return nil, nil, err
		}
	}
	return train, test, nil
}

func assemble(images []user.Photo, haar, haarq func([]user.Photo) ([][]float64, error)) ([]unquantized, error) {
	h, err := haar(images)
	if err != nil {
		return nil, err
	}
	q, err := haarq(images)
	if err != nil {
		return nil, err
	}
	return eachImage(images, func(i int, f *feature.Vectors) (unquantized, error) {
		return newUnrounded(vector.Features{
			RGB: toFloat64s(f.RGB), HSV: toFloat64s(f.HSV), Lab: toFloat64s(f.Lab),
			Gabor: toFloat64s(f.Gabor), GaborQ: toFloat64s(f.GaborQ), Haar: h[i], HaarQ: q[i],
		})
	})
}

func toFloat64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// exactDis returns Dis = D_L1 + D_KL of every request and record, un-quantised.
func exactDis(train, test []unquantized) [][]float64 {
	out := make([][]float64, len(test))
	// log c of a request is in every divergence from it: taken once.
	logs := make([][]float64, len(test))
	entropy := make([]float64, len(train))
	for i, r := range train {
		for _, a := range r.KL {
			entropy[i] += a * math.Log(a)
		}
	}
	parallel.For(len(test), func(i int) {
		for _, c := range test[i].KL {
			logs[i] = append(logs[i], math.Log(c))
		}
		row := make([]float64, len(train))
		for j, r := range train {
			cross := 0.0
			for k, a := range r.KL {
				cross += a * logs[i][k]
			}
			row[j] = distance.L1(r.L1, test[i].L1) + entropy[j] - cross
		}
		out[i] = row
	})
	return out
}
