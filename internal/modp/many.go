package modp

import "fmt"

const (
	// Most is the number of requests that an Operand holds, lanes that of a group of them.
	Most, lanes = 16, 8
	// TileRows is a number of rows that Times takes at any level without repeating one.
	TileRows = 12
)

// An Operand is a row of each of several requests, at most Most, prepared to be multiplied by many
// rows. From four requests on that is faster than Rows for each.
type Operand struct {
	requests [][]uint64
	// packed interleaves the whole steps of the requests' rows, in one group of lanes or two, the
	// rest of which are zeros: for each word first its low 44 bits of all requests, then the others.
	packed []uint64
	groups int
}

const low44 = 1<<44 - 1

// Set makes o the operand of these rows, all of one length, to which it refers. It uses the
// memory that o had before.
func (o *Operand) Set(requests [][]uint64) {
	if len(requests) < 1 || len(requests) > Most {
		panic(fmt.Sprintf("modp: an operand of %d requests", len(requests)))
	}
	for _, x := range requests {
		if len(x) != len(requests[0]) {
			panic("modp: an operand of rows of different lengths")
		}
	}
	o.requests, o.groups = append(o.requests[:0], requests...), (len(requests)+lanes-1)/lanes
	if active < withIFMA {
		return
	}
	width, whole := o.groups*lanes, len(requests[0])/step*step
	if size := 2 * width * whole; cap(o.packed) < size {
		o.packed = make([]uint64, size)
	} else {
		o.packed = o.packed[:size]
	}
	// Eight words of each at a time: what is written stays in the cache until its lines are full.
	for from := 0; from < whole; from += step {
		block := o.packed[2*width*from:][:2*width*step]
		for j := range width {
			var x [step]uint64
			if j < len(requests) {
				x = [step]uint64(requests[j][from:])
			}
			for i, w := range x {
				to := block[2*width*i+j:][:width+1]
				to[0], to[width] = w&low44, w>>44
			}
		}
	}
}

// Times sets dst[i][j] = ⟨rows[i], request j⟩ mod Q for all rows, which are as long as the
// requests'. What it writes beyond the last request is of no use. ahead holds the rows to be
// multiplied next, as many, or nil: they are prefetched.
func (o *Operand) Times(dst [][Most]uint64, rows, ahead [][]uint64) {
	n := len(o.requests[0])
	for _, some := range [...][][]uint64{rows, ahead} {
		for _, r := range some {
			if len(r) != n {
				panic("modp: rows differ in length from requests")
			}
		}
	}
	if ahead == nil {
		ahead = rows // nothing more is to be read
	}
	if len(ahead) < len(rows) || len(dst) < len(rows) {
		panic("modp: products of more rows than there is room for")
	}
	if active < withIFMA {
		o.timesFour(dst, rows)
		return
	}
	o.times(dst, rows, ahead)
	for at := n / step * step; at < n; at = n {
		for i, r := range rows {
			for j, x := range o.requests {
				dst[i][j] = Add(dst[i][j], dotPlain(r[at:], x[at:]))
			}
		}
	}
}

// timesFour is Times by Rows: four rows stay in the cache while all requests pass by.
func (o *Operand) timesFour(dst [][Most]uint64, rows [][]uint64) {
	var out [1][Streams]uint64
	for first := 0; first < len(rows); first += Streams {
		var four [Streams][]uint64
		for q := range four {
			four[q] = rows[min(first+q, len(rows)-1)]
		}
		for j, x := range o.requests {
			Rows(out[:], &four, x)
			for q := range min(Streams, len(rows)-first) {
				dst[first+q][j] = out[0][q]
			}
		}
	}
}
