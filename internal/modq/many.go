package modq

import (
	"fmt"
	"unsafe"
)

const (
	// Lanes is the number of interleaved vectors in a Group.
	Lanes = 8
	// TileRows is the number of rows that Tile multiplies at once, and
	// TileGroups is the maximum number of groups.
	TileRows, TileGroups = 4, 2

	// few is the largest number of requests that are multiplied one by one,
	// because a zero-padded group would take longer. They share blocks of
	// fewRows cached rows.
	few, fewRows = 3, 16
)

// A Group is Lanes interleaved vectors of equal length: element k of vector l
// is X[k·Lanes+l]. Pairs[l] is the sum that SumPairs computes for the part of X
// that is multiplied.
type Group struct {
	X     []uint64
	Pairs [Lanes]uint64
}

// A Block is the result of Tile: [g][q][l] belongs to group g, row q, vector l.
type Block [TileGroups][TileRows][Lanes]uint64

// SumPairs adds Σ x[2j·Lanes+l]·x[(2j+1)·Lanes+l], the products of neighbouring
// elements, to pairs[l]. It skips the last element of vectors of odd length.
func SumPairs(pairs *[Lanes]uint64, x []uint64) {
	for ; len(x) >= 2*Lanes; x = x[2*Lanes:] {
		v := (*[2 * Lanes]uint64)(x)
		for l := range pairs {
			pairs[l] += v[l] * v[Lanes+l]
		}
	}
}

// Tile multiplies TileRows rows of equal length by each vector of one or two
// groups: dst[g][q][l] = ⟨rows[q], vector l of groups[g]⟩.
//
// The kernels halve the number of multiplications with an identity of S.
// Winograd ("A new algorithm for inner product", IEEE Transactions on Computers
// C-17, 1968) that holds in any commutative ring:
//
//	Σ r[k]·x[k] = Σ (r[2j]+x[2j+1])·(r[2j+1]+x[2j]) − Σ r[2j]·r[2j+1] − Σ x[2j]·x[2j+1]
//
// The second sum depends only on the row and the third only on the vector
// (Pairs). The results equal plain inner products.
//
// Tile prefetches `ahead`, which will be read next and may be empty.
func Tile(dst *Block, rows *[TileRows][]uint64, groups []Group, ahead []uint64) {
	n := len(rows[0])
	for _, r := range rows {
		if len(r) != n {
			panic("modq: rows of a tile differ in length")
		}
	}
	if len(groups) < 1 || len(groups) > TileGroups {
		panic("modq: a tile of too many groups, or none")
	}
	for _, g := range groups {
		_ = g.X[:n*Lanes] // assembly checks no bounds
	}
	tile(dst, rows, groups, ahead)
}

// PackedLen returns the number of words in n packed requests of dim words each.
func PackedLen(n, dim int) int {
	if n <= few {
		return n * dim
	}
	return groupsOf(n) * Lanes * (dim + 1)
}

func starts(rows *[TileRows][]uint64) (r [TileRows]*uint64) {
	for q := range r {
		r[q] = unsafe.SliceData(rows[q])
	}
	return r
}

func groupsOf(n int) int { return (n + Lanes - 1) / Lanes }

// Pack lays out requests of one length for RowsMany, in groups of Lanes
// interleaved requests. The sums of pairs (Group.Pairs) precede each group. The
// last group is zero-padded. Up to three requests are simply concatenated.
func Pack(requests [][]uint64) []uint64 {
	if len(requests) == 0 {
		return nil
	}
	dim := len(requests[0])
	packed := make([]uint64, PackedLen(len(requests), dim))
	for i, x := range requests {
		if len(x) != dim {
			panic("modq: packing requests of different lengths")
		}
		if len(requests) <= few {
			copy(packed[i*dim:], x)
			continue
		}
		group := packed[i/Lanes*Lanes*(dim+1):][Lanes:]
		for k, w := range x {
			group[k*Lanes+i%Lanes] = w
		}
	}
	if len(requests) <= few {
		return packed
	}
	for g := range groupsOf(len(requests)) {
		group := packed[g*Lanes*(dim+1):][:Lanes*(dim+1)]
		SumPairs((*[Lanes]uint64)(group), group[Lanes:])
	}
	return packed
}

// RowsMany sets dst[i·n+j] = ⟨row i of matrix, request j⟩ for the n requests in
// `packed` and len(dst)/n contiguous rows. It reads the matrix from memory
// once.
func RowsMany(dst, matrix, packed []uint64, n int) {
	if n == 0 {
		return
	}
	if len(dst)%n != 0 {
		panic(fmt.Sprintf("modq: %d products do not fit %d requests", len(dst), n))
	}
	if n <= few {
		rowsFew(dst, matrix, packed, n)
		return
	}
	var room [8]Group // enough for 64 requests without allocation
	groups, dim := unpack(room[:0], packed, n)
	count := len(dst) / n
	matrix = matrix[:count*dim]
	var out Block
	for first := 0; first < count; first += TileRows {
		var r [TileRows][]uint64
		here := min(TileRows, count-first)
		for q := range r {
			// The last tile repeats the last row.
			i := first + min(q, here-1)
			r[q] = matrix[i*dim : (i+1)*dim]
		}
		ahead := matrix[(first+here)*dim:]
		for g := 0; g < len(groups); g += TileGroups {
			some := groups[g:min(g+TileGroups, len(groups))]
			Tile(&out, &r, some, ahead)
			ahead = nil // prefetched by the first group
			for s := range some {
				j := (g + s) * Lanes
				lanes := min(Lanes, n-j)
				for q := range here {
					copy(dst[(first+q)*n+j:][:lanes], out[s][q][:])
				}
			}
		}
	}
}

func rowsFew(dst, matrix, packed []uint64, n int) {
	if len(packed)%n != 0 {
		panic(fmt.Sprintf("modq: %d words are not %d packed requests", len(packed), n))
	}
	count, dim := len(dst)/n, len(packed)/n
	matrix = matrix[:count*dim]
	var out [fewRows]uint64
	for first := 0; first < count; first += fewRows {
		here := min(fewRows, count-first)
		for j := range n {
			Rows(out[:here], matrix[first*dim:], packed[j*dim:(j+1)*dim])
			for i, product := range out[:here] {
				dst[(first+i)*n+j] = product
			}
		}
	}
}

func unpack(groups []Group, packed []uint64, n int) ([]Group, int) {
	count := groupsOf(n)
	size := len(packed) / count
	if size < Lanes || size%Lanes != 0 || size*count != len(packed) {
		panic(fmt.Sprintf("modq: %d words are not %d packed requests", len(packed), n))
	}
	for g := range count {
		part := packed[g*size : (g+1)*size]
		groups = append(groups, Group{X: part[Lanes:], Pairs: [Lanes]uint64(part)})
	}
	return groups, size/Lanes - 1
}
