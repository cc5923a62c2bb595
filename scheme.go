package cpar

import (
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
