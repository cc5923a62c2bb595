//go:build !purego

package mod48

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./gen

func supported() []level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512IFMA && x.HasAVX512VBMI && x.HasAVX2 && x.HasFMA:
		return []level{plain, withAVX2, withIFMA}
	case x.HasAVX2 && x.HasFMA:
		return []level{plain, withAVX2}
	}
	return []level{plain}
}

func (c *constants) all() *[85]uint64 { return (*[85]uint64)(unsafe.Pointer(c)) }

// multiply implements Rows for len(dst) rows of n words each (at most limit),
// starting at word `from`.
func (o *Operand) multiply(dst [][Streams]uint64, matrices *[Streams][]byte, from, n int) {
	if !Tiles() {
		o.multiplyPlain(dst, matrices, from, n)
		return
	}
	base, fixed := o.m.base((n/block+3)/4, 4), []uint64{0}
	if at := max(1, len(o.x)/o.rows); active == withAVX2 && from%at == 0 { // otherwise a later part of a row
		fixed = o.fixed[from/at:]
	}
	for k, count := 0, 0; k < len(dst); k += count {
		at, c, to := from+k*n, o.m.c.all(), (*[4]uint64)(&dst[k])
		var r [Streams]*byte
		for s, b := range matrices {
			r[s] = unsafe.SliceData(b[WordBytes*at:])
		}
		switch inner := len(dst) - 1 - k; {
		case active == withIFMA:
			count = len(dst)
			foursIFMA(c, to, count, r[0], r[1], r[2], r[3], unsafe.SliceData(o.x[at:]), n/block)
		case k > 0 && inner > 0: // a faster kernel, which reads beyond its rows
			count = inner
			innerAVX2(c, to, &base, &fixed[k], count, r[0], r[1], r[2], r[3], unsafe.SliceData(o.prepared[at:]), n/block)
		default:
			count = 1
			foursAVX2(c, to, &base, &fixed[k], count, r[0], r[1], r[2], r[3], unsafe.SliceData(o.prepared[at:]), n/block)
		}
	}
}

// soon is the prefetch distance of tiles with AVX2 in bytes.
const soon = 384

func (t *Tile) interleave(requests [][]byte, zeros []byte) {
	for g := range t.groups {
		var rows [lanes]*byte
		for j := range rows {
			rows[j] = unsafe.SliceData(zeros)
			if i := g*lanes + j; i < len(requests) {
				rows[j] = unsafe.SliceData(requests[i])
			}
		}
		to := unsafe.SliceData(t.packed[g*lanes*t.n:])
		if active == withAVX2 {
			factorsAVX2(t.m.c.all(), to, &rows, t.n/8)
		} else {
			wordsAVX2(t.m.c.all(), to, &rows, t.n/8)
		}
	}
}

func (t *Tile) times(dst [][MaxRequests]uint64, rows, ahead [][]byte) {
	n, tile := t.n, 6
	if active == withAVX2 {
		tile = TileRows
	}
	for first := 0; first < len(rows); first += tile {
		var next [2 * TileRows]*byte // rows to prefetch, then rows to multiply
		for q := range tile {
			i := min(first+q, len(rows)-1) // the last tile repeats the last row
			next[q], next[TileRows+q] = unsafe.SliceData(ahead[i]), unsafe.SliceData(rows[i])
		}
		to := dst[first:min(first+tile, len(rows))]
		if n == 0 {
			clear(to)
		}
		for at := 0; at < n; at += limit {
			some := min(limit, n-at)
			if at == 0 && active == withAVX2 {
				t.partAVX2(to, &next, at, some)
				continue
			}
			var out [TileRows][MaxRequests]uint64
			if active == withAVX2 {
				t.partAVX2(out[:len(to)], &next, at, some)
			} else {
				t.partIFMA((*[6][MaxRequests]uint64)(out[:]), (*[6]*byte)(next[TileRows:]), (*[6]*byte)(next[:]), at, some)
			}
			if at == 0 {
				copy(to, out[:])
				continue
			}
			for q := range to {
				for j, p := range out[q] {
					to[q][j] = t.m.Add(to[q][j], p)
				}
			}
		}
	}
}

func (t *Tile) partIFMA(dst *[6][MaxRequests]uint64, rows, ahead *[6]*byte, at, n int) {
	c, x, stride, room := t.m.c.all(), &t.packed[lanes*at], 8*lanes*t.n, &t.work.room
	if t.groups == 2 {
		tile16IFMA(c, dst, room, rows, ahead, WordBytes*at, x, stride, n/block)
		return
	}
	var out [6][lanes]uint64
	tile8IFMA(c, &out, room, rows, ahead, WordBytes*at, x, stride, n/block)
	for q := range out {
		copy(dst[q][:], out[q][:])
	}
}

