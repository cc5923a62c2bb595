package learn

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"cpar"
	"cpar/model/rank"
)

// MaxRidgePhotos is the largest number of photos with keywords that
// FitKernelRidge accepts. The time is cubic in this number.
const MaxRidgePhotos = 1500

// kernelRidge is λ of KernelRidge, in units of the kernel.
const kernelRidge = 0.3

// A Prior estimates the probability, 0 … 1, that one photo has a keyword,
// without learning from tagged photos. It is nil for a photo without a prior.
type Prior func(word string) float64

// A KernelRidge estimates keywords from few tagged photos, for which it does
// better than the guess of a Projection. A row f consists of blocks. Each block
// is the signed square root of its values, centred by the mean over the
// collection and scaled to length 1. Blocks are weighted so that f·f′ is a
// weighted mean of cosines. Let Y be the n×v matrix of keywords, 0 or 1, and P
// the matrix of their priors. Then
//
//	K = exp(−2·(1 − f·f′)) + 1,  α = (K + λI)⁻¹·(Y − P),  estimate = K·α + P
//
// I is the identity, λ is kernelRidge, and the constant 1 in K acts as an
// intercept. Saunders, Gammerman, Vovk, "Ridge regression learning algorithm in
// dual variables", ICML 1998, introduced this regression.
//
// A KernelRidge holds a rounded row of every tagged photo, and is as private as
// the photos. It is immutable and safe for concurrent use.
type KernelRidge struct {
	lengths []int
	weights []float32 // weights of the blocks, with the sum 1
	mean    []float32 // mean of every value of a row, after the square root
	photos  matrix16  // f of each photo, 0 for a photo without keywords
	guess   guesser   // αᵀ
}

// RidgeBlock is a block of a row, with its weight in f·f′.
type RidgeBlock struct {
	Length int
	Weight float64
}

// FitKernelRidge fits a regression to the rows that have keywords. The centre
// is the mean of all rows. FitKernelRidge also returns a guess for each row,
// made without learning from that row. This needs no other fit, because the
// leave-one-out estimates are Y − α/diag((K + λI)⁻¹) (Stone, "Cross-validatory
// choice and assessment of statistical predictions", JRSS B 1974). `priors` has
// one entry per row, or is nil. Errors wrap cpar.ErrInput or ctx's error.
func FitKernelRidge(ctx context.Context, rows [][]float32, keywords [][]string, priors []Prior, blocks []RidgeBlock) (*KernelRidge, []*rank.Guess, error) {
	k := newKernelRidge(blocks)
	guesses, err := k.fit(ctx, rows, keywords, priors)
	if err != nil {
		return nil, nil, fmt.Errorf("estimating keywords from few photos: %w", err)
	}
	return k, guesses, nil
}

func newKernelRidge(blocks []RidgeBlock) *KernelRidge {
	k, total := new(KernelRidge), 0.0
	for _, b := range blocks {
		total += b.Weight
	}
	for _, b := range blocks {
		k.lengths, k.weights = append(k.lengths, b.Length), append(k.weights, float32(b.Weight/total))
	}
	return k
}

func (k *KernelRidge) fit(ctx context.Context, rows [][]float32, keywords [][]string, priors []Prior) ([]*rank.Guess, error) {
	checked, _, err := Options{Blocks: k.lengths, Dim: 1, Ridge: 1}.check(InMemory(rows), keywords)
	for i := 0; i < len(rows) && err == nil; i++ {
		_, err = checked.At(i)
	}
	if err != nil {
		return nil, err
	}
	tagged := taggedRows(keywords)
	if len(tagged) > MaxRidgePhotos || priors != nil && len(priors) != len(rows) {
		return nil, fmt.Errorf("%w: %d photos with keywords, want at most %d, and %d priors", cpar.ErrInput, len(tagged), MaxRidgePhotos, len(priors))
	}
	y, err := label(pick(keywords, tagged))
	if err != nil {
		return nil, err
	}
	k.guess = guesser{words: y.column, mean: make([]float32, maxWords)}
	k.centre(rows)
	f, residual, estimates := matrix(len(tagged), len(k.mean)), matrix(len(tagged), maxWords), make([][]float64, len(rows))
	for i := range rows {
		estimates[i] = k.prior(priors, i)
	}
	for t, i := range tagged {
		copy(f.Data[t*f.Stride:], k.row(rows[i]))
		from := residual.Data[t*maxWords:]
		floats.Sub(from[:y.words], estimates[i]) // Y − P
		for _, w := range y.byPhoto[t] {
			from[w]++
		}
	}
	f = round16(f).dense() // rounded as in later use
	inverse, err := inverseKernel(ctx, f)
	if err != nil {
		return nil, err
	}
	alpha := product(inverse, residual, false)
	k.photos, k.guess.rows = round16(spread(f, tagged, len(rows))), round16(transposed(spread(alpha, tagged, len(rows))))
	out := make([]*rank.Guess, len(rows))
	for t, i := range tagged {
		out[i] = &rank.Guess{Words: y.column, Share: make([]float32, y.words), Alone: true}
		for w := range y.words {
			out[i].Share[w] = float32(estimates[i][w] + residual.Data[t*maxWords+w] - alpha.Data[t*maxWords+w]/inverse.Data[t*inverse.Stride+t])
		}
	}
	for i := range rows {
		if out[i] == nil {
			out[i] = k.estimate(rows[i], estimates[i])
		}
	}
	return out, ctx.Err()
}

