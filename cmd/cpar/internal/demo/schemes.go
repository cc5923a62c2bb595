package demo

import (
	"fmt"
	"time"

	"cpar"
)

// A Scheme is one column of the comparison: what a scheme found, what it cost,
// and what the cloud learnt.
type Scheme struct {
	Name string `json:"name"`
	// True of Said keywords were given by a person too, over all pictures.
	True int `json:"keywords_true"`
	Said int `json:"keywords"`
	// HomeMS is making the request and reading the reply, CloudMS the HTTP round
	// trip; medians, of one picture. Sent and Received are of one picture.
	HomeMS   float64 `json:"home_ms"`
	CloudMS  float64 `json:"cloud_ms"`
	Sent     int     `json:"bytes_sent"`
	Received int     `json:"bytes_received"`
	// Fetched was fetched once, Stored is the index at the cloud.
	Fetched uint64 `json:"bytes_fetched_once"`
	Stored  uint64 `json:"bytes_stored"`
	Learnt  string `json:"cloud_learnt"`
}

// compareSchemes puts the first searches, one of each scheme, side by side.
func (s *session) compareSchemes() {
	r := &s.result
	for i, how := range searches[:sideBySide] {
		x := s.indexes[indexOf(how.params.Scheme)]
		first := &r.Photos[0].Answers[i]
		hit, said := r.Hits(i)
		r.Schemes = append(r.Schemes, Scheme{
			Name: how.name, True: hit, Said: said,
			HomeMS:  r.median(i, func(a *Answer) time.Duration { return a.makeRequest + a.selection }),
			CloudMS: r.median(i, func(a *Answer) time.Duration { return a.roundTrip }),
			Sent:    first.Sent, Received: first.Received, Fetched: x.fetched, Stored: x.manifest.Bytes(),
			Learnt: learnt(how.params.Scheme, first, r.Records),
		})
	}
}

// learnt says in a line what the cloud made of the first picture's request.
func learnt(scheme cpar.Scheme, a *Answer, records int) string {
	switch scheme {
	case cpar.SchemeCPAR:
		return fmt.Sprintf("how near each of %d records is, if it scores them all, which %d are nearest, on which side of every plane the picture lies: it knows a picture again", records, len(a.Nearest))
	case cpar.SchemeCAPIA:
		return fmt.Sprintf("how near each of %d records is, and which %d are nearest: it knows a picture again", records, len(a.Nearest))
	case cpar.SchemeSealed:
		return fmt.Sprintf("that a request came: it made %d numbers and could read none", records)
	}
	return "that the index was fetched; it was asked nothing"
}

func (s Scheme) cloudText() string {
	if s.Sent == 0 {
		return "not asked"
	}
	return Duration(s.CloudMS)
}

// Cells are the figures of the comparison, in the order of schemeHead.
func (s Scheme) Cells() []string {
	return []string{
		fmt.Sprintf("%d of %d", s.True, s.Said), s.cloudText(), Duration(s.HomeMS),
		Bytes(float64(s.Sent)), Bytes(float64(s.Received)), Bytes(float64(s.Fetched)), Bytes(float64(s.Stored)),
	}
}

var schemeHead = []string{"keywords true", "cloud and way", "at home", "sent", "received", "fetched once", "index"}
