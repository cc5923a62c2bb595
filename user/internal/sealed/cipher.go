package sealed

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

var Kind = rows.Kind{Coarse: true, New: newScheme, Read: readScheme, Size: schemeBytes}

// A cipher encrypts the records of one generation of an index in groups. If
// the index has cells (hidden groups of similar records), an outer cipher
// encrypts the records outside cells, the open part.
type cipher struct {
	seed.Redacted
	index  *index.Index
	params lattice.Params
	key    func() (*Key, error)
	// rho generates the secret numbers ρ that check replies (check.go).
	rho   *seed.Stream
	check checkSums // the sums S and T of check.go
	// hints, the data for reading replies, is nil until Hold.
	hints atomic.Pointer[Hints]
	// clustered encrypts the records in cells. It is nil without cells. The
	// outer cipher performs Request, Finish and Hold for both.
	clustered *cipher
	records   int  // number of records in cells, in both ciphers
	wide      bool // whether cells are wide, in both ciphers
}

func open(x *index.Index, p lattice.Params, check checkSums) *cipher {
	purpose := "check"
	if p.LogSlots > 0 {
		purpose = "check of clusters"
	}
	s := &cipher{index: x, params: p, check: check, rho: seed.New(x.Secret(purpose))}
	s.key = sync.OnceValues(func() (*Key, error) { return NewKey(x.Key, p, x.ID) })
	return s
}

func newScheme(x *index.Index, q *rows.Quantiser, o rows.Options) (rows.Cipher, error) {
	clusters := q.LogCells(x.Records)
	if o.Cells > 0 {
		clusters = bits.TrailingZeros(uint(o.Cells))
	}
	return begin(x, q, o.Block, o.Careful, clusters)
}

func begin(x *index.Index, q *rows.Quantiser, block int, careful bool, logClusters int) (rows.Cipher, error) {
	s, err := beginPart(x, q, block, careful, 0)
	if err == nil && logClusters > 0 {
		var part *cipher
		part, err = beginPart(x, q, block, careful, logClusters)
		s.divide(part, x.Records, logClusters == lattice.WideSlots)
	}
	return s, err
}

// divide makes `part` the cipher of the first records, which are in cells.
func (s *cipher) divide(part *cipher, records int, wide bool) {
	s.clustered, s.records, s.wide = part, records, wide
	if part != nil {
		part.records, part.wide = records, wide
	}
}

func beginPart(x *index.Index, q *rows.Quantiser, block int, careful bool, logCells int) (*cipher, error) {
	p, err := q.Lattice(block, careful, logCells)
	if err != nil {
		return nil, err
	}
	return open(x, p, newCheckSums(p)), nil
}

func (s *cipher) parts() lattice.Sections {
	p := lattice.Sections{Open: s.params}
	if s.clustered != nil {
		p.Clustered, p.Records, p.Wide = &s.clustered.params, s.records, s.wide
	}
	return p
}

func readScheme(x *index.Index, q *rows.Quantiser, r *wire.Reader) (rows.Cipher, error) {
	p, err := lattice.ReadSections(r)
	if err != nil {
		return nil, err
	}
	fits := func(p lattice.Params) bool {
		want, err := q.Lattice(p.Block, p.LogN == lattice.Careful.LogN, p.LogSlots)
		return err == nil && want == p
	}
	if !fits(p.Open) || p.Clustered != nil && (!fits(*p.Clustered) || p.Records > x.Records) {
		return nil, fmt.Errorf("%w: sealed parameters that do not match the profile", cpar.ErrCorrupt)
	}
	check, err := readCheckSums(p.Open, r)
	s := open(x, p.Open, check)
	if p.Clustered != nil {
		s.divide(open(x, *p.Clustered, newCheckSums(*p.Clustered)), p.Records, p.Wide)
	}
	return s, err
}

