package kmeans

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cpar"
	"cpar/internal/f32"
	"cpar/internal/parallel"
)

// Options configures clustering.
type Options struct {
	// Cells is k, the number of cells, capped at the number of rows. 0 means
	// DefaultCells in FitPhotos and is invalid in Fit.
	Cells int
	// Iterations bounds the rounds of Lloyd's algorithm, 0 for 12. It stops
	// earlier once no row changes its cell.
	Iterations int
	// Seed is the only source of randomness. Equal rows, options and seed give
	// equal cells on any number of cores.
	Seed [32]byte
}

const (
	defaultIterations = 12
	// maxRows keeps row numbers within the uint32 of an index.
	maxRows = 1 << 31
	none    = ^uint32(0)
	// chunkRows rows are compared with all centroids at a time.
	chunkRows = 512
)

func (opt Options) withDefaults(n int) (Options, error) {
	if opt.Iterations == 0 {
		opt.Iterations = defaultIterations
	}
	if opt.Cells < 1 || opt.Iterations < 1 {
		return opt, fmt.Errorf("%w: %d cells in %d iterations", cpar.ErrInput, opt.Cells, opt.Iterations)
	}
	opt.Cells = min(opt.Cells, n)
	return opt, nil
}

// Fit divides rows (n×d, read-only) into at most opt.Cells non-empty cells by
// Lloyd's algorithm, so that rows are near the centroid of their cell by
// squared L2. It starts from rows drawn by k-means++ (Arthur and Vassilvitskii
// 2007). Errors wrap cpar.ErrInput.
//
// It takes O(iterations·n·k·d) time on all cores, and memory for a copy of the
// rows.
func Fit(ctx context.Context, rows [][]float32, opt Options) (*Partition, error) {
	points, err := newPoints(rows)
	if err != nil {
		return nil, fmt.Errorf("clustering: %w", err)
	}
	if opt, err = opt.withDefaults(points.n); err != nil {
		return nil, fmt.Errorf("clustering: %w", err)
	}
	m := &lloyd{points: points, k: opt.Cells, rng: newRand(opt.Seed)}
	m.start()
	for range opt.Iterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m.assign() == 0 {
			break
		}
		m.update()
	}
	// The order in which centroids were drawn would reveal outlying cells.
	numbers := m.rng.Perm(m.k)
	for i, c := range m.cell {
		m.cell[i] = uint32(numbers[c])
	}
	return newPartition(m.cell, m.k), nil
}

func newRand(seed [32]byte) *rand.Rand {
	h := sha256.New()
	h.Write([]byte("cpar cluster kmeans\x00"))
	h.Write(seed[:])
	return rand.New(rand.NewChaCha8([32]byte(h.Sum(nil))))
}

// points are rows relative to their mean. Centring keeps distances and prevents
// cancellation in |x|² − 2x·c + |c|².
type points struct {
	n, d   int
	data   []float32 // n×d
	square []float32 // |x|²
}

func newPoints(rows [][]float32) (*points, error) {
	n := len(rows)
	if n == 0 || n > maxRows {
		return nil, fmt.Errorf("%w: %d rows", cpar.ErrInput, n)
	}
	d := len(rows[0])
	if d == 0 {
		return nil, fmt.Errorf("%w: rows have no dimensions", cpar.ErrInput)
	}
	mean := make([]float64, d)
	for i, row := range rows {
		if len(row) != d {
			return nil, fmt.Errorf("%w: row %d has %d dimensions, row 0 has %d", cpar.ErrInput, i, len(row), d)
		}
		for j, x := range row {
			mean[j] += float64(x)
		}
	}
	for j := range mean {
		mean[j] /= float64(n)
	}
	p := &points{n: n, d: d, square: make([]float32, n)}
	p.data = make([]float32, n*p.d)
	for i, row := range rows {
		to := p.row(i)
		sum := 0.0
		for j, x := range row {
			to[j] = float32(float64(x) - mean[j])
			sum += float64(to[j]) * float64(to[j])
		}
		// Sixteen squared distances must fit into float32. NaN fails this test
		// too.
		if !(sum < math.MaxFloat32/16) {
			return nil, fmt.Errorf("%w: row %d is not finite or too large", cpar.ErrInput, i)
		}
		p.square[i] = float32(sum)
	}
	return p, nil
}

func (p *points) row(i int) []float32 { return p.data[i*p.d : (i+1)*p.d] }

type lloyd struct {
	*points
	k         int
	rng       *rand.Rand
	centroids []float32 // k×d
	cell      []uint32
	distance  []float32 // squared, of each row from its centroid
	size      []int     // number of rows of each cell
}

