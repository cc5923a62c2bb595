package measure

import (
	"cpar"
	"cpar/eval/checkpoint"
	"cpar/eval/plot"
)

type Results struct {
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
