package cpar

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"cpar/internal/enum"
	"cpar/internal/hint"
)

// A Manifest describes an index and names its segments. An index consists of
// exactly the segments in its active manifest, and activation is atomic.
type Manifest struct {
	Scheme  Scheme
	ID      IndexID
	Records uint32
	// Dim is the length of an encrypted vector C(V) in 64-bit words. For
	// schemes "sealed" and "local", it is the number of coordinates.
	Dim uint32
	// Shift converts inner products of ciphertexts into scores. The score of a
	// record's C(V) for a request t is ⟨C(V), t⟩ / 2^Shift, rounded. Here
	// 2^Shift is w², where w is the paper's plaintext scale. Shift is 0 for
	// schemes "sealed" and "local".
	Shift uint8
	// Trees is the number of k-d trees, or 0 in an index without a forest. The
	// next five fields are 0 in such an index.
	Trees uint8
	Place Place
	// PlaneShift is like Shift, for the scores of planes.
	PlaneShift uint8
	// OrderBytes is the size of an order ciphertext, 2 or 8 bytes.
	OrderBytes uint8
	// Fields is |SF|, the number of split fields (the dimensions at which trees
	// split).
	Fields uint32
	// Planes is the number of distinct splitting planes of the forest.
	Planes uint32
	// Lists is the number of cells in the inverted file, or 0 without one.
	Lists uint32
	// KeywordBytes is the size of a record's keyword block. In an index that
	// can be updated, it is the size of a keyword page (KeywordPageBytes).
	KeywordBytes uint32
	// Segments lists the segments in ascending order of their kinds.
	Segments []Segment
}

// A Place determines which nodes of a tree hold records.
type Place uint8

const (
	// PlaceLeaf means that only leaves hold records, as in FLANN.
	PlaceLeaf Place = 0
	// PlaceNode means that every node holds a record, as in the paper and
	// Bentley's k-d tree.
	PlaceNode Place = 1
)

var places = enum.Table[Place]{What: "place", Names: []string{"leaf", "node"}}

func (p Place) String() string { return places.String(p) }

func ParsePlace(name string) (Place, error) { return places.Parse(name, ErrInput) }

// These limits are checked before memory is allocated for the data that a
// manifest describes.
const (
	MaxRecords      = 1 << 27
	maxDim          = 1 << 16
	maxFields       = 1 << 16
	maxKeywordBytes = 1 << 16
	maxTrees        = 64
	maxSegments     = 1 << 16
	// MaxSegmentBytes bounds one segment. Vectors are split into several
	// segments. A forest must be a single segment, so an index with ten trees
	// can have at most about 6.7 million records.
	MaxSegmentBytes = 1 << 30
	segmentSize     = 1 + 8 + sha256.Size
	nodeSize        = 16
)

// AppendBinary appends the canonical encoding of m, which ends with the SHA-256
// of its other bytes.
func (m *Manifest) AppendBinary(b []byte) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("writing index manifest: %w", err)
	}
	start := len(b)
	b = appendHeader(b, kindManifest)
	b = append(b, m.ID[:]...)
	b = append(b, byte(m.Scheme), m.Shift, m.PlaneShift, m.Trees, m.OrderBytes, byte(m.Place), 0, 0)
	for _, v := range []uint32{m.Records, m.Dim, m.Fields, m.Planes, m.Lists, m.KeywordBytes, uint32(len(m.Segments))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, s := range m.Segments {
		b = append(b, byte(s.Kind))
		b = binary.LittleEndian.AppendUint64(b, s.Bytes)
		b = append(b, s.Digest[:]...)
	}
	sum := sha256.Sum256(b[start:])
	return append(b, sum[:]...), nil
}

