package demo

import (
	"fmt"
	"time"

	"cpar/internal/reveal"
)

// A Scheme is one column of the comparison: what a scheme found, what it cost,
// and what the cloud learnt.
type Scheme struct {
	Name string `json:"name"`
	// True of Said keywords were given by a person too, over all pictures.
	True int `json:"keywords_true"`
	Said int `json:"keywords"`
	// HomeMS is making the request and reading the reply, CloudMS the HTTP round
	// trip; medians, for one picture. Sent and Received are for one picture.
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
			HomeMS:  r.median(i, func(a *Answer) time.Duration { return a.took.Vector + a.took.Request + a.took.Read }),
			CloudMS: r.median(i, func(a *Answer) time.Duration { return a.took.Answer }),
			Sent:    first.Sent, Received: first.Received, Fetched: x.fetched, Stored: x.manifest.Bytes(),
			Learnt: reveal.Learnt(how.params.Scheme, r.Records, len(first.Nearest)),
		})
	}
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
