package learn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar"
	"cpar/internal/parallel"
	"cpar/model/pca"
)

// reduction turns a collection's rows into scaled principal components.
type reduction struct {
	rows   Rows
	blocks []block      // constant blocks have no basis
	bases  []*pca.Basis // of blocks with a basis
	spans  []span
}

func reduce(ctx context.Context, rows Rows, blocks []int, seed uint64, steps *progress) (*reduction, error) {
	r := &reduction{rows: rows}
	at := 0
	var spans []span
	for _, length := range blocks {
		r.blocks, spans = append(r.blocks, block{length: length}), append(spans, span{at, length})
		at += length
	}
	some := rows
	if most := reducedPhotos(rows.N, at); rows.N > most {
		some = rows.pick(sample(rows.N, most, seed))
	}
	roots, err := some.roots(ctx, 0, some.N, spans...)
	if err != nil {
		return nil, err
	}
	// Several blocks at once occupy the cores while eigenvectors are computed,
	// which takes one core.
	var mu sync.Mutex
	bases, err := parallel.Map("block", len(blocks), func(k int) (*pca.Basis, error) {
		basis, err := pca.Fit(ctx, roots[k], min(blockComponents, blocks[k]), seed)
		mu.Lock()
		defer mu.Unlock()
		steps.step()
		return basis, err
	})
	if err != nil {
		return nil, err
	}
	for k, basis := range bases {
		if err := r.addBasis(k, basis, roots[k], spans[k]); err != nil {
			return nil, fmt.Errorf("block %d: %w", k, err)
		}
	}
	return r, nil
}

// reducedPhotos returns the number of photos from which principal components are
// computed, out of n photos of `values` values each.
func reducedPhotos(n, values int) int {
	return min(n, maxReduced, max(2, reducedValues/max(1, values)))
}

// addBasis adds the basis of block k and scales it by the roots of its values.
func (r *reduction) addBasis(k int, basis *pca.Basis, roots [][]float32, place span) error {
	b := &r.blocks[k]
	spread, rank := variance(roots, basis.Mean()), basis.Rank()
	if spread == 0 || rank == 0 {
		return nil
	}
	b.scale = float32(1 / math.Sqrt(spread))
	if !(b.scale > 0 && b.scale <= maxFloat) {
		return fmt.Errorf("%w: its values are too large or small", cpar.ErrInput)
	}
	c := matrix(rank, b.length)
	for i := range rank {
		for j, v := range basis.Component(i) {
			c.Data[i*c.Stride+j] = float64(v)
		}
	}
	b.mean, b.basis = slices.Clone(basis.Mean()), round16(c)
	r.bases, r.spans = append(r.bases, basis), append(r.spans, place)
	return nil
}

// rowsAtOnce is the number of rows in memory while they are projected.
const rowsAtOnce = 512

// project returns the components of every block with a basis, for rows `from`
// to `to` of the collection.
func (r *reduction) project(ctx context.Context, rows Rows, from, to int) ([]blas64.General, error) {
	var parts []blas64.General
	for _, b := range r.blocks {
		if b.basis.rows > 0 {
			parts = append(parts, matrix(to-from, b.basis.rows))
		}
	}
	for first := from; first < to; first += rowsAtOnce {
		roots, err := rows.roots(ctx, first, min(first+rowsAtOnce, to), r.spans...)
		if err != nil {
			return nil, err
		}
		k := 0
		for _, b := range r.blocks {
			if b.basis.rows == 0 {
				continue
			}
			projected, err := r.bases[k].ProjectAll(roots[k])
			if err != nil {
				return nil, err
			}
			for i, row := range projected {
				for j, v := range row[:b.basis.rows] {
					parts[k].Data[(first-from+i)*parts[k].Stride+j] = v * float64(b.scale)
				}
			}
			k++
		}
	}
	return parts, nil
}

func sample(n, k int, seed uint64) []int {
	out := rand.New(rand.NewPCG(seed, 0x73616d706c65)).Perm(n)[:k] // "sample"
	slices.Sort(out)
	return out
}

func variance(rows [][]float32, mean []float32) float64 {
	sums := make([]float64, len(rows))
	parallel.For(len(rows), func(i int) {
		for j, v := range rows[i] {
			d := float64(v) - float64(mean[j])
			sums[i] += d * d
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total / float64(len(rows))
}