func (m *Manifest) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// DecodeManifest reads a manifest. Errors wrap ErrCorrupt or ErrVersion.
func DecodeManifest(b []byte) (*Manifest, error) {
	// Check the version first, because a later version may have no checksum.
	r, err := readHeader(b, kindManifest)
	if errors.Is(err, ErrVersion) {
		return nil, hint.Add(err, hint.Rebuild)
	}
	if err != nil {
		return nil, err
	}
	body := len(b) - sha256.Size
	if body < 8 || sha256.Sum256(b[:body]) != [sha256.Size]byte(b[body:]) {
		return nil, fmt.Errorf("reading index manifest: %w: its checksum does not match its %d bytes", ErrCorrupt, len(b))
	}
	m := new(Manifest)
	copy(m.ID[:], r.Bytes(len(m.ID), "index id"))
	m.Scheme = Scheme(r.U8("scheme"))
	m.Shift, m.PlaneShift = r.U8("shift"), r.U8("plane shift")
	m.Trees, m.OrderBytes = r.U8("trees"), r.U8("order bytes")
	m.Place = Place(r.U8("place"))
	if z := r.Bytes(2, "reserved bytes"); z != nil && (z[0]|z[1]) != 0 {
		r.Fail("reserved bytes are not 0")
	}
	for _, v := range []*uint32{&m.Records, &m.Dim, &m.Fields, &m.Planes, &m.Lists, &m.KeywordBytes} {
		*v = r.U32("size")
	}
	n := r.Count(segmentSize, "segments")
	for i := 0; i < n && r.Err() == nil; i++ {
		s := Segment{Kind: SegmentKind(r.U8("segment kind")), Bytes: r.U64("segment size")}
		copy(s.Digest[:], r.Bytes(len(s.Digest), "segment digest"))
		m.Segments = append(m.Segments, s)
	}
	r.Bytes(sha256.Size, "checksum")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading index manifest: %w", err)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("reading index manifest: %w", err)
	}
	return m, nil
}

// Validate checks that every number is within its limit and that every segment
// has the size implied by those numbers.
func (m *Manifest) Validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
	}
	form, known := schemeSpecs[m.Scheme]
	forest := m.Trees > 0
	switch {
	case !known:
		return fail("%v is not a scheme", m.Scheme)
	case m.Records < 1 || m.Records > MaxRecords:
		return fail("%d records; 1 to %d are possible", m.Records, MaxRecords)
	case m.Dim < 1 || m.Dim > maxDim || m.KeywordBytes < 1 || m.KeywordBytes > maxKeywordBytes:
		return fail("vectors of %d words, keyword blocks of %d bytes", m.Dim, m.KeywordBytes)
	case form.grows && !slices.ContainsFunc(keywordBudgets, func(b int) bool { return m.KeywordBytes == KeywordPageBytes(b) }):
		return fail("keyword pages of %d bytes", m.KeywordBytes)
	case m.Shift > 62 || m.PlaneShift > 62 || m.Fields > maxFields || len(m.Segments) > maxSegments:
		return fail("shifts %d and %d, %d split fields, %d segments", m.Shift, m.PlaneShift, m.Fields, len(m.Segments))
	case form.lists && !forest && m.Lists == 0:
		return fail("scheme %v with neither trees nor lists", m.Scheme)
	case forest && !form.trees || m.Lists > 0 && !form.lists:
		return fail("%d trees and %d lists in an index of scheme %v", m.Trees, m.Lists, m.Scheme)
	case !m.Scheme.Scored() && m.Shift != 0:
		return fail("a shift of %d in an index of scheme %v", m.Shift, m.Scheme)
	case m.Lists > m.Records:
		return fail("%d lists of %d records", m.Lists, m.Records)
	case forest && (m.Trees > maxTrees || !places.Has(m.Place) || m.OrderBytes != 2 && m.OrderBytes != 8):
		return fail("%d trees, order ciphertexts of %d bytes", m.Trees, m.OrderBytes)
	case forest && uint64(m.Planes) > uint64(m.Records)*uint64(m.Trees):
		return fail("%d planes for %d trees of %d records", m.Planes, m.Trees, m.Records)
	case !forest && (uint8(m.Place)|m.PlaneShift|m.OrderBytes != 0 || m.Fields|m.Planes != 0):
		return fail("parameters of a forest, but no trees")
	}
	return m.validateSegments(form, fail)
}

