package sealed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/wire"
	"cpar/user/internal/box"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
	"cpar/user/internal/seed"
)

// Kind is scheme sealed as package rows asks for it.
var Kind = rows.Kind{Coarse: true, New: newScheme, Read: readScheme, Vectors: schemeBytes}

// cipher encrypts the rows of one state of an index in groups.
type cipher struct {
	seed.Redacted
	index  *index.Index
	params lattice.Params
	// key is derived when first needed.
	key func() (*Key, error)
	// rho is the stream of the numbers that check replies, check the sums over the
	// groups of this state.
	rho   *seed.Stream
	check checkSums
	// hints of the records of this state: fetched by Hold, or made by Encrypt.
	hints atomic.Pointer[Hints]
	mu    sync.Mutex // adds to hints and check
}

func open(x *index.Index, p lattice.Params, check checkSums) *cipher {
	s := &cipher{index: x, params: p, check: check, rho: seed.New(x.Secret("check"))}
	s.key = sync.OnceValues(func() (*Key, error) { return NewKey(x.Key, p, x.ID) })
	return s
}

func newScheme(x *index.Index, q *rows.Quantiser, o rows.Options) (rows.Cipher, error) {
	p, err := q.Lattice(o.Block, o.Careful)
	if err != nil {
		return nil, err
	}
	return begin(x, p)
}

// begin starts an index without records.
func begin(x *index.Index, p lattice.Params) (rows.Cipher, error) {
	s := open(x, p, newCheckSums(p))
	none, err := NewHints(p, x.ID)
	s.hints.Store(none)
	return s, err
}

func readScheme(x *index.Index, q *rows.Quantiser, r *wire.Reader) (rows.Cipher, error) {
	enc := r.Bytes(lattice.ParamsSize, "parameters")
	if r.Err() != nil {
		return nil, r.Err()
	}
	p, err := lattice.DecodeParams(enc)
	if err != nil {
		return nil, err
	}
	if want, err := q.Lattice(p.Block, p.LogN == lattice.Careful.LogN); err != nil || want != p {
		return nil, fmt.Errorf("%w: sealed parameters that are not the profile's", cpar.ErrCorrupt)
	}
	check := newCheckSums(p)
	for _, words := range [][]uint64{check.matrix, check.addends} {
		packed := r.Bytes(len(words)*lattice.WordBytes, "check of replies")
		if r.Err() != nil {
			return nil, r.Err()
		}
		lattice.Words(words, packed)
		if slices.ContainsFunc(words, func(x uint64) bool { return x >= p.Ring().Q }) {
			return nil, fmt.Errorf("%w: a check that is not below its modulus", cpar.ErrCorrupt)
		}
	}
	return open(x, p, check), nil
}

// schemeBytes counts the groups of n records, their hints, the parameters
// twice, in a segment and in the ledger, and the sums.
func schemeBytes(q *rows.Quantiser, n int) (uint64, error) {
	p, err := q.Lattice(0, false)
	if err != nil {
		return 0, err
	}
	none, err := NewHints(p, cpar.IndexID{})
	if err != nil {
		return 0, err
	}
	perHint := lattice.SeedSize + len(lattice.AppendCount(nil, 0)) + p.HintBytes()
	return uint64(p.Groups(n)*(p.GroupSize()+perHint) + len(none.AppendBinary(nil)) + box.Overhead + 2*lattice.ParamsSize + p.MatrixBytes() + p.Records()*lattice.WordBytes), nil
}

// AppendBinary appends parameters and sums.
func (s *cipher) AppendBinary(b []byte) ([]byte, error) {
	b, err := s.params.AppendBinary(b)
	b = lattice.AppendWords(b, s.check.matrix)
	return lattice.AppendWords(b, s.check.addends), err
}

// Unit is a group.
func (s *cipher) Unit() (records, bytes int) { return s.params.Records(), s.params.GroupSize() }

