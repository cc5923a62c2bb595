// Package paper holds the values stated in the paper, for comparison with
// measurements. File paper.json lists each value with its section in the paper,
// but without page and figure numbers.
package paper

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed paper.json
var file []byte

// A Number is one value of the paper's text.
type Number struct {
	ID    string  `json:"id"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	Place string  `json:"place"`
	Note  string  `json:"note,omitempty"`
}

func (n Number) Text() string {
	return strings.TrimSpace(Digits(n.Value) + " " + n.Unit)
}

func Digits(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// A Point is a value at AP-X, the approximation power (Section IV-A) at which X
// percent of the records are visited.
type Point struct {
	AP    float64 `json:"ap"`
	Value float64 `json:"value"`
}

// A TradeOff is a speedup over CAPIA, an earlier scheme, and the accuracy
// relative to it, in percent.
type TradeOff struct {
	Speedup  float64 `json:"speedup"`
	Relative float64 `json:"relative"`
	// AP is the X of AP-X if the text names it, otherwise 0.
	AP float64 `json:"ap,omitempty"`
}

// A Published is a result on Corel-5k from the literature: mean precision P and
// recall R in percent, and N+, the number of keywords found at least once.
type Published struct {
	Name  string  `json:"name"`
	P     float64 `json:"P"`
	R     float64 `json:"R"`
	Nplus int     `json:"Nplus"`
}

type Paper struct {
	Source  string `json:"source"`
	Machine string `json:"machine"`
	// Records is the n for which the paper states its costs.
	Records int      `json:"records"`
	Numbers []Number `json:"numbers"`
	// RequestParts are the sizes of the parts of a request, in the unit of
	// request_bytes.
	RequestParts []float64 `json:"request_parts"`
	// CapiaSeconds and Cost are cloud times per request in seconds, for an
	// index of Records images.
	CapiaSeconds float64 `json:"capia_seconds"`
	Cost         []Point `json:"cost"`
	// CapiaRecall and Recall are the paper's accuracies in percent.
	CapiaRecall float64           `json:"capia_recall"`
	Recall      []Point           `json:"recall"`
	TradeOff    []TradeOff        `json:"tradeoff"`
	Published   []Published       `json:"published"`
	Places      map[string]string `json:"places"`
}

func Values() *Paper {
	p := new(Paper)
	dec := json.NewDecoder(bytes.NewReader(file))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		panic(fmt.Sprintf("paper.json: %v", err)) // the file is embedded in the program
	}
	return p
}

// Number returns the value with this ID. It panics if the ID is unknown.
func (p *Paper) Number(id string) Number {
	for _, n := range p.Numbers {
		if n.ID == id {
			return n
		}
	}
	panic(fmt.Sprintf("paper.json has no number %q", id))
}

// CostAt returns the cloud time at an approximation power. It panics for a
// power that the paper lacks.
func (p *Paper) CostAt(ap float64) Number {
	for _, c := range p.Cost {
		if c.AP == ap {
			return p.seconds(fmt.Sprintf("cost at AP-%v", ap), c.Value)
		}
	}
	panic(fmt.Sprintf("paper.json has no cost at AP-%v", ap))
}

func (p *Paper) CostOfCapia() Number { return p.seconds("cost of capia", p.CapiaSeconds) }

func (p *Paper) seconds(what string, x float64) Number {
	return Number{What: what, Value: x, Unit: "s", Place: p.Places["cost"]}
}

func (p *Paper) Parts() string {
	var parts []string
	for _, x := range p.RequestParts {
		parts = append(parts, Digits(x))
	}
	return strings.Join(parts, " + ")
}
