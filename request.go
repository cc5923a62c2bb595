package cpar

import (
	"encoding/binary"
	"fmt"
	"math"
)

// MaxRequestBytes is the size of the largest request that a cloud accepts.
const MaxRequestBytes = 1 << 20

// An OrderCiphertext is meant to show the cloud the order of values and nothing else. It
// is the dense rank among the split values of a field, or an order-preserving encryption,
// OPE(V[s]). Both are deterministic.
type OrderCiphertext uint64

// A Request asks for the records nearest to an encrypted vector. Nothing else about a new
// photo crosses the wall towards the cloud.
type Request struct {
	Index  IndexID
	Params Params
	// Vector is t = Sᵀ(w·V_s + e_s) mod 2⁶⁴, which is SᵀS_s·C(V_s) multiplied out. ⟨C(V),
	// t⟩ is the score Comp times 2^Manifest.Shift, plus noise.
	Vector []uint64
	// Order holds one order ciphertext for each of the |SF| split fields; empty in a capia request.
	Order []OrderCiphertext
	// Planes is set only if Params.UsesPlanes.
	Planes *PlaneRequest
	// Opaque is the whole request of a scheme with its own messages (for sealed:
	// cpar/internal/lattice). Nothing else in Request is then sent, not even L;
	// DecodeRequest restores only Params.Scheme.
	Opaque []byte
}

// A PlaneRequest lets the cloud compute the signed distance of each plane from the
// request and compare it with a record's score.
type PlaneRequest struct {
	// Vector has |SF|+1 words: [r_p·(V_s[f] − centre_f) for every f, r_p],
	// encrypted. Its product with a plane's row is r_p·(V_s[f] − split).
	Vector []uint64
	// A plane with score p is as far away as a record with score (|p|·Scale)/2¹⁶ −
	// Offset. That is 0.75 of the distance, since the projection can fall below L1.
	Scale  uint64
	Offset uint64
}

const (
	flagPrune  = 1 << 0
	flagPlanes = 1 << 1
)

// AppendBinary appends the canonical encoding of q.
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

// MarshalBinary returns the canonical encoding of q.
func (q *Request) MarshalBinary() ([]byte, error) { return q.AppendBinary(nil) }

func asRequest(f schemeSpec) message { return f.request }

// DecodeRequest reads a request. An opaque request keeps b. Errors wrap ErrCorrupt or ErrVersion.
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

// orderWidth is the number of bytes per order ciphertext: two if all of them fit (dense
// ranks), else eight.
func orderWidth(list []OrderCiphertext) uint8 {
	for _, o := range list {
		if o > math.MaxUint16 {
			return 8
		}
	}
	return 2
}

// MaxReplyBytes is the largest size in bytes of a valid reply to q: 44 bytes before the
// matches, then for each match a record, a score and a keyword block of at most 64 KiB. An
// opaque reply can be as long as opaque says (Manifest.OpaqueReplyBytes).
func (q *Request) MaxReplyBytes(opaque int64) int64 {
	if q.Params.Scheme.Opaque() {
		return opaque
	}
	return 44 + int64(q.Params.L)*(12+1<<16)
}
