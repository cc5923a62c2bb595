package score

import (
	"sync"

	"cpar/internal/modq"
)

// Run sets scores[i] to Comp of record first+i. Records that follow each other
// are read from memory as fast as it gives them.
func (s *Space) Run(first uint32, scores []int64) { s.run(&s.index.vectors, first, scores) }

// Centroids are the centroids of the inverted file, scored as records are.
type Centroids struct{ s *Space }

// Centroids returns the lists' centroids.
func (s *Space) Centroids() Centroids { return Centroids{s} }

// Run sets scores[i] to the score of the centroid of list first+i.
func (c Centroids) Run(first uint32, scores []int64) { c.s.run(&c.s.index.centroids, first, scores) }

// buffer is how many products a run makes before it rounds them: few enough to
// stay in the nearest cache.
const buffer = 4096

// products are the memory of one run, which may be one of several at once.
var products = sync.Pool{New: func() any { return new([buffer]uint64) }}

func (s *Space) run(t *table, first uint32, scores []int64) {
	s.touched.Add(t.bytes(len(scores)))
	p := products.Get().(*[buffer]uint64)
	defer products.Put(p)
	for len(scores) > 0 {
		n := min(buffer, len(scores))
		t.run(p[:n], first, s.q.Vector)
		round(scores[:n], p[:n], s.index.Manifest.Shift)
		scores, first = scores[n:], first+uint32(n)
	}
}

// A Pass is several requests laid against one index: a row is read from memory
// once for all of them. It may be used by many goroutines at once.
type Pass struct {
	spaces []*Space
	packed []uint64
}

// NewPass lays out spaces, at least one, all of one index.
func NewPass(spaces []*Space) *Pass {
	vectors := make([][]uint64, len(spaces))
	for i, s := range spaces {
		vectors[i] = s.q.Vector
	}
	return &Pass{spaces, modq.Pack(vectors)}
}

// Len is the number of requests.
func (p *Pass) Len() int { return len(p.spaces) }

// Run sets scores[i·Len+k] to the score of record first+i for request k.
func (p *Pass) Run(first uint32, scores []int64) { p.run(&p.spaces[0].index.vectors, first, scores) }

// Centroids sets scores[i·Len+k] to the score of the centroid of list first+i
// for request k.
func (p *Pass) Centroids(first uint32, scores []int64) {
	p.run(&p.spaces[0].index.centroids, first, scores)
}

func (p *Pass) run(t *table, first uint32, scores []int64) {
	n := len(p.spaces)
	rows := len(scores) / n
	for _, s := range p.spaces {
		s.touched.Add(t.bytes(rows))
	}
	out := products.Get().(*[buffer]uint64)
	defer products.Put(out)
	for at := 0; at < rows; {
		part := t.part(first+uint32(at), min(buffer/n, rows-at))
		here := len(part) / t.dim
		modq.RowsMany(out[:here*n], part, p.packed, n)
		round(scores[at*n:(at+here)*n], out[:here*n], p.spaces[0].index.Manifest.Shift)
		at += here
	}
}

// round makes scores of products.
func round(scores []int64, products []uint64, shift uint8) {
	scores = scores[:len(products)]
	for i, p := range products {
		scores[i] = modq.RoundShift(p, uint(shift))
	}
}
