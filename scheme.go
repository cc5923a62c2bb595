package cpar

import (
	"fmt"
	"slices"

	"cpar/internal/enum"
)

// A Scheme says how the cloud finds the nearest records.
type Scheme uint8

// The schemes.
const (
	// SchemeCPAR is the paper's: it searches an encrypted randomized kd-forest, which
	// visits part of the records (AP-X).
	SchemeCPAR Scheme = 1
	// SchemeCAPIA scans every record: the paper's predecessor and baseline.
	SchemeCAPIA Scheme = 2
	// SchemeSealed scores every record under ring-LWE. The cloud returns all scores and
	// can read none.
	SchemeSealed Scheme = 3
	// SchemeLocal keeps the whole index encrypted at the cloud. The owner fetches it once
	// and searches at home; the cloud answers no requests.
	SchemeLocal Scheme = 4
	// SchemeIVF searches an encrypted inverted file, which visits part of the records
	// too. It is this project's own; records are encrypted as for SchemeCPAR.
	SchemeIVF Scheme = 5
)

var schemes = enum.Table[Scheme]{What: "scheme", First: SchemeCPAR, Names: []string{"cpar", "capia", "sealed", "local", "ivf"}}

func (s Scheme) String() string { return schemes.String(s) }

// MarshalText writes the name that String returns.
func (s Scheme) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses that name.
func (s *Scheme) UnmarshalText(text []byte) (err error) {
	*s, err = ParseScheme(string(text))
	return err
}

// Schemes lists the schemes in the order of their constants.
func Schemes() []Scheme { return schemes.All() }

// ParseScheme is the inverse of Scheme.String.
func ParseScheme(name string) (Scheme, error) { return schemes.Parse(name, ErrInput) }

// A schemeSpec says what an index of one scheme looks like and which requests it accepts.
// The root package knows nothing else about a scheme but its name.
type schemeSpec struct {
	// unit is the size in bytes that every vectors segment must be a multiple of.
	unit func(m *Manifest) uint64
	// fits reports whether the records of m can fill this many units.
	fits func(m *Manifest, units uint64) bool
	// trees, lists: the index may have these. If it may have any, it must have some.
	trees, lists bool
	// clusters: the index may have records in clusters, and then says which.
	clusters bool
	// grows: records can be added later, so the index says which photos it holds.
	grows bool
	// searches are those that a request may name, the default first. Where there is but
	// one way to search, a request says 0.
	searches []Search
	// hints: every segment of vectors has one of hints, in the same order.
	hints bool
	// segments are the extra segments of this scheme, with their sizes in bytes.
	segments map[SegmentKind]uint64
	// accepts lists the schemes of the requests that the cloud accepts.
	accepts []Scheme
	// request and reply are set where the scheme has its own message encoding, which this
	// package passes on unread. They are zero for the common encoding.
	request, reply message
}

// A message is an encoding that only the two ends of its scheme read.
type message struct {
	kind    kind
	version uint16
}

// wordRows holds one row of words per record; the cloud computes one score from each row.
var wordRows = schemeSpec{
	unit: func(m *Manifest) uint64 { return 8 * uint64(m.Dim) },
	fits: func(m *Manifest, units uint64) bool { return units == uint64(m.Records) },
}

var schemeSpecs = map[Scheme]schemeSpec{
	// An index of scheme cpar has a forest. Earlier versions gave it lists too, beside the
	// forest or instead, and an owner may still ask for both.
	SchemeCPAR: {unit: wordRows.unit, fits: wordRows.fits, trees: true, lists: true,
		searches: searches.All(), accepts: []Scheme{SchemeCPAR, SchemeIVF, SchemeCAPIA}},
	SchemeIVF: {unit: wordRows.unit, fits: wordRows.fits, lists: true,
		searches: []Search{SearchIVF}, accepts: []Scheme{SchemeIVF, SchemeCAPIA}},
	SchemeCAPIA: {unit: wordRows.unit, fits: wordRows.fits, searches: []Search{0}, accepts: []Scheme{SchemeCAPIA}},
	SchemeSealed: {
		// The size of a group depends on parameters that this package does not know.
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

// Searches lists what Params.Search may be for this scheme, the default first; nil for
// what is no scheme.
func (s Scheme) Searches() []Search { return slices.Clone(schemeSpecs[s].searches) }

// Grows reports whether records can be added to an index of this scheme later.
func (s Scheme) Grows() bool { return schemeSpecs[s].grows }

// Scored reports whether the cloud computes this scheme's scores in the clear, from rows of words.
func (s Scheme) Scored() bool { return s.CloudSearches() && !s.Opaque() }

// CloudSearches reports whether the cloud answers requests of this scheme. If not, the owner
// fetches the index and searches at home.
func (s Scheme) CloudSearches() bool { return len(schemeSpecs[s].accepts) > 0 }

// Opaque reports whether only the two ends can read this scheme's requests and replies.
// Request.Opaque and Reply.Opaque then hold the whole message.
func (s Scheme) Opaque() bool { return schemeSpecs[s].request != message{} }

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
