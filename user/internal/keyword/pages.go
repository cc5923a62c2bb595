package keyword

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/user/internal/aead"
)

// A stored table consists of pages and a tail of two parts: an incomplete
// page, and amendments, which replace keywords in full pages. A page is bound
// to its number and the epoch, the generation in which all pages were last
// rewritten. The tail is bound to the generation. Outdated data therefore do
// not decrypt.
//
//	page        256 counts (u8), keyword numbers (u16 each), zeros up to the budget
//	amendments  epoch (u64), number (u16), for each: record (u32), count (u8), numbers;
//	            zeros to the end

const (
	// amendmentSize is the length of the amendments' plaintext in bytes.
	// Entries may use amendmentRoom bytes.
	amendmentSize = cpar.KeywordAmendmentBytes - aead.Overhead
	amendmentRoom = amendmentSize - 8 - 2
)

// PageBytes returns the length of an encrypted page of t.
func (t *Table) PageBytes() uint32 { return cpar.KeywordPageBytes(t.budget) }

func (t *Table) plainPage(i int) []byte {
	counts, numbers := t.lists.page(i)
	b := make([]byte, t.PageBytes()-aead.Overhead)
	copy(b, counts)
	for k, n := range numbers {
		binary.LittleEndian.PutUint16(b[pageRecords+2*k:], n)
	}
	return b
}

func (l *lists) readPage(b []byte, records, words int) error {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	counts, numbers := r.Bytes(pageRecords, "counts"), make([]uint16, 0, Max)
	for i, count := range counts {
		if i >= records && count != 0 || count > Max {
			r.Fail("%d keywords of record %d of %d", count, i, records)
		}
		if i < records {
			numbers = readNumbers(r, numbers[:0], int(count), words)
			l.add(numbers)
		}
	}
	r.Zeros(r.Left(), "padding")
	return r.Close()
}

func readNumbers(r *wire.Reader, dst []uint16, count, words int) []uint16 {
	for range count {
		n := r.U16("number of a keyword")
		if int(n) >= words {
			r.Fail("keyword number %d of a dictionary of %d", n, words)
		}
		dst = append(dst, n)
	}
	return dst
}

func (t *Table) amendmentBytes() (n int) {
	for _, numbers := range t.amended {
		n += 4 + 1 + 2*len(numbers)
	}
	return n
}

func (t *Table) plainAmendments() []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, amendmentSize), t.epoch)
	b = le.AppendUint16(b, uint16(len(t.amended)))
	for _, record := range slices.Sorted(maps.Keys(t.amended)) {
		b = append(le.AppendUint32(b, uint32(record)), byte(len(t.amended[record])))
		for _, n := range t.amended[record] {
			b = le.AppendUint16(b, n)
		}
	}
	return b[:amendmentSize] // the rest is zeros
}

func (t *Table) readAmendments(b []byte, limit int) error {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	t.epoch, t.amended = r.U64("epoch"), map[int][]uint16{}
	last := -1
	for n := r.U16("amendments"); n > 0 && r.Err() == nil; n-- {
		record, count := int(r.U32("record")), int(r.U8("count of keywords"))
		if record <= last || record >= limit || count > Max {
			r.Fail("an amendment of record %d to %d keywords", record, count)
		}
		t.amended[record], last = readNumbers(r, nil, count, len(t.dict.words)), record
	}
	r.Zeros(r.Left(), "padding")
	return r.Close()
}

func (c *Cipher) bindingTo(what string, numbers ...uint64) []byte {
	return wire.AppendWords(append([]byte("cpar/v1/keyword "+what), c.id[:]...), numbers)
}

func (c *Cipher) pageBinding(epoch uint64, page int) []byte {
	return c.bindingTo("page", epoch, uint64(page))
}

func (c *Cipher) Table(keywords [][]string, generation uint64) (*Table, error) {
	return newTable(c.dict, keywords, generation, 0)
}

