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
	"cpar/user/vocabulary"
)

// These types are options of the k-d forest (scheme cpar).
type (
	Split = aspe.Split // the space whose fields the planes split
	Order = aspe.Order // the encoding of plane values for the server
)

// SplitOriginal and OrderOPE are the paper's choices.
const (
	SplitPCA, SplitOriginal = aspe.SplitPCA, aspe.SplitOriginal
	OrderRank, OrderOPE     = aspe.OrderRank, aspe.OrderOPE
)

var (
	ParseSplit = aspe.ParseSplit
	ParseOrder = aspe.ParseOrder
)

// Options control how an index is built. The zero value selects DefaultScheme
// and profile "paper" with the paper's ranker. SplitOriginal and cpar.PlaceNode
// give the paper's forest.
type Options struct {
	// Name is the owner's name for the index, which the server cannot read.
	Name          string
	IncludePeople bool
	// Vocabulary is applied to the keywords of the index, nil for none.
	Vocabulary *vocabulary.Vocabulary

	Scheme  cpar.Scheme
	Profile profile.Kind
	Ranker  rank.Kind
	// PCA is X in the paper's PCA-X for profile "paper", which keeps 4096/X
	// components of a wavelet feature. 0 means 32.
	PCA int
	// Dim is the number of dimensions of profile "clip", one of
	// profile.ClipDims, or 0 for the first.
	Dim int
	// Text is the text half of the network of profile "network" or "clip", or nil.
	Text profile.TextVectors
	// Fitted supplies a profile and ranker. Indexes that share them contain
	// information about the collection they were fitted to.
	Fitted *profile.Fitted

	// Trees is the number of trees in scheme cpar. 0 means ten.
	Trees int
	Split Split
	Place cpar.Place
	Order Order
	// Lists is the number of cells in scheme ivf. 0 means kmeans.DefaultCells.
	Lists int
	// WithLists adds cells to an index of scheme cpar, to compare both structures. The
	// server then learns everything that either structure reveals.
	WithLists bool
	// Block is the block width (coordinates per block) of scheme sealed, a
	// power of two from 16 to 128. Wide blocks make requests short, and hints
	// (precomputed data that the owner holds) long. 0 means 128 with profile
	// "paper" and 32 otherwise.
	Block int
	// Careful doubles the ring degree of scheme sealed, for 290 bits of security by the
	// core-SVP estimate instead of 120. Requests are twice as long.
	Careful bool
	// Cells is the number of hidden cells (groups of neighbouring records) of
	// scheme sealed: 1, 2, 4 or 8, but 1 with profile "paper". A request
	// searches one cell, hidden from the server. 0 means 8 for at least 50,000
	// records and 1 otherwise.
	Cells    int
	Progress Progress

	testOnlyRand io.Reader
}

// Check rejects options that suit no collection. Call it before reading photos.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) withDefaults() (Options, error) {
	o.Scheme, o.PCA, o.Trees = cmp.Or(o.Scheme, DefaultScheme), cmp.Or(o.PCA, profile.DefaultPCA), cmp.Or(o.Trees, 10)
	if o.Fitted != nil {
		o.Profile = o.Fitted.Profile.Kind()
	}
	o.testOnlyRand = cmp.Or(o.testOnlyRand, rand.Reader)
	entry, known := schemes[o.Scheme]
	switch {
	case !known:
		return o, fmt.Errorf("%w: %v is not a scheme", cpar.ErrInput, o.Scheme)
	case o.Dim != 0 && (o.Profile != profile.Clip || !slices.Contains(profile.ClipDims, o.Dim)):
		return o, fmt.Errorf("%w: %d dimensions with profile %v; profile clip has one of %v", cpar.ErrInput, o.Dim, o.Profile, profile.ClipDims)
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

func refuseCells(o *Options) error {
	if o.Cells != 0 {
		return hint.Add(fmt.Errorf("%w: %d clusters with scheme %v", cpar.ErrInput, o.Cells, o.Scheme), "sealed is the scheme that hides them")
	}
	return nil
}

func checkSealed(o *Options) error {
	switch {
	case o.Cells < 0 || o.Cells > MaxCells || bits.OnesCount(uint(o.Cells)) > 1:
		return hint.Add(fmt.Errorf("%w: %d clusters", cpar.ErrInput, o.Cells), "take 1, 2, 4 or %d", MaxCells)
	case o.Cells > 1 && o.Profile == profile.Paper:
		return hint.Add(fmt.Errorf("%w: profile paper has too many numbers for clusters", cpar.ErrInput), "take profile learned or network, or no clusters")
	}
	return checkBlock(o)
}

// MaxCells is the largest number of cells (scheme sealed) for which scores are
// always correct.
const MaxCells = 8

// DefaultCells returns the default number of cells of an index of n records with
// scheme sealed and profile learned or network.
func DefaultCells(n int) int { return 1 << rows.DefaultLogCells(n) }

// checkBlock rejects a block width whose requests would exceed the server's limit.
func checkBlock(o *Options) error {
	if o.Block == 0 {
		return nil
	}
	if o.Block < minBlock || o.Block > maxBlock || bits.OnesCount(uint(o.Block)) != 1 {
		return hint.Add(fmt.Errorf("%w: blocks of %d", cpar.ErrInput, o.Block), "take a power of two from %d to %d", minBlock, maxBlock)
	}
	if o.Profile != profile.Paper {
		return nil // other vectors are short
	}
	q := rows.NewQuantiser(profile.PaperLayout(o.PCA), true)
	narrowest := 0
	for block := o.Block; block <= maxBlock && narrowest == 0; block *= 2 {
		if p, err := q.Lattice(block, o.Careful, 0); err == nil && p.RequestSize() <= cpar.MaxRequestBytes {
			narrowest = block
		}
	}
	if narrowest == o.Block {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: at PCA-%d and blocks of %d a score could be wrong, or a request would have more than the %d bytes that a cloud takes", cpar.ErrInput, o.PCA, o.Block, cpar.MaxRequestBytes),
		"take blocks of %d", narrowest)
}