// requiredSegments maps the segments that must occur exactly once to their
// sizes in bytes.
func (m *Manifest) requiredSegments(form schemeSpec) map[SegmentKind]uint64 {
	want := map[SegmentKind]uint64{SegmentLedger: anySize, SegmentProfile: anySize}
	maps.Copy(want, form.segments)
	if !form.grows {
		want[SegmentKeywords] = uint64(m.Records) * uint64(m.KeywordBytes)
	}
	if _, clustered := m.Segment(SegmentCells); clustered && form.clusters {
		want[SegmentCells], want[SegmentParams] = notEmpty, ClusteredParamsBytes
	}
	if m.Lists > 0 {
		want[SegmentLists] = 4 * uint64(m.Lists)
		want[SegmentCentroids] = uint64(m.Lists) * form.unit(m)
	}
	if m.Trees > 0 {
		want[SegmentForest] = m.forestBytes()
		want[SegmentPlanes] = uint64(m.Planes) * (uint64(m.Fields) + 1) * 8
	}
	return want
}

// anySize allows any number of bytes. notEmpty allows any number except 0.
const anySize, notEmpty = math.MaxUint64, math.MaxUint64 - 1

func (m *Manifest) validateSegments(form schemeSpec, fail func(string, ...any) error) error {
	want := m.requiredSegments(form)
	count, parts := map[SegmentKind]int{}, map[SegmentKind]uint64{}
	// Refuse duplicates, because a file listed many times would be read and
	// mapped many times.
	sizes := map[Digest]uint64{}
	for i, s := range m.Segments {
		size, belongs := want[s.Kind]
		n, whole := m.parts(form, i)
		switch {
		case s.Bytes > MaxSegmentBytes:
			return fail("segment %d has %d bytes, more than %d", i, s.Bytes, MaxSegmentBytes)
		case i > 0 && s.Kind < m.Segments[i-1].Kind:
			return fail("segment %d (%v) is out of order", i, s.Kind)
		case form.several(s.Kind) && !whole:
			return fail("segment %d (%v) of %d bytes is cut short", i, s.Kind, s.Bytes)
		case form.several(s.Kind):
			parts[s.Kind] += n
		case !belongs || size != anySize && s.Bytes != size && (size != notEmpty || s.Bytes == 0):
			return fail("segment %d (%v) of %d bytes does not belong", i, s.Kind, s.Bytes)
		case count[s.Kind] > 0:
			return fail("two segments of %v", s.Kind)
		}
		count[s.Kind]++
		if other, twice := sizes[s.Digest]; twice && (other != 0 || s.Bytes != 0) {
			return fail("segment %d (%v) has the digest of another", i, s.Kind)
		}
		sizes[s.Digest] = s.Bytes
	}
	for k := range want {
		if count[k] != 1 {
			return fail("no segment of %v", k)
		}
	}
	if pages := m.Records / KeywordPageRecords; form.grows && (count[SegmentKeywords] == 0 || parts[SegmentKeywords] != uint64(pages)) {
		return fail("%d keyword pages for %d records", parts[SegmentKeywords], m.Records)
	}
	if form.grows && parts[SegmentIdentities] != uint64(m.Records) {
		return fail("%d identities for %d records", parts[SegmentIdentities], m.Records)
	}
	if !form.fits(m, parts[SegmentVectors]) {
		return fail("%d units of vectors for %d records", parts[SegmentVectors], m.Records)
	}
	if form.hints && count[SegmentHints] != count[SegmentVectors] {
		return fail("%d segments of hints for %d of vectors", count[SegmentHints], count[SegmentVectors])
	}
	return nil
}

