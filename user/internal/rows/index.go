package rows

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/kmeans"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

// A Cipher encrypts rows and scores them: package sealed or local. It belongs to one
// state of one index.
type Cipher interface {
	// AppendBinary appends what the ledger keeps.
	AppendBinary(b []byte) ([]byte, error)

	// Unit is how many records are encrypted together, and to how many bytes.
	Unit() (records, bytes int)
	// Encrypt encrypts new records in units, the last of which may be short; first
	// is the number of the first record, of those in no cluster, which begins a unit.
	// hints are what goes with them, nil where nothing does. fresh serves this call alone.
	Encrypt(first int, units []Rows, fresh seed.Secret) (vectors, hints []byte, err error)
	// Drop forgets a segment of vectors of the state before, the first unit of which has
	// this number.
	Drop(segment []byte, unit int) error
	// Finish writes the segments that the scheme has besides vectors, hints and keywords.
	Finish(w *index.Writer) error
	// Decrypt calls each with the records of a segment of vectors, the first unit of
	// which has this number, and returns the number of units.
	Decrypt(ctx context.Context, segment []byte, unit int, each func(row []int16, addend int64)) (units int, err error)
	// Sums tells whether the records are those that the ledger was written for:
	// add is called with every segment of vectors and the number of its first unit, then right.
	NewIntegrityCheck() (add func(segment []byte, unit int) error, right func() bool)

	// Needs says which segments must be held besides the keywords, Hold takes those
	// of a kind, one at least. Held is the number of records in what is held.
	Needs(k cpar.SegmentKind) bool
	Hold(k cpar.SegmentKind, segments [][]byte) error
	Held() int
	// Request makes what is sent, nil where nothing is, and how scores are read from
	// the reply: of the records in this cluster, if there are any, then of those in none.
	Request(u []int16, cluster int, fresh seed.Secret) (q *cpar.Request, scores func(*cpar.Reply) ([]int64, error), err error)

	// Next is the cipher of the next state, to which records are added; Rebuild gives one
	// with the same parameters for a new index.
	Next(x *index.Index) Cipher
	Rebuild(x *index.Index, q *Quantiser, logClusters int) (Cipher, error)

	// Clustered is the cipher of the records that are divided into clusters, the first
	// ones, and how many they are; nil where there are none.
	Clustered() (Clustered, int)
}

// Options are those of scheme sealed: the block width, 0 for the default, whether the ring
// is the larger one, and the number of clusters: a power of two, 0 for what suits the number of
// records.
type Options struct {
	Block   int
	Careful bool
	Cells   int
}

// A Kind makes ciphers of one scheme.
type Kind struct {
	// Coarse says which steps its rows have.
	Coarse bool
	New    func(x *index.Index, q *Quantiser, o Options) (Cipher, error)
	Read   func(x *index.Index, q *Quantiser, r *wire.Reader) (Cipher, error)
	// Vectors is the size of the vectors of n records, with all that Finish writes and
	// AppendBinary appends.
	Vectors func(q *Quantiser, n int) (uint64, error)
}

// An Index is opened: it makes requests and reads replies.
type Index struct {
	*index.Index
	quantiser *Quantiser
	cipher    Cipher
	removed   Bitmap
	// keywords are those of all records; nil until Hold.
	keywords atomic.Pointer[keyword.Table]
	// cells say which records a cluster has; nil until Hold, and where there are none.
	cells atomic.Pointer[kmeans.BalancedCells]
}

// Open opens an index from its bytes in the ledger.
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

// Bytes is the size of n records: their vectors, what goes with them, and what the
// ledger keeps.
func (k Kind) Bytes(layout vectorlayout.Params, n int) (uint64, error) {
	size, err := k.Vectors(NewQuantiser(layout, k.Coarse), n)
	return size + uint64(len(NewBitmap(n))), err
}

// AppendBinary appends what the ledger keeps.
func (x *Index) AppendBinary(b []byte) ([]byte, error) {
	return x.cipher.AppendBinary(append(b, x.removed...))
}

// Describe enters into a manifest what it says of the index but its segments.
func (x *Index) Describe(m *cpar.Manifest) { m.Dim = uint32(x.quantiser.Dim()) }

// Live is the number of records that were not removed.
func (x *Index) Live() int { return x.Records - x.removed.count(x.Records) }

// Removed reports whether a record was removed.
func (x *Index) Removed(record int) bool { return x.removed.Has(record) }

