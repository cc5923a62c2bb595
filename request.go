package cpar

import (
	"encoding/binary"
	"fmt"
	"math"
)

// MaxRequestBytes is the size of the largest request that a cloud accepts.
const MaxRequestBytes = 1 << 20

// An OrderCiphertext reveals only the order of values of one field (one
// dimension of the vectors). It is either the dense rank of a value among the
// field's split values, or an order-preserving encryption of the value. Both
// are deterministic.
type OrderCiphertext uint64

// A Request asks for the records nearest to an encrypted vector. It is all that
// the cloud receives about a new photo.
type Request struct {
	Index  IndexID
	Params Params
	// Vector is t = Sᵀ(w·V_s + e_s) mod 2⁶⁴, the paper's product SᵀS_s·C(V_s).
	// S is the secret key of records, and w is the plaintext scale. V_s is the
	// photo's vector, and e_s is small noise. The inner product of t and a
	// record's ciphertext C(V) is the record's score times 2^Manifest.Shift,
	// plus noise.
	Vector []uint64
	// Order has one element per split field. It is empty if the search does not
	// visit trees (Params.UsesForest).
	Order []OrderCiphertext
	// Planes is set only if Params.UsesPlanes returns true.
	Planes *PlaneRequest
	// Opaque is the complete message of a scheme with its own encoding
	// (internal/lattice). In such a scheme the other fields, even Params.L, are
	// not sent. DecodeRequest then sets only Index, Params.Scheme and Opaque.
	Opaque []byte
}

// A PlaneRequest lets the cloud compute the signed distance from the request to
// each splitting plane and compare the distance with a record's score.
type PlaneRequest struct {
	// Vector encrypts the number r_p·(V_s[f] − centre_f) for each split field
	// f, and then r_p, the request's secret scale for planes. V_s[f] is the
	// photo's value in field f, and centre_f is a constant of that field. The
	// inner product of Vector and a plane's row in SegmentPlanes is r_p·(V_s[f]
	// − split), where split is the plane's position.
	Vector []uint64
	// Scale and Offset convert the score p of a plane into the unit of record
	// scores. The plane is as distant as a record with score (|p|·Scale)/2¹⁶ −
	// Offset. The conversion counts only 0.75 of the plane's distance, because
	// a projected distance can be below the L1 distance.
	Scale  uint64
	Offset uint64
}

const (
	flagPrune  = 1 << 0
	flagPlanes = 1 << 1
)

func (q *Request) AppendBinary(b []byte) ([]byte, error) {
	switch {
	case q.Params.Scheme.Opaque():
		return appendOpaque(b, q.Opaque, schemeSpecs[q.Params.Scheme].request, q.Index)
	case !q.Params.Scheme.CloudSearches() || q.Opaque != nil:
		return nil, fmt.Errorf("writing request: %w: scheme %v has no request of this form", ErrInput, q.Params.Scheme)
	}
	if err := q.Params.Validate(); err != nil {
		return nil, fmt.Errorf("writing request: %w", err)
	}
	var flags uint8
	if q.Params.Prune {
		flags |= flagPrune
	}
	if q.Planes != nil {
		flags |= flagPlanes
	}
	b = appendHeader(b, kindRequest)
	b = append(b, q.Index[:]...)
	b = append(b, byte(q.Params.Scheme), flags)
	b = binary.LittleEndian.AppendUint16(b, q.Params.L)
	b = binary.LittleEndian.AppendUint16(b, q.Params.Approx)
	width := orderWidth(q.Order)
	b = append(b, width, byte(q.Params.Search))
	b = appendWords(b, q.Vector)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(q.Order)))
	for _, o := range q.Order {
		b = appendOrder(b, o, width)
	}
	if q.Planes != nil {
		b = appendWords(b, q.Planes.Vector)
		b = binary.LittleEndian.AppendUint64(b, q.Planes.Scale)
		b = binary.LittleEndian.AppendUint64(b, q.Planes.Offset)
	}
	return b, nil
}

func (q *Request) MarshalBinary() ([]byte, error) { return q.AppendBinary(nil) }

func asRequest(f schemeSpec) message { return f.request }

// DecodeRequest reads a request. An opaque request aliases b. Errors wrap
// ErrCorrupt or ErrVersion.
func DecodeRequest(b []byte) (*Request, error) {
	if scheme, m, ok := schemeOf(b, asRequest); ok {
		id, err := readOpaque(b, m)
		if err != nil {
			return nil, err
		}
		return &Request{Index: id, Params: Params{Scheme: scheme}, Opaque: b}, nil
	}
	r, err := readHeader(b, kindRequest)
	if err != nil {
		return nil, err
	}
	q := new(Request)
	copy(q.Index[:], r.Bytes(len(q.Index), "index id"))
	q.Params.Scheme = Scheme(r.U8("scheme"))
	flags := r.U8("flags")
	q.Params.L = r.U16("L")
	q.Params.Approx = r.U16("approximation power")
	q.Params.Prune = flags&flagPrune != 0
	width := r.U8("order width")
	q.Params.Search = Search(r.U8("search"))
	if r.Err() == nil {
		if err := q.Params.Validate(); err != nil {
			r.Fail("%v", err)
		} else if !q.Params.Scheme.Scored() {
			r.Fail("scheme %v has no request of this form", q.Params.Scheme)
		} else if flags&^(flagPrune|flagPlanes) != 0 || width != 2 && width != 8 {
			r.Fail("flags %#x, order width %d", flags, width)
		}
	}
	q.Vector = r.Words(r.Count(8, "vector words"), "vector")
	if n := r.Count(int(width), "order ciphertexts"); r.Err() == nil && n > 0 {
		q.Order = make([]OrderCiphertext, n)
		for i := range q.Order {
			q.Order[i] = readOrder(r, width)
		}
	}
	if flags&flagPlanes != 0 {
		q.Planes = &PlaneRequest{
			Vector: r.Words(r.Count(8, "plane words"), "plane vector"),
			Scale:  r.U64("plane scale"),
			Offset: r.U64("plane offset"),
		}
	}
	if r.Err() == nil && orderWidth(q.Order) != width {
		r.Fail("order ciphertexts that fit in %d bytes are written in %d", orderWidth(q.Order), width)
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading request: %w", err)
	}
	return q, nil
}

