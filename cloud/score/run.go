package score

import (
	"sync"

	"cpar/internal/modq"
)

// Run sets scores[i] to the score of record first+i (Comp in the package
// comment). It reads consecutive records as fast as memory allows.
func (s *Space) Run(first uint32, scores []int64) { s.run(&s.index.vectors, first, scores) }

// Centroids is Run for the centroids of cells.
func (s *Space) Centroids(first uint32, scores []int64) { s.run(&s.index.centroids, first, scores) }

// buffer is the number of products computed before they are rounded to scores.
// They fit in the L1 cache.
const buffer = 4096

var productBuffers = sync.Pool{New: func() any { return new([buffer]uint64) }}

func (s *Space) run(t *table, first uint32, scores []int64) {
	s.touch(t, len(scores))
	p := productBuffers.Get().(*[buffer]uint64)
	defer productBuffers.Put(p)
	for len(scores) > 0 {
		n := min(buffer, len(scores))
		t.run(p[:n], first, s.q.Vector)
		round(scores[:n], p[:n], s.index.Manifest.Shift)
		scores, first = scores[n:], first+uint32(n)
	}
}

// A Batch computes scores for several requests to one index together and reads
// each row from memory once. It is safe for concurrent use.
type Batch struct {
	spaces []*Space
	packed []uint64
}

func NewBatch(spaces []*Space) *Batch {
	vectors := make([][]uint64, len(spaces))
	for i, s := range spaces {
		vectors[i] = s.q.Vector
	}
	return &Batch{spaces, modq.Pack(vectors)}
}

// Run sets scores[i·n+k] to the score of record first+i for request k, where n
// is the number of requests.
func (p *Batch) Run(first uint32, scores []int64) { p.run(&p.spaces[0].index.vectors, first, scores) }

func (p *Batch) Centroids(first uint32, scores []int64) {
	p.run(&p.spaces[0].index.centroids, first, scores)
}

func (p *Batch) run(t *table, first uint32, scores []int64) {
	n := len(p.spaces)
	rows := len(scores) / n
	for _, s := range p.spaces {
		s.touch(t, rows)
	}
	out := productBuffers.Get().(*[buffer]uint64)
	defer productBuffers.Put(out)
	for at := 0; at < rows; {
		part := t.rowsFrom(first+uint32(at), min(buffer/n, rows-at))
		here := len(part) / t.dim
		modq.RowsMany(out[:here*n], part, p.packed, n)
		round(scores[at*n:(at+here)*n], out[:here*n], p.spaces[0].index.Manifest.Shift)
		at += here
	}
}

func round(scores []int64, products []uint64, shift uint8) {
	scores = scores[:len(products)]
	for i, p := range products {
		scores[i] = modq.RoundShift(p, uint(shift))
	}
}