// schemeBytes returns the size in bytes of groups, hints, parameters (stored
// twice) and check sums.
func schemeBytes(q *rows.Quantiser, n int) (uint64, error) {
	open, err := q.Lattice(0, false, 0)
	if err != nil {
		return 0, err
	}
	part := func(p lattice.Params, rows int) int {
		return p.Groups(rows)*(p.GroupSize()+p.HintSize()) + p.MatrixBytes() + p.Records()*lattice.WordBytes
	}
	clusters := q.LogCells(n)
	if clusters == 0 {
		return uint64(part(open, n) + 2*lattice.ParamsSize), nil
	}
	p, err := q.Lattice(0, false, clusters)
	return uint64(part(open, 0) + part(p, lattice.CellSize(n, p.Slots(), clusters == lattice.WideSlots)) + 2*lattice.SectionsSize +
		aead.Overhead + rows.CellBytes(q, n, p.Slots())), err
}

func (s *cipher) AppendBinary(b []byte) ([]byte, error) {
	b, err := s.parts().AppendBinary(b)
	return s.check.append(b), err
}

func (s *cipher) Clustered() (rows.Clustered, int) {
	if s.clustered == nil {
		return nil, 0
	}
	return s.clustered, s.records
}

func (s *cipher) Layout() lattice.Params { return s.params }

func (s *cipher) CellSize() int { return lattice.CellSize(s.records, s.params.Slots(), s.wide) }

// AppendStatic appends the sums for records in cells, which never change.
func (s *cipher) AppendStatic(b []byte) []byte { return s.check.append(b) }

func (s *cipher) ReadStatic(r *wire.Reader) (err error) {
	s.check, err = readCheckSums(s.params, r)
	return err
}

func (s *cipher) Unit() (records, bytes int) { return s.params.Records(), s.params.GroupSize() }

