package user

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/lattice"
	"cpar/user/internal/sealed"
	"cpar/user/internal/seed"
	"cpar/user/vector"
)

// exactOwner is what schemes sealed and local need besides.
type exactOwner struct {
	seed.Redacted
	*quantiser
	key     *Key
	profile *profile
	// cipher encrypts groups and requests; made when first needed.
	cipher func() (*sealed.Key, error)
	// rho is the stream of the numbers that check scores.
	rho *seed.Stream
	// blocks encrypts the vectors of scheme local.
	blocks *blockSealer
	// held is nil until Hold.
	held atomic.Pointer[held]
}

// held is what was fetched from the cloud in advance. It is never changed.
type held struct {
	hints    *sealed.Hints // scheme sealed
	records  *plainRecords // scheme local
	keywords []byte        // encrypted blocks
}

func newExactOwner(key *Key, p *profile) (*exactOwner, error) {
	q, err := p.quantiser()
	if err != nil {
		return nil, err
	}
	e := &exactOwner{quantiser: q, key: key, profile: p, rho: seed.New(key.derive("check", p.id))}
	e.cipher = sync.OnceValues(func() (*sealed.Key, error) { return sealed.NewKey(key.secret, q.params, p.id) })
	e.blocks, err = newBlockSealer(key.derive("local", p.id), p.id, q)
	return e, err
}

// checkContents refuses a manifest that names other segments than those that
// the profile was made with: the cloud mixes states of an index.
func (o *Owner) checkContents(m *cpar.Manifest) error {
	if o.exact == nil {
		return nil
	}
	if m.Scheme != o.profile.scheme || m.ID != o.ID() || contents(m) != o.profile.exact.contents {
		return fmt.Errorf("%w: its profile is of other segments than its manifest names", cpar.ErrCorrupt)
	}
	return nil
}

// Generation counts the updates of an index of scheme sealed or local, from 1.
// It is 0 for the others, which cannot be updated.
func (o *Owner) Generation() uint64 {
	if o.exact == nil {
		return 0
	}
	return o.profile.exact.generation
}

// State tells apart the states of an index of scheme sealed or local, also two of
// one generation, as two updates of one backup make: it is the SHA-256 of the
// digest of all segments but the profile and of the generation. The profile holds
// both, which a cloud cannot alter. It is zero for the other schemes.
func (o *Owner) State() [sha256.Size]byte {
	if o.exact == nil {
		return [sha256.Size]byte{}
	}
	b := append([]byte("cpar/v1/owner state"), o.profile.exact.contents[:]...)
	return sha256.Sum256(binary.LittleEndian.AppendUint64(b, o.profile.exact.generation))
}

// CheckGeneration refuses an index that is older than one seen before. The
// profile says how old it is, which a cloud cannot alter; whoever remembers the
// greatest generation seen notices that the cloud shows an old state. It does not
// tell apart two states that were made from one backup.
func (o *Owner) CheckGeneration(seen uint64) error {
	if o.Generation() >= seen {
		return nil
	}
	return hint.Add(fmt.Errorf("checking index %v: %w: it is of generation %d, and generation %d was seen before", o.ID(), cpar.ErrCloud, o.Generation(), seen),
		"the cloud shows an old state; push the index again")
}

// Records is the number of records that can be found.
func (o *Owner) Records() int {
	if o.exact == nil {
		return int(o.profile.records)
	}
	return o.profile.live()
}

// Needs are the segments of m that must be held before a photo can be
// annotated: none for schemes cpar and capia. They are fetched whole, once for
// each generation, whatever is asked.
func (o *Owner) Needs(m *cpar.Manifest) []cpar.Segment {
	var out []cpar.Segment
	for _, s := range m.Segments {
		if o.profile.needs(s.Kind) {
			out = append(out, s)
		}
	}
	return out
}

func (p *profile) needs(k cpar.SegmentKind) bool {
	switch p.scheme {
	case cpar.SchemeSealed:
		return k == cpar.SegmentHints || k == cpar.SegmentKeywords
	case cpar.SchemeLocal:
		return k == cpar.SegmentVectors || k == cpar.SegmentKeywords
	}
	return false
}

// Hold takes the segments that Needs names, by digest, decrypts what is needed of
// them and keeps it. It keeps the bytes of the keywords and of hints too.
func (o *Owner) Hold(m *cpar.Manifest, segments map[cpar.Digest][]byte) error {
	if o.exact == nil {
		return nil
	}
	if err := o.hold(m, segments); err != nil {
		return fmt.Errorf("holding index %v: %w", o.ID(), err)
	}
	return nil
}

func (o *Owner) hold(m *cpar.Manifest, segments map[cpar.Digest][]byte) error {
	if err := o.checkContents(m); err != nil {
		return err
	}
	h := new(held)
	if o.profile.scheme == cpar.SchemeLocal {
		h.records = &plainRecords{dim: o.dim()}
	}
	for _, s := range o.Needs(m) {
		b, ok := segments[s.Digest]
		switch {
		case !ok:
			return fmt.Errorf("%w: segment %v %.8v… was not fetched", cpar.ErrInput, s.Kind, s.Digest)
		case sha256.Sum256(b) != s.Digest:
			return fmt.Errorf("%w: segment %v has other bytes than its digest says", cpar.ErrCorrupt, s.Kind)
		}
		var err error
		switch s.Kind {
		case cpar.SegmentKeywords:
			h.keywords = b
		case cpar.SegmentHints:
			h.hints, err = o.openHints(b)
		case cpar.SegmentVectors:
			err = o.exact.blocks.openAll(h.records, b)
		}
		if err != nil {
			return fmt.Errorf("segment %v: %w", s.Kind, err)
		}
	}
	if n := h.count(); n != int(o.profile.records) {
		return fmt.Errorf("%w: %d records in it, %d in the profile", cpar.ErrCorrupt, n, o.profile.records)
	}
	o.exact.held.Store(h)
	return nil
}

