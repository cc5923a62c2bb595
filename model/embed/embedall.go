package embed

import (
	"fmt"

	"cpar/internal/parallel"
)

const (
	// Each 64-bit word holds four lanes, each with one value of z.
	laneBits = 16
	lanes    = 64 / laneBits
	// tileWords is the number of words of z summed at a time: one cache line,
	// so that the sums of 20,000 photos stay in a core's cache.
	tileWords         = 8
	tileCols          = tileWords * lanes
	tileBytes         = tileCols / 8
	coordinatesAtOnce = 4
)

// Lane i of spread4[b] is bit i of b.
var spread4 = func() (table [16]uint64) {
	for b := range table {
		for i := range lanes {
			table[b] |= uint64(b>>i&1) << (laneBits * i)
		}
	}
	return table
}()

// A coordinate holds all photos' levels in a coordinate, `low` to `high`.
type coordinate struct {
	low, high int
	levels    []uint16 // per photo, relative to `low`
	bits      []byte   // the steps `low`+1 to `high`
}

// EmbedAll embeds a collection on all cores. It returns one slice of m̂ values
// per photo. Errors wrap cpar.ErrInput.
//
// In addition to `levels` and the result, it needs at most 152 MB for the
// paper's parameters.
//
// Four values share a 64-bit word. A negative lane borrows from the next, and
// unpack undoes the borrow. This is exact if every final value is within
// ±32,767, which MaxSteps ensures.
func (p *Projection) EmbedAll(levels [][]uint16) ([][]int16, error) {
	for i, x := range levels {
		if err := p.check(x); err != nil {
			return nil, fmt.Errorf("embedding photo %d: %w", i, err)
		}
	}
	flat := make([]int16, len(levels)*p.mhat)
	z := make([][]int16, len(levels))
	for i := range z {
		z[i] = flat[i*p.mhat : (i+1)*p.mhat : (i+1)*p.mhat]
	}
	if len(levels) == 0 {
		return z, nil
	}

	coordinates := make([]coordinate, p.m)
	parallel.Each(p.m, func() func(int) {
		return func(d int) { coordinates[d] = p.coordinate(levels, d) }
	})
	balance := make([]int16, len(levels)) // Σ_d x_d − base_d, see Embed
	for i, x := range levels {
		for d, l := range x {
			balance[i] += int16(int(l) - int(p.baselines[d]))
		}
	}
	parallel.Each((p.mhat+tileCols-1)/tileCols, func() func(int) {
		sums := make([]uint64, len(levels)*tileWords)
		var walks [coordinatesAtOnce][]uint64
		return func(tile int) {
			clear(sums)
			pending := 0
			var at [coordinatesAtOnce][]uint16
			for d := range coordinates {
				c := &coordinates[d]
				if c.high == c.low {
					continue
				}
				walks[pending], at[pending] = p.prefixSums(walks[pending], c, int(p.baselines[d]), tile), c.levels
				if pending++; pending == coordinatesAtOnce {
					addPrefixSums4(sums, &walks, &at)
					pending = 0
				}
			}
			for i := range pending {
				addPrefixSums(sums, walks[i], at[i])
			}
			for i := range z {
				unpack(z[i][tile*tileCols:min((tile+1)*tileCols, p.mhat)], sums[i*tileWords:], balance[i])
			}
		}
	})
	return z, nil
}

func (p *Projection) coordinate(levels [][]uint16, d int) coordinate {
	c := coordinate{low: int(p.baselines[d]), high: int(p.baselines[d]), levels: make([]uint16, len(levels))}
	for _, x := range levels {
		c.low, c.high = min(c.low, int(x[d])), max(c.high, int(x[d]))
	}
	for i, x := range levels {
		c.levels[i] = x[d] - uint16(c.low)
	}
	c.bits = make([]byte, (c.high-c.low)*p.rowBytes())
	if len(c.bits) > 0 {
		p.steps(c.bits, d, c.low+1)
	}
	return c
}

// prefixSums returns the sums of ones from the baseline to every level of c,
// for the columns of a tile, in tileWords words per level. It reuses `walk`.
func (p *Projection) prefixSums(walk []uint64, c *coordinate, baseline, tile int) []uint64 {
	size := (c.high - c.low + 1) * tileWords
	if cap(walk) < size {
		walk = make([]uint64, size)
	}
	walk = walk[:size]
	clear(walk[:tileWords])
	for l := range c.high - c.low {
		bits := c.bits[l*p.rowBytes()+tile*tileBytes:][:tileBytes]
		from, to := walk[l*tileWords:][:tileWords], walk[(l+1)*tileWords:][:tileWords]
		for i, b := range bits {
			to[2*i] = from[2*i] + spread4[b&15]
			to[2*i+1] = from[2*i+1] + spread4[b>>4]
		}
	}
	var origin [tileWords]uint64
	copy(origin[:], walk[(baseline-c.low)*tileWords:])
	for i := range walk {
		walk[i] -= origin[i%tileWords]
	}
	return walk
}

func addPrefixSums(sums, walk []uint64, levels []uint16) {
	for i, l := range levels {
		to := (*[tileWords]uint64)(sums[i*tileWords:])
		from := (*[tileWords]uint64)(walk[int(l)*tileWords:])
		to[0] += from[0]
		to[1] += from[1]
		to[2] += from[2]
		to[3] += from[3]
		to[4] += from[4]
		to[5] += from[5]
		to[6] += from[6]
		to[7] += from[7]
	}
}

// addPrefixSums4 is addPrefixSums for four coordinates, but loads and stores
// the sums only once.
func addPrefixSums4(sums []uint64, walks *[coordinatesAtOnce][]uint64, levels *[coordinatesAtOnce][]uint16) {
	w0, w1, w2, w3 := walks[0], walks[1], walks[2], walks[3]
	n := len(levels[0])
	l0, l1, l2, l3 := levels[0], levels[1][:n], levels[2][:n], levels[3][:n]
	for i := range l0 {
		to := (*[tileWords]uint64)(sums[i*tileWords:])
		a := (*[tileWords]uint64)(w0[int(l0[i])*tileWords:])
		b := (*[tileWords]uint64)(w1[int(l1[i])*tileWords:])
		c := (*[tileWords]uint64)(w2[int(l2[i])*tileWords:])
		d := (*[tileWords]uint64)(w3[int(l3[i])*tileWords:])
		to[0] += a[0] + b[0] + c[0] + d[0]
		to[1] += a[1] + b[1] + c[1] + d[1]
		to[2] += a[2] + b[2] + c[2] + d[2]
		to[3] += a[3] + b[3] + c[3] + d[3]
		to[4] += a[4] + b[4] + c[4] + d[4]
		to[5] += a[5] + b[5] + c[5] + d[5]
		to[6] += a[6] + b[6] + c[6] + d[6]
		to[7] += a[7] + b[7] + c[7] + d[7]
	}
}

// unpack splits words into lanes and sets z[j] = 2·ones − balance for the ones
// in lane j.
func unpack(z []int16, words []uint64, balance int16) {
	for j := range z {
		word := &words[j/lanes]
		ones := int16(*word)
		// Subtracting a negative lane also returns its borrow to the next lane.
		*word = (*word - uint64(int64(ones))) >> laneBits
		z[j] = 2*ones - balance
	}
}
