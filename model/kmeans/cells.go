package kmeans

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"cpar/internal/wire"
)

// The encoding of BalancedCells takes one bit per record and cell. Record
// numbers would take log₂ n bits for each of 1.72·n slots, four times as much
// at a million records. Numbers are little-endian. The length depends only on
// the four counts.
//
//	records (4)  cells (4)  slots of a cell (4)  d (4)
//	centroids, d float32 each
//	for each cell ⌈records/8⌉ bytes: bit i mod 8 of byte i/8 is set if it has record i

// AppendBinary appends the canonical encoding of c for n records.
func (c *BalancedCells) AppendBinary(b []byte, n int) []byte {
	for _, x := range []int{n, len(c.Records), len(c.Records[0]), len(c.Centroids[0])} {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	for _, centroid := range c.Centroids {
		for _, x := range centroid {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, records := range c.Records {
		set := make([]byte, (n+7)/8)
		for _, i := range records {
			set[i/8] |= 1 << (i % 8)
		}
		b = append(b, set...)
	}
	return b
}

// maxCells and maxWidth bound the allocations of ReadBalancedCells.
const maxCells, maxWidth = 1 << 8, 1 << 16

// ReadBalancedCells reads the encoding of AppendBinary and rejects cells that
// Balance cannot produce for n records of d numbers. Errors are the reader's.
func ReadBalancedCells(r *wire.Reader, n, d int) (*BalancedCells, error) {
	records, clusters, size, width := int(r.U32("records")), int(r.U32("clusters")), int(r.U32("cells")), int(r.U32("dimension"))
	if r.Err() == nil && (records != n || width != d || d > maxWidth || clusters < 1 || clusters > maxCells) {
		r.Fail("cells of %d records of %d numbers in %d clusters", records, width, clusters)
	}
	c := new(BalancedCells)
	for k := 0; k < clusters && r.Err() == nil; k++ {
		packed := r.Bytes(4*d, "centroid")
		centroid := make([]float32, len(packed)/4)
		for j := range centroid {
			centroid[j] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*j:]))
			if x := float64(centroid[j]); math.IsNaN(x) || math.IsInf(x, 0) {
				r.Fail("centroid %d is not finite", k)
			}
		}
		c.Centroids = append(c.Centroids, centroid)
	}
	found := make([]byte, (n+7)/8)
	for k := 0; k < clusters && r.Err() == nil; k++ {
		var members []uint32
		for at, x := range r.Bytes(len(found), "cells of a cluster") {
			found[at] |= x
			for ; x != 0; x &= x - 1 {
				members = append(members, uint32(8*at+bits.TrailingZeros8(x)))
			}
		}
		if r.Err() == nil && (len(members) != size || size > 0 && int(members[size-1]) >= n) {
			r.Fail("%d cells in cluster %d of %d", len(members), k, size)
		}
		c.Records = append(c.Records, members)
	}
	missing := func(x byte) bool { return x != 0xff }
	if at := slices.IndexFunc(found, missing); r.Err() == nil && at >= 0 && (at < n/8 || bits.OnesCount8(found[at]) != n%8) {
		r.Fail("record %d or one behind it has no cell", 8*at)
	}
	return c, r.Err()
}
