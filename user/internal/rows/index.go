package rows

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

// A Cipher encrypts rows and scores them for one generation of an index.
type Cipher interface {
	AppendBinary(b []byte) ([]byte, error)

	// Unit returns the number of records in a unit (a group or block) and the
	// size of a unit in bytes.
	Unit() (records, bytes int)
	// Encrypt encrypts new records in units, of which the last may be
	// incomplete. Parameter `first` is the number of the first record among
	// the records outside cells. That record starts a unit. The secret `fresh`
	// must be used for this call alone. Result `hints`, data that only scheme
	// sealed precomputes for the owner, may be nil.
	Encrypt(first int, units []Rows, fresh seed.Secret) (vectors, hints []byte, err error)
	// Drop subtracts a segment of the previous generation from the integrity
	// sums. The segment's first unit has number `unit`.
	Drop(segment []byte, unit int) error
	// Finish writes the cipher's segments other than vectors, hints and keywords.
	Finish(w *index.Writer) error
	// Decrypt passes a segment's records to `each` and returns the number of
	// units. The segment's first unit has number `unit`.
	Decrypt(ctx context.Context, segment []byte, unit int, each func(row []int16, addend int64)) (units int, err error)
	// NewIntegrityCheck returns a check of the stored records against the
	// ledger. The caller passes every segment of vectors to `add`. Then
	// `right` reports whether the records are intact.
	NewIntegrityCheck() (add func(segment []byte, unit int) error, right func() bool)

	// Needs reports whether the owner must hold segments of kind k.
	Needs(k cpar.SegmentKind) bool
	Hold(k cpar.SegmentKind, segments [][]byte) error
	// Held returns the number of records for which the owner holds segments.
	Held() int
	// Request returns the request to send, or nil, and a function that decodes
	// the reply into scores. The scores of the requested cell come first.
	Request(u []int16, cluster int, fresh seed.Secret) (q *cpar.Request, scores func(*cpar.Reply) ([]int64, error), err error)

	Next(x *index.Index) Cipher
	// Rebuild returns a cipher with the same parameters for a new index.
	Rebuild(x *index.Index, q *Quantiser, logClusters int) (Cipher, error)

	// Clustered returns the cipher of the records in cells, or nil, and the
	// number of these records, which precede all others.
	Clustered() (Clustered, int)
}

// Options are the options of scheme sealed. Zero values select defaults.
type Options struct {
	Block   int  // coordinates per block
	Careful bool // the larger ring
	Cells   int  // number of cells, a power of two
}

type Kind struct {
	Coarse bool // whether the quantisation steps are coarse (quantise.go)
	New    func(x *index.Index, q *Quantiser, o Options) (Cipher, error)
	Read   func(x *index.Index, q *Quantiser, r *wire.Reader) (Cipher, error)
	// Size returns the size in bytes of n records and of the output of Finish
	// and AppendBinary.
	Size func(q *Quantiser, n int) (uint64, error)
}

type Index struct {
	*index.Index
	quantiser *Quantiser
	cipher    Cipher
	removed   Bitmap
	// keywords covers all records and is nil until Hold.
	keywords atomic.Pointer[keyword.Table]
	// untagged marks the records without keywords, and the removed ones. It is
	// nil until Hold.
	untagged atomic.Pointer[Bitmap]
	// cells assigns records to cells (hidden groups of neighbouring records).
	// It is nil until Hold, or if there are no cells.
	cells atomic.Pointer[division]
}

