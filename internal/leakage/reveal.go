// Package leakage describes, in plain words, what a cloud sees of an index, a
// request or a reply and what it can learn from it. SECURITY.md has the
// details.
package leakage

import (
	"fmt"

	"cpar"
)

// An Observation describes one kind of data that a cloud sees.
type Observation struct {
	What  string `json:"what"`
	Bytes uint64 `json:"bytes"`
	// Learns describes what the cloud can infer.
	Learns string `json:"learns"`
	// Start holds the first 16 bytes in hexadecimal.
	Start string `json:"start,omitempty"`
}

type words struct {
	segment func(p *Observation, x index, s cpar.Segment, b []byte) error
	request func(q *cpar.Request, encoded []byte) ([]Observation, error)
	reply   func(a *cpar.Reply, encoded []byte) ([]Observation, error)
	// protects is printed when an index is built. protectsShort replaces it for
	// profiles "learned" and "network".
	protects, protectsShort string
	// learnt describes what one request about a photo reveals.
	learnt func(records, nearest int) string
}

type index struct {
	manifest *cpar.Manifest
	segments [][]byte
}

var schemes = map[cpar.Scheme]words{
	cpar.SchemeCPAR: {aspeSegment, aspeRequest, aspeReply, protectsVisible, protectsNothing,
		func(records, nearest int) string {
			return fmt.Sprintf("how near each of %d records is, if it scores them all, which %d are nearest, and on which side of every plane the photo lies: it can recognise the photo", records, nearest)
		}},
	cpar.SchemeCAPIA: {aspeSegment, aspeRequest, aspeReply, protectsVisible, protectsNothing,
		func(records, nearest int) string {
			return fmt.Sprintf("how near each of %d records is, and which %d are nearest: it can recognise the photo", records, nearest)
		}},
	cpar.SchemeIVF: {aspeSegment, aspeRequest, aspeReply, protectsVisible, protectsNothing,
		func(records, nearest int) string {
			return fmt.Sprintf("how near each of %d records is, if it scores them all, which %d are nearest, and which groups of similar photos are near: it can recognise the photo", records, nearest)
		}},
	cpar.SchemeSealed: {sealedSegment, sealedRequest, sealedReply, protectsSealed, protectsSealed,
		func(records, _ int) string {
			return fmt.Sprintf("that a request came: it computed %d numbers and could read none", records)
		}},
	cpar.SchemeLocal: {localSegment, nil, nil, protectsLocal, protectsLocal,
		func(int, int) string { return "that the index was fetched; it received no request" }},
}

// Protects returns a sentence about the protection that a scheme gives, printed
// when an index is built. Set `short` for profiles "learned" and "network".
func Protects(s cpar.Scheme, short bool) string {
	if short {
		return schemes[s].protectsShort
	}
	return schemes[s].protects
}

const protectsSealed = `note: scheme sealed hides photos, keywords, requests and all distances from the cloud,
which learns how many photos there are, when you search, and when and how much you
update. Keywords that you publish yourself are no longer secret. See SECURITY.md.`

const protectsLocal = `note: scheme local hides all but how many photos there are and when you fetch or
update them: the cloud keeps the index and receives no requests. See SECURITY.md.`

const protectsVisible = `note: schemes cpar, ivf and capia protect a private collection from a cloud that
knows none of its photos and cannot guess them. They protect no further: the cloud sees how
near photos are to each request. A cloud that knows some of your photos can learn about the
others, and a cloud that guesses a public collection can match it. See SECURITY.md.`

const protectsNothing = `note: with profiles learned and network, schemes cpar, ivf and capia are for measuring
only. Vectors this short can be read from the encrypted index by lattice reduction, without
other knowledge: anyone who copies it learns which of your photos are alike. Build
with --scheme sealed or local, which hide them. See SECURITY.md.`

// Learnt describes what a cloud learns from one request about a photo. The
// cloud scores `records` records and returns the `nearest` nearest.
func Learnt(s cpar.Scheme, records, nearest int) string { return schemes[s].learnt(records, nearest) }

func Index(m *cpar.Manifest, segments [][]byte) ([]Observation, error) {
	parts := make([]Observation, len(m.Segments))
	for i, s := range m.Segments {
		p := &parts[i]
		*p = Observation{Bytes: s.Bytes, Start: start(segments[i])}
		switch s.Kind {
		case cpar.SegmentKeywords:
			keywordSegment(p, m, s)
		case cpar.SegmentLedger:
			p.What = "the owner's ledger: name, new words and whatever else requests need (AES-256-GCM)"
			p.Learns = "its length, which grows when new words exceed 4 KiB, 8 KiB and so on, or updates exceed 16, 32 and so on"
		case cpar.SegmentProfile:
			p.What = "the profile: which features of photos are compared, and the keyword list (AES-256-GCM); sent once, not with updates"
			p.Learns = "its length, which reveals the kind of profile and grows with the list of keywords in steps of 64 KiB"
		case cpar.SegmentIdentities:
			n := int(s.Bytes-(cpar.IdentityBytes+12)) / cpar.IdentityBytes
			p.What = fmt.Sprintf("which photo each of %d records describes, for the owner's updates (AES-256-GCM)", n)
			p.Learns = "how many records there are"
		default:
			if err := schemes[m.Scheme].segment(p, index{m, segments}, s, segments[i]); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

func keywordSegment(p *Observation, m *cpar.Manifest, s cpar.Segment) {
	switch pages := s.Bytes / uint64(m.KeywordBytes); {
	case !m.Scheme.Grows():
		p.What = fmt.Sprintf("keywords of %d records, %d bytes each (AES-256-GCM)", m.Records, m.KeywordBytes)
		p.Learns = "nothing: every block has the same length"
	case s.Bytes == cpar.KeywordTailBytes(m.KeywordBytes):
		p.What = fmt.Sprintf("keywords of the last %d records, and changed keywords of others (AES-256-GCM); sent with every update", m.Records%cpar.KeywordPageRecords)
		p.Learns = "nothing: it has the same length whatever it holds"
	default:
		p.What = fmt.Sprintf("keywords of %d records, in %d pages of %d bytes (AES-256-GCM)", pages*cpar.KeywordPageRecords, pages, m.KeywordBytes)
		p.Learns = "whether some 256 records have more than 8 or 16 keywords each on average"
	}
}

func Request(q *cpar.Request, encoded []byte) ([]Observation, error) {
	return schemes[q.Params.Scheme].request(q, encoded)
}

func Reply(a *cpar.Reply, encoded []byte) ([]Observation, error) {
	if s, ok := a.Scheme(); ok {
		return schemes[s].reply(a, encoded)
	}
	return aspeReply(a, encoded)
}

func start(b []byte) string { return fmt.Sprintf("% x", b[:min(len(b), 16)]) }