func (form schemeSpec) several(k SegmentKind) bool {
	return k == SegmentVectors || form.hints && k == SegmentHints || form.grows && (k == SegmentKeywords || k == SegmentIdentities)
}

// parts returns the number of units in segment i, whose kind may occur several
// times. Result `whole` is false if the segment's size is not a multiple of the
// unit.
func (m *Manifest) parts(form schemeSpec, i int) (n uint64, whole bool) {
	s := m.Segments[i]
	unit, over, least := form.unit(m), uint64(0), uint64(1)
	switch s.Kind {
	case SegmentKeywords:
		unit = uint64(m.KeywordBytes)
		if i+1 == len(m.Segments) || m.Segments[i+1].Kind != s.Kind { // this is the tail, KeywordTailBytes long
			unit, over, least = 1, KeywordTailBytes(m.KeywordBytes), 0
			if s.Bytes > over {
				return 0, false
			}
		}
	case SegmentHints:
		unit = 1
	case SegmentIdentities:
		unit, over = IdentityBytes, identityOverhead
	}
	n = (s.Bytes - over) / unit
	return n, s.Bytes >= over && n >= least && (s.Bytes-over)%unit == 0
}

func (m *Manifest) treeNodes() uint64 {
	if m.Place == PlaceLeaf {
		return 2*uint64(m.Records) - 1
	}
	return uint64(m.Records)
}

func (m *Manifest) forestBytes() uint64 {
	return uint64(m.Planes)*(2+uint64(m.OrderBytes)) + uint64(m.Trees)*m.treeNodes()*nodeSize
}

func (m *Manifest) Bytes() (n uint64) {
	for _, s := range m.Segments {
		n += s.Bytes
	}
	return n
}

// OpaqueReplyBytes returns an upper bound on the size of an opaque reply
// (scheme "sealed"). Such a reply consists of about 80 bytes and one word per
// row of encrypted vectors. A row takes at least Dim+1 words in the index. The
// bound is doubled because the index may have grown since m was read.
func (m *Manifest) OpaqueReplyBytes() int64 {
	vectors := uint64(0)
	for _, s := range m.Segments {
		if s.Kind == SegmentVectors {
			vectors += s.Bytes
		}
	}
	return 128 + 2*int64(vectors/(uint64(m.Dim)+1))
}

// Segment returns the first segment of kind k.
func (m *Manifest) Segment(k SegmentKind) (Segment, bool) {
	for _, s := range m.Segments {
		if s.Kind == k {
			return s, true
		}
	}
	return Segment{}, false
}

// Serves reports whether the cloud can run a search with p on this index.
func (m *Manifest) Serves(p Params) bool {
	return slices.Contains(schemeSpecs[m.Scheme].accepts, p.Scheme) &&
		(!p.UsesForest() || m.Trees > 0) && (p.Search != SearchIVF || m.Lists > 0)
}

// DefaultParams returns the default search for ten neighbours. It searches a
// forest by the paper's Algorithm 1, or the cells of an inverted file, and
// visits 10 % of the records (AP-10). It scans other indexes in full.
func (m *Manifest) DefaultParams() Params {
	p := Params{Scheme: m.Scheme, L: 10, Approx: 100}
	switch {
	case m.Trees > 0:
	case m.Lists > 0:
		p.Search = SearchIVF
	default:
		p.Approx = 1000
	}
	return p
}

// An IndexID names an index. It is random, enters every key derivation, and
// reveals nothing about the contents.
type IndexID [16]byte

func (id IndexID) String() string { return hex.EncodeToString(id[:]) }

func (id IndexID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts only 32 lower-case hexadecimal digits.
func (id *IndexID) UnmarshalText(text []byte) error {
	return parseHex(id[:], text, "an index id")
}

func ParseIndexID(s string) (id IndexID, err error) {
	err = id.UnmarshalText([]byte(s))
	return id, err
}
