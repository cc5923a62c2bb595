// Package local is the owner's side of scheme local, in which the owner
// searches the index.
//
//	rows, 32 per block ─▶ AES-256-GCM, bound to index and block number ─▶ segments
//	all segments       ─▶ Hold ─▶ rows in memory ─▶ scores, with no request to the server
//
// The server only stores the blocks. A row is a record's plaintext vector.
package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

var Kind = rows.Kind{
	New: func(x *index.Index, q *rows.Quantiser, _ rows.Options) (rows.Cipher, error) { return open(x, q), nil },
	Read: func(x *index.Index, q *rows.Quantiser, _ *wire.Reader) (rows.Cipher, error) {
		return open(x, q), nil
	},
	Size: func(q *rows.Quantiser, n int) (uint64, error) {
		blocks := (n + cpar.LocalBlockRecords - 1) / cpar.LocalBlockRecords
		return uint64(blocks) * cpar.LocalBlockBytes(uint32(q.Dim())), nil
	},
}

// A cipher encrypts the rows of one index in blocks.
type cipher struct {
	seed.Redacted
	index *index.Index
	quant *rows.Quantiser
	box   *aead.Cipher
	held  atomic.Pointer[rows.Rows]
}

func open(x *index.Index, q *rows.Quantiser) *cipher {
	return &cipher{index: x, quant: q, box: aead.New(x.Secret("local"))}
}

func (s *cipher) AppendBinary(b []byte) ([]byte, error) { return b, nil }

func (s *cipher) Unit() (records, bytes int) { return cpar.LocalBlockRecords, s.bytes() }

func (s *cipher) bytes() int { return int(cpar.LocalBlockBytes(uint32(s.quant.Dim()))) }

func (s *cipher) binding(block uint32) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte("cpar/v1/vectors"), s.index.ID[:]...), block)
}

// Encrypt encrypts blocks: a count, up to LocalBlockRecords records, and zeros.
func (s *cipher) Encrypt(first int, units []rows.Rows, fresh seed.Secret) (blocks, _ []byte, err error) {
	// The nonces depend on the block number, because no nonce may be used for
	// two numbers.
	number := uint32(first / cpar.LocalBlockRecords)
	le, nonces := binary.LittleEndian, seed.New(fresh.Derive("block", seed.Number(uint64(number))))
	plain := make([]byte, s.bytes()-aead.Overhead)
	for i, u := range units {
		clear(plain)
		b := le.AppendUint32(plain[:0], uint32(u.Len()))
		for k := range u.Len() {
			row, addend := u.At(k)
			for _, x := range row {
				b = le.AppendUint16(b, uint16(x))
			}
			b = le.AppendUint64(b, uint64(addend))
		}
		blocks = s.box.Seal(blocks, nonces, plain, s.binding(number+uint32(i)))
	}
	return blocks, nil, nil
}

func (s *cipher) Drop([]byte, int) error { return nil }

// Clustered returns no cells, because they would only speed up a server's search.
func (s *cipher) Clustered() (rows.Clustered, int) { return nil, 0 }

func (s *cipher) Finish(*index.Writer) error { return nil }

func (s *cipher) Decrypt(ctx context.Context, segment []byte, unit int, each func(row []int16, addend int64)) (units int, err error) {
	if len(segment)%s.bytes() != 0 {
		return 0, fmt.Errorf("%w: %d bytes are not whole blocks", cpar.ErrCorrupt, len(segment))
	}
	for ; len(segment) > 0; segment = segment[s.bytes():] {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		plain, err := s.box.Open(segment[:s.bytes()], s.binding(uint32(unit+units)))
		if err == nil {
			err = s.decode(plain, each)
		}
		if err != nil {
			return 0, fmt.Errorf("decrypting block %d: %w: %w", unit+units, cpar.ErrCorrupt, err)
		}
		units++
	}
	return units, nil
}

func (s *cipher) decode(plain []byte, each func(row []int16, addend int64)) error {
	le, dim := binary.LittleEndian, s.quant.Dim()
	count, plain := int(le.Uint32(plain)), plain[4:]
	one := 2*dim + 8
	if count < 1 || count > cpar.LocalBlockRecords || len(bytes.Trim(plain[count*one:], "\x00")) > 0 {
		return fmt.Errorf("%d records in it", count)
	}
	for ; count > 0; count, plain = count-1, plain[one:] {
		row := make([]int16, dim)
		for j := range row {
			row[j] = int16(le.Uint16(plain[2*j:]))
		}
		addend := int64(le.Uint64(plain[2*dim:]))
		if !s.quant.Fits(row, addend) {
			return fmt.Errorf("a record beyond its bounds")
		}
		each(row, addend)
	}
	return nil
}

// NewIntegrityCheck returns a check that always succeeds, because every block
// is authenticated.
func (s *cipher) NewIntegrityCheck() (add func([]byte, int) error, right func() bool) {
	return func([]byte, int) error { return nil }, func() bool { return true }
}

func (s *cipher) Needs(k cpar.SegmentKind) bool { return k == cpar.SegmentVectors }

func (s *cipher) Hold(_ cpar.SegmentKind, segments [][]byte) error {
	all, blocks := rows.New(s.quant.Dim()), 0
	for _, b := range segments {
		units, err := s.Decrypt(context.Background(), b, blocks, all.Add)
		if err != nil {
			return err
		}
		blocks += units
	}
	s.held.Store(all)
	return nil
}

func (s *cipher) Held() int {
	if h := s.held.Load(); h != nil {
		return h.Len()
	}
	return -1
}

// Request returns no request, because the owner computes the scores.
func (s *cipher) Request(u []int16, _ int, _ seed.Secret) (*cpar.Request, func(*cpar.Reply) ([]int64, error), error) {
	h := s.held.Load()
	return nil, func(*cpar.Reply) ([]int64, error) { return h.Scores(u, runtime.GOMAXPROCS(0)), nil }, nil
}

func (s *cipher) Next(x *index.Index) rows.Cipher { return open(x, s.quant) }

func (s *cipher) Rebuild(x *index.Index, _ *rows.Quantiser, _ int) (rows.Cipher, error) {
	return open(x, s.quant), nil
}
