package cpar

import "slices"

// A schemeSpec says what an index of one scheme looks like and which requests it accepts.
// The root package knows nothing else about a scheme but its name.
type schemeSpec struct {
	// unit is the size in bytes that every vectors segment must be a multiple of.
	unit func(m *Manifest) uint64
	// fits reports whether the records of m can fill this many units.
	fits func(m *Manifest, units uint64) bool
	// structured: the index may have trees and lists.
	structured bool
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
	SchemeCPAR:  {unit: wordRows.unit, fits: wordRows.fits, structured: true, accepts: []Scheme{SchemeCPAR, SchemeCAPIA}},
	SchemeCAPIA: {unit: wordRows.unit, fits: wordRows.fits, accepts: []Scheme{SchemeCAPIA}},
	SchemeSealed: {
		// The size of a group depends on parameters that this package does not know.
		unit:     func(*Manifest) uint64 { return 8 },
		fits:     func(_ *Manifest, units uint64) bool { return units > 0 },
		segments: map[SegmentKind]uint64{SegmentParams: ParamsBytes, SegmentHints: notEmpty},
		accepts:  []Scheme{SchemeSealed},
		request:  message{kindSealedRequest, SealedVersion},
		reply:    message{kindSealedReply, SealedVersion},
	},
	SchemeLocal: {
		unit: func(m *Manifest) uint64 { return LocalBlockBytes(m.Dim) },
		// Updates leave partly filled blocks.
		fits: func(m *Manifest, units uint64) bool {
			return units <= uint64(m.Records) && units*LocalBlockRecords >= uint64(m.Records)
		},
	},
}

// Scored reports whether the cloud computes this scheme's scores in the clear, from rows of words.
func (s Scheme) Scored() bool { return s.CloudSearches() && !s.Opaque() }

// CloudSearches reports whether the cloud answers requests of this scheme. If not, the owner
// fetches the index and searches at home.
func (s Scheme) CloudSearches() bool { return len(schemeSpecs[s].accepts) > 0 }

// Opaque reports whether only the two ends can read this scheme's requests and replies.
// Request.Opaque and Reply.Opaque then hold the whole message.
func (s Scheme) Opaque() bool { return schemeSpecs[s].request != message{} }

// Serves reports whether the cloud can run a search with p on this index.
func (m *Manifest) Serves(p Params) bool {
	return slices.Contains(schemeSpecs[m.Scheme].accepts, p.Scheme) &&
		(!p.UsesForest() || m.Trees > 0) && (p.Search != SearchIVF || m.Lists > 0)
}

// DefaultParams returns the best search that the index can serve, as measured by
// cpar-eval structures and cost: ten neighbours at AP-10 by the inverted file, which
// finds nearly as much as a forest by rank in a third of the time; without lists, by
// rank; with neither, a scan of all records.
func (m *Manifest) DefaultParams() Params {
	p := Params{Scheme: m.Scheme, L: 10, Approx: 100}
	switch {
	case m.Lists > 0:
		p.Search = SearchIVF
	case m.Trees > 0:
		p.Search = SearchByRank
	default:
		p.Approx = 1000
	}
	return p
}
