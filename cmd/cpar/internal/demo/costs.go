package demo

import (
	"fmt"
	"strconv"
	"time"

	"cpar/internal/humanfmt"
	"cpar/internal/paper"
)

// A Cost compares one cost here and in the paper. Unit is "ms" or "B". Paper is
// 0 if the paper gives none.
type Cost struct {
	Stage string  `json:"stage"`
	Unit  string  `json:"unit"`
	Here  float64 `json:"here"`
	Paper float64 `json:"paper,omitempty"`
	// Printed is the figure as printed in the paper.
	Printed string `json:"paper_prints,omitempty"`
}

// compareCosts pairs the measurements with the figures of package paper.
func (s *session) compareCosts() {
	n := float64(len(s.records))
	encrypt := s.clock.took("encrypt")
	whole := ms(s.took.setup + s.took.encrypt)
	median := func(search string, of func(*Answer) time.Duration) float64 {
		return s.result.median(func(p *Photo) *Answer { return named(p.paper, search) }, of)
	}
	roundTrip := func(a *Answer) time.Duration { return a.took.Answer }
	first := named(s.result.Photos[0].paper, peer)
	p := paper.Values()
	planes, order := p.Number("plane_encrypt"), p.Number("ope")
	forest, request := stated(p.Number("forest_encrypt")), stated(p.Number("request_bytes"))
	request.printed += " (" + p.Parts() + ")"
	share := forest.value / float64(p.Records)
	s.result.Costs = []Cost{
		beside("features of a photo", "ms", median(peer, func(a *Answer) time.Duration { return a.took.Features }), theirs{}),
		beside("forest construction", "ms", ms(s.clock.took("forest")), stated(p.Number("forest_build"))),
		beside("vector encryption, a record", "ms", ms(encrypt)/n, stated(p.Number("vector_encrypt"))),
		beside("planes, order, keywords, a record", "ms", ms(s.took.encrypt-encrypt)/n,
			theirs{stated(planes).value + stated(order).value, paper.Digits(planes.Value) + " + " + order.Text()}),
		beside("whole encrypted forest", "ms", whole, forest),
		beside("… a record", "ms", whole/n, theirs{share, fmt.Sprintf("%.0f ms, computed", share)}),
		beside("request generation", "ms", median(peer, func(a *Answer) time.Duration { return a.took.Vector + a.took.Request }), stated(p.Number("request_time"))),
		beside("cloud search, capia", "ms", median("capia", roundTrip), stated(p.CostOfCapia())),
		beside("cloud search, cpar AP-100", "ms", median("cpar AP-100", roundTrip), stated(p.CostAt(100))),
		beside("cloud search, cpar AP-10", "ms", median(peer, roundTrip), theirs{}),
		beside("cloud search, cpar AP-2.5", "ms", median("cpar AP-2.5", roundTrip), stated(p.CostAt(2.5))),
		beside("final selection of keywords", "ms", median(peer, func(a *Answer) time.Duration { return a.took.Read }), stated(p.Number("selection"))),
		beside("request, sent", "B", float64(first.Sent), request),
		beside("reply, received", "B", float64(first.Received), stated(p.Number("reply_bytes"))),
	}
}

// median returns the median duration over all photos, in ms.
func (r *Result) median(answer func(*Photo) *Answer, of func(*Answer) time.Duration) float64 {
	var all []time.Duration
	for i := range r.Photos {
		all = append(all, of(answer(&r.Photos[i])))
	}
	return median(all)
}

// theirs is a figure of the paper, in ms or B and as printed, or empty.
type theirs struct {
	value   float64
	printed string
}

func beside(stage, unit string, here float64, t theirs) Cost {
	return Cost{Stage: stage, Unit: unit, Here: here, Paper: t.value, Printed: t.printed}
}

// inBase converts the paper's units to ms and B.
var inBase = map[string]float64{"ms": 1, "s": 1000, "min": 60_000, "B": 1, "KB": 1000}

func stated(n paper.Number) theirs {
	return theirs{n.Value * inBase[n.Unit], n.Text()}
}

func paperRecords() int { return paper.Values().Records }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (c Cost) HereText() string {
	if c.Unit == "B" {
		return Bytes(c.Here)
	}
	return Duration(c.Here)
}

func (c Cost) PaperText() string {
	if c.Printed == "" {
		return "–"
	}
	return c.Printed
}

// Duration formats milliseconds with three digits.
func Duration(ms float64) string {
	switch {
	case ms >= 120_000:
		return humanfmt.Digits(ms/60_000) + " min"
	case ms >= 1000:
		return humanfmt.Digits(ms/1000) + " s"
	}
	return humanfmt.Digits(ms) + " ms"
}

func Bytes(n float64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%.0f B", n)
	case n < 1e6:
		return humanfmt.Digits(n/1e3) + " kB"
	}
	return humanfmt.Digits(n/1e6) + " MB"
}

// count writes 20000 as 20,000.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