// Encrypt encrypts groups, each with a seed and noise of its own, makes their hints
// and counts their records.
func (s *cipher) Encrypt(first int, units []rows.Rows, fresh seed.Secret) ([]byte, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	groups := make([]*lattice.Group, len(units))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i := range units {
		number := first + i*s.params.Records()
		work.Go(func() (err error) {
			vectors, addends := make([][]int16, units[i].Len()), make([]int64, units[i].Len())
			for k := range vectors {
				vectors[k], addends[k] = units[i].At(k)
			}
			groups[i], err = key.Encrypt(vectors, addends, fresh.Derive("group", seed.Number(uint64(number))))
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	hints := s.hints.Load()
	for _, g := range groups {
		s.check.add(s.params, s.rho, hints.Groups(), g)
		if err := hints.Append(g); err != nil {
			return nil, err
		}
		b = g.AppendBinary(b)
	}
	return b, nil
}

// Finish writes parameters and hints.
func (s *cipher) Finish(w *index.Writer) error {
	params, err := s.params.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := w.Bytes(cpar.SegmentParams, params); err != nil {
		return err
	}
	plain := s.hints.Load().AppendBinary(nil)
	nonce := seed.New(s.index.Fresh("hints", sha256.Sum256(plain)))
	return w.Bytes(cpar.SegmentHints, box.New(s.index.Secret("hints")).Seal(nil, nonce, plain, s.hintsBinding()))
}

// hintsBinding is the additional data of encrypted hints: hints of another
// generation do not open.
func (s *cipher) hintsBinding() []byte {
	b := append([]byte("cpar/v1/hints"), s.index.ID[:]...)
	return wire.AppendWords(b, []uint64{s.index.Generation})
}

// Decrypt decrypts groups.
func (s *cipher) Decrypt(ctx context.Context, segment []byte, _ int, each func(row []int16, addend int64)) (units int, err error) {
	key, err := s.key()
	if err != nil {
		return 0, err
	}
	return s.eachGroup(segment, func(_ int, g *lattice.Group) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		vectors, addends, err := key.Decrypt(g)
		for k, row := range vectors {
			each(row, addends[k])
		}
		return err
	})
}

// eachGroup reads a segment of groups, and counts them.
func (s *cipher) eachGroup(segment []byte, f func(i int, g *lattice.Group) error) (n int, err error) {
	for size := s.params.GroupSize(); len(segment) > 0; segment = segment[min(size, len(segment)):] {
		g, err := lattice.DecodeGroup(s.params, segment[:min(size, len(segment))])
		if err != nil {
			return 0, err
		}
		if err := f(n, g); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Sums counts groups as the ledger does.
func (s *cipher) Sums() (add func(segment []byte, unit int) error, right func() bool) {
	sums := newCheckSums(s.params)
	add = func(segment []byte, unit int) error {
		_, err := s.eachGroup(segment, func(i int, g *lattice.Group) error {
			sums.add(s.params, s.rho, unit+i, g)
			return nil
		})
		return err
	}
	return add, func() bool { return sums.equal(s.check) }
}

// Needs names the hints.
func (s *cipher) Needs(k cpar.SegmentKind) bool { return k == cpar.SegmentHints }

// Hold decrypts the hints.
func (s *cipher) Hold(_ cpar.SegmentKind, segments [][]byte) error {
	plain, err := box.New(s.index.Secret("hints")).Open(segments[0], s.hintsBinding())
	if err != nil {
		return fmt.Errorf("%w: it was altered, or belongs to another generation", cpar.ErrCorrupt)
	}
	hints, err := DecodeHints(s.params, plain)
	if err != nil {
		return err
	}
	s.hints.Store(hints)
	return nil
}

// Held is the number of records that the hints cover.
func (s *cipher) Held() int {
	if h := s.hints.Load(); h != nil {
		return h.Records()
	}
	return -1
}

// Request encrypts a request under a secret that serves it alone.
func (s *cipher) Request(u []int16, fresh seed.Secret) (*cpar.Request, func(*cpar.Reply) ([]int64, error), error) {
	key, err := s.key()
	if err != nil {
		return nil, nil, err
	}
	hints := s.hints.Load()
	once, q, err := key.NewRequest(u, fresh)
	if err != nil {
		return nil, nil, err
	}
	wanted := s.check.wanted(s.params, q.Matrix)
	read := func(a *cpar.Reply) ([]int64, error) { return s.checkedScores(once, hints, wanted, a) }
	return &cpar.Request{Index: s.index.ID, Params: cpar.Params{Scheme: s.index.Scheme},
		Opaque: q.AppendBinary(make([]byte, 0, s.params.RequestSize()))}, read, nil
}

// checkedScores reads the reply to a request, and refuses one that is not what the groups
// and the request give.
func (s *cipher) checkedScores(once *OneTimeKey, hints *Hints, wanted []uint64, a *cpar.Reply) ([]int64, error) {
	if a == nil || a.Index != s.index.ID {
		return nil, fmt.Errorf("%w: it is no reply of this index", cpar.ErrCloud)
	}
	r, err := lattice.DecodeReply(s.params, a.Opaque)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", cpar.ErrCloud, err)
	}
	if len(r.Words) == hints.Groups()*s.params.Records() && !fits(s.params, s.rho, r.Words, wanted) {
		return nil, ErrRefused
	}
	return once.Scores(hints, r, runtime.GOMAXPROCS(0))
}

// Next adds to these hints and sums.
func (s *cipher) Next(x *index.Index, _ uint64) rows.Cipher {
	next := open(x, s.params, s.check.clone())
	next.hints.Store(s.hints.Load().clone())
	return next
}

// Rebuild has no records yet.
func (s *cipher) Rebuild(x *index.Index) (rows.Cipher, error) { return begin(x, s.params) }
