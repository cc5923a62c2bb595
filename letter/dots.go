package letter

import "sync/atomic"

// Dots counts the paper's unit of cost, DOT_m: an inner product of two vectors
// of m elements. The zero value is ready for use. A nil *Dots counts nothing.
type Dots struct {
	n     atomic.Int64 // number of inner products
	words atomic.Int64 // number of multiplications in these products
}

func (d *Dots) add(m, n int) {
	if d != nil {
		d.n.Add(int64(n))
		d.words.Add(int64(n) * int64(m))
	}
}

// N returns the number of inner products of any length.
func (d *Dots) N() int64 { return d.n.Load() }

func (d *Dots) Words() int64 { return d.words.Load() }