// start draws the first centroids from the rows, each with probability
// proportional to its squared distance from the nearest earlier one.
func (m *lloyd) start() {
	m.centroids = make([]float32, 0, m.k*m.d)
	m.cell = make([]uint32, m.n)
	for i := range m.cell {
		m.cell[i] = none
	}
	m.distance = make([]float32, m.n)
	m.size = make([]int, m.k)
	for i := range m.distance {
		m.distance[i] = math.MaxFloat32
	}
	next := m.rng.IntN(m.n)
	for {
		chosen := m.row(next)
		m.centroids = append(m.centroids, chosen...)
		if len(m.centroids) == m.k*m.d {
			return
		}
		parallel.Ranges(m.n, 0, func(first, last int) {
			for i := first; i < last; i++ {
				m.distance[i] = min(m.distance[i], squaredL2(m.row(i), chosen))
			}
		})
		next = m.draw()
	}
}

// draw returns a row with probability proportional to m.distance, uniformly if
// every row equals a centroid. assign then repairs the empty cells.
func (m *lloyd) draw() int {
	total := 0.0
	for _, d := range m.distance {
		total += float64(d)
	}
	if !(total > 0) {
		return m.rng.IntN(m.n)
	}
	at := float64(m.rng.Float64() * total)
	last := 0
	for i, d := range m.distance {
		if d > 0 {
			last = i
			if at -= float64(d); at < 0 {
				break
			}
		}
	}
	return last
}

// assign moves every row to the cell of its nearest centroid, ties to the lower
// cell, and fills empty cells. It returns the number of rows moved.
func (m *lloyd) assign() int {
	squares := make([]float32, m.k)
	for c := range squares {
		x := m.centroids[c*m.d : (c+1)*m.d]
		squares[c] = dot(x, x)
	}
	centroids := f32.PackRight(m.centroids, m.d, m.d, m.k, true)
	before := slices.Clone(m.cell)
	parallel.Ranges((m.n+chunkRows-1)/chunkRows, 0, func(from, to int) {
		products, scratch := make([]float32, chunkRows*m.k), make([]float32, centroids.Scratch(chunkRows))
		for at := from * chunkRows; at < min(m.n, to*chunkRows); at += chunkRows {
			rows := min(chunkRows, m.n-at)
			centroids.Mul(products, m.k, m.data[at*m.d:], m.d, rows, nil, scratch)
			for i := range rows {
				best, least := 0, float32(math.Inf(1))
				for c, x := range products[i*m.k:][:m.k] {
					if x = squares[c] - 2*x; x < least {
						best, least = c, x
					}
				}
				m.cell[at+i] = uint32(best)
				m.distance[at+i] = max(0, least+m.square[at+i])
			}
		}
	})
	m.count()
	m.fill()
	changed := 0
	for i, l := range m.cell {
		if l != before[i] {
			changed++
		}
	}
	return changed
}

func (m *lloyd) count() {
	clear(m.size)
	for _, l := range m.cell {
		m.size[l]++
	}
}

// fill moves into every empty cell the row farthest from its centroid among
// cells of at least two rows, ties to the largest cell.
func (m *lloyd) fill() {
	for empty := range m.size {
		if m.size[empty] > 0 {
			continue
		}
		far := -1
		for i, l := range m.cell {
			if m.size[l] < 2 {
				continue
			}
			if far < 0 || m.distance[i] > m.distance[far] ||
				m.distance[i] == m.distance[far] && m.size[l] > m.size[m.cell[far]] {
				far = i
			}
		}
		m.size[m.cell[far]]--
		m.cell[far], m.distance[far] = uint32(empty), 0
		m.size[empty] = 1
	}
}

// update moves every centroid to the mean of its rows. One goroutine sums each
// cell in row order, so the number of cores has no effect.
func (m *lloyd) update() {
	lists := newPartition(m.cell, m.k)
	parallel.Ranges(m.k, 0, func(from, to int) {
		sum := make([]float64, m.d)
		for c := from; c < to; c++ {
			clear(sum)
			members := lists.Members(c)
			for _, i := range members {
				for j, x := range m.row(int(i)) {
					sum[j] += float64(x)
				}
			}
			to := m.centroids[c*m.d:][:m.d]
			for j, s := range sum {
				to[j] = float32(s / float64(len(members)))
			}
		}
	})
}

func squaredL2(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := (*[4]float32)(a[i:]), (*[4]float32)(b[i:])
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		s0 += float32(d0 * d0)
		s1 += float32(d1 * d1)
		s2 += float32(d2 * d2)
		s3 += float32(d3 * d3)
	}
	for ; i < len(a); i++ {
		d := a[i] - b[i]
		s0 += float32(d * d)
	}
	return s0 + s1 + (s2 + s3)
}

func dot(a, b []float32) float32 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return float32(sum)
}
