package mod48

import "fmt"

const (
	// Most is the number of requests that a Tile holds, lanes that of a group of them.
	MaxRequests, lanes = 16, 8
	// TileRows is a number of rows that Times takes at any level without repeating one.
	TileRows = 12
)

// A Tile is a row of each of several requests, at most Most, prepared to be multiplied by many rows.
// From four requests on that is faster than Rows for each.
type Tile struct {
	m        *Modulus
	requests [][]uint64
	// packed interleaves the requests' rows, in one group of lanes or two, of which the rest are zeros.
	packed []uint64
	groups int
	alone  [MaxRequests]Operand // where there are no kernels for tiles
}

// Set makes t the operand of these rows, all of one length, to which it refers. It uses the memory
// that t had before.
func (t *Tile) Set(m *Modulus, requests [][]uint64) {
	if len(requests) < 1 || len(requests) > MaxRequests {
		panic(fmt.Sprintf("mod48: a tile of %d requests", len(requests)))
	}
	n := len(requests[0])
	for _, x := range requests {
		if len(x) != n || n%block != 0 {
			panic("mod48: rows of different lengths, or not of whole blocks")
		}
	}
	t.m, t.requests, t.groups = m, append(t.requests[:0], requests...), (len(requests)+lanes-1)/lanes
	if active < withIFMA {
		for j, x := range requests {
			t.alone[j].prepare(m, x, 1)
		}
		return
	}
	width := t.groups * lanes
	if cap(t.packed) < width*n {
		t.packed = make([]uint64, width*n)
	}
	t.packed = t.packed[:width*n]
	// Eight words of each at a time: what is written stays in the cache until its lines are full.
	for from := 0; from < n; from += lanes {
		to := t.packed[width*from:][:width*lanes]
		for j := range width {
			var x [lanes]uint64
			if j < len(requests) {
				x = [lanes]uint64(requests[j][from:])
			}
			for i, w := range x {
				to[width*i+j] = w
			}
		}
	}
}

// Times sets dst[i][j] = ⟨rows[i], request j⟩ mod q for all rows, which are packed and as long as
// the requests are. Products beyond those of the last request mean nothing. ahead is prefetched: it
// holds as many rows, those that come next, or is nil.
func (t *Tile) Times(dst [][MaxRequests]uint64, rows, ahead [][]byte) {
	for _, some := range [...][][]byte{rows, ahead} {
		for _, r := range some {
			if len(r) != WordBytes*len(t.requests[0]) {
				panic("mod48: rows differ in length from requests")
			}
		}
	}
	if ahead == nil {
		ahead = rows // nothing more is to be read
	}
	if len(ahead) < len(rows) || len(dst) < len(rows) {
		panic("mod48: products of more rows than there is room for")
	}
	if active == withIFMA {
		t.times(dst, rows, ahead)
		return
	}
	// Four rows stay in the cache while all requests pass by.
	var out [1][Streams]uint64
	for j := range t.requests {
		o := &t.alone[j]
		for first := 0; first < len(rows); first += Streams {
			var four [Streams][]byte
			for s := range four {
				four[s] = rows[min(first+s, len(rows)-1)]
			}
			o.Rows(out[:], &four)
			for s := range min(Streams, len(rows)-first) {
				dst[first+s][j] = out[0][s]
			}
		}
	}
}

// Tiles reports whether the processor multiplies tiles: sixteen requests then take two or three times
// as long as one, and else fifteen times.
func Tiles() bool { return active == withIFMA }
