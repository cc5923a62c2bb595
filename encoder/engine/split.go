package engine

import (
	"runtime"

	"cpar/internal/parallel"
)

const (
	// minSplit is the number of multiply-adds below which starting goroutines
	// takes about as long as it saves.
	minSplit = 1 << 19
	// maxWorkers limits scratch memory.
	maxWorkers = 8
)

func maxSplit() int { return min(maxWorkers, runtime.GOMAXPROCS(0)) }

// workers returns the number of cores for each of the current runs. Several
// runs share the cores, so that none of them waits for another.
func (p *Program) workers() int {
	return min(p.plan.workers, runtime.GOMAXPROCS(0)/int(max(1, p.running.Load())))
}

// compute runs the step. It divides the rows of a long step among workers. The
// results are the same, because each row is computed as in one piece.
func (s *step) compute(out []float32, in [][]float32, scratch []float32, workers int) {
	if workers < 2 || s.rows < 2 || s.work < minSplit {
		s.run(out, in, scratch[:s.scratch])
		return
	}
	n, k := len(out)/s.rows, len(in[0])/s.rows
	_ = parallel.Runs(workers, s.rows, 1, func(w, first, last int) error {
		own := scratch[w*s.scratch:][:s.scratch]
		if s.part != nil {
			s.part(out, in, own, first, last)
			return nil
		}
		s.run(out[first*n:last*n], append([][]float32{in[0][first*k : last*k]}, in[1:]...), own)
		return nil
	})
}

// pieceRows divides an elementwise step into rows of whole registers. The rest
// of a row would be computed by other instructions, with other results.
func pieceRows(n int) int {
	if n%64 == 0 {
		return n / 64
	}
	return 1
}
