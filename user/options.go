package user

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user/internal/aspe"
	"cpar/user/internal/rows"
)

// Where the planes of a forest lie, and what order ciphertexts are.
type (
	Split = aspe.Split
	Order = aspe.Order
)

// The split spaces and the order schemes. The paper's are SplitOriginal and OrderOPE.
const (
	SplitPCA, SplitOriginal = aspe.SplitPCA, aspe.SplitOriginal
	OrderRank, OrderOPE     = aspe.OrderRank, aspe.OrderOPE
)

// ParseSplit inverts Split.String, ParseOrder inverts Order.String.
var (
	ParseSplit = aspe.ParseSplit
	ParseOrder = aspe.ParseOrder
)

// Options say how an index is built. The zero value is DefaultScheme and profile
// `paper` with its own ranker. An index of scheme cpar has by default ten
// trees split along principal components with records in their leaves, and dense
// ranks: the best that was measured. The paper's own forest is SplitOriginal with
// cpar.PlaceNode.
type Options struct {
	// Name is what the index is to be called, which only its owner can read; it may be "".
	Name    string
	Scheme  cpar.Scheme
	Profile profile.Kind
	// Ranker is what keywords are ranked by.
	Ranker rank.Kind
	// PCA is X of PCA-X in profile `paper`; 0 means 32.
	PCA int
	// Fitted takes a profile and ranker that were fitted before, instead of fitting
	// them to these images; Profile and Ranker are then taken from it. Indexes
	// that share one are not of collections that know nothing of each other.
	Fitted *profile.Fitted

	// Trees of the forest of scheme cpar: 0 means ten.
	Trees int
	// Split is the space of the forest's planes, Place where records are.
	Split Split
	Place cpar.Place
	Order Order
	// Lists of the inverted file of scheme ivf: 0 means cluster.DefaultCells.
	Lists int
	// WithLists gives an index of scheme cpar these lists beside its forest, so that one
	// index holds both and they can be compared over the same records. Its cloud learns
	// what both tell.
	WithLists bool
	// Block is the block width of scheme sealed: a power of two from 16 to 128, wide enough
	// that a request keeps cpar.MaxRequestBytes and scores are certain. Wide blocks make
	// requests short and hints long. 0 means 128 with profile `paper`, and 32 with others.
	Block int
	// Careful takes a ring of twice the degree for scheme sealed: 290 bits of security by
	// the core-SVP count instead of 120, for requests of twice the length.
	Careful bool
	// Clusters is how many clusters an index of scheme sealed hides its records in, of which
	// a request asks one: 1, 2, 4 or 8, and 1 with profile `paper`. 0 means 8 from 50,000 records
	// on, and 1 below.
	Cells    int
	Progress Progress

	// testOnlyRand replaces crypto/rand, so that a test can pin the bytes of
	// an index. Never set outside tests.
	testOnlyRand io.Reader
}

// Check refuses options that no collection can be set up with. Setup calls it; whoever
// reads photos first calls it before.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) withDefaults() (Options, error) {
	o.Scheme, o.PCA, o.Trees = cmp.Or(o.Scheme, DefaultScheme), cmp.Or(o.PCA, profile.DefaultPCA), cmp.Or(o.Trees, 10)
	if o.Fitted != nil {
		o.Profile = o.Fitted.Profile.Kind()
	}
	if o.testOnlyRand == nil {
		o.testOnlyRand = rand.Reader
	}
	entry, known := schemes[o.Scheme]
	switch {
	case !known:
		return o, fmt.Errorf("%w: %v is not a scheme", cpar.ErrInput, o.Scheme)
	case !slices.Contains(profile.PCAFactors, o.PCA):
		return o, fmt.Errorf("%w: PCA-%d; choose one of %v", cpar.ErrInput, o.PCA, profile.PCAFactors)
	case o.Trees < 0 || o.Trees > 64:
		return o, fmt.Errorf("%w: %d trees; 1 to 64 are possible", cpar.ErrInput, o.Trees)
	case o.Lists < 0:
		return o, fmt.Errorf("%w: %d lists", cpar.ErrInput, o.Lists)
	case o.Split > SplitOriginal || o.Place > cpar.PlaceNode || o.Order > OrderOPE:
		return o, fmt.Errorf("%w: %v, %v, %v", cpar.ErrInput, o.Split, o.Place, o.Order)
	case !o.Profile.Valid() || !o.Ranker.Valid():
		return o, fmt.Errorf("%w: %v, %v", cpar.ErrInput, o.Profile, o.Ranker)
	}
	if o.Name != "" {
		if err := CheckName(o.Name); err != nil {
			return o, err
		}
	}
	err := entry.check(&o)
	return o, err
}

// checkForest is for scheme cpar: no lists, unless they are asked for.
func checkForest(o *Options) error {
	switch {
	case o.Cells != 0:
		return refuseCells(o)
	case o.WithLists:
	case o.Lists > 0:
		return hint.Add(fmt.Errorf("%w: %d lists with scheme cpar, which has a forest and no lists", cpar.ErrInput, o.Lists), "ivf is the scheme of the inverted file")
	default:
		o.Lists = aspe.None
	}
	return nil
}

const minBlock, maxBlock = 16, 128

// unclustered refuses clusters, which other schemes have none of.
func refuseCells(o *Options) error {
	if o.Cells != 0 {
		return hint.Add(fmt.Errorf("%w: %d clusters with scheme %v", cpar.ErrInput, o.Cells, o.Scheme), "sealed is the scheme that hides them")
	}
	return nil
}

// checkSealed refuses options that scheme sealed has nothing for.
func checkSealed(o *Options) error {
	switch {
	case o.Cells < 0 || o.Cells > MaxCells || bits.OnesCount(uint(o.Cells)) > 1:
		return hint.Add(fmt.Errorf("%w: %d clusters", cpar.ErrInput, o.Cells), "take 1, 2, 4 or %d", MaxCells)
	case o.Cells > 1 && o.Profile == profile.Paper:
		return hint.Add(fmt.Errorf("%w: profile paper has too many numbers for clusters", cpar.ErrInput), "take profile learned or network, or no clusters")
	}
	return checkBlock(o)
}

// MaxCells is the most clusters of an index: with more, scores would not be certain.
const MaxCells = 8

// checkBlock refuses a block width whose requests would be larger than a cloud
// takes: the index could be built and never be asked.
func checkBlock(o *Options) error {
	if o.Block == 0 {
		return nil
	}
	if o.Block < minBlock || o.Block > maxBlock || bits.OnesCount(uint(o.Block)) != 1 {
		return hint.Add(fmt.Errorf("%w: blocks of %d", cpar.ErrInput, o.Block), "take a power of two from %d to %d", minBlock, maxBlock)
	}
	if o.Profile != profile.Paper {
		return nil // a few blocks, whatever their width
	}
	q := rows.NewQuantiser(profile.PaperLayout(o.PCA), true)
	least := 0
	for block := o.Block; block <= maxBlock && least == 0; block *= 2 {
		// Narrow blocks make requests large, and scores less certain.
		if p, err := q.Lattice(block, o.Careful, 0); err == nil && p.RequestSize() <= cpar.MaxRequestBytes {
			least = block
		}
	}
	if least == o.Block {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: at PCA-%d and blocks of %d a score could be wrong, or a request would have more than the %d bytes that a cloud takes", cpar.ErrInput, o.PCA, o.Block, cpar.MaxRequestBytes),
		"take blocks of %d", least)
}
