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

// A Digest is the SHA-256 of a segment's bytes and names the segment.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText accepts only 64 lower-case hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	return parseHex(d[:], text, "a digest")
}

// parseHex decodes the lower-case hexadecimal digits in `text` into `id`. On
// failure it leaves `id` unchanged.
func parseHex(id, text []byte, what string) error {
	got := make([]byte, len(id))
	n, err := hex.Decode(got, text[:min(len(text), 2*len(id))])
	if err != nil || n != len(id) || hex.EncodeToString(got) != string(text) {
		return fmt.Errorf("%w: %q is not %s (%d lower-case hexadecimal digits)", ErrInput, text, what, 2*len(id))
	}
	copy(id, got)
	return nil
}

func ParseDigest(s string) (d Digest, err error) {
	err = d.UnmarshalText([]byte(s))
	return d, err
}

// A SegmentKind identifies the contents of a segment.
type SegmentKind uint8

// A manifest lists the kinds in this order.
const (
	// SegmentVectors holds the encrypted vectors of consecutive records. Scheme
	// "sealed" stores groups of records (internal/lattice), and scheme "local"
	// stores blocks of LocalBlockBytes. The other schemes store a row of
	// Manifest.Dim words per record, the ciphertext C(V).
	SegmentVectors SegmentKind = 1
	// SegmentKeywords holds a block of Manifest.KeywordBytes per record. In an
	// index that can be updated, it instead holds pages of KeywordPageRecords
	// records each. The last keywords segment has KeywordTailBytes bytes.
	SegmentKeywords SegmentKind = 2
	// SegmentForest holds the field and the order ciphertext of each splitting
	// plane. After the planes it holds the trees.
	SegmentForest SegmentKind = 3
	// SegmentPlanes holds the ciphertext C(H) of each plane, a row of
	// Manifest.Fields+1 words.
	SegmentPlanes SegmentKind = 4
	// SegmentLists holds 4 bytes per cell of an inverted file: the number of
	// the cell's first record.
	SegmentLists SegmentKind = 5
	// SegmentCentroids holds the encrypted centroid of each cell, a row of
	// Manifest.Dim words.
	SegmentCentroids SegmentKind = 6
	// SegmentLedger holds the owner's encrypted ledger, which authenticates the
	// other segments of one generation (version) of the index. The cloud only
	// stores it.
	SegmentLedger SegmentKind = 7
	// SegmentParams holds the public constants of scheme "sealed".
	SegmentParams SegmentKind = 8
	// SegmentHints holds data that the owner needs to decrypt replies of scheme
	// "sealed". There is one such segment per vectors segment, in the same
	// order. The cloud only stores it.
	SegmentHints SegmentKind = 9
	// SegmentProfile holds the encrypted profile (the conversion from features
	// to vectors) and keyword list of the collection. Updates leave this large
	// segment unchanged.
	SegmentProfile SegmentKind = 10
	// SegmentIdentities holds the encrypted identities of the photos of
	// consecutive records. Each identity has IdentityBytes bytes. Only updates
	// read them.
	SegmentIdentities SegmentKind = 11
	// SegmentCells holds the encrypted assignment of records to the hidden
	// cells of scheme "sealed". Updates leave it unchanged.
	SegmentCells SegmentKind = 12
)

const (
	// ParamsBytes is the length of the parameters segment of an index without
	// hidden cells.
	ParamsBytes = 36
	// ClusteredParamsBytes is the length of the parameters segment of an index
	// with hidden cells.
	ClusteredParamsBytes = 2*ParamsBytes + 4
	// LocalBlockRecords is the number of records in a full block of scheme
	// "local".
	LocalBlockRecords = 32
	// IdentityBytes is the length of a record's identity.
	IdentityBytes = 16
	// identityOverhead is the length of the nonce and the authentication tag of
	// a segment of identities.
	identityOverhead = 12 + 16
	// KeywordPageRecords is the number of records in a full keyword page.
	KeywordPageRecords = 256
	// KeywordAmendmentBytes is the length of the encrypted list of keywords
	// that changed after their page was written.
	KeywordAmendmentBytes = 4096
)

// keywordBudgets are the permitted budgets (maximum average numbers of keywords
// per record of a page). There are only three, because the cloud learns the
// budget of an index from the size of its pages.
var keywordBudgets = []int{8, 16, 31}

// KeywordBudgets lists the permitted budgets in ascending order. The last one fits
// any collection.
func KeywordBudgets() []int { return slices.Clone(keywordBudgets) }

// KeywordPageBytes returns the length of an encrypted page: a nonce, a one-byte
// count per record, two bytes per keyword of the budget, and an authentication
// tag.
func KeywordPageBytes(budget int) uint32 {
	return uint32(12 + KeywordPageRecords*(1+2*budget) + 16)
}

// KeywordTailBytes returns the length of the segment after the full pages. That
// segment holds one partly filled page and the amendments.
func KeywordTailBytes(page uint32) uint64 { return uint64(page) + KeywordAmendmentBytes }

// LocalBlockBytes returns the length of an encrypted block of LocalBlockRecords
// vectors: a nonce, a four-byte count, eight bytes per record, two bytes per
// coordinate, and an authentication tag.
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

// A Plane is the public part of a splitting plane.
type Plane struct {
	// Field is the number of the split field that the plane cuts, from 0 to
	// Manifest.Fields−1. It is not a dimension of the vector.
	Field uint16
	// Order encrypts the value at which the plane splits the field.
	Order OrderCiphertext
}

func (p Plane) before(o Plane) bool {
	return p.Field < o.Field || p.Field == o.Field && p.Order < o.Order
}

// A Forest is an encrypted forest without vectors: the shapes of the trees, the
// record at each node, and the planes that nodes share.
type Forest struct {
	kdforest.Forest
	// Cuts has Forest.Planes elements in ascending order of (Field, Order).
	Cuts []Plane
}

// AppendBinary appends the field and the order ciphertext of every plane. An
// order ciphertext takes orderBytes bytes. After the planes come 16 bytes for
// every node: record, plane, left child and right child.
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

// DecodeForest reads the forest segment of an index and checks that every tree
// is valid and covers all records. Errors wrap ErrCorrupt.
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
