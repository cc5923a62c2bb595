package cpar

import (
	"fmt"
	"slices"
	"strings"
)

// Version is the version of every format in this package. A reader refuses
// any other (ErrVersion).
const Version = 2

// MaxNeighbours bounds how many records one request may ask for.
const MaxNeighbours = 1000

// A Scheme says how the cloud finds the nearest records.
type Scheme uint8

// The schemes.
const (
	// SchemeCPAR searches part of the records (AP-X): an encrypted randomized
	// kd-forest or an encrypted inverted file.
	SchemeCPAR Scheme = 1
	// SchemeCAPIA scans every record: the paper's predecessor and baseline.
	SchemeCAPIA Scheme = 2
	// SchemeSealed scores every record under ring-LWE; the cloud reads none of
	// the scores and returns all of them.
	SchemeSealed Scheme = 3
	// SchemeLocal keeps the index at the cloud, encrypted as a whole. The owner
	// fetches it once and searches at home; the cloud answers no request.
	SchemeLocal Scheme = 4
)

var schemes = []Scheme{SchemeCPAR, SchemeCAPIA, SchemeSealed, SchemeLocal}

func (s Scheme) String() string {
	switch s {
	case SchemeCPAR:
		return "cpar"
	case SchemeCAPIA:
		return "capia"
	case SchemeSealed:
		return "sealed"
	case SchemeLocal:
		return "local"
	}
	return fmt.Sprintf("scheme %d", uint8(s))
}

// ParseScheme is the inverse of Scheme.String.
func ParseScheme(name string) (Scheme, error) {
	for _, s := range schemes {
		if strings.EqualFold(name, s.String()) {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%w: no scheme %q; there are cpar, capia, sealed and local", ErrInput, name)
}

// A Search says how the cloud finds the records worth scoring. SECURITY.md
// says what each shows it.
type Search uint8

const (
	// SearchDepthFirst is the paper's Algorithm 1, corrected.
	SearchDepthFirst Search = 0
	// SearchByRank visits the records that are fewest ranks away from the request,
	// summed over all trees. Of the searches of a forest it finds most with as many
	// visits, and the cloud learns no more than from the first.
	SearchByRank Search = 1
	// SearchBestBin goes on at the node, of all trees, whose encrypted planes
	// add up to the least distance, as FLANN does. The request carries a plane
	// vector, which shows the cloud more than the other two do.
	SearchBestBin Search = 2
	// SearchIVF reads an inverted file: the cloud scores the encrypted
	// centroids of lists and reads the nearest lists. No tree is touched, and
	// the request carries no order ciphertexts.
	SearchIVF Search = 3
)

var searches = []Search{SearchDepthFirst, SearchByRank, SearchBestBin, SearchIVF}

func (s Search) String() string {
	switch s {
	case SearchDepthFirst:
		return "depth"
	case SearchByRank:
		return "rank"
	case SearchBestBin:
		return "bestbin"
	case SearchIVF:
		return "ivf"
	}
	return fmt.Sprintf("search %d", uint8(s))
}

// ParseSearch is the inverse of Search.String.
func ParseSearch(name string) (Search, error) {
	for _, s := range searches {
		if strings.EqualFold(name, s.String()) {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%w: no search %q; there are depth, rank, bestbin and ivf", ErrInput, name)
}

// Params is what an owner asks of one search. It travels in the clear, but for
// schemes sealed and local: there L is the owner's own affair and nothing else
// counts.
type Params struct {
	// Scheme must be one that the index can serve: an index of scheme cpar
	// serves cpar and capia, any other its own scheme only.
	Scheme Scheme
	// L is the number of nearest records wanted, the length of the paper's Queue.
	L uint16
	// Approx is the approximation power AP-X in tenths of a percent, 1 to
	// 1000: the share of the records that a search may visit. AP-100 visits
	// all. Only cpar heeds it.
	Approx uint16
	// Search must be one that the index can serve (Manifest.Serves); 0 but for cpar.
	Search Search
	// Prune turns on type-2 pruning by planes. AP-100 ignores it, since a
	// plane is not always a lower bound. It shows the cloud more; SECURITY.md.
	Prune bool
}

// Validate reports the first thing wrong with p.
func (p Params) Validate() error {
	switch {
	case !slices.Contains(schemes, p.Scheme):
		return fmt.Errorf("%w: %v is not a scheme", ErrInput, p.Scheme)
	case p.L < 1 || p.L > MaxNeighbours:
		return fmt.Errorf("%w: %d neighbours wanted; 1 to %d can be had", ErrInput, p.L, MaxNeighbours)
	case p.Approx < 1 || p.Approx > 1000:
		return fmt.Errorf("%w: approximation power AP-%g; it is a percentage from 0.1 to 100", ErrInput, float64(p.Approx)/10)
	case p.Search > SearchIVF || p.Search != 0 && p.Scheme != SchemeCPAR:
		return fmt.Errorf("%w: %v with scheme %v", ErrInput, p.Search, p.Scheme)
	case p.Prune && p.Scheme != SchemeCPAR:
		return fmt.Errorf("%w: pruning needs the forest of scheme cpar", ErrInput)
	case p.Prune && p.Search != SearchDepthFirst:
		return fmt.Errorf("%w: pruning goes with search depth, not with %v", ErrInput, p.Search)
	}
	return nil
}

// UsesPlanes reports whether a search with p asks for plane distances, so
// that a request must carry the part that reveals them.
func (p Params) UsesPlanes() bool {
	return p.Scheme == SchemeCPAR && p.Approx < 1000 && (p.Prune || p.Search == SearchBestBin)
}

// UsesForest reports whether a search with p walks trees, so that a request
// must carry order ciphertexts.
func (p Params) UsesForest() bool { return p.Scheme == SchemeCPAR && p.Search != SearchIVF }
