package rows

import (
	"context"
	"fmt"
	"io"

	"cpar"
	"cpar/internal/seed"
	"cpar/model/vector"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

// An Incoming supplies new rows by number.
type Incoming struct {
	Len int
	At  func(i int) (row []int16, addend int64, err error)
}

func (r *Rows) incoming() Incoming {
	return Incoming{Len: r.Len(), At: func(i int) ([]int16, int64, error) {
		row, addend := r.At(i)
		return row, addend, nil
	}}
}

// A Builder is an index, or its next generation, before it is written.
type Builder struct {
	*Index
	incoming Incoming
	// refills is set if `incoming` starts with records of an incomplete unit
	// (group or block).
	refills bool
	words   [][]string
	// before is the keyword table of the previous generation, nil for a new index.
	before  *keyword.Table
	clamped int
	records []index.Record // from SetUp, for the twin
}

func (k Kind) SetUp(x *index.Index, c *index.Collection, o Options) (*Builder, error) {
	q := NewQuantiser(x.Profile.Layout(), k.Coarse)
	cipher, err := k.New(x, q, o)
	if err != nil {
		return nil, err
	}
	b := &Builder{
		Index: &Index{Index: x, quantiser: q, cipher: cipher, removed: NewBitmap(x.Records)},
		words: c.Keywords(), records: c.Records,
		incoming: Incoming{Len: len(c.Records), At: func(i int) ([]int16, int64, error) {
			return q.Record(c.Records[i].Z, c.Records[i].Vector.KL)
		}},
	}
	for _, r := range c.Records {
		if q.Clamps(r.Z) {
			b.clamped++
		}
	}
	return b, nil
}

func (b *Builder) Clamped() int { return b.clamped }

// Incoming returns the rows of a new index before encryption, and the keywords
// of the records.
func (b *Builder) Incoming() ([][]int16, [][]string, error) {
	out := make([][]int16, b.incoming.Len)
	for i := range out {
		var err error
		if out[i], _, err = b.incoming.At(i); err != nil {
			return nil, nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return out, b.words, nil
}

// Write encrypts the new rows, the keywords, and the scheme's other segments. It
// re-encrypts the keyword tail in every generation to hide whether keywords changed.
func (b *Builder) Write(ctx context.Context, w *index.Writer) error {
	b.Describe(w.Manifest)
	if b.refills {
		w.DropLast(cpar.SegmentVectors)
		w.DropLast(cpar.SegmentHints)
	}
	if err := b.writeNew(ctx, w, b.rows()); err != nil {
		return err
	}
	if err := b.writeCells(w); err != nil {
		return err
	}
	if err := b.writeKeywords(w); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.cipher.Finish(w)
}

func (b *Builder) writeKeywords(w *index.Writer) (err error) {
	table := (*keyword.Table)(nil)
	if b.before == nil {
		table, err = b.Keywords.Table(b.words, b.Generation)
	} else {
		table, err = b.Keywords.Next(b.before, b.words, b.removed.Has, b.Generation)
	}
	if err != nil {
		return err
	}
	w.Manifest.KeywordBytes = table.PageBytes()
	keep, segments := b.Keywords.Segments(table, b.before, b.Source, b.Generation, index.ChunkBytes)
	w.Keep(cpar.SegmentKeywords, keep)
	for _, s := range segments {
		if err := w.Bytes(cpar.SegmentKeywords, s); err != nil {
			return err
		}
	}
	return nil
}

type newRows struct {
	Incoming
	cipher interface {
		Unit() (records, bytes int)
		Encrypt(first int, units []Rows, fresh seed.Secret) (vectors, hints []byte, err error)
	}
	dim, first int
}

func (b *Builder) rows() newRows {
	clustered, n := b.cipher.Clustered()
	if clustered != nil && b.before == nil {
		return b.clusteredRows()
	}
	return newRows{Incoming: b.incoming, cipher: b.cipher, dim: b.quantiser.Dim(), first: b.Records - b.incoming.Len - n}
}

// writeNew encrypts new rows. An incomplete last unit (a group or block of
// records) gets its own segment, the tail, which the next addition refills.
func (b *Builder) writeNew(ctx context.Context, w *index.Writer, rows newRows) error {
	perUnit, bytes := rows.cipher.Unit()
	perSegment := perUnit * max(1, index.ChunkBytes/bytes)
	// A batch of eight units keeps all processors busy.
	batch := 8 * perUnit
	full := rows.Len - rows.Len%perUnit
	for from, to := 0, 0; from < rows.Len; from = to {
		if to = min(from+perSegment, full); from == full {
			to = rows.Len
		}
		var hints []byte
		err := w.Segment(cpar.SegmentVectors, func(out io.Writer) error {
			for at := from; at < to; at += batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				w.Progress.Report("encrypt", at, rows.Len)
				vectors, some, err := b.encrypt(rows, at, min(at+batch, to), perUnit)
				if err != nil {
					return err
				}
				hints = append(hints, some...)
				if _, err := out.Write(vectors); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil && hints != nil {
			err = w.Bytes(cpar.SegmentHints, hints)
		}
		if err != nil {
			return err
		}
	}
	w.Progress.Report("encrypt", rows.Len, rows.Len)
	return nil
}

func (b *Builder) encrypt(rows newRows, from, to, perUnit int) (vectors, hints []byte, err error) {
	first := rows.first + from
	d := index.NewDigest()
	// The digest includes the position, because scheme local binds a block to
	// its position and one nonce must not serve two bindings.
	index.Add(d, []int64{int64(first)})
	var units []Rows
	for i := from; i < to; i++ {
		row, addend, err := rows.At(i)
		if err != nil {
			return nil, nil, fmt.Errorf("record %d: %w", first+i-from, err)
		}
		if (i-from)%perUnit == 0 {
			units = append(units, *New(rows.dim))
		}
		units[len(units)-1].Add(row, addend)
		index.Add(d, row)
		index.Add(d, []int64{addend})
	}
	return rows.cipher.Encrypt(first, units, b.Fresh("vectors", d.Sum()))
}

type Change struct {
	Add     *Rows
	Removed []int
	// Keywords covers all records, new records last. Removed records have none.
	Keywords [][]string
	// Last returns the last segment of vectors of the previous generation.
	Last func() ([]byte, error)
}

// Next begins the next generation with the scheme-independent secrets x. If
// the last unit has room, it is re-encrypted together with new records.
func (before *Index) Next(ctx context.Context, x *index.Index, c Change) (*Builder, error) {
	b := &Builder{
		Index: &Index{
			Index: x, quantiser: before.quantiser, cipher: before.cipher.Next(x),
			removed: before.removed.With(x.Records, c.Removed),
		},
		incoming: c.Add.incoming(), words: c.Keywords, before: before.keywords.Load(),
	}
	b.cells.Store(before.cells.Load())
	perUnit, _ := before.cipher.Unit()
	_, clustered := before.cipher.Clustered()
	unit, left := (before.Records-clustered)/perUnit, (before.Records-clustered)%perUnit
	if b.refills = left > 0 && c.Add.Len() > 0; !b.refills {
		return b, nil
	}
	last, err := c.Last()
	if err != nil {
		return nil, err
	}
	all := New(before.quantiser.Dim())
	if _, err := before.cipher.Decrypt(ctx, last, unit, all.Add); err != nil {
		return nil, err
	}
	if all.Len() != left {
		return nil, fmt.Errorf("%w: %d records in its last segment of vectors, not %d", cpar.ErrCorrupt, all.Len(), left)
	}
	all.Append(c.Add)
	b.incoming = all.incoming()
	return b, b.cipher.Drop(last, unit)
}

// Rebuild begins a new index x with the parameters of `before`. Record i is
// row order[i].
func (before *Index) Rebuild(x *index.Index, rows *Rows, order []int, keywords [][]string) (*Builder, error) {
	cipher, err := before.cipher.Rebuild(x, before.quantiser, before.logCells(len(order)))
	if err != nil {
		return nil, err
	}
	b := &Builder{
		Index: &Index{Index: x, quantiser: before.quantiser, cipher: cipher, removed: NewBitmap(x.Records)},
		incoming: Incoming{Len: len(order), At: func(i int) ([]int16, int64, error) {
			row, addend := rows.At(order[i])
			return row, addend, nil
		}},
		words: keywords,
	}
	return b, nil
}

// RowsOf converts vectors to rows. Result `clamped` is the number of shortened vectors.
func (x *Index) RowsOf(vectors []*vector.Vector) (out *Rows, clamped int, err error) {
	out = New(x.quantiser.Dim())
	for i, v := range vectors {
		z, err := x.Projector.Project(v)
		if err != nil {
			return nil, 0, fmt.Errorf("image %d: %w", i, err)
		}
		row, addend, err := x.quantiser.Record(z, v.KL)
		if err != nil {
			return nil, 0, fmt.Errorf("image %d: %w", i, err)
		}
		if x.quantiser.Clamps(z) {
			clamped++
		}
		out.Add(row, addend)
	}
	return out, clamped, nil
}

// DecryptAll decrypts every record, including removed records, and checks them against
// the ledger. Parameter `segments` lists the segments of vectors in order.
func (x *Index) DecryptAll(ctx context.Context, segments []cpar.Segment, read func(cpar.Segment) ([]byte, error), each func(record int, row []int16, addend int64, removed bool)) error {
	n, unit := 0, 0 // `n` counts records outside cells, and `unit` their units
	sum, right := x.cipher.NewIntegrityCheck()
	clustered, inCells := x.readClustered(each)
	for _, s := range segments {
		b, err := read(s)
		if err != nil {
			return err
		}
		if !clustered.done() {
			if err := clustered.decrypt(ctx, b); err != nil {
				return err
			}
			continue
		}
		if err := sum(b, unit); err != nil {
			return err
		}
		units, err := x.cipher.Decrypt(ctx, b, unit, func(row []int16, addend int64) {
			if record := inCells + n; record < x.Records {
				each(record, row, addend, x.removed.Has(record))
			}
			n++
		})
		if err != nil {
			return err
		}
		unit += units
	}
	if inCells+n != x.Records || !clustered.done() {
		return fmt.Errorf("%w: %d records in it, its manifest names %d", cpar.ErrCorrupt, inCells+n, x.Records)
	}
	if !right() || !clustered.right() {
		return fmt.Errorf("%w: its records differ from the records that its ledger was written for", cpar.ErrCorrupt)
	}
	return nil
}

// KeywordsOf returns the keywords of every record, none for removed records.
// The owner must hold the keyword segments.
func (x *Index) KeywordsOf() ([][]string, error) {
	table := x.keywords.Load()
	if table == nil {
		return nil, errNotHeld
	}
	keywords := make([][]string, x.Records)
	for i := range keywords {
		if !x.Removed(i) {
			keywords[i] = table.Of(i)
		}
	}
	return keywords, nil
}
