package cpar

import (
	"fmt"
	"slices"

	"cpar/internal/enum"
)

// A Scheme determines how the nearest records are found.
type Scheme uint8

const (
	// SchemeCPAR searches the paper's encrypted randomized k-d forest. The
	// search visits X % of the records, where AP-X is the approximation power.
	SchemeCPAR Scheme = 1
	// SchemeCAPIA scans every record. CAPIA, the predecessor of CPAR, is the
	// paper's baseline.
	SchemeCAPIA Scheme = 2
	// SchemeSealed scores every record under ring-LWE. The cloud returns all
	// scores and cannot read any of them.
	SchemeSealed Scheme = 3
	// SchemeLocal stores the encrypted index at the cloud. The owner fetches
	// the index once and searches it on the device.
	SchemeLocal Scheme = 4
	// SchemeIVF searches an encrypted inverted file (records grouped into cells
	// around centroids) and visits X % of the records. The scheme is not in the
	// paper. It encrypts records as SchemeCPAR does.
	SchemeIVF Scheme = 5
)

var schemes = enum.Table[Scheme]{What: "scheme", First: SchemeCPAR, Names: []string{"cpar", "capia", "sealed", "local", "ivf"}}

func (s Scheme) String() string { return schemes.String(s) }

func (s Scheme) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *Scheme) UnmarshalText(text []byte) (err error) {
	*s, err = ParseScheme(string(text))
	return err
}

func Schemes() []Scheme { return schemes.All() }

func ParseScheme(name string) (Scheme, error) { return schemes.Parse(name, ErrInput) }

// A schemeSpec describes the indexes and messages of one scheme.
type schemeSpec struct {
	// unit returns a number of bytes that must divide the size of every vectors
	// segment.
	unit func(m *Manifest) uint64
	// fits reports whether the records of m can fill this number of units.
	fits func(m *Manifest, units uint64) bool
	// trees and lists report whether the index may have k-d trees and the lists
	// (cells) of an inverted file. If either is true, the index must have trees
	// or lists.
	trees, lists bool
	// clusters reports whether the index may group its records into hidden
	// cells. SegmentCells then holds the assignment.
	clusters bool
	// grows reports whether records can be added later. Such an index stores an
	// identity for each photo.
	grows bool
	// searches lists the valid values of Params.Search, the default first. It
	// is {0} if the scheme offers no choice.
	searches []Search
	// hints reports whether each vectors segment has a hints segment (for
	// decrypting replies), in the same order.
	hints bool
	// segments maps the extra segments of this scheme to their sizes in bytes.
	segments map[SegmentKind]uint64
	// accepts lists the schemes whose requests the cloud can answer from an
	// index of this scheme. It is empty if the owner searches on the device.
	accepts []Scheme
	// request and reply identify the scheme's own encodings, which this package
	// does not parse. Both are zero in a scheme that uses the common encoding.
	request, reply message
}

// A message identifies an encoding that only the owner's and the cloud's code
// for the scheme can read.
type message struct {
	kind    kind
	version uint16
}

// wordRows describes an index with one row of 64-bit words per record. The
// cloud computes one score from each row.
var wordRows = schemeSpec{
	unit: func(m *Manifest) uint64 { return 8 * uint64(m.Dim) },
	fits: func(m *Manifest, units uint64) bool { return units == uint64(m.Records) },
}

var schemeSpecs = map[Scheme]schemeSpec{
	// An index of scheme "cpar" may have lists, because earlier versions of CPAR
	// wrote such indexes, with or without a forest. Owners can still search
	// them.
	SchemeCPAR: {unit: wordRows.unit, fits: wordRows.fits, trees: true, lists: true,
		searches: searches.All(), accepts: []Scheme{SchemeCPAR, SchemeIVF, SchemeCAPIA}},
	SchemeIVF: {unit: wordRows.unit, fits: wordRows.fits, lists: true,
		searches: []Search{SearchIVF}, accepts: []Scheme{SchemeIVF, SchemeCAPIA}},
	SchemeCAPIA: {unit: wordRows.unit, fits: wordRows.fits, searches: []Search{0}, accepts: []Scheme{SchemeCAPIA}},
	SchemeSealed: {
		// Eight bytes divide the size of every group of records. The exact size
		// depends on parameters that this package cannot read.
		unit:     func(*Manifest) uint64 { return 8 },
		fits:     func(_ *Manifest, units uint64) bool { return units > 0 },
		grows:    true,
		clusters: true,
		hints:    true,
		segments: map[SegmentKind]uint64{SegmentParams: ParamsBytes},
		searches: []Search{0},
		accepts:  []Scheme{SchemeSealed},
		request:  message{kindSealedRequest, SealedVersion},
		reply:    message{kindSealedReply, SealedVersion},
	},
	SchemeLocal: {
		unit: func(m *Manifest) uint64 { return LocalBlockBytes(m.Dim) },
		fits: func(m *Manifest, units uint64) bool {
			return units == (uint64(m.Records)+LocalBlockRecords-1)/LocalBlockRecords
		},
		grows:    true,
		searches: []Search{0},
	},
}

