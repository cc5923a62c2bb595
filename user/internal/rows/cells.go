package rows

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/kmeans"
	"cpar/model/vector"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
)

// Scheme sealed can divide its records into C cells of equal size (groups of
// similar records, package kmeans). Row i then packs one record of each cell.
// A request is scored against one cell, hidden from the server. Records added
// later belong to no cell, and every request is scored against them.
//
//	records 0 … n−1 ─▶ cells ─▶ rows of C ║ groups     segment cells: cell and row of each record
//	records n …     ─▶ rows of one        ║ groups

// A Clustered cipher encrypts rows of several records.
type Clustered interface {
	Unit() (records, bytes int)
	Encrypt(first int, units []Rows, fresh seed.Secret) (vectors, hints []byte, err error)
	Decrypt(ctx context.Context, segment []byte, unit int, each func(row []int16, addend int64)) (units int, err error)
	NewIntegrityCheck() (add func(segment []byte, unit int) error, right func() bool)
	Layout() lattice.Params
	// CellSize returns the number of slots of a cell.
	CellSize() int
	// AppendStatic encodes the cipher's data in the segment of cells.
	AppendStatic(b []byte) []byte
	// ReadStatic decodes the output of AppendStatic.
	ReadStatic(r *wire.Reader) error
}

// A division assigns records to cells. Every search asks the `asked` cells
// nearest to its vector.
type division struct {
	*kmeans.BalancedCells
	asked int
}

// Below minRecordsForCells records, cells would lengthen requests more than they
// shorten replies. By default, an index of fewer than minRecordsForMore records has
// four wide cells, one of which usually suffices (minRecall), and a larger index has
// 2^logMore smaller cells. A request to a million records in wide cells and its
// reply would have 3.5 MB.
const (
	minRecordsForCells, minRecordsForMore = 50_000, 400_000
	logMore, maxDimForCells               = 3, 128
)

// LogCells returns log₂ of the default number of cells for n records. It
// returns 0 for vectors with a histogram, because no two of them fit in a row,
// and for long vectors, whose requests would be long.
func (q *Quantiser) LogCells(n int) int {
	if q.bins > 0 || q.layout.logT == 0 || q.jl > maxDimForCells {
		return 0
	}
	return DefaultLogCells(n)
}

// DefaultLogCells returns LogCells for vectors that can have cells.
func DefaultLogCells(n int) int {
	switch {
	case n < minRecordsForCells:
		return 0
	case n < minRecordsForMore:
		return lattice.WideSlots
	}
	return logMore
}

func (x *Index) logCells(n int) int {
	if clustered, _ := x.cipher.Clustered(); clustered != nil && n >= 4*clustered.Layout().Slots() {
		return clustered.Layout().LogSlots
	}
	return x.quantiser.LogCells(n)
}

// Divide divides the records of a new index into cells, if its cipher has cells.
// The vectors of `words`, or the index's photos if it has few words, determine how
// many cells a search asks. A new index must be divided before Write.
func (b *Builder) Divide(ctx context.Context, words []*vector.Vector) error {
	clustered, n := b.cipher.Clustered()
	if clustered == nil {
		return nil
	}
	vectors := make([][]float32, n)
	for i := range vectors {
		row, _, err := b.incoming.At(i)
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		vectors[i] = floats(row, 1)
	}
	queries := vectors
	if len(words) >= fewWords {
		queries = make([][]float32, len(words))
		for i, v := range words {
			u, _, err := b.request(v)
			if err != nil {
				return fmt.Errorf("word %d: %w", i, err)
			}
			queries[i] = floats(u, -1) // requests are negated
		}
	}
	cells, err := kmeans.Balance(ctx, vectors, clustered.Layout().Slots(), clustered.CellSize(), b.Secret("clusters"))
	if err != nil {
		return err
	}
	asked, err := cells.Enough(ctx, vectors, queries, recallOf, minRecall)
	b.cells.Store(&division{cells, asked})
	return err
}

// Every search and annotation asks enough cells to cover, on average over the words,
// the share minRecall of a word's recallOf nearest records. The mean over fewer than
// fewWords words would be uncertain. On Corel-5k, the same cells cover a larger share
// of the ten nearest records of a photo, which annotation needs (cpar-eval clusters).
const recallOf, minRecall, fewWords = 100, 0.95, 32

func floats(row []int16, sign float32) []float32 {
	out := make([]float32, len(row))
	for i, x := range row {
		out[i] = sign * float32(x)
	}
	return out
}

func (b *Builder) clusteredRows() newRows {
	clustered, _ := b.cipher.Clustered()
	p, cells := clustered.Layout(), b.cells.Load()
	return newRows{cipher: clustered, dim: p.Dim, Incoming: Incoming{Len: len(cells.Records[0]), At: func(i int) ([]int16, int64, error) {
		row := make([]int16, p.Dim)
		for c, records := range cells.Records {
			v, addend, err := b.incoming.At(int(records[i]))
			if err != nil {
				return nil, 0, err
			}
			p.PutSlot(row, c, v, addend)
		}
		return row, 0, nil
	}}}
}

// CellBytes returns the plaintext length of the cells in bytes.
func CellBytes(q *Quantiser, n, clusters int) int { return 20 + clusters*(4*q.Dim()+(n+7)/8) }