// Needs says which segments must be held before a photo can be annotated.
func (x *Index) Needs(k cpar.SegmentKind) bool {
	clustered, _ := x.cipher.Clustered()
	return k == cpar.SegmentKeywords || clustered != nil && k == cpar.SegmentCells || x.cipher.Needs(k)
}

// Hold takes the segments that Needs names, decrypts what is needed of them and
// keeps it. It keeps bytes of some.
func (x *Index) Hold(segments map[cpar.SegmentKind][][]byte) error {
	if err := x.HoldSome(segments); err != nil {
		return err
	}
	if n := x.cipher.Held(); n != x.Records {
		return fmt.Errorf("%w: %d records in it, %d in the ledger", cpar.ErrCorrupt, n, x.Records)
	}
	return nil
}

// HoldSome is Hold of some of the segments: those that an update writes again.
func (x *Index) HoldSome(segments map[cpar.SegmentKind][][]byte) error {
	for kind, list := range segments {
		if kind == cpar.SegmentKeywords {
			table, err := x.Keywords.OpenTable(list, x.Records, x.Generation)
			if err != nil {
				return err
			}
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

var errNotHeld = hint.Add(fmt.Errorf("%w: what the index needs at home has not been fetched", cpar.ErrInput), "call Hold with the segments that Needs names")

// A Reading is what is kept of one request in order to read the reply.
type ReplyReader struct {
	seed.Redacted
	index *Index
	l     int
	u     []int16 // in the clear, for the twin
	own   float64
	// cluster is the one that was asked; −1 where there are none.
	cluster int
	words   *keyword.Table
	read    func(*cpar.Reply) ([]int64, error)

	mu sync.Mutex
	// near answers the reply of this digest: a reply is decrypted once, and may
	// be read again.
	digest [sha256.Size]byte
	near   []rank.Neighbour
}

// Request lays out a vector and encrypts it under a secret that serves it alone.
// The number of neighbours stays at home.
func (x *Index) Request(v *vector.Vector, p cpar.Params) (index.ReplyReader, *cpar.Request, error) {
	words, u, own, err := x.prepare(v)
	if err != nil {
		return nil, nil, err
	}
	return x.ask(words, u, own, x.cellOf(u), int(p.L))
}

// RequestAll makes a request to every cluster, or one where there are none.
func (x *Index) RequestAll(v *vector.Vector, p cpar.Params) (readings []index.ReplyReader, requests []*cpar.Request, err error) {
	words, u, own, err := x.prepare(v)
	if err != nil {
		return nil, nil, err
	}
	first, last := -1, -1
	if clustered, _ := x.cipher.Clustered(); clustered != nil {
		first, last = 0, clustered.Layout().Slots()-1
	}
	for cluster := first; cluster <= last; cluster++ {
		reading, q, err := x.ask(words, u, own, cluster, int(p.L))
		if err != nil {
			return nil, nil, err
		}
		readings, requests = append(readings, reading), append(requests, q)
	}
	return readings, requests, nil
}

// prepare lays out the request of a vector, if all that it takes is held.
func (x *Index) prepare(v *vector.Vector) (words *keyword.Table, u []int16, own float64, err error) {
	words = x.keywords.Load()
	if clustered, _ := x.cipher.Clustered(); words == nil || x.cipher.Held() != x.Records || clustered != nil && x.cells.Load() == nil {
		return nil, nil, 0, errNotHeld
	}
	u, own, err = x.request(v)
	return words, u, own, err
}

// ask makes a request to one cluster.
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

// request lays a vector out; own is what makes a distance of its scores.
func (x *Index) request(v *vector.Vector) (u []int16, own float64, err error) {
	z, err := x.Projector.Project(v)
	if err != nil {
		return nil, 0, err
	}
	return x.quantiser.Request(z, v.KL)
}

// Read decrypts a reply, checks that every score in it is right, and ranks the
// records. The cloud is not told which they are. Where nothing was asked, the
// reply is nil.
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

// neighbours are the l nearest of the records that were not removed, by the scores
// of all.
func (x *Index) neighbours(words *keyword.Table, scores []int64, own float64, l int) []rank.Neighbour {
	found := nearest(scores, l, x.removed)
	out := make([]rank.Neighbour, len(found))
	for i, h := range found {
		out[i] = rank.Neighbour{Record: h.Record, Dis: x.quantiser.Dis(h.Score, own), Keywords: words.Of(int(h.Record))}
	}
	return out
}

// Count counts the records that can be found and have each word. What Needs names must be held.
func (x *Index) Count() map[string]int { return x.keywords.Load().Count(x.removed.Has) }
