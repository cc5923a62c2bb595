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

type Options struct {
	// Cells is k, the number of cells, capped at the number of rows. 0 means
	// DefaultCells in FitPhotos and is invalid in Fit.
	Cells int
	// Seed is the only source of randomness. Equal rows, options and seed give
	// equal cells on any number of cores.
	Seed [32]byte
}

const (
	// rounds is the maximum number of rounds of Lloyd's algorithm, which stops
	// earlier once no row changes its cell.
	rounds = 12
	// maxRows keeps row numbers within the uint32 of an index.
	maxRows = 1 << 31
	none    = ^uint32(0)
	// chunkRows is the number of rows compared with all centroids at a time.
	chunkRows = 512
)

// Fit divides rows (n×d, read-only) into at most opt.Cells non-empty cells by
// Lloyd's algorithm under squared L2, starting from rows drawn by k-means++
// (Arthur and Vassilvitskii 2007). Errors wrap cpar.ErrInput.
//
// A round takes O(n·k·d) time on all cores. Memory holds a copy of the rows.
func Fit(ctx context.Context, rows [][]float32, opt Options) (*Partition, error) {
	points, err := newPoints(rows)
	if err != nil {
		return nil, fmt.Errorf("clustering: %w", err)
	}
	if opt.Cells < 1 {
		return nil, fmt.Errorf("clustering: %w: %d cells", cpar.ErrInput, opt.Cells)
	}
	m := &lloyd{points: points, k: min(opt.Cells, points.n), rng: newRand(opt.Seed)}
	m.start()
	for range rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m.assign() == 0 {
			break
		}
		m.update()
	}
	// Renumber the cells at random, because the order of drawing would reveal
	// outlying cells.
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
			return nil, fmt.Errorf("%w: row %d has %d dimensions, but row 0 has %d", cpar.ErrInput, i, len(row), d)
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
		// Sixteen squared distances must fit into float32, which NaN does not.
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
	distance  []float32 // squared distance of each row from its centroid
	size      []int     // number of rows of each cell
}

// start draws the first centroids from the rows, each with a probability
// proportional to its squared distance from the nearest centroid drawn before.
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

// draw returns the index of a row with probability proportional to m.distance.
// If every row equals a centroid, draw chooses uniformly, and assign then
// repairs the empty cells.
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

// assign moves every row to the cell of its nearest centroid (the lowest such
// cell in a tie) and fills empty cells. It returns the number of rows moved.
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
	m.fill()
	changed := 0
	for i, l := range m.cell {
		if l != before[i] {
			changed++
		}
	}
	return changed
}

// fill moves one row into every empty cell: the row farthest from its centroid
// among cells of at least two rows, in a tie a row of the largest cell.
func (m *lloyd) fill() {
	clear(m.size)
	for _, l := range m.cell {
		m.size[l]++
	}
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

// update moves every centroid to the mean of its rows. One goroutine sums the
// rows of a cell in order, so the result does not depend on the number of
// cores.
func (m *lloyd) update() {
	lists := newPartition(m.cell, m.k)
	parallel.Ranges(m.k, 0, func(from, to int) {
		for c := from; c < to; c++ {
			copy(m.centroids[c*m.d:], mean(m.row, lists.Members(c)))
		}
	})
}

func mean(row func(i int) []float32, members []uint32) []float32 {
	out := make([]float32, len(row(int(members[0]))))
	sum := make([]float64, len(out))
	for _, i := range members {
		for j, x := range row(int(i)) {
			sum[j] += float64(x)
		}
	}
	for j, s := range sum {
		out[j] = float32(s / float64(len(members)))
	}
	return out
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

// Partition is a division of n records into non-empty cells.
type Partition struct {
	// Cell has the cell of each record.
	Cell []uint32
	// Order lists the records by cell, and within a cell in their original
	// order. Record p of an index in this order is record Order[p] of the
	// collection.
	Order []uint32
	// Starts has the position in Order at which each cell starts, and ends with
	// n.
	Starts []uint32
}

func newPartition(list []uint32, k int) *Partition {
	l := &Partition{Cell: list, Order: make([]uint32, len(list)), Starts: make([]uint32, k+1)}
	for _, c := range list {
		l.Starts[c+1]++
	}
	for c := range k {
		l.Starts[c+1] += l.Starts[c]
	}
	next := slices.Clone(l.Starts[:k])
	for i, c := range list {
		l.Order[next[c]] = uint32(i)
		next[c]++
	}
	return l
}

func (l *Partition) Len() int { return len(l.Starts) - 1 }

// Members returns the collection's numbers of the records in cell `list`.
func (l *Partition) Members(list int) []uint32 { return l.Order[l.Starts[list]:l.Starts[list+1]] }

// DefaultCells returns the number of cells for a collection of n photos, whose
// vectors have `width` numbers each. For long vectors, as in profile "paper",
// the number is 2·√n: 134 cells for 4,500 photos and 283 for 20,000. More cells
// find more neighbours with the same number of visits, but every request reads
// their centroids too. The table shows the share of the true ten nearest
// records found, by the share of rows (records and centroids) read.
//
//	rows read          5 %   7.5 %   10 %   20 %           5 %   7.5 %   10 %   20 %
//	4,500   k =  64   0.66    0.80   0.87   0.97   k = 96  0.66    0.81   0.88   0.98
//	        k = 128   0.62    0.80   0.88   0.98   k = 192 0.41    0.76   0.87   0.98
//	20,000  k = 128   0.84    0.92   0.95   0.99   k = 256 0.88    0.95   0.97   1.00
//	        k = 384   0.88    0.95   0.97   1.00   k = 512 0.86    0.95   0.98   1.00
//
// For short vectors, as in profiles "learned" and "network", the number is
// 6·√n, but at most n/10 and at least 2·√n: 402 cells for 4,500 photos. Short
// centroids are cheap to read. A search of 10 % of the records (AP-10) then
// visits 0.92 to 0.96 of the eighty neighbours that these profiles' ranker
// uses, compared with 0.88 to 0.94 for 134 cells.
func DefaultCells(n, width int) int {
	few := math.Round(2 * math.Sqrt(float64(n)))
	if width > maxShort {
		return max(1, int(few))
	}
	many := math.Round(6 * math.Sqrt(float64(n)))
	return int(max(1, few, min(many, math.Floor(float64(n)/10))))
}

const maxShort = 128