// Searches lists the valid values of Params.Search for s, the default first.
func (s Scheme) Searches() []Search { return slices.Clone(schemeSpecs[s].searches) }

// Grows reports whether records can be added to an index of this scheme later.
func (s Scheme) Grows() bool { return schemeSpecs[s].grows }

// Scored reports whether the cloud computes scores from rows of words and can
// read the scores.
func (s Scheme) Scored() bool { return s.CloudSearches() && !s.Opaque() }

// CloudSearches reports whether the cloud answers requests of this scheme.
// Otherwise the owner fetches the index and searches on the device.
func (s Scheme) CloudSearches() bool { return len(schemeSpecs[s].accepts) > 0 }

// Opaque reports whether requests and replies have an encoding that this
// package cannot read. Request.Opaque and Reply.Opaque then hold the messages.
func (s Scheme) Opaque() bool { return schemeSpecs[s].request != message{} }

// Version is the version of every format in this package. Readers refuse any
// other version with ErrVersion.
const Version = 5

// MaxNeighbours bounds the number of records that one request may ask for.
const MaxNeighbours = 1000

// A Search determines how the cloud selects the records to score. SECURITY.md
// describes the leakage of each.
type Search uint8

const (
	// SearchDepthFirst is Algorithm 1 of the paper with corrections. It is the
	// default of scheme "cpar".
	SearchDepthFirst Search = 0
	// SearchByRank visits the records with the smallest sum of rank differences
	// over all trees (see kdforest.ByRank). It is the most accurate forest
	// search and leaks no more than SearchDepthFirst.
	SearchByRank Search = 1
	// SearchBestBin continues at the nearest unvisited node of any tree, as the
	// library FLANN does. It leaks more than SearchDepthFirst: a plane vector
	// in the request (PlaneRequest) lets the cloud compare the distances of
	// nodes.
	SearchBestBin Search = 2
	// SearchIVF scores the encrypted centroids of an inverted file and scans
	// the nearest cells. The request carries no order ciphertexts
	// (OrderCiphertext).
	SearchIVF Search = 3
)

var searches = enum.Table[Search]{What: "search", Names: []string{"depth", "rank", "bestbin", "ivf"}}

func (s Search) String() string { return searches.String(s) }

func ParseSearch(name string) (Search, error) { return searches.Parse(name, ErrInput) }

// Params are the parameters of one search. They travel in the clear, except for
// schemes "sealed" and "local", which use only L and hide it from the cloud.
type Params struct {
	// Scheme must be one that the index can serve. An index serves its own
	// scheme. An index of scheme "cpar" or "ivf" also serves "capia", and an
	// index of scheme "cpar" with cells also serves "ivf".
	Scheme Scheme
	// L is the number of nearest records wanted. It is the length of the
	// paper's Queue.
	L uint16
	// Approx is the approximation power AP-X, the share of records visited, in
	// tenths of a percent (1 to 1000). Only schemes "cpar" and "ivf" use it.
	Approx uint16
	// Search must be in Scheme.Searches, and the index must serve it
	// (Manifest.Serves).
	Search Search
	// Prune turns on the paper's type-2 pruning, which skips subtrees behind
	// distant planes and leaks more (SECURITY.md). A search at AP-100 ignores
	// Prune and visits all records, because a record behind a plane can be
	// nearer than the plane's distance suggests.
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
		return fmt.Errorf("%w: scheme %v does not support search %v", ErrInput, p.Scheme, p.Search)
	case p.Prune && p.Scheme != SchemeCPAR:
		return fmt.Errorf("%w: pruning needs the forest of scheme cpar", ErrInput)
	case p.Prune && p.Search != SearchDepthFirst:
		return fmt.Errorf("%w: pruning goes with search depth, not with %v", ErrInput, p.Search)
	}
	return nil
}

// UsesPlanes reports whether a search with p compares plane distances, so that
// the request must carry a PlaneRequest.
func (p Params) UsesPlanes() bool {
	return p.Scheme == SchemeCPAR && p.Approx < 1000 && (p.Prune || p.Search == SearchBestBin)
}

// UsesForest reports whether a search with p visits trees, so that the request
// must carry order ciphertexts.
func (p Params) UsesForest() bool { return p.Scheme == SchemeCPAR && p.Search != SearchIVF }
