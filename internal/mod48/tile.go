package mod48

import "fmt"

const (
	// MaxRequests is the maximum number of requests in a Tile, and lanes is the
	// number of requests in a group.
	MaxRequests, lanes = 16, 8
	// TileRows is a multiple of the number of rows in a tile at every level.
	TileRows = 12
)

// A Tile holds one row of each of up to MaxRequests requests, prepared for
// multiplication by many rows. For four or more requests it is faster than
// Rows.
type Tile struct {
	m        *Modulus
	requests [][]uint64
	// packed interleaves the requests' rows in one or two zero-padded groups of
	// lanes.
	packed []uint64
	groups int
	alone  [MaxRequests]Operand // for levels without tile kernels
}

// Set makes t the operand of these rows, which must have the same length, and
// reuses the memory of t. It keeps a reference to requests.
func (t *Tile) Set(m *Modulus, requests [][]uint64) {
	if len(requests) < 1 || len(requests) > MaxRequests {
		panic(fmt.Sprintf("mod48: a tile of %d requests", len(requests)))
	}
	n := len(requests[0])
	for _, x := range requests {
		if len(x) != n || n%block != 0 {
			panic("mod48: requests of different lengths, or not of whole blocks")
		}
	}
	t.m, t.requests, t.groups = m, append(t.requests[:0], requests...), (len(requests)+lanes-1)/lanes
	if active != withIFMA {
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
	// Interleave eight words of each request at a time, to fill cache lines
	// before eviction.
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

// Times sets dst[i][j] = ⟨rows[i], request j⟩ mod q for packed rows of the
// requests' length. Elements of dst[i] beyond the last request are undefined.
// `ahead` holds as many rows, which will be multiplied next, or is nil. Times
// prefetches them.
func (t *Tile) Times(dst [][MaxRequests]uint64, rows, ahead [][]byte) {
	for _, some := range [...][][]byte{rows, ahead} {
		for _, r := range some {
			if len(r) != WordBytes*len(t.requests[0]) {
				panic("mod48: rows differ in length from requests")
			}
		}
	}
	if ahead == nil {
		ahead = rows // prefetch these rows, because none follow
	}
	if len(ahead) < len(rows) || len(dst) < len(rows) {
		panic("mod48: more rows than results")
	}
	if active == withIFMA {
		t.times(dst, rows, ahead)
		return
	}
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

// Tiles reports whether the processor has kernels for Tile. With them, sixteen
// requests take two to three times as long as one.
func Tiles() bool { return active == withIFMA }