func (h *held) count() int {
	if h.hints != nil {
		return h.hints.Records()
	}
	return h.records.count()
}

// holding is what Hold kept.
func (e *exactOwner) holding() (*held, error) {
	if h := e.held.Load(); h != nil {
		return h, nil
	}
	return nil, hint.Add(fmt.Errorf("%w: what the index needs at home has not been fetched", cpar.ErrInput), "call Hold with the segments that Needs names")
}

// hintsBinding is the additional data of encrypted hints: those of another
// generation do not open.
func (p *profile) hintsBinding() []byte {
	b := append([]byte("cpar/v1/hints"), p.id[:]...)
	for i := range 8 {
		b = append(b, byte(p.exact.generation>>(8*i)))
	}
	return b
}

func (o *Owner) openHints(b []byte) (*sealed.Hints, error) {
	aead, err := profileCipher(o.key.derive("hints", o.ID()))
	if err != nil {
		return nil, err
	}
	n := aead.NonceSize()
	if len(b) < n {
		return nil, fmt.Errorf("%w: %d bytes", cpar.ErrCorrupt, len(b))
	}
	plain, err := aead.Open(nil, b[:n], b[n:], o.profile.hintsBinding())
	if err != nil {
		return nil, fmt.Errorf("%w: it was altered or is of another generation", cpar.ErrCorrupt)
	}
	return sealed.DecodeHints(o.exact.params, plain)
}

// sealedPending is what is kept of one request of scheme sealed.
type sealedPending struct {
	*sealed.Pending
	u    []int32
	own  float64
	held *held
	mu   sync.Mutex
	// near answers the reply of this digest: a reply is decrypted once, and may
	// be read again.
	digest [sha256.Size]byte
	near   []Neighbour
}

// sealedRequest encrypts a request under a secret that serves it alone.
func (o *Owner) sealedRequest(v *vector.Vector, p cpar.Params) (*Pending, *cpar.Request, error) {
	h, err := o.exact.holding()
	if err != nil {
		return nil, nil, err
	}
	u, own, err := o.exactRequest(v)
	if err != nil {
		return nil, nil, err
	}
	cipher, err := o.exact.cipher()
	if err != nil {
		return nil, nil, err
	}
	once, q, err := cipher.NewRequest(u)
	if err != nil {
		return nil, nil, err
	}
	pending := &Pending{owner: o, params: p, sealed: &sealedPending{Pending: once, u: u, own: own, held: h}}
	// L stays at home.
	return pending, &cpar.Request{Index: o.ID(), Params: cpar.Params{Scheme: cpar.SchemeSealed},
		Opaque: q.AppendBinary(make([]byte, 0, o.exact.params.RequestSize()))}, nil
}

// exactRequest lays a photo out for schemes sealed and local.
func (o *Owner) exactRequest(v *vector.Vector) (u []int32, own float64, err error) {
	z, err := o.coder.embed(v)
	if err != nil {
		return nil, 0, err
	}
	return o.exact.request(z, v.KL)
}

// sealedNeighbours decrypts a reply, checks that every score in it is right,
// and ranks the records. The cloud is not told which they are.
func (p *Pending) sealedNeighbours(a *cpar.Reply) ([]Neighbour, error) {
	o, s := p.owner, p.sealed
	s.mu.Lock()
	defer s.mu.Unlock()
	digest := sha256.Sum256(a.Opaque)
	if s.near != nil && digest == s.digest {
		return cloneNeighbours(s.near), nil
	}
	r, err := lattice.DecodeReply(o.exact.params, a.Opaque)
	if err != nil || a.Index != o.ID() {
		return nil, fmt.Errorf("%w: it is no sealed reply of this index (%v)", cpar.ErrCloud, err)
	}
	scores, err := s.Scores(s.held.hints, r, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	if !o.profile.exact.check.fit(o.exact.rho, scores, s.u) {
		return nil, hint.Add(fmt.Errorf("%w: its scores are not those of the index", cpar.ErrCloud), "the cloud alters answers, or its copy of the index is damaged; push the index again")
	}
	near, err := o.neighbours(s.held, scores, s.own, int(p.params.L))
	if err != nil {
		return nil, err
	}
	s.digest, s.near = digest, near
	return cloneNeighbours(near), nil
}

func cloneNeighbours(near []Neighbour) []Neighbour { return append([]Neighbour{}, near...) }

// neighbours are the l nearest of the records that were not removed, by the
// scores of all.
func (o *Owner) neighbours(h *held, scores []int64, own float64, l int) ([]Neighbour, error) {
	found := nearestScores(scores, l, o.profile.exact.isRemoved)
	out := make([]Neighbour, len(found))
	for i, x := range found {
		words, err := o.heldKeywords(h, x.record)
		if err != nil {
			return nil, err
		}
		out[i] = Neighbour{Record: x.record, Dis: o.exact.dis(x.score, own), Keywords: words}
	}
	return out, nil
}

func (o *Owner) heldKeywords(h *held, record uint32) ([]string, error) {
	return o.sealer.Open(record, keywordBlock(h.keywords, record))
}
