package letter

import "sync"

// Dots counts the paper's unit of cost: DOT_m, the inner product of two vectors
// of m elements. The zero value is empty, and a nil *Dots counts nothing.
type Dots struct {
	mu    sync.Mutex
	n     int64 // inner products
	words int64 // their multiplications
}

func (d *Dots) add(m, n int) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n += int64(n)
	d.words += int64(n) * int64(m)
}

// N returns the number of inner products of any length.
func (d *Dots) N() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Words returns the number of multiplications.
func (d *Dots) Words() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.words
}
