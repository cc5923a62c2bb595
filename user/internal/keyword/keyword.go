// Package keyword encrypts the keywords of records.
//
//	words ─▶ numbers (Dictionary) ─▶ padded block, 64 bytes ─▶ AES-256-GCM, 92 bytes
//
// Every block has the same length whatever it holds, so length does not tell
// how many keywords a record has. A block is bound to its index and record:
// the cloud cannot give the keywords of one record as another's. The
// dictionary itself is part of the owner's profile, stored encrypted.
package keyword

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"cpar"
)

// Sizes of a block, in bytes.
const (
	// Max is the number of keywords that a block holds: a two-byte count,
	// then Max two-byte numbers.
	Max        = 31
	blockSize  = 2 + 2*Max
	nonceSize  = 12
	tagSize    = 16
	SealedSize = nonceSize + blockSize + tagSize
	// MaxWords bounds a dictionary: a number has two bytes.
	MaxWords = 1 << 16
)

// A Dictionary numbers the distinct keywords of a collection in sorted order.
type Dictionary struct {
	words  []string
	number map[string]uint16
}

// NewDictionary numbers every word of lists.
func NewDictionary(lists [][]string) (*Dictionary, error) {
	seen := map[string]bool{}
	for _, list := range lists {
		for _, w := range list {
			seen[w] = true
		}
	}
	words := make([]string, 0, len(seen))
	for w := range seen {
		words = append(words, w)
	}
	slices.Sort(words)
	return FromWords(words)
}

// FromWords makes a dictionary of words, which must be sorted and distinct.
func FromWords(words []string) (*Dictionary, error) {
	if len(words) > MaxWords {
		return nil, fmt.Errorf("numbering keywords: %w: %d distinct keywords, at most %d are possible", cpar.ErrInput, len(words), MaxWords)
	}
	d := &Dictionary{words: words, number: make(map[string]uint16, len(words))}
	for i, w := range words {
		if i > 0 && w <= words[i-1] {
			return nil, fmt.Errorf("numbering keywords: %w: word %d is out of order", cpar.ErrCorrupt, i)
		}
		d.number[w] = uint16(i)
	}
	return d, nil
}

// Words returns the words in the order of their numbers.
func (d *Dictionary) Words() []string { return d.words }

// block encodes at most Max keywords, padded.
func (d *Dictionary) block(keywords []string) ([]byte, error) {
	if len(keywords) > Max {
		return nil, fmt.Errorf("%w: %d keywords, a record holds at most %d", cpar.ErrInput, len(keywords), Max)
	}
	b := make([]byte, blockSize)
	binary.LittleEndian.PutUint16(b, uint16(len(keywords)))
	for i, w := range keywords {
		n, ok := d.number[w]
		if !ok {
			// The word itself stays out of the error: it is private.
			return nil, fmt.Errorf("%w: keyword %d is not in the dictionary", cpar.ErrInput, i)
		}
		binary.LittleEndian.PutUint16(b[2+2*i:], n)
	}
	return b, nil
}

func (d *Dictionary) lookup(b []byte) ([]string, error) {
	n := int(binary.LittleEndian.Uint16(b))
	if n > Max {
		return nil, fmt.Errorf("%w: a keyword block counts %d keywords", cpar.ErrCorrupt, n)
	}
	out := make([]string, n)
	for i := range out {
		k := int(binary.LittleEndian.Uint16(b[2+2*i:]))
		if k >= len(d.words) {
			return nil, fmt.Errorf("%w: keyword number %d of a dictionary of %d", cpar.ErrCorrupt, k, len(d.words))
		}
		out[i] = d.words[k]
	}
	return out, nil
}

// A Sealer encrypts and decrypts the keyword blocks of one index. It holds a
// key and never prints it.
type Sealer struct {
	aead cipher.AEAD
	id   cpar.IndexID
	dict *Dictionary
}

// NewSealer makes a sealer. The key must be derived for this index alone:
// random nonces are safe for 2³² blocks under one key.
func NewSealer(key [32]byte, id cpar.IndexID, dict *Dictionary) (*Sealer, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead, id: id, dict: dict}, nil
}

// String does not show the key.
func (s *Sealer) String() string   { return "keyword sealer (redacted)" }
func (s *Sealer) GoString() string { return s.String() }

// binding is the additional data of record's block.
func (s *Sealer) binding(record uint32) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte("cpar/v1/keywords"), s.id[:]...), record)
}

// Seal appends the encrypted block of a record's keywords to dst, SealedSize
// bytes, with a fresh nonce from rand.
func (s *Sealer) Seal(dst []byte, record uint32, keywords []string, rand io.Reader) ([]byte, error) {
	plain, err := s.dict.block(keywords)
	if err != nil {
		return nil, fmt.Errorf("encrypting keywords of record %d: %w", record, err)
	}
	var nonce [nonceSize]byte
	if _, err := io.ReadFull(rand, nonce[:]); err != nil {
		return nil, fmt.Errorf("encrypting keywords of record %d: drawing a nonce: %w", record, err)
	}
	return s.aead.Seal(append(dst, nonce[:]...), nonce[:], plain, s.binding(record)), nil
}

// Open decrypts a record's block. A block of another index, of another
// record, or altered in any bit is refused (ErrCorrupt).
func (s *Sealer) Open(record uint32, sealed []byte) ([]string, error) {
	if len(sealed) != SealedSize {
		return nil, fmt.Errorf("decrypting keywords of record %d: %w: the block has %d bytes, not %d", record, cpar.ErrCorrupt, len(sealed), SealedSize)
	}
	plain, err := s.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], s.binding(record))
	if err != nil {
		return nil, fmt.Errorf("decrypting keywords of record %d: %w: the block was altered or belongs elsewhere", record, cpar.ErrCorrupt)
	}
	words, err := s.dict.lookup(plain)
	if err != nil {
		return nil, fmt.Errorf("decrypting keywords of record %d: %w", record, err)
	}
	return words, nil
}