// Segments returns the new segments of t: full pages in segments of at most
// `chunk` bytes, then the tail. The first `keep` segments of table `before`
// stay and precede the new segments.
func (c *Cipher) Segments(t, before *Table, source *seed.Source, generation uint64, chunk int) (keep int, segments [][]byte) {
	from := 0
	if before != nil && before.epoch == t.epoch {
		from, keep = before.pages(), before.segments
	}
	plain, bindings := [][]byte{}, [][]byte{}
	digest := sha256.New()
	add := func(b, binding []byte) {
		plain, bindings = append(plain, b), append(bindings, binding)
		digest.Write(binding)
		digest.Write(b)
	}
	for i := from; i < t.pages(); i++ {
		add(t.plainPage(i), c.pageBinding(t.epoch, i))
	}
	add(t.plainPage(t.pages()), c.bindingTo("tail", generation))
	add(t.plainAmendments(), c.bindingTo("amendments", generation))
	nonces := seed.New(source.Fresh("keywords", generation, [sha256.Size]byte(digest.Sum(nil))))
	var pages, tail []byte
	for i := range plain {
		if i < len(plain)-2 {
			pages = c.box.Seal(pages, nonces, plain[i], bindings[i])
		} else {
			tail = c.box.Seal(tail, nonces, plain[i], bindings[i])
		}
	}
	perSegment := int(t.PageBytes()) * max(1, chunk/int(t.PageBytes()))
	for ; len(pages) > 0; pages = pages[min(perSegment, len(pages)):] {
		segments = append(segments, pages[:min(perSegment, len(pages))])
	}
	return keep, append(segments, tail)
}

// OpenTable decrypts the keywords of a generation. It returns ErrCorrupt if
// segments belong to another index or generation or were reordered, truncated
// or altered.
func (c *Cipher) OpenTable(segments [][]byte, records int, generation uint64) (*Table, error) {
	t, err := c.openTable(segments, records, generation)
	if err != nil {
		return nil, fmt.Errorf("decrypting keywords: %w", err)
	}
	return t, nil
}

func (c *Cipher) openTable(segments [][]byte, records int, generation uint64) (*Table, error) {
	if len(segments) == 0 {
		return nil, fmt.Errorf("%w: no segment", cpar.ErrCorrupt)
	}
	full, tail := segments[:len(segments)-1], segments[len(segments)-1]
	t := &Table{dict: c.dict, segments: len(full)}
	for _, t.budget = range cpar.KeywordBudgets() {
		if cpar.KeywordTailBytes(t.PageBytes()) == uint64(len(tail)) {
			break
		}
	}
	size, pages := int(t.PageBytes()), records/pageRecords
	if cpar.KeywordTailBytes(t.PageBytes()) != uint64(len(tail)) {
		return nil, fmt.Errorf("%w: a tail of %d bytes", cpar.ErrCorrupt, len(tail))
	}
	b, err := c.open(tail[size:], c.bindingTo("amendments", generation))
	if err == nil {
		err = t.readAmendments(b, pages*pageRecords)
	}
	if err != nil {
		return nil, fmt.Errorf("amendments: %w", err)
	}
	for k, b := range full {
		if err := c.openPages(t, b, pages); err != nil {
			return nil, fmt.Errorf("segment %d: page %d of %d: %w", k, t.pages(), pages, err)
		}
	}
	if t.pages() != pages {
		return nil, fmt.Errorf("%w: %d full pages of %d records", cpar.ErrCorrupt, t.pages(), records)
	}
	if b, err = c.open(tail[:size], c.bindingTo("tail", generation)); err == nil {
		err = t.lists.readPage(b, records%pageRecords, len(c.dict.words))
	}
	if err != nil {
		return nil, fmt.Errorf("tail: %w", err)
	}
	return t, nil
}

func (c *Cipher) openPages(t *Table, b []byte, pages int) error {
	for size := int(t.PageBytes()); len(b) > 0; b = b[size:] {
		if len(b) < size || t.pages() == pages {
			return fmt.Errorf("%w: %d bytes too many", cpar.ErrCorrupt, len(b))
		}
		plain, err := c.open(b[:size], c.pageBinding(t.epoch, t.pages()))
		if err == nil {
			err = t.lists.readPage(plain, pageRecords, len(c.dict.words))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cipher) open(b, binding []byte) ([]byte, error) {
	plain, err := c.box.Open(b, binding)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	return plain, nil
}
