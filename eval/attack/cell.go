package attack

import (
	"context"
	"fmt"
	"math"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/lattice"
	"cpar/model/profile"
	"cpar/user"
)

// This file guesses which of C cells (hidden clusters of records) a request
// selects. A request has a slot for each cell. The cloud measures how far the
// 64-bit words of each slot and of the reply deviate from uniform. It guesses
// the cell with the largest deviation. If it supplied photos itself, it knows
// some requests for each cell, and guesses the cell whose known requests are
// most similar on average.
const (
	// cellCount is C.
	cellCount = 8
	// maxAsked bounds the number of photos whose cells the cloud knows, and the
	// number of photos whose cells it guesses.
	maxAsked = 60
)

func (r *run) cells(ctx context.Context) error {
	if len(r.c.Train) < minLearnt {
		return nil
	}
	b, err := build(ctx, r.c.Train[:min(sealedRecords, len(r.c.Train))], user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Learned, Cells: cellCount})
	if err != nil {
		return err
	}
	defer b.Close()
	owner, err := b.Device()
	if err != nil {
		return err
	}
	cloud, err := openSealed(b.Files)
	if err != nil {
		return err
	}
	// Request each photo once per cell, in the order of the cells.
	photos := r.c.Test[:min(2*maxAsked, len(r.c.Test)/2*2)]
	views := make([][][]float64, len(photos))
	if err := measure.Each(ctx, len(photos), func(i int) error {
		v, err := owner.Vector(photos[i].Vectors)
		if err != nil {
			return err
		}
		_, requests, err := owner.Requests(v, owner.DefaultParams(), true)
		if err != nil {
			return err
		}
		if len(requests) != cellCount {
			return fmt.Errorf("%w: %d requests to %d clusters", cpar.ErrInput, len(requests), cellCount)
		}
		for _, q := range requests {
			seen, err := cloud.look(ctx, q)
			if err != nil {
				return err
			}
			views[i] = append(views[i], seen)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, row := range guessCells(views) {
		row.Profile = profile.Learned.String()
		r.add(row)
	}
	return nil
}

// look returns two measurements of each slot of a request (see cellSpreads),
// and one measurement of the reply.
func (c *sealedIndex) look(ctx context.Context, q *cpar.Request) ([]float64, error) {
	_, reply, err := c.annotate(ctx, q)
	if err != nil {
		return nil, err
	}
	request, err := lattice.DecodeRequest(q.Opaque, c.params)
	if err != nil {
		return nil, err
	}
	return append(cellSpreads(c.params, request.Matrix), meanSquare(c.params, reply.Words)), nil
}

// cellSpreads returns two measurements per slot: the mean square of its
// coordinates as coefficients, and the sum of the mean squares of its blocks as
// evaluations.
func cellSpreads(p lattice.Params, matrix []byte) []float64 {
	ring := p.Ring()
	coordinates, blocks := make([]uint64, p.Blocks()*p.Block), make([]float64, p.Blocks())
	for b := range p.Blocks() {
		w := make([]uint64, ring.N)
		p.Gather(w, matrix, b)
		blocks[b] = meanSquare(p, w)
		ring.Interpolate(w)
		copy(coordinates[b*p.Block:], w[:p.Block]) // package lattice stores coordinate j of a block as coefficient j
	}
	var out []float64
	for c := range p.Slots() {
		from, to := c*p.SlotDim(), (c+1)*p.SlotDim()
		sum := 0.0
		for b := from / p.Block; b <= (to-1)/p.Block; b++ {
			sum += blocks[b]
		}
		out = append(out, meanSquare(p, coordinates[from:to]), sum)
	}
	return out
}

// meanSquare returns the mean square of integers modulo Q, in units of (Q/2)².
// For uniform integers it is 1/3.
func meanSquare(p lattice.Params, words []uint64) float64 {
	ring, sum := p.Ring(), 0.0
	for _, w := range words {
		x := float64(ring.Centred(w)) / (float64(ring.Q) / 2)
		sum += x * x
	}
	return sum / float64(len(words))
}

// guessCells guesses the cells of the second half of the photos, with the first
// half as known examples. `views[i][c]` holds the measurements for photo i and
// cell c.
func guessCells(views [][][]float64) []Row {
	half, clusters := len(views)/2, len(views[0])
	classes := learnClasses(views[:half])
	unlike, learnt := 0, 0
	for _, photo := range views[half:] {
		for c, seen := range photo {
			if leastUniform(seen, clusters) == c {
				unlike++
			}
			if classes.nearest(seen) == c {
				learnt++
			}
		}
	}
	trials, chance := clusters*(len(views)-half), 1/float64(clusters)
	scheme := cpar.SchemeSealed.String()
	return []Row{proportion("cluster-by-place", scheme, 0, unlike, trials, chance), proportion("cluster-learnt", scheme, half*clusters, learnt, trials, chance)}
}

func leastUniform(seen []float64, clusters int) (cell int) {
	far := func(c int) float64 { return math.Abs(seen[2*c] - 1./3) }
	for c := range clusters {
		if far(c) > far(cell) {
			cell = c
		}
	}
	return cell
}

type classes struct {
	deviations []float64
	means      [][]float64
}

func learnClasses(known [][][]float64) classes {
	width := len(known[0][0])
	columns := make([][]float64, width)
	var out classes
	for c := range known[0] {
		mean := make([]float64, width)
		for _, photo := range known {
			for j, x := range photo[c] {
				mean[j] += x / float64(len(known))
				columns[j] = append(columns[j], x)
			}
		}
		out.means = append(out.means, mean)
	}
	for _, x := range columns {
		out.deviations = append(out.deviations, math.Sqrt(max(stat.PopVariance(x, nil), math.SmallestNonzeroFloat32)))
	}
	return out
}

func (c classes) nearest(seen []float64) int {
	squares := make([]float64, len(c.means))
	for i, mean := range c.means {
		for j, x := range seen {
			d := (x - mean[j]) / c.deviations[j]
			squares[i] += d * d
		}
	}
	return simd.MinIdx(squares)
}
