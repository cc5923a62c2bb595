// Package keyword encrypts the keywords of records in one of two forms.
//
//	words ─▶ numbers (Dictionary) ─▶ padded block, 64 bytes ─▶ AES-256-GCM, 92 bytes
//	                              └▶ Table ─▶ pages of 256 records, and a tail
//
// Blocks are for schemes whose server returns keywords. Pages are for schemes
// whose owner holds all keywords. Pages take a fifth of the space. Blocks have
// a fixed length, as do the pages of an index, to hide the number of keywords.
// A block is bound to its index and record. A page is bound to its index and
// position. The server therefore cannot substitute either. The dictionary is
// stored encrypted in the owner's profile and ledger.
package keyword

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/internal/aead"
)

// Sizes in bytes.
const (
	// Max is the maximum number of keywords of a record. A block holds a
	// two-byte count and `Max` two-byte numbers.
	Max       = 31
	plainSize = 2 + 2*Max
	// Size is the length of an encrypted block.
	Size = plainSize + aead.Overhead
	// MaxWords limits a dictionary to two-byte numbers.
	MaxWords = 1 << 16
)

// A Dictionary numbers the distinct keywords of a collection. The initial words
// are sorted, and With appends others.
type Dictionary struct {
	words  []string
	number map[string]uint16
}

func NewDictionary(lists [][]string) (*Dictionary, error) {
	return FromWords(new(Dictionary).New(lists))
}

// FromWords returns a dictionary of words, which must be sorted and distinct.
func FromWords(words []string) (*Dictionary, error) {
	if err := checkSize(len(words)); err != nil {
		return nil, err
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

func checkSize(words int) error {
	if words > MaxWords {
		return fmt.Errorf("numbering keywords: %w: %d distinct keywords, at most %d are possible", cpar.ErrInput, words, MaxWords)
	}
	return nil
}

// With returns d extended by new words in the given order. Existing numbers do
// not change, so written pages stay valid. It rejects words already in d.
func (d *Dictionary) With(added []string) (*Dictionary, error) {
	words := append(d.words[:len(d.words):len(d.words)], added...)
	if err := checkSize(len(words)); err != nil {
		return nil, err
	}
	out := &Dictionary{words: words, number: maps.Clone(d.number)}
	for i, w := range added {
		if _, twice := out.number[w]; twice {
			return nil, fmt.Errorf("numbering keywords: %w: word %d is there twice", cpar.ErrCorrupt, len(d.words)+i)
		}
		out.number[w] = uint16(len(d.words) + i)
	}
	return out, nil
}

// New returns the words in lists that d lacks, sorted.
func (d *Dictionary) New(lists [][]string) []string {
	added := map[string]bool{}
	for _, list := range lists {
		for _, w := range list {
			if _, known := d.number[w]; !known {
				added[w] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(added))
}

func (d *Dictionary) Words() []string { return d.words }

func (d *Dictionary) numbers(keywords []string) ([]uint16, error) {
	if len(keywords) > Max {
		return nil, fmt.Errorf("%w: %d keywords, a record holds at most %d", cpar.ErrInput, len(keywords), Max)
	}
	out := make([]uint16, len(keywords))
	for i, w := range keywords {
		n, ok := d.number[w]
		if !ok {
			// The error omits the word, which is private.
			return nil, fmt.Errorf("%w: keyword %d is not in the dictionary", cpar.ErrInput, i)
		}
		out[i] = n
	}
	return out, nil
}

func (d *Dictionary) block(keywords []string) ([]byte, error) {
	numbers, err := d.numbers(keywords)
	if err != nil {
		return nil, err
	}
	b := make([]byte, plainSize)
	binary.LittleEndian.PutUint16(b, uint16(len(numbers)))
	for i, n := range numbers {
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

// A Cipher encrypts and decrypts the keywords of one index. It prints as redacted.
type Cipher struct {
	seed.Redacted
	box  *aead.Cipher
	id   cpar.IndexID
	dict *Dictionary
}

// NewCipher returns a cipher. No other index may use the same key.
func NewCipher(key seed.Secret, id cpar.IndexID, dict *Dictionary) *Cipher {
	return &Cipher{box: aead.New(key), id: id, dict: dict}
}

func (c *Cipher) binding(record uint32) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte("cpar/v1/keywords"), c.id[:]...), record)
}

// EncryptAll returns the blocks of an index, Size bytes per record. The nonces
// depend on the content of all blocks.
func (c *Cipher) EncryptAll(keywords [][]string, source *seed.Source, generation uint64) ([]byte, error) {
	plain := make([][]byte, len(keywords))
	digest := sha256.New()
	for i, words := range keywords {
		var err error
		if plain[i], err = c.dict.block(words); err != nil {
			return nil, fmt.Errorf("encrypting keywords of record %d: %w", i, err)
		}
		digest.Write(plain[i])
	}
	nonces := seed.New(source.Fresh("keywords", generation, [sha256.Size]byte(digest.Sum(nil))))
	table := make([]byte, 0, Size*len(keywords))
	for i, b := range plain {
		table = c.box.Seal(table, nonces, b, c.binding(uint32(i)))
	}
	return table, nil
}

// Decrypt decodes a record's block. It rejects a block that was altered or
// belongs to another index or record (ErrCorrupt).
func (c *Cipher) Decrypt(record uint32, block []byte) ([]string, error) {
	if len(block) != Size {
		return nil, fmt.Errorf("decrypting keywords of record %d: %w: the block has %d bytes, not %d", record, cpar.ErrCorrupt, len(block), Size)
	}
	plain, err := c.box.Open(block, c.binding(record))
	if err != nil {
		return nil, fmt.Errorf("decrypting keywords of record %d: %w: %w", record, cpar.ErrCorrupt, err)
	}
	words, err := c.dict.lookup(plain)
	if err != nil {
		return nil, fmt.Errorf("decrypting keywords of record %d: %w", record, err)
	}
	return words, nil
}

// DecryptIn decodes a record's block from the table of all blocks.
func (c *Cipher) DecryptIn(table []byte, record uint32) ([]string, error) {
	at := min(int(record)*Size, len(table))
	return c.Decrypt(record, table[at:min(at+Size, len(table))])
}
