package measure

import (
	"slices"
	"strings"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/eval/plot"
)

type Results struct {
	Machine string
	// Field Each lists the available results, in the order of a report.
	Each   []Result
	Steps  []checkpoint.Record
	Failed []Failure
}

// A Failure is a measurement with a partial result or none.
type Failure struct {
	Step  string `json:"step"`
	Error string `json:"error"`
}

// machines names the machines that measured the steps, because stored results
// may come from other machines. If there are no steps, it names this machine.
func machines(steps []checkpoint.Record) string {
	var names []string
	for _, record := range steps {
		if _, machine, ok := strings.Cut(record.Identity, " "); ok && !slices.Contains(names, machine) {
			names = append(names, machine)
		}
	}
	if len(names) == 0 {
		return Machine()
	}
	return strings.Join(names, "; ")
}

// Identity identifies the measuring program and its machine, for
// checkpoint.Runner.
func Identity() (string, error) {
	program, err := programDigest()
	return program + " " + Machine(), err
}

type Drawn interface {
	Result
	Figures() []plot.Figure
}

// PlottedSearches assigns every search its name and colour in figures.
var PlottedSearches = []struct {
	Name   string
	Search cpar.Search
	Colour plot.Colour
}{
	{"Algorithm 1", cpar.SearchDepthFirst, plot.Blue},
	{"by rank", cpar.SearchByRank, plot.Green},
	{"best bin first", cpar.SearchBestBin, plot.Olive},
	{"inverted file (ivf)", cpar.SearchIVF, plot.Red},
}

var apTicks = []float64{2.5, 5, 10, 20, 40, 100}

func APAxis() plot.Axis {
	return plot.Axis{Label: "AP-X, per cent of the records that may be visited", Log: true, Ticks: apTicks}
}

func OfInterval(x, y Interval) plot.Point {
	return plot.Point{X: x.Value, XLow: x.Low, XHigh: x.High, Y: y.Value, YLow: y.Low, YHigh: y.High}
}