func (t *Tile) partAVX2(dst [][MaxRequests]uint64, ahead *[2 * TileRows]*byte, at, n int) {
	chunk := 2 // blocks, whose sums are exact
	if t.m.c.bits == 48 {
		chunk = 1
	}
	chunks, odd := n/block/chunk, n/block%chunk
	base, fixed := t.m.base(chunks+odd, 1), &t.fixed
	if at > 0 {
		fixed = new([MaxRequests]uint64)
	}
	// Prefetch the rows' next bytes. Near their ends, prefetch the beginnings of
	// the rows ahead.
	own, size := *ahead, WordBytes*t.n
	copy(own[:TileRows], own[TileRows:])
	distance := min(soon, size)
	last := min((distance-1)/(chunk*blockBytes)+1, chunks)
	t.chunksAVX2(&own, len(dst), at, distance, chunk, chunks-last)
	t.chunksAVX2(ahead, len(dst), at+(chunks-last)*chunk*block, distance-size, chunk, last)
	t.chunksAVX2(ahead, len(dst), at+chunks*chunk*block, distance-size, odd, min(odd, 1))
	if len(dst) < TileRows { // tile8AVX2 multiplies an even number of rows
		clear(t.work.sums[0][len(dst)][:])
		clear(t.work.sums[1][len(dst)][:])
	}
	closeTileAVX2(t.m.c.all(), &dst[0], t.work.all(), &base, fixed, len(dst))
}

// base returns the values with which AVX2's high and low sums begin in each of
// some lanes. The kernels add a start for each chunk. The multiple of q exceeds
// negative sums.
func (m *Modulus) base(chunks, lanes int) (b [2]uint64) {
	for i, start := range m.c.starts {
		b[i] = m.c.q<<12/uint64(lanes) - uint64(chunks)*math.Float64bits(start)
	}
	return b
}

// pack implements Pack for an even number of words and a number of columns that
// it returns, a multiple of four.
func (m *Modulus) pack(dst [][]byte, at int, addends [][]uint64, sums *uint64, step, n int) (done int) {
	if !Tiles() {
		return 0
	}
	for ; done+4 <= len(dst); done += 4 {
		var to [4]*byte
		var from [4]*uint64
		for j := range to {
			to[j] = &dst[done+j][at:][:WordBytes*n][0]
			from[j] = &addends[(done+j)%len(addends)][:n][0]
		}
		packAVX2(m.c.all(), &to, &from, (*uint64)(unsafe.Add(unsafe.Pointer(sums), 8*done)), 8*step, n/2)
	}
	return done
}

func (w *workspace) all() *[384]uint64 { return (*[384]uint64)(unsafe.Pointer(&w.sums)) }

// chunksAVX2 adds the products of chunks of some blocks, beginning at word
// `at`, to the workspace's sums. It prefetches the first TileRows rows of the
// list, `distance` bytes ahead of the words that it multiplies.
func (t *Tile) chunksAVX2(rows *[2 * TileRows]*byte, count, at, distance, blocks, chunks int) {
	c, from, stride := t.m.c.all(), WordBytes*at, 8*lanes*t.n
	switch x := t.packed[lanes*at:]; {
	case chunks == 0:
	case t.groups == 1:
		tile8AVX2(c, t.work.all(), rows, count, from, distance, &x[0], stride, blocks, chunks)
	default:
		tile16AVX2(c, t.work.all(), rows, count, from, distance, &x[0], stride, blocks, chunks)
	}
}

func (m *Modulus) cut(dst []uint64, b []byte) bool {
	c, to, from, sixteens := m.c.all(), unsafe.SliceData(dst), unsafe.SliceData(b), len(dst)/columns
	var over [8]uint64
	switch active {
	case withIFMA:
		cutIFMA(c, to, from, sixteens, &over)
	case withAVX2:
		cutAVX2(c, to, from, sixteens, &over)
	default:
		return m.cutPlain(dst, b)
	}
	all := uint64(0)
	for _, x := range over {
		all |= x
	}
	return all>>63 == 0
}

func (m *Modulus) fields(dst []uint64, b []byte, up int) {
	c, to, from, blocks := m.c.all(), unsafe.SliceData(dst), unsafe.SliceData(b), len(dst)/fieldBlock
	switch active {
	case withIFMA:
		fieldsIFMA(c, to, from, up, blocks)
	case withAVX2:
		fieldsAVX2(c, to, from, up, blocks)
	default:
		fieldsPlain(dst, b, up)
	}
}

func (t *Transform) evaluate(p []uint64, k int) {
	c, to := t.m.c.all(), unsafe.SliceData(p)
	switch active {
	case withIFMA:
		for blocks := 1; blocks < k; blocks *= 2 {
			levelIFMA(c, to, (*[5]uint64)(&t.roots[blocks]), blocks, len(p)/blocks/2/columns)
		}
		reduceIFMA(c, to, len(p)/columns)
	case withAVX2:
		floatsAVX2(c, to, len(p)/columns)
		for blocks := 1; blocks < k; blocks *= 2 {
			levelAVX2(c, to, (*[5]uint64)(&t.roots[blocks]), blocks, len(p)/blocks/2/columns)
		}
		reduceAVX2(c, to, len(p)/columns)
	default:
		t.evaluatePlain(p, k)
	}
}

func (m *Modulus) products(dst, a, b []uint64, n int) {
	c, to, x, y := m.c.all(), unsafe.SliceData(dst), unsafe.SliceData(a), unsafe.SliceData(b)
	switch active {
	case withIFMA:
		productsIFMA(c, to, len(dst)/4, x, y, n/8)
	case withAVX2:
		productsAVX2(c, to, len(dst)/4, x, y, n/4)
	default:
		m.productsPlain(dst, a, b, n)
	}
}
