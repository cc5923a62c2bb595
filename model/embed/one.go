package embed

import "fmt"

// spread8[b] has bit i of b in the lowest bit of byte i.
var spread8 = func() (table [256]uint64) {
	for b := range table {
		for i := range 8 {
			table[b] |= uint64(b>>i&1) << (8 * i)
		}
	}
	return table
}()

// tally counts the ones in each column of up to 2³¹ rows of bits.
type tally struct {
	lanes  []uint64 // eight columns per word, a byte each
	rows   int      // rows in lanes, at most 255
	counts []int32  // sums already carried out of lanes
}

func newTally(rowBytes int) *tally {
	return &tally{lanes: make([]uint64, rowBytes), counts: make([]int32, 8*rowBytes)}
}

func (t *tally) add(row []byte) {
	if t.rows == 255 { // one more could overflow a byte
		t.carry()
	}
	lanes := t.lanes[:len(row)]
	for i, b := range row {
		lanes[i] += spread8[b]
	}
	t.rows++
}

func (t *tally) carry() {
	for i, word := range t.lanes {
		for j := range 8 {
			t.counts[8*i+j] += int32(word >> (8 * j) & 0xff)
		}
	}
	clear(t.lanes)
	t.rows = 0
}

// stepsPerRead is the number of steps read from the stream at a time.
const stepsPerRead = 256

// Embed embeds one photo with EmbedAll's result. Errors wrap cpar.ErrInput.
func (p *Projection) Embed(levels []uint16) ([]int16, error) {
	if err := p.check(levels); err != nil {
		return nil, fmt.Errorf("embedding a photo: %w", err)
	}
	// A step's signs are 2b − 1 for bits b, so z = 2·(ones above − ones below)
	// − (steps above − steps below).
	size := p.rowBytes()
	above, below := newTally(size), newTally(size)
	bits := make([]byte, min(p.beta, stepsPerRead)*size)
	balance := int32(0)
	for d, x := range levels {
		base := p.baselines[d]
		side, low, high := above, base, x
		if x < base {
			side, low, high = below, x, base
		}
		if low == high {
			continue
		}
		balance += int32(x) - int32(base)
		for l := int(low); l < int(high); l += stepsPerRead {
			walk := bits[:min(int(high)-l, stepsPerRead)*size]
			p.steps(walk, d, l+1)
			for ; len(walk) > 0; walk = walk[size:] {
				side.add(walk[:size])
			}
		}
	}
	above.carry()
	below.carry()
	z := make([]int16, p.mhat) // at most MaxSteps each
	for j := range z {
		z[j] = int16(2*(above.counts[j]-below.counts[j]) - balance)
	}
	return z, nil
}