// Encrypt encrypts groups under separate seeds and noise and computes the
// groups' hints.
func (s *cipher) Encrypt(first int, units []rows.Rows, fresh seed.Secret) (groups, hints []byte, err error) {
	key, err := s.key()
	if err != nil {
		return nil, nil, err
	}
	made, k := make([]*lattice.Group, len(units)), s.params.Records()
	hint := make([][]byte, len(units))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i := range units {
		work.Go(func() (err error) {
			vectors, addends := make([][]int16, units[i].Len()), make([]int64, units[i].Len())
			for j := range vectors {
				vectors[j], addends[j] = units[i].At(j)
			}
			if made[i], err = key.Encrypt(vectors, addends, fresh.Derive("group", seed.Number(uint64(first+i*k)))); err == nil {
				hint[i] = key.appendHint(nil, made[i])
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, nil, err
	}
	for i, g := range made {
		s.check.add(s.params, s.rho, first/k+i, g)
		groups, hints = g.AppendBinary(groups), append(hints, hint[i]...)
	}
	return groups, hints, nil
}

func (s *cipher) Drop(segment []byte, unit int) error {
	_, err := s.eachGroup(segment, func(i int, g *lattice.Group) error {
		s.check.remove(s.params, s.rho, unit+i, g)
		return nil
	})
	return err
}

func (s *cipher) Finish(w *index.Writer) error {
	params, err := s.parts().AppendBinary(nil)
	if err != nil {
		return err
	}
	return w.Bytes(cpar.SegmentParams, params)
}

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

func (s *cipher) NewIntegrityCheck() (add func(segment []byte, unit int) error, right func() bool) {
	sums := newCheckSums(s.params)
	add = func(segment []byte, unit int) error {
		_, err := s.eachGroup(segment, func(i int, g *lattice.Group) error {
			sums.add(s.params, s.rho, unit+i, g)
			return nil
		})
		return err
	}
	return add, func() bool {
		return slices.Equal(sums.matrix, s.check.matrix) && slices.Equal(sums.addends, s.check.addends)
	}
}

func (s *cipher) Needs(k cpar.SegmentKind) bool { return k == cpar.SegmentHints }

func (s *cipher) Hold(_ cpar.SegmentKind, segments [][]byte) error {
	for _, part := range []*cipher{s.clustered, s} {
		if part == nil {
			continue
		}
		hints, err := NewHints(part.params, s.index.ID)
		for err == nil && len(segments) > 0 && (part == s || hints.Records() < s.parts().Rows()) {
			err, segments = hints.Append(segments[0]), segments[1:]
		}
		if err != nil {
			return err
		}
		part.hints.Store(hints)
	}
	return nil
}

func (s *cipher) Held() int {
	h := s.hints.Load()
	if h == nil || s.clustered != nil && s.clustered.hints.Load().Records() != s.parts().Rows() {
		return -1
	}
	return s.records + h.Records()
}

// Request encrypts a request to a cell and a request to the open part, each under its
// own secret. It omits the cells or the open part if they have no groups.
func (s *cipher) Request(u []int16, cluster int, fresh seed.Secret) (*cpar.Request, func(*cpar.Reply) ([]int64, error), error) {
	var asked []*sectionRequest
	var whole *lattice.Request
	for _, part := range []*cipher{s.clustered, s} {
		if part == nil || part.hints.Load().Groups() == 0 {
			continue
		}
		a, q, err := part.ask(u, cluster, fresh)
		if err != nil {
			return nil, nil, err
		}
		if asked = append(asked, a); whole == nil {
			whole = q
			continue
		}
		a.once.number = whole.Number
		whole.Matrix = append(whole.Matrix, q.Matrix...)
	}
	state := s.hints.Load().State()
	if s.clustered != nil {
		state = s.clustered.hints.Load().State().Plus(state)
	}
	read := func(a *cpar.Reply) ([]int64, error) { return s.checkedScores(asked, state, a) }
	return &cpar.Request{Index: s.index.ID, Params: cpar.Params{Scheme: s.index.Scheme}, Opaque: whole.AppendBinary(nil)}, read, nil
}

type sectionRequest struct {
	*cipher
	once   *OneTimeKey
	hints  *Hints
	wanted []uint64
}

func (s *cipher) ask(u []int16, cluster int, fresh seed.Secret) (*sectionRequest, *lattice.Request, error) {
	key, err := s.key()
	if err != nil {
		return nil, nil, err
	}
	if s.params.LogSlots > 0 {
		u, fresh = s.params.Ask(u, cluster), fresh.Derive("sealed/clustered")
	}
	once, q, err := key.NewRequest(u, fresh)
	if err != nil {
		return nil, nil, err
	}
	return &sectionRequest{cipher: s, once: once, hints: s.hints.Load(), wanted: s.check.wanted(s.params, q.Matrix)}, q, nil
}

// checkedScores verifies a reply against the check sums and decodes its scores.
func (s *cipher) checkedScores(asked []*sectionRequest, state lattice.State, a *cpar.Reply) ([]int64, error) {
	if a == nil || a.Index != s.index.ID {
		return nil, fmt.Errorf("%w: its reply does not belong to this index", cpar.ErrCloud)
	}
	r, err := lattice.DecodeReply(s.params, a.Opaque)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", cpar.ErrCloud, err)
	}
	words := 0
	for _, part := range asked {
		words += part.hints.Groups() * part.params.Records()
	}
	switch {
	case r.State != state:
		return nil, fmt.Errorf("%w: it comes from another state of the index than the hints", cpar.ErrCloud)
	case len(r.Words) != words:
		return nil, fmt.Errorf("%w: %d words, not %d", cpar.ErrCloud, len(r.Words), words)
	}
	var scores []int64
	rest := r.Words
	for _, part := range asked {
		n := part.hints.Groups() * part.params.Records()
		own := *r
		own.State, own.Words, rest = part.hints.State(), rest[:n], rest[n:]
		if !fits(part.params, part.rho, own.Words, part.wanted) {
			return nil, ErrRefused
		}
		some, err := part.once.Scores(part.hints, &own, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		scores = append(scores, some...)
	}
	return scores, nil
}

func (s *cipher) Next(x *index.Index) rows.Cipher {
	next := open(x, s.params, s.check.clone())
	if s.clustered != nil {
		next.divide(open(x, s.clustered.params, s.clustered.check), s.records, s.wide)
	}
	return next
}

func (s *cipher) Rebuild(x *index.Index, q *rows.Quantiser, logClusters int) (rows.Cipher, error) {
	return begin(x, q, s.params.Block, s.params.LogN == lattice.Careful.LogN, logClusters)
}
