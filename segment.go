package cpar

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"cpar/internal/enum"
	"cpar/internal/wire"
	"cpar/kdforest"
)

// A Digest is the SHA-256 of a segment's bytes; it also names the segment.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes 64 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 64 lower-case hexadecimal digits, the form that String writes.
func (d *Digest) UnmarshalText(text []byte) error {
	var got Digest
	n, err := hex.Decode(got[:], text[:min(len(text), 2*len(got))])
	if err != nil || n != len(got) || got.String() != string(text) {
		return fmt.Errorf("%w: %q is not a digest (64 lower-case hexadecimal digits)", ErrInput, text)
	}
	*d = got
	return nil
}

// ParseDigest parses the output of String.
func ParseDigest(s string) (d Digest, err error) {
	err = d.UnmarshalText([]byte(s))
	return d, err
}

// A SegmentKind says what a segment of an index holds.
type SegmentKind uint8

// The segments of an index, in the order of the manifest.
const (
	// SegmentVectors: the vectors of consecutive records. An index has one or more. Each
	// holds rows of Dim words, C(V); for scheme sealed whole groups
	// (cpar/internal/lattice), for scheme local whole blocks of LocalBlockBytes.
	SegmentVectors SegmentKind = 1
	// SegmentKeywords: a block of KeywordBytes for each record; of an index that can be
	// updated, pages of KeywordBytes for KeywordPageRecords each, in one or more segments,
	// and then one of KeywordTailBytes for the records that fill no page.
	SegmentKeywords SegmentKind = 2
	// SegmentForest: the planes' fields and order ciphertexts, then the trees (only with a forest).
	SegmentForest SegmentKind = 3
	// SegmentPlanes: rows of Fields+1 words, C(H) of each plane (only with a forest).
	SegmentPlanes SegmentKind = 4
	// SegmentLists: the first record of each list, 4 bytes each (only with an inverted file).
	SegmentLists SegmentKind = 5
	// SegmentCentroids: rows of Dim words, C(V) of each list's centroid.
	SegmentCentroids SegmentKind = 6
	// SegmentLedger: what the owner must know about this state of the index, encrypted; the
	// cloud only stores it.
	SegmentLedger SegmentKind = 7
	// SegmentParams: the public constants of scheme sealed, ParamsBytes long.
	SegmentParams SegmentKind = 8
	// SegmentHints: what the owner needs to read replies of scheme sealed; the cloud only
	// stores it. There is one for every segment of vectors, in the same order.
	SegmentHints SegmentKind = 9
	// SegmentProfile: what is compared of a photo, and the words of the collection,
	// encrypted. It is large and stays as it is through updates.
	SegmentProfile SegmentKind = 10
	// SegmentIdentities: which photos consecutive records are of, IdentityBytes each,
	// encrypted. An index that can be updated has one or more; only updates read them.
	SegmentIdentities SegmentKind = 11
	// SegmentCells: which records are in which cluster, encrypted, of an index of scheme
	// sealed that has clusters. It stays as it is through updates.
	SegmentCells SegmentKind = 12
)

const (
	// ParamsBytes is the length of the parameters segment, ClusteredParamsBytes that of an
	// index with clusters.
	ParamsBytes          = 36
	ClusteredParamsBytes = 2*ParamsBytes + 4
	// LocalBlockRecords is the number of records in a full block of scheme local.
	LocalBlockRecords = 32
	// IdentityBytes is the length of a record's identity. A segment of them begins with a
	// nonce and ends with a tag.
	IdentityBytes    = 16
	identityOverhead = 12 + 16
	// KeywordPageRecords is the number of records of a page of keywords.
	KeywordPageRecords = 256
	// KeywordAmendmentBytes is the length of the encrypted list of keywords that have
	// changed since their page was written.
	KeywordAmendmentBytes = 4096
)

// keywordBudgets are how many keywords a page may have room for, on average over its
// records. An index has one budget for all its pages, which the cloud sees: they are few.
var keywordBudgets = []int{8, 16, 31}

// KeywordBudgets lists them in ascending order; the last has room for whatever there is.
func KeywordBudgets() []int { return slices.Clone(keywordBudgets) }

// KeywordPageBytes is the length of an encrypted page of keywords with this budget: a
// nonce, a count for each record, two bytes for each keyword that there is room for, a tag.
func KeywordPageBytes(budget int) uint32 {
	return uint32(12 + KeywordPageRecords*(1+2*budget) + 16)
}

// KeywordTailBytes is the length of the segment that follows pages of this length: one
// more page, whose records are fewer, and the amendments.
func KeywordTailBytes(page uint32) uint64 { return uint64(page) + KeywordAmendmentBytes }

