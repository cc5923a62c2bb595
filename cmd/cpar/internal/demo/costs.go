package demo

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Cost is one row of the table: what something costs here and in the paper.
// Unit is "ms" or "B". A paper value of 0 means that the paper gives none.
type Cost struct {
	Stage string  `json:"stage"`
	Unit  string  `json:"unit"`
	Here  float64 `json:"here"`
	Paper float64 `json:"paper,omitempty"`
	// Printed is the paper's figure as the paper prints it.
	Printed string `json:"paper_prints,omitempty"`
}

// PaperRecords is the n of the paper's figures.
const PaperRecords = 20_000

// compareCosts puts what was measured beside the paper's figures.
func (s *session) compareCosts() {
	n := float64(len(s.records))
	encrypt := s.clock.took("encrypt")
	whole := ms(s.took.setup + s.took.encrypt)
	median := func(search int, of func(*Answer) time.Duration) float64 {
		var all []time.Duration
		for i := range s.result.Photos {
			all = append(all, of(&s.result.Photos[i].Answers[search]))
		}
		slices.Sort(all)
		return ms(all[len(all)/2])
	}
	roundTrip := func(a *Answer) time.Duration { return a.roundTrip }
	first := &s.result.Photos[0]
	s.result.Costs = []Cost{
		{"features of a photo", "ms", median(0, func(a *Answer) time.Duration { return a.features }), 0, ""},
		{"forest construction", "ms", ms(s.clock.took("forest")), 28_560, "28.56 s"},
		{"vector encryption, a record", "ms", ms(encrypt) / n, 8.4, "8.4 ms"},
		{"planes, order, keywords, a record", "ms", ms(s.took.encrypt-encrypt) / n, 54.7 + 1.4, "54.7 + 1.4 ms"},
		{"whole encrypted forest", "ms", whole, 74.78 * 60_000, "74.78 min"},
		{"… a record", "ms", whole / n, 74.78 * 60_000 / PaperRecords, "224 ms, computed"},
		{"request generation", "ms", median(0, func(a *Answer) time.Duration { return a.makeRequest }), 534.16, "534.16 ms"},
		{"cloud search, capia", "ms", median(1, roundTrip), 218_460, "218.46 s"},
		{"cloud search, cpar AP-100", "ms", median(2, roundTrip), 143_720, "143.72 s"},
		{"cloud search, cpar AP-10", "ms", median(0, roundTrip), 0, ""},
		{"cloud search, cpar AP-2.5", "ms", median(3, roundTrip), 2_980, "2.98 s"},
		{"final selection of keywords", "ms", median(0, func(a *Answer) time.Duration { return a.selection }), 318, "318 ms"},
		{"request, sent", "B", float64(first.Answers[0].Sent), 80_000, "80 KB (26 + 48 + 4)"},
		{"reply, received", "B", float64(first.Answers[0].Received), 488, "488 B"},
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// HereText is what was measured, for people.
func (c Cost) HereText() string {
	if c.Unit == "B" {
		return Bytes(c.Here)
	}
	return Duration(c.Here)
}

// PaperText is the paper's figure, or a dash.
func (c Cost) PaperText() string {
	if c.Printed == "" {
		return "–"
	}
	return c.Printed
}

// Duration writes milliseconds for people, three digits.
func Duration(ms float64) string {
	switch {
	case ms >= 120_000:
		return digits(ms/60_000) + " min"
	case ms >= 1000:
		return digits(ms/1000) + " s"
	}
	return digits(ms) + " ms"
}

// Bytes writes a size for people.
func Bytes(n float64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%.0f B", n)
	case n < 1e6:
		return digits(n/1e3) + " kB"
	}
	return digits(n/1e6) + " MB"
}

func digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// count writes 20000 as 20,000.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
