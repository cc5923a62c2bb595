package cpar

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"cpar/internal/enum"
)

// A Digest is the SHA-256 of a segment's bytes and its name.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes 64 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// ParseDigest reads the form that String writes, and no other.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) == 2*len(d) {
		if _, err := hex.Decode(d[:], []byte(s)); err == nil && d.String() == s {
			return d, nil
		}
	}
	return Digest{}, fmt.Errorf("%w: %q is not a digest (64 lower-case hexadecimal digits)", ErrInput, s)
}

// A SegmentKind says what a segment of an index holds.
type SegmentKind uint8

// The segments of an index, in the order in which a manifest lists them.
const (
	// SegmentVectors: the vectors of consecutive records. An index has one or
	// more, each of rows of Dim words, C(V); of scheme sealed, of whole groups
	// (cpar/internal/lattice); of scheme local, of whole blocks of LocalBlockBytes.
	SegmentVectors SegmentKind = 1
	// SegmentKeywords: one block of KeywordBytes for each record.
	SegmentKeywords SegmentKind = 2
	// SegmentForest: the planes' fields and order ciphertexts, then the
	// trees (an index with a forest only).
	SegmentForest SegmentKind = 3
	// SegmentPlanes: rows of Fields+1 words, C(H) of each plane (an index with
	// a forest only).
	SegmentPlanes SegmentKind = 4
	// SegmentLists: the first record of each list, 4 bytes each (an index
	// with an inverted file only).
	SegmentLists SegmentKind = 5
	// SegmentCentroids: rows of Dim words, C(V) of each list's centroid.
	SegmentCentroids SegmentKind = 6
	// SegmentLedger: what the owner must know of the index, encrypted; the cloud
	// only keeps it.
	SegmentLedger SegmentKind = 7
	// SegmentParams: the public constants of scheme sealed, ParamsBytes long.
	SegmentParams SegmentKind = 8
	// SegmentHints: what the owner needs to read sealed replies, encrypted; the
	// cloud only keeps it.
	SegmentHints SegmentKind = 9
)

const (
	// ParamsBytes is the length of a SegmentParams.
	ParamsBytes = 36
	// LocalBlockRecords is the number of records of a block of scheme local.
	LocalBlockRecords = 32
)

// LocalBlockBytes is the length of an encrypted block of LocalBlockRecords
// vectors of dim coordinates: a nonce, a count, two bytes a coordinate and eight
// more a record, a tag.
func LocalBlockBytes(dim uint32) uint64 {
	return 12 + 4 + LocalBlockRecords*(2*uint64(dim)+8) + 16
}

var segmentKinds = enum.Table[SegmentKind]{What: "segment kind", First: SegmentVectors,
	Names: []string{"vectors", "keywords", "forest", "planes", "lists", "centroids", "ledger", "parameters", "hints"}}

func (k SegmentKind) String() string { return segmentKinds.String(k) }

// A Segment names one immutable file of an index.
type Segment struct {
	Kind   SegmentKind
	Bytes  uint64
	Digest Digest
}