// LocalBlockBytes is the length of an encrypted block of LocalBlockRecords vectors of dim
// coordinates: a nonce, a count, two bytes per coordinate plus eight per record, and a
// tag.
func LocalBlockBytes(dim uint32) uint64 {
	return 12 + 4 + LocalBlockRecords*(2*uint64(dim)+8) + 16
}

var segmentKinds = enum.Table[SegmentKind]{What: "segment kind", First: SegmentVectors,
	Names: []string{"vectors", "keywords", "forest", "planes", "lists", "centroids", "ledger", "parameters", "hints", "profile", "identities", "cells"}}

func (k SegmentKind) String() string { return segmentKinds.String(k) }

// A Segment names an immutable file of an index.
type Segment struct {
	Kind   SegmentKind
	Bytes  uint64
	Digest Digest
}

// A Plane is the part of a splitting plane that the cloud sees in addition to its
// encrypted row: which split field it cuts, and the order ciphertext of the split value.
// Field is an index into the |SF| split fields, not a dimension of the vector.
type Plane struct {
	Field uint16
	Order OrderCiphertext
}

func (p Plane) before(o Plane) bool {
	return p.Field < o.Field || p.Field == o.Field && p.Order < o.Order
}

// A Forest is an encrypted forest without its vectors: the shapes of the trees, the
// record at each node, and the planes that nodes share.
type Forest struct {
	kdforest.Forest
	// Cuts has Forest.Planes elements, ascending by (Field, Order).
	Cuts []Plane
}

// AppendBinary appends the encoding of f: field and order ciphertext of every plane
// (orderBytes each), then the nodes of every tree, 16 bytes each: record, plane, left,
// right.
func (f *Forest) AppendBinary(b []byte, orderBytes uint8) ([]byte, error) {
	for i, c := range f.Cuts {
		if orderBytes == 2 && c.Order > 1<<16-1 {
			return nil, fmt.Errorf("writing forest: order ciphertext of plane %d does not fit in 2 bytes", i)
		}
		b = binary.LittleEndian.AppendUint16(b, c.Field)
		b = appendOrder(b, c.Order, orderBytes)
	}
	for _, t := range f.Trees {
		for _, n := range t {
			for _, v := range [4]uint32{n.Record, n.Plane, n.Left, n.Right} {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		}
	}
	return b, nil
}

// DecodeForest reads the forest segment of an index. It checks that every tree is a valid
// tree over all records, so a search can trust it. Errors wrap ErrCorrupt.
func DecodeForest(m *Manifest, b []byte) (*Forest, error) {
	r := wire.NewReader(b, ErrCorrupt)
	want := m.forestBytes()
	if uint64(len(b)) != want {
		return nil, fmt.Errorf("reading forest: %w: %d bytes for %d planes and %d trees of %d nodes, want %d", ErrCorrupt, len(b), m.Planes, m.Trees, m.treeNodes(), want)
	}
	f := &Forest{Forest: kdforest.Forest{Records: m.Records, Planes: m.Planes}}
	f.Cuts = make([]Plane, m.Planes)
	for i := range f.Cuts {
		f.Cuts[i] = Plane{Field: r.U16("field"), Order: readOrder(r, m.OrderBytes)}
		if uint32(f.Cuts[i].Field) >= m.Fields {
			return nil, fmt.Errorf("reading forest: %w: plane %d cuts field %d of %d", ErrCorrupt, i, f.Cuts[i].Field, m.Fields)
		}
		if i > 0 && !f.Cuts[i-1].before(f.Cuts[i]) {
			return nil, fmt.Errorf("reading forest: %w: plane %d is out of order", ErrCorrupt, i)
		}
	}
	f.Trees = make([]kdforest.Tree, m.Trees)
	for t := range f.Trees {
		nodes := make(kdforest.Tree, m.treeNodes())
		for i := range nodes {
			b := r.Bytes(nodeSize, "node")
			le := binary.LittleEndian
			nodes[i] = kdforest.Node{Record: le.Uint32(b), Plane: le.Uint32(b[4:]), Left: le.Uint32(b[8:]), Right: le.Uint32(b[12:])}
		}
		f.Trees[t] = nodes
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading forest: %w", err)
	}
	validate := f.Validate
	if m.Place == PlaceLeaf {
		validate = f.ValidateLeaves
	}
	if err := validate(); err != nil {
		return nil, fmt.Errorf("reading forest: %w: %w", ErrCorrupt, err)
	}
	return f, nil
}