func orderWidth(list []OrderCiphertext) uint8 {
	for _, o := range list {
		if o > math.MaxUint16 {
			return 8
		}
	}
	return 2
}

// MaxReplyBytes returns an upper bound on the size of a valid reply to q: 44
// bytes, and for each match a record number, a score and at most 64 KiB of
// keywords. For an opaque scheme it returns `opaque`.
func (q *Request) MaxReplyBytes(opaque int64) int64 {
	if q.Params.Scheme.Opaque() {
		return opaque
	}
	return 44 + int64(q.Params.L)*(12+1<<16)
}

// A Reply holds the nearest records that the cloud found.
type Reply struct {
	Index IndexID
	// Visited is the number of distinct records scored.
	Visited uint32
	// Touched is the number of ciphertext bytes read to score the records.
	Touched uint64
	// Matches are in ascending order of (Score, Record).
	Matches []Match
	// Opaque is the complete reply to an opaque request. Otherwise it is nil.
	Opaque []byte
}

// A Match is one of the records nearest to the request.
type Match struct {
	Record uint32
	// Score is the paper's Comp = r_s·(F·Dis − r) − 3ε, rounded. Dis is the
	// distance to the record, F is a public factor, and ε is a random
	// disturbance of the record. Only the owner knows the secrets r_s and r and
	// can convert the score into a distance.
	Score int64
	// Keywords is the record's keyword block as stored in the index.
	Keywords []byte
}

// AppendBinary appends the canonical encoding of a. All keyword blocks must
// have the same length.
func (a *Reply) AppendBinary(b []byte) ([]byte, error) {
	if _, m, ok := schemeOf(a.Opaque, asReply); ok || a.Opaque != nil {
		return appendOpaque(b, a.Opaque, m, a.Index)
	}
	b = appendHeader(b, kindReply)
	b = append(b, a.Index[:]...)
	b = binary.LittleEndian.AppendUint32(b, a.Visited)
	b = binary.LittleEndian.AppendUint64(b, a.Touched)
	size := 0
	if len(a.Matches) > 0 {
		size = len(a.Matches[0].Keywords)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Matches)))
	for i, m := range a.Matches {
		if len(m.Keywords) != size {
			return nil, fmt.Errorf("writing reply: match %d has a keyword block of %d bytes, match 0 has %d", i, len(m.Keywords), size)
		}
		b = binary.LittleEndian.AppendUint32(b, m.Record)
		b = binary.LittleEndian.AppendUint64(b, uint64(m.Score))
		b = append(b, m.Keywords...)
	}
	return b, nil
}

func (a *Reply) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// Scheme returns the scheme of an opaque reply. For other replies ok is false,
// because the common encoding does not contain the scheme.
func (a *Reply) Scheme() (s Scheme, ok bool) {
	s, _, ok = schemeOf(a.Opaque, asReply)
	return s, ok
}

func asReply(f schemeSpec) message { return f.reply }

// DecodeReply reads a reply. An opaque reply aliases b. Errors wrap ErrCorrupt
// or ErrVersion.
func DecodeReply(b []byte) (*Reply, error) {
	if _, m, ok := schemeOf(b, asReply); ok {
		id, err := readOpaque(b, m)
		if err != nil {
			return nil, err
		}
		return &Reply{Index: id, Opaque: b}, nil
	}
	r, err := readHeader(b, kindReply)
	if err != nil {
		return nil, err
	}
	a := new(Reply)
	copy(a.Index[:], r.Bytes(len(a.Index), "index id"))
	a.Visited = r.U32("visited")
	a.Touched = r.U64("touched")
	size := int(r.U32("keyword block size"))
	n := r.Count(4+8+size, "matches")
	if r.Err() == nil && (n > MaxNeighbours || n == 0 && size != 0) {
		r.Fail("%d matches with keyword blocks of %d bytes", n, size)
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		m := Match{Record: r.U32("record"), Score: int64(r.U64("score")), Keywords: r.Bytes(size, "keyword block")}
		if i > 0 && !a.Matches[i-1].before(m) {
			r.Fail("match %d is out of order", i)
		}
		a.Matches = append(a.Matches, m)
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading reply: %w", err)
	}
	return a, nil
}

func (m Match) before(o Match) bool {
	return m.Score < o.Score || m.Score == o.Score && m.Record < o.Record
}