func (k Kind) Open(x *index.Index, r *wire.Reader) (*Index, error) {
	out := &Index{Index: x, quantiser: NewQuantiser(x.Profile.Layout(), k.Coarse)}
	out.removed = append(Bitmap{}, r.Bytes(len(NewBitmap(x.Records)), "removed records")...)
	if tail := x.Records % 8; r.Err() == nil && tail != 0 && out.removed[len(out.removed)-1]>>tail != 0 {
		r.Fail("a record that is not there was removed")
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	var err error
	out.cipher, err = k.Read(x, out.quantiser, r)
	return out, err
}

// Bytes returns the size in bytes of n records and their part of the ledger.
func (k Kind) Bytes(layout vectorlayout.Params, n int) (uint64, error) {
	size, err := k.Size(NewQuantiser(layout, k.Coarse), n)
	return size + uint64(len(NewBitmap(n))), err
}

func (x *Index) AppendBinary(b []byte) ([]byte, error) {
	return x.cipher.AppendBinary(append(b, x.removed...))
}

func (x *Index) Describe(m *cpar.Manifest) { m.Dim = uint32(x.quantiser.Dim()) }

func (x *Index) Live() int { return x.Records - x.removed.count() }

func (x *Index) Removed(record int) bool { return x.removed.Has(record) }

// Needs reports whether the owner must hold segments of kind k.
func (x *Index) Needs(k cpar.SegmentKind) bool {
	clustered, _ := x.cipher.Clustered()
	return k == cpar.SegmentKeywords || clustered != nil && k == cpar.SegmentCells || x.cipher.Needs(k)
}

// Hold decrypts and keeps the segments named by Needs and may retain their bytes.
func (x *Index) Hold(segments map[cpar.SegmentKind][][]byte) error {
	if err := x.HoldSome(segments); err != nil {
		return err
	}
	if n := x.cipher.Held(); n != x.Records {
		return fmt.Errorf("%w: %d records in it, %d in the ledger", cpar.ErrCorrupt, n, x.Records)
	}
	return nil
}

// HoldSome is like Hold but accepts a part of the segments, which suffices for
// an update.
func (x *Index) HoldSome(segments map[cpar.SegmentKind][][]byte) error {
	for kind, list := range segments {
		if kind == cpar.SegmentKeywords {
			table, err := x.Keywords.OpenTable(list, x.Records, x.Generation)
			if err != nil {
				return err
			}
			skip := slices.Clone(x.removed)
			for i := range x.Records {
				if len(table.Of(i)) == 0 {
					skip[i/8] |= 1 << (i % 8)
				}
			}
			x.untagged.Store(&skip)
			x.keywords.Store(table)
			continue
		}
		if kind == cpar.SegmentCells {
			if err := x.holdCells(list[0]); err != nil {
				return fmt.Errorf("segment %v: %w", kind, err)
			}
			continue
		}
		if err := x.cipher.Hold(kind, list); err != nil {
			return fmt.Errorf("segment %v: %w", kind, err)
		}
	}
	return nil
}

var errNotHeld = hint.Add(fmt.Errorf("%w: the segments that the owner must hold have not been fetched", cpar.ErrInput), "call Hold with the segments that Needs names")

type ReplyReader struct {
	seed.Redacted
	index *Index
	l     int
	u     []int16 // plaintext of the request, for the twin
	own   float64 // addend that converts scores to distances (quantise.go)
	// cluster is the requested cell, −1 without cells.
	cluster int
	words   *keyword.Table
	read    func(*cpar.Reply) ([]int64, error)

	mu sync.Mutex
	// near caches the result for the reply with this digest, because a reply
	// can be decrypted only once.
	digest [sha256.Size]byte
	near   []rank.Neighbour
}

// Request encrypts a vector under a fresh secret. The server does not learn the
// number of neighbours.
func (x *Index) Request(v *vector.Vector, p cpar.Params) (index.ReplyReader, *cpar.Request, error) {
	words, u, own, err := x.prepare(v)
	if err != nil {
		return nil, nil, err
	}
	return x.ask(words, u, own, x.cellOf(u), int(p.L))
}

// Asked returns the number of cells that every search asks, or 1 without cells.
func (x *Index) Asked() int {
	if d := x.cells.Load(); d != nil {
		return d.asked
	}
	return 1
}

// Requests returns a request to each of the Asked nearest cells, or to every
// cell. Without cells, it returns one request.
func (x *Index) Requests(v *vector.Vector, p cpar.Params, every bool) (readings []index.ReplyReader, requests []*cpar.Request, err error) {
	words, u, own, err := x.prepare(v)
	if err != nil {
		return nil, nil, err
	}
	cells := []int{-1}
	if clustered, _ := x.cipher.Clustered(); clustered != nil {
		cells = x.cells.Load().Order(floats(u, -1)) // requests are negated
		if every {
			slices.Sort(cells)
		} else {
			cells = cells[:x.Asked()]
		}
	}
	for _, cluster := range cells {
		reading, q, err := x.ask(words, u, own, cluster, int(p.L))
		if err != nil {
			return nil, nil, err
		}
		readings, requests = append(readings, reading), append(requests, q)
	}
	return readings, requests, nil
}

func (x *Index) prepare(v *vector.Vector) (words *keyword.Table, u []int16, own float64, err error) {
	words = x.keywords.Load()
	if clustered, _ := x.cipher.Clustered(); words == nil || x.cipher.Held() != x.Records || clustered != nil && x.cells.Load() == nil {
		return nil, nil, 0, errNotHeld
	}
	u, own, err = x.request(v)
	return words, u, own, err
}

func (x *Index) ask(words *keyword.Table, u []int16, own float64, cluster, l int) (index.ReplyReader, *cpar.Request, error) {
	d := index.NewDigest()
	index.Add(d, u)
	index.Add(d, []int64{int64(cluster)})
	q, scores, err := x.cipher.Request(u, cluster, x.Fresh("request", d.Sum()))
	if err != nil {
		return nil, nil, err
	}
	return &ReplyReader{index: x, l: l, u: u, own: own, cluster: cluster, words: words, read: scores}, q, nil
}

func (x *Index) request(v *vector.Vector) (u []int16, own float64, err error) {
	z, err := x.Projector.Project(v)
	if err != nil {
		return nil, 0, err
	}
	return x.quantiser.Request(z, v.KL)
}

// Read decrypts a reply, verifies every score, and ranks the records without
// revealing the result to the server. The reply is nil for a local search.
func (p *ReplyReader) Read(a *cpar.Reply) ([]rank.Neighbour, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var digest [sha256.Size]byte
	if a != nil {
		digest = sha256.Sum256(a.Opaque)
	}
	if p.near != nil && digest == p.digest {
		return append([]rank.Neighbour{}, p.near...), nil
	}
	scores, err := p.read(a)
	if err != nil {
		return nil, err
	}
	if scores, err = p.index.spread(scores, p.cluster); err != nil {
		return nil, err
	}
	near := p.index.neighbours(p.words, scores, p.own, p.l)
	p.digest, p.near = digest, near
	return append([]rank.Neighbour{}, near...), nil
}

func (x *Index) neighbours(words *keyword.Table, scores []int64, own float64, l int) []rank.Neighbour {
	found := nearest(scores, l, x.skipped(l))
	out := make([]rank.Neighbour, len(found))
	for i, h := range found {
		out[i] = rank.Neighbour{Record: h.Record, Dis: x.quantiser.Dis(h.Score, own), Keywords: words.Of(int(h.Record))}
	}
	return out
}

// skipped marks the records that a request for l records must not return. Only a
// search, which wants more than any annotation, finds records without keywords.
func (x *Index) skipped(l int) Bitmap {
	if skip := x.untagged.Load(); skip != nil && l <= cpar.MaxNeighbours {
		return *skip
	}
	return x.removed
}

func (x *Index) Count() (map[string]int, int) {
	return x.keywords.Load().Count(x.removed.Has), x.Records - x.untagged.Load().count()
}
