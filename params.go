package cpar

import (
	"fmt"
	"slices"

	"cpar/internal/enum"
)

// Version is the version of every format in this package. A reader refuses
// any other (ErrVersion).
const Version = 5

// MaxNeighbours bounds how many records one request may ask for.
const MaxNeighbours = 1000

// A Search says how the cloud finds the records worth scoring. SECURITY.md says what each
// search reveals to it.
type Search uint8

const (
	// SearchDepthFirst is the paper's Algorithm 1, corrected: the default of scheme cpar.
	SearchDepthFirst Search = 0
	// SearchByRank visits the records that are fewest ranks away from the request, summed
	// over all trees. Of the forest searches it finds the most for a given number of
	// visits, and the cloud learns no more than from SearchDepthFirst.
	SearchByRank Search = 1
	// SearchBestBin continues, as FLANN does, at the node of any tree whose encrypted
	// planes add up to the least distance. The request carries a plane vector, which
	// reveals more to the cloud than the two searches above.
	SearchBestBin Search = 2
	// SearchIVF reads an inverted file: the cloud scores the lists' encrypted centroids
	// and reads the nearest lists. It uses no tree, and the request carries no order
	// ciphertexts. It is the search of scheme ivf.
	SearchIVF Search = 3
)

var searches = enum.Table[Search]{What: "search", Names: []string{"depth", "rank", "bestbin", "ivf"}}

func (s Search) String() string { return searches.String(s) }

// ParseSearch is the inverse of Search.String.
func ParseSearch(name string) (Search, error) { return searches.Parse(name, ErrInput) }

// Params is what an owner asks of one search. It travels in the clear, except for schemes
// sealed and local, where only L matters and the cloud does not see it.
type Params struct {
	// Scheme must be one that the index can serve: its own; capia where it has scheme cpar
	// or ivf; and ivf where it has scheme cpar, with lists beside the forest.
	Scheme Scheme
	// L is the number of nearest records wanted: the length of the paper's Queue.
	L uint16
	// Approx is the approximation power AP-X in tenths of a percent, 1 to 1000: the share
	// of the records that a search may visit. AP-100 visits all. Only schemes cpar
	// and ivf use it.
	Approx uint16
	// Search must be one of Scheme.Searches that the index can serve (Manifest.Serves).
	Search Search
	// Prune turns on type-2 pruning by planes. AP-100 ignores it, since a plane is not
	// always a lower bound. It reveals more to the cloud; see SECURITY.md.
	Prune bool
}

// Validate returns the first problem with p, wrapping ErrInput.
func (p Params) Validate() error {
	switch {
	case !schemes.Has(p.Scheme):
		return fmt.Errorf("%w: %v is not a scheme", ErrInput, p.Scheme)
	case p.L < 1 || p.L > MaxNeighbours:
		return fmt.Errorf("%w: %d neighbours wanted; the limits are 1 and %d", ErrInput, p.L, MaxNeighbours)
	case p.Approx < 1 || p.Approx > 1000:
		return fmt.Errorf("%w: approximation power AP-%g; it is a percentage from 0.1 to 100", ErrInput, float64(p.Approx)/10)
	case !slices.Contains(schemeSpecs[p.Scheme].searches, p.Search):
		return fmt.Errorf("%w: %v with scheme %v", ErrInput, p.Search, p.Scheme)
	case p.Prune && p.Scheme != SchemeCPAR:
		return fmt.Errorf("%w: pruning needs the forest of scheme cpar", ErrInput)
	case p.Prune && p.Search != SearchDepthFirst:
		return fmt.Errorf("%w: pruning goes with search depth, not with %v", ErrInput, p.Search)
	}
	return nil
}

// UsesPlanes reports whether a search with p compares plane distances, so that a request
// must carry a PlaneRequest.
func (p Params) UsesPlanes() bool {
	return p.Scheme == SchemeCPAR && p.Approx < 1000 && (p.Prune || p.Search == SearchBestBin)
}

// UsesForest reports whether a search with p walks trees, so that a request
// must carry order ciphertexts.
func (p Params) UsesForest() bool { return p.Scheme == SchemeCPAR && p.Search != SearchIVF }
