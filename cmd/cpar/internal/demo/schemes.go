package demo

import (
	"slices"
	"time"

	"cpar/internal/leakage"
)

// A Scheme is one column of the comparison of schemes.
type Scheme struct {
	Name  string `json:"name"`
	Count        // over all photos
	// DeviceMS covers making the request and reading the reply. CloudMS is the
	// HTTP round trip. Both are medians per photo, as are Sent and Received.
	DeviceMS float64 `json:"home_ms"`
	CloudMS  float64 `json:"cloud_ms"`
	Sent     int     `json:"bytes_sent"`
	Received int     `json:"bytes_received"`
	// Fetched was fetched once. Stored is the index at the cloud.
	Fetched uint64 `json:"bytes_fetched_once"`
	Stored  uint64 `json:"bytes_stored"`
	Learnt  string `json:"cloud_learnt"`
}

func (s *session) compareSchemes() {
	r := &s.result
	for _, how := range searches {
		x := s.indexes[indexOf(how.params.Scheme)]
		first := r.Photos[0].answer(how.name)
		median := func(of func(*Answer) time.Duration) float64 {
			return r.median(func(p *Photo) *Answer { return p.answer(how.name) }, of)
		}
		r.Schemes = append(r.Schemes, Scheme{
			Name: how.name, Count: r.count(how.name, x.probable()),
			DeviceMS: median(func(a *Answer) time.Duration { return a.took.Vector + a.took.Request + a.took.Read }),
			CloudMS:  median(func(a *Answer) time.Duration { return a.took.Answer }),
			Sent:     first.Sent, Received: first.Received, Fetched: x.fetched, Stored: x.manifest.Bytes(),
			Learnt: leakage.Learnt(how.params.Scheme, r.Records, len(first.Nearest)),
		})
	}
}

// scheme returns the column of a search, or an empty one.
func (r *Result) scheme(name string) Scheme {
	if i := slices.IndexFunc(r.Schemes, func(s Scheme) bool { return s.Name == name }); i >= 0 {
		return r.Schemes[i]
	}
	return Scheme{Name: name}
}

func (r *Result) count(search string, probable bool) Count {
	c := Count{Probable: probable}
	for i := range r.Photos {
		c.add(r.Photos[i].answer(search).Keywords)
	}
	return c
}

func (s Scheme) cloudText() string {
	if s.Sent == 0 {
		return "not asked"
	}
	return Duration(s.CloudMS)
}

// Cells returns the figures in the order of schemeHead.
func (s Scheme) Cells() []string {
	return append(s.cells(), s.cloudText(), Duration(s.DeviceMS),
		Bytes(float64(s.Sent)), Bytes(float64(s.Received)), Bytes(float64(s.Fetched)), Bytes(float64(s.Stored)))
}

var schemeHead = append(slices.Clone(countHead), "cloud and way", "at home", "sent", "received", "fetched once", "index")