func (b *Builder) writeCells(w *index.Writer) error {
	clustered, n := b.cipher.Clustered()
	if clustered == nil || b.before != nil {
		return nil
	}
	plain := b.cells.Load().AppendBinary(clustered.AppendStatic(nil), n)
	plain = binary.LittleEndian.AppendUint32(plain, uint32(b.Asked()))
	nonce := seed.New(b.Fresh("cells", sha256.Sum256(plain)))
	return w.Bytes(cpar.SegmentCells, b.cellBox().Seal(nil, nonce, plain, b.cellBinding()))
}

func (x *Index) cellBox() *aead.Cipher { return aead.New(x.Secret("cells")) }

func (x *Index) cellBinding() []byte { return append([]byte("cpar/v1/cells"), x.ID[:]...) }

func (x *Index) holdCells(encrypted []byte) error {
	clustered, n := x.cipher.Clustered()
	if clustered == nil {
		return fmt.Errorf("%w: the index has no clusters", cpar.ErrCorrupt)
	}
	plain, err := x.cellBox().Open(encrypted, x.cellBinding())
	if err != nil {
		return fmt.Errorf("%w: it was altered, or belongs to another index", cpar.ErrCorrupt)
	}
	r := wire.NewReader(plain, cpar.ErrCorrupt)
	if err := clustered.ReadStatic(r); err != nil {
		return err
	}
	cells, err := kmeans.ReadBalancedCells(r, n, x.quantiser.Dim())
	asked := uint32(1)
	if err == nil && r.Left() > 0 { // indexes of earlier versions ask one cell
		if asked = r.U32("cells to ask"); r.Err() == nil && (asked < 1 || int(asked) > len(cells.Records)) {
			r.Fail("searches ask %d of %d cells", asked, len(cells.Records))
		}
	}
	if err == nil {
		err = r.Close()
	}
	if c := clustered.Layout().Slots(); err == nil && (len(cells.Records) != c || len(cells.Records[0]) != clustered.CellSize()) {
		err = fmt.Errorf("%w: it has %d clusters of %d cells", cpar.ErrCorrupt, len(cells.Records), len(cells.Records[0]))
	}
	if err == nil {
		x.cells.Store(&division{cells, int(asked)})
	}
	return err
}

func (x *Index) cellOf(u []int16) int {
	if clustered, _ := x.cipher.Clustered(); clustered == nil {
		return -1
	}
	return x.cells.Load().Nearest(floats(u, -1)) // requests are negated
}

// spread orders the scores of a reply by record. Records in cells that were not
// requested are absent.
func (x *Index) spread(scores []int64, cluster int) ([]int64, error) {
	if cluster < 0 {
		return scores, nil
	}
	records := x.cells.Load().Records[cluster]
	_, n := x.cipher.Clustered()
	if len(scores) != len(records)+x.Records-n {
		return nil, fmt.Errorf("%w: %d scores of %d records in a cluster and %d in none", cpar.ErrCorrupt, len(scores), len(records), x.Records-n)
	}
	out := make([]int64, x.Records)
	for i := range n {
		out[i] = absent
	}
	for i, record := range records {
		out[record] = scores[i]
	}
	copy(out[n:], scores[len(records):])
	return out, nil
}

// hide makes the scores of the same records absent, for the twin.
func (x *Index) hide(scores []int64, cluster int) {
	if cluster < 0 {
		return
	}
	asked := make([]bool, len(scores))
	for _, record := range x.cells.Load().Records[cluster] {
		asked[record] = true
	}
	_, n := x.cipher.Clustered()
	for i := range n {
		if !asked[i] {
			scores[i] = absent
		}
	}
}

// A clusteredReading decrypts packed rows and reports each of their records once.
type clusteredReading struct {
	Clustered
	report    func(row int, cells []int16)
	row, rows int
	unit      int
	sum       func([]byte, int) error
	right     func() bool
}

func (x *Index) readClustered(each func(record int, row []int16, addend int64, removed bool)) (r *clusteredReading, inCells int) {
	clustered, n := x.cipher.Clustered()
	if clustered == nil {
		return &clusteredReading{right: func() bool { return true }}, 0
	}
	cells, p, reported := x.cells.Load(), clustered.Layout(), make([]bool, n)
	r = &clusteredReading{Clustered: clustered, rows: len(cells.Records[0])}
	r.sum, r.right = clustered.NewIntegrityCheck()
	r.report = func(row int, all []int16) {
		for c, records := range cells.Records {
			if record := int(records[row]); !reported[record] {
				v, addend := p.Slot(all, c)
				each(record, v, addend, x.removed.Has(record))
				reported[record] = true
			}
		}
	}
	return r, n
}

func (r *clusteredReading) done() bool { return r.row >= r.rows }

func (r *clusteredReading) decrypt(ctx context.Context, segment []byte) error {
	if err := r.sum(segment, r.unit); err != nil {
		return err
	}
	units, err := r.Decrypt(ctx, segment, r.unit, func(row []int16, _ int64) {
		if r.row < r.rows {
			r.report(r.row, row)
		}
		r.row++
	})
	r.unit += units
	if err == nil && r.row > r.rows {
		err = fmt.Errorf("%w: more rows of clusters than its cells imply", cpar.ErrCorrupt)
	}
	return err
}
