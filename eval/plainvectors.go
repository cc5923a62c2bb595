package eval

import (
	"fmt"
	"math"

	"cpar/internal/parallel"
	"cpar/user"
	"cpar/user/distance"
	"cpar/user/feature"
	"cpar/user/pca"
	"cpar/user/vector"
)

// plainVectors assembles the plaintext vectors of a corpus with PCA-factor,
// fitted on the training images as Setup does; 0 is for no PCA at all.
func plainVectors(c *Corpus, factor int) (train, test []*vector.Vector, err error) {
	var haar, haarq func(images []user.Image) ([][]float64, error)
	for _, part := range []struct {
		to *func([]user.Image) ([][]float64, error)
		of func(*feature.Vectors) []float32
	}{
		{&haar, func(v *feature.Vectors) []float32 { return v.Haar }},
		{&haarq, func(v *feature.Vectors) []float32 { return v.HaarQ }},
	} {
		rows := func(images []user.Image) [][]float32 {
			out := make([][]float32, len(images))
			for i, im := range images {
				out[i] = part.of(im.Vectors)
			}
			return out
		}
		if factor == 0 {
			*part.to = func(images []user.Image) ([][]float64, error) {
				out := make([][]float64, len(images))
				for i, r := range rows(images) {
					out[i] = widen(r)
				}
				return out, nil
			}
			continue
		}
		basis, err := pca.Fit(rows(c.Train), feature.HaarDim/factor, 1)
		if err != nil {
			return nil, nil, fmt.Errorf("fitting PCA-%d: %w", factor, err)
		}
		*part.to = func(images []user.Image) ([][]float64, error) { return basis.ProjectAll(rows(images)) }
	}
	for _, half := range []struct {
		images []user.Image
		to     *[]*vector.Vector
	}{{c.Train, &train}, {c.Test, &test}} {
		if *half.to, err = assemble(half.images, haar, haarq); err != nil {
			return nil, nil, err
		}
	}
	return train, test, nil
}

func assemble(images []user.Image, haar, haarq func([]user.Image) ([][]float64, error)) ([]*vector.Vector, error) {
	h, err := haar(images)
	if err != nil {
		return nil, err
	}
	q, err := haarq(images)
	if err != nil {
		return nil, err
	}
	out := make([]*vector.Vector, len(images))
	errs := make([]error, len(images))
	parallel.For(len(images), func(i int) {
		f := images[i].Vectors
		out[i], errs[i] = vector.New(vector.Features{
			RGB: widen(f.RGB), HSV: widen(f.HSV), Lab: widen(f.Lab),
			Gabor: widen(f.Gabor), GaborQ: widen(f.GaborQ), Haar: h[i], HaarQ: q[i],
		})
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
	}
	return out, nil
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// exactDis is Dis = D_L1 + D_KL of every request and record, un-quantised.
func exactDis(train, test []*vector.Vector) [][]float64 {
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
