package cpar

import "slices"

// A form is what an index of one scheme looks like and how the cloud is asked.
// It is all that the root package knows of a scheme but its name.
type form struct {
	// unit is what every segment of vectors is a multiple of, in bytes.
	unit func(m *Manifest) uint64
	// fits reports whether so many units can hold the records of m.
	fits func(m *Manifest, units uint64) bool
	// structured: the index may have trees and lists.
	structured bool
	// segments are those of this scheme alone, and their bytes.
	segments map[SegmentKind]uint64
	// answers are the schemes of the requests that the cloud answers.
	answers []Scheme
	// request and reply are those of a scheme whose messages have an encoding of
	// their own, which this package passes on as they are; zero for the common one.
	request, reply message
}

// A message is an encoding that only the two sides of its scheme read.
type message struct {
	kind    kind
	version uint16
}

// Rows of words, of which the cloud makes a score for each record.
var rows = form{
	unit: func(m *Manifest) uint64 { return 8 * uint64(m.Dim) },
	fits: func(m *Manifest, units uint64) bool { return units == uint64(m.Records) },
}

var forms = map[Scheme]form{
	SchemeCPAR:  {unit: rows.unit, fits: rows.fits, structured: true, answers: []Scheme{SchemeCPAR, SchemeCAPIA}},
	SchemeCAPIA: {unit: rows.unit, fits: rows.fits, answers: []Scheme{SchemeCAPIA}},
	SchemeSealed: {
		// The size of a group follows from its parameters, which are not known here.
		unit:     func(*Manifest) uint64 { return 8 },
		fits:     func(_ *Manifest, units uint64) bool { return units > 0 },
		segments: map[SegmentKind]uint64{SegmentParams: ParamsBytes, SegmentHints: notEmpty},
		answers:  []Scheme{SchemeSealed},
		request:  message{kindSealedRequest, SealedVersion},
		reply:    message{kindSealedReply, SealedVersion},
	},
	SchemeLocal: {
		unit: func(m *Manifest) uint64 { return LocalBlockBytes(m.Dim) },
		// Updates leave blocks that are not full.
		fits: func(m *Manifest, units uint64) bool {
			return units <= uint64(m.Records) && units*LocalBlockRecords >= uint64(m.Records)
		},
	},
}

// Scored reports whether the cloud computes scores of this scheme's records in
// the clear, so that rows of words are what it reads.
func (s Scheme) Scored() bool { return s.Asked() && !s.Opaque() }

// Asked reports whether the cloud answers requests of this scheme. Where it does
// not, the owner fetches the index and searches at home.
func (s Scheme) Asked() bool { return len(forms[s].answers) > 0 }

// Opaque reports whether requests and replies of this scheme are read by the two
// sides alone: Request.Opaque and Reply.Opaque hold all of them.
func (s Scheme) Opaque() bool { return forms[s].request != message{} }

// Serves reports whether the cloud can answer a search with p.
func (m *Manifest) Serves(p Params) bool {
	return slices.Contains(forms[m.Scheme].answers, p.Scheme) &&
		(!p.UsesForest() || m.Trees > 0) && (p.Search != SearchIVF || m.Lists > 0)
}

// DefaultParams is the best search that an index can serve, by measurement
// (cpar-eval structures and cost): AP-10 with ten neighbours by the inverted
// file, which finds nearly as much as a forest by rank in a third of the time, or
// else by rank; without either, all records.
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
