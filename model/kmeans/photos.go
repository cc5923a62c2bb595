package kmeans

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/parallel"
	"cpar/model/pca"
)

const (
	// components is the number of principal components used for clustering.
	// From 24 to 64 components, the share of nearest photos found changes by
	// 0.01.
	components = 48
	basisRows  = 6000
	// projectedRows is the number of rows in memory at a time, 20 MB.
	projectedRows = 4096
)

// FitPhotos divides a collection into cells by the distance of its records and
// numbers the cells at random. `z` holds a Johnson–Lindenstrauss (JL) vector
// per record, `histograms` holds a smoothed histogram per record, and `unit` is
// F, the number of squared JL units per unit of distance
// (scorevector.Budget.Unit). All are read-only. Errors wrap cpar.ErrInput.
func FitPhotos(ctx context.Context, z [][]int16, histograms [][]float64, unit float64, opt Options) (*Partition, error) {
	if len(z) == 0 || len(z) != len(histograms) {
		return nil, fmt.Errorf("clustering photos: %w: %d vectors and %d histograms", cpar.ErrInput, len(z), len(histograms))
	}
	if !(unit >= 0 && unit <= math.MaxInt32) {
		return nil, fmt.Errorf("clustering photos: %w: unit %g", cpar.ErrInput, unit)
	}
	for i := range z {
		if len(z[i]) != len(z[0]) || len(histograms[i]) != len(histograms[0]) {
			return nil, fmt.Errorf("clustering photos: %w: photo %d has %d coordinates and %d bins, photo 0 has %d and %d",
				cpar.ErrInput, i, len(z[i]), len(histograms[i]), len(z[0]), len(histograms[0]))
		}
	}
	layout := photoRows{z: z, histograms: histograms, scale: math.Sqrt(2 * unit)}
	width := len(z[0]) + len(histograms[0])
	opt.Cells = cmp.Or(opt.Cells, DefaultCells(len(z), width))
	if width <= maxShort { // learnt vectors carry no projection noise to drop
		return Fit(ctx, layout.rows(0, len(z), 1), opt)
	}
	step := (len(z) + basisRows - 1) / basisRows
	sample := layout.rows(0, len(z), step)
	basis, err := pca.Fit(ctx, sample, min(components, len(sample[0])), 1)
	if err != nil {
		return nil, fmt.Errorf("clustering photos: %w", err)
	}
	rows := make([][]float32, 0, len(z))
	for first := 0; first < len(z); first += projectedRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		projected, err := basis.ProjectAll(layout.rows(first, min(first+projectedRows, len(z)), 1))
		if err != nil {
			return nil, fmt.Errorf("clustering photos: %w", err)
		}
		for _, p := range projected {
			row := make([]float32, len(p))
			for j, x := range p {
				row[j] = float32(x)
			}
			rows = append(rows, row)
		}
	}
	return Fit(ctx, rows, opt)
}

type photoRows struct {
	z          [][]int16
	histograms [][]float64
	scale      float64 // √(2F)
}

func (p *photoRows) rows(first, last, step int) [][]float32 {
	m := len(p.z[0])
	d := m + len(p.histograms[0])
	rows := make([][]float32, (last-first+step-1)/step)
	data := make([]float32, len(rows)*d)
	parallel.Ranges(len(rows), 0, func(from, to int) {
		for i := from; i < to; i++ {
			row := data[i*d : (i+1)*d : (i+1)*d]
			for j, x := range p.z[first+i*step] {
				row[j] = float32(x)
			}
			for j, x := range p.histograms[first+i*step] {
				row[m+j] = float32(p.scale * math.Sqrt(x))
			}
			rows[i] = row
		}
	})
	return rows
}

// Centroid returns a cell's centroid in the form of a record: the rounded mean
// of the members' vectors z, and v, the mean of their histograms. A mean is
// never farther from the baseline, the common origin of all vectors z, than its
// farthest member.
func (l *Partition) Centroid(list int, z [][]int16, histograms [][]float64) (mean []int16, v []float64) {
	members := l.Members(list)
	sums := make([]int64, len(z[0]))
	v = make([]float64, len(histograms[0]))
	for _, i := range members {
		for j, x := range z[i] {
			sums[j] += int64(x)
		}
		for j, x := range histograms[i] {
			v[j] += x
		}
	}
	mean = make([]int16, len(sums))
	n := int64(len(members))
	for j, s := range sums {
		// Round halves away from 0 on either side. The floor of (2s + n)/2n
		// would shift every centroid.
		if s < 0 {
			mean[j] = -int16((-2*s + n) / (2 * n))
		} else {
			mean[j] = int16((2*s + n) / (2 * n))
		}
	}
	for j := range v {
		v[j] /= float64(n)
	}
	return mean, v
}
