package user

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/feature"
	"cpar/user/internal/keyword"
	"cpar/user/internal/seed"
	"cpar/user/vector"
)

// Scheme local: quantised vectors of 32 records a block, each block encrypted
// with AES-256-GCM under a fresh nonce and bound to the index and its number.
// The cloud keeps them; the owner fetches all of them once and searches at home.

// blockSealer encrypts and decrypts the blocks of one index.
type blockSealer struct {
	seed.Redacted
	aead cipher.AEAD
	id   cpar.IndexID
	dim  int
	// layout bounds what a block may hold.
	layout exactLayout
}

func newBlockSealer(key [32]byte, id cpar.IndexID, q *quantiser) (*blockSealer, error) {
	aead, err := profileCipher(key)
	return &blockSealer{aead: aead, id: id, dim: q.dim(), layout: q.layout}, err
}

func (s *blockSealer) binding(number uint32) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte("cpar/v1/vectors"), s.id[:]...), number)
}

// bytes is the length of an encrypted block.
func (s *blockSealer) bytes() int { return int(cpar.LocalBlockBytes(uint32(s.dim))) }

// seal appends block number of an index to dst: up to LocalBlockRecords records,
// and zeros for those that are not there.
func (s *blockSealer) seal(dst []byte, number uint32, rows [][]int32, addends []int64, rand io.Reader) ([]byte, error) {
	le := binary.LittleEndian
	plain := le.AppendUint32(make([]byte, 0, s.bytes()), uint32(len(rows)))
	for i := range cpar.LocalBlockRecords {
		if i >= len(rows) {
			plain = append(plain, make([]byte, 2*s.dim+8)...)
			continue
		}
		for _, x := range rows[i] {
			plain = le.AppendUint16(plain, uint16(int16(x)))
		}
		plain = le.AppendUint64(plain, uint64(addends[i]))
	}
	nonce := make([]byte, s.aead.NonceSize())
	if _, err := io.ReadFull(rand, nonce); err != nil {
		return nil, fmt.Errorf("encrypting block %d: drawing a nonce: %w", number, err)
	}
	return s.aead.Seal(append(dst, nonce...), nonce, plain, s.binding(number)), nil
}

// open appends the records of block number to out.
func (s *blockSealer) open(out *plainRecords, number uint32, b []byte) error {
	n := s.aead.NonceSize()
	if len(b) != s.bytes() {
		return fmt.Errorf("decrypting block %d: %w: it has %d bytes, not %d", number, cpar.ErrCorrupt, len(b), s.bytes())
	}
	plain, err := s.aead.Open(nil, b[:n], b[n:], s.binding(number))
	if err != nil {
		return fmt.Errorf("decrypting block %d: %w: it was altered or belongs elsewhere", number, cpar.ErrCorrupt)
	}
	return s.decode(out, number, plain)
}

func (s *blockSealer) decode(out *plainRecords, number uint32, plain []byte) error {
	le := binary.LittleEndian
	count, plain := int(le.Uint32(plain)), plain[4:]
	one := 2*s.dim + 8
	if count < 1 || count > cpar.LocalBlockRecords || !allZero(plain[count*one:]) {
		return fmt.Errorf("decrypting block %d: %w: %d records in it", number, cpar.ErrCorrupt, count)
	}
	for ; count > 0; count, plain = count-1, plain[one:] {
		square := int64(0)
		for j := range s.dim {
			x := int16(le.Uint16(plain[2*j:]))
			square += int64(x) * int64(x)
			out.rows = append(out.rows, x)
		}
		addend := int64(le.Uint64(plain[2*s.dim:]))
		// Scores are 32 bits wide on the way.
		if square > s.layout.recordNorm*s.layout.recordNorm || addend > s.layout.maxAddend || addend < -s.layout.maxAddend {
			return fmt.Errorf("decrypting block %d: %w: a record beyond its bounds", number, cpar.ErrCorrupt)
		}
		out.addends = append(out.addends, addend)
	}
	return nil
}

// openAll appends the records of the next segment of vectors. Where its blocks
// begin in the count of all follows from the records before only where these
// filled theirs, so out counts blocks.
func (s *blockSealer) openAll(out *plainRecords, b []byte) error {
	if len(b)%s.bytes() != 0 {
		return fmt.Errorf("%w: %d bytes are not whole blocks", cpar.ErrCorrupt, len(b))
	}
	for ; len(b) > 0; b = b[s.bytes():] {
		if err := s.open(out, out.blocks, b[:s.bytes()]); err != nil {
			return err
		}
		out.blocks++
	}
	return nil
}

// Nearest finds the l records nearest to a photo in an index of scheme local, at
// home: after Hold nothing is sent. The scores are those of scheme sealed.
func (o *Owner) Nearest(f *feature.Vectors, l int) ([]Neighbour, error) {
	v, err := o.Vector(f)
	if err != nil {
		return nil, fmt.Errorf("searching at home: %w", err)
	}
	return o.NearestVector(v, l)
}

// NearestVector is Nearest for a vector that Vector has made.
func (o *Owner) NearestVector(v *vector.Vector, l int) ([]Neighbour, error) {
	near, err := o.nearest(v, l)
	if err != nil {
		return nil, fmt.Errorf("searching at home: %w", err)
	}
	return near, nil
}

func (o *Owner) nearest(v *vector.Vector, l int) ([]Neighbour, error) {
	if o.profile.scheme != cpar.SchemeLocal {
		return nil, hint.Add(fmt.Errorf("%w: the index is of scheme %v", cpar.ErrInput, o.profile.scheme), "only one of scheme local is searched at home")
	}
	if err := (cpar.Params{Scheme: cpar.SchemeLocal, L: uint16(min(max(l, 0), cpar.MaxNeighbours+1)), Approx: 1000}).Validate(); err != nil {
		return nil, err
	}
	h, err := o.exact.holding()
	if err != nil {
		return nil, err
	}
	u, own, err := o.exactRequest(v)
	if err != nil {
		return nil, err
	}
	return o.neighbours(h, h.records.scores(u, runtime.GOMAXPROCS(0)), own, l)
}

// keywordBlock is a record's block of a table.
func keywordBlock(table []byte, record uint32) []byte {
	at := int(record) * keyword.SealedSize
	if at+keyword.SealedSize > len(table) {
		return nil
	}
	return table[at : at+keyword.SealedSize]
}