func taggedRows(keywords [][]string) (rows []int) {
	for i, words := range keywords {
		if len(words) > 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// spread returns a matrix of n rows in which row i of m is row places[i]. The
// other rows are 0, because the length of an encoding must not reveal the
// number of photos with keywords.
func spread(m blas64.General, places []int, n int) blas64.General {
	out := matrix(n, m.Cols)
	for i, at := range places {
		copy(out.Data[at*out.Stride:][:m.Cols], m.Data[i*m.Stride:])
	}
	return out
}

// inverseKernel returns (K + λI)⁻¹ for the rows of f.
func inverseKernel(ctx context.Context, f blas64.General) (blas64.General, error) {
	k := product(f, f, true)
	for i := range k.Rows {
		for j := range k.Cols {
			k.Data[i*k.Stride+j] = similarity(k.Data[i*k.Stride+j])
		}
		k.Data[i*k.Stride+i] += kernelRidge
	}
	if err := ctx.Err(); err != nil {
		return k, err
	}
	if !factorise(k) {
		return k, fmt.Errorf("%w: the similarities of the photos are not positive definite", cpar.ErrInput)
	}
	inverse := matrix(k.Rows, k.Rows)
	for i := range k.Rows {
		row(inverse, i)[i] = 1
	}
	solveRight(blas.Trans, k, inverse)
	solveRight(blas.NoTrans, k, inverse)
	return inverse, nil
}

// similarity returns the kernel of two rows from their inner product.
func similarity(cosine float64) float64 { return math.Exp(-2*(1-cosine)) + 1 }

func (k *KernelRidge) centre(rows [][]float32) {
	sum := make([]float64, len(rows[0]))
	for _, row := range rows {
		for j, v := range signedRoot(row) {
			sum[j] += float64(v)
		}
	}
	k.mean = make([]float32, len(sum))
	for j, s := range sum {
		k.mean[j] = float32(s / float64(len(rows)))
	}
}

// row returns f of a photo. A block at the centre of the collection is 0.
func (k *KernelRidge) row(values []float32) []float64 {
	out := make([]float64, len(values))
	for j, v := range signedRoot(values) {
		out[j] = float64(v) - float64(k.mean[j])
	}
	rest := out
	for i, n := range k.lengths {
		if norm := floats.Norm(rest[:n], 2); norm > 0 {
			floats.Scale(math.Sqrt(float64(k.weights[i]))/norm, rest[:n])
		}
		rest = rest[n:]
	}
	return out
}

// prior returns row i of P.
func (k *KernelRidge) prior(priors []Prior, i int) []float64 {
	out := make([]float64, len(k.guess.words))
	if priors == nil || priors[i] == nil {
		return out
	}
	for word, w := range k.guess.words {
		out[w] = priors[i](word)
	}
	return out
}

func (k *KernelRidge) estimate(values []float32, prior []float64) *rank.Guess {
	x := k.photos.times(k.row(values))
	for i, cosine := range x {
		x[i] = similarity(cosine)
	}
	out := k.guess.guess(x)
	out.Alone = true
	for w, p := range prior {
		out.Share[w] += float32(p)
	}
	return out
}

// Guess estimates a row's keywords with its prior. Errors wrap cpar.ErrInput.
func (k *KernelRidge) Guess(row []float32, prior Prior) (*rank.Guess, error) {
	if err := checkRow(row, len(k.mean)); err != nil {
		return nil, fmt.Errorf("estimating keywords: %w", err)
	}
	return k.estimate(row, k.prior([]Prior{prior}, 0)), nil
}
