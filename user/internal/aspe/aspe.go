// Package aspe is the owner's side of schemes cpar, ivf and capia. It
// implements the paper's scheme, which builds on asymmetric
// scalar-product-preserving encryption (Wong et al., "Secure kNN computation on
// encrypted databases", SIGMOD 2009). The server compares distances that it
// cannot read.
//
//	collection       ─▶ SetUp ─▶ Builder: cells, a forest, the planes that nodes share
//	Builder          ─▶ Write ─▶ C(V), keywords, the forest's shape, C(H), cells, centroids
//	vector           ─▶ Request ─▶ ReplyReader: r_s (kept) + t = Sᵀ(wV_s + e_s), order, planes (sent)
//	reply            ─▶ ReplyReader.Read ─▶ neighbours with Dis = (Comp/r_s + r)/F
//
// Package scorevector lays out the vectors with the secrets r_s and r and the
// unit F, ive encrypts them with key S, scale w and noise e, and ope encrypts
// split values. C(V) and C(H) are encrypted vectors and planes (splits at one
// value of one dimension), and Comp is a score. An index of scheme capia has
// neither forest nor cells. Package letter implements the constructions as the
// paper prints them. SECURITY.md lists what the server learns.
package aspe

import (
	"fmt"
	"sync"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user/internal/index"
	"cpar/user/ive"
	"cpar/user/scorevector"
)

type Index struct {
	*index.Index
	part   *ledgerPart
	budget *scorevector.Budget
	order  orderEncoder
	// fields holds the dimensions that the forest's planes split, the paper's
	// split fields SF.
	fields []int
	// planeLimit is the maximum sum, over the split fields, of a request's
	// distances from the centres.
	planeLimit int64
	// Functions `vectors` and `planes` return keys, created on first use. A
	// key for vectors of length m takes 8·m² bytes.
	vectors func() (*ive.Key, error)
	planes  func() (*planeKey, error)
}

// planeKey encrypts split planes and the requests for them.
type planeKey struct {
	seed.Redacted
	*ive.Key
	budget *scorevector.PlaneBudget
}

func Open(x *index.Index, r *wire.Reader) (*Index, error) {
	s, err := readPart(r)
	if err != nil {
		return nil, err
	}
	if err := s.validate(x); err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	return open(x, s)
}

func open(x *index.Index, s *ledgerPart) (*Index, error) {
	c := &Index{Index: x, part: s, fields: s.fields()}
	var err error
	if c.budget, err = budgetOf(x); err != nil {
		return nil, err
	}
	if c.order, err = newOrderEncoder(x, s, c.fields); err != nil {
		return nil, err
	}
	c.vectors = sync.OnceValues(func() (*ive.Key, error) {
		return ive.NewKey(x.Secret("vectors"), c.budget.Cipher())
	})
	if len(c.fields) == 0 { // there is no forest, or all photos are alike
		c.planes = func() (*planeKey, error) { return nil, fmt.Errorf("%w: the index has no planes", cpar.ErrInput) }
		return c, nil
	}
	planes, err := scorevector.NewPlanes(ints(s.centres), vector.Beta)
	if err != nil {
		return nil, err
	}
	c.planeLimit = planes.Limit()
	c.planes = sync.OnceValues(func() (*planeKey, error) {
		k, err := ive.NewKey(x.Secret("planes"), planes.Cipher())
		return &planeKey{Key: k, budget: planes}, err
	})
	return c, nil
}

// budgetOf returns the noise budget of an index with its secret offset r, which
// affects the maximum squared distance of two vectors.
func budgetOf(x *index.Index) (*scorevector.Budget, error) {
	budget, err := scorevector.NewLargestScale(x.Profile.Layout())
	if err != nil {
		return nil, err
	}
	return budget.WithSecretOffset(seed.New(x.Secret("offset")))
}

func ints(levels []uint16) []int {
	out := make([]int, len(levels))
	for i, l := range levels {
		out[i] = int(l)
	}
	return out
}

func (c *Index) Describe(m *cpar.Manifest) {
	cipher := c.budget.Cipher()
	m.Dim = uint32(cipher.Dim)
	m.Shift = uint8(cipher.RecordShift + cipher.RequestShift)
	m.Trees, m.Lists, m.Fields = c.part.trees, c.part.lists, uint32(len(c.fields))
}

func (c *Index) AppendBinary(b []byte) ([]byte, error) { return c.part.appendBinary(b) }

// Bytes returns the size in bytes of n records and the scheme's part of the
// ledger, without search structures.
func Bytes(layout vectorlayout.Params, n int) (uint64, error) {
	budget, err := scorevector.NewLargestScale(layout)
	if err != nil {
		return 0, err
	}
	kept, err := new(ledgerPart).appendBinary(nil)
	return 8*uint64(budget.Dim())*uint64(n) + uint64(len(kept)), err
}

func (c *Index) Needs(cpar.SegmentKind) bool { return false }

func (c *Index) Hold(map[cpar.SegmentKind][][]byte) error { return nil }

// Count returns no keywords, because the owner does not hold them under these
// schemes, and the number of all records.
func (c *Index) Count() (map[string]int, int) { return nil, c.Records }

// Live returns the number of all records, because records cannot be removed.
func (c *Index) Live() int { return c.Records }
