package plot

import (
	"fmt"
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
)

func (f *Figure) axis(a *gonum.Axis, from Axis, of func(Point) (float64, float64, float64)) error {
	low, high := math.Inf(1), math.Inf(-1)
	see := func(v float64) { low, high = min(low, v), max(high, v) }
	for _, s := range f.Series {
		for _, q := range s.Points {
			v, l, h := of(q)
			see(v)
			if l != 0 || h != 0 {
				see(l)
				see(h)
			}
		}
	}
	if from.From != from.To {
		see(from.From)
		see(from.To)
	}
	if math.IsInf(low, 0) || math.IsNaN(low) || math.IsNaN(high) || from.Log && low <= 0 {
		return fmt.Errorf("axis %q runs from %g to %g", from.Label, low, high)
	}
	if from.Log {
		margin := max(math.Pow(high/low, 0.06), 1.05)
		a.Min, a.Max, a.Scale = low/margin, high*margin, gonum.LogScale{}
	} else {
		margin := max(0.06*(high-low), 1e-9)
		a.Min, a.Max = low-margin, high+margin
		if low >= 0 && a.Min < 0 {
			a.Min = 0
		}
	}
	a.Tick.Marker = from.marker()
	a.Tick.Label.Font, a.Tick.Label.Color = face(fontPt-0.5, false), ink
	// Ticks have a length but are not drawn. The length keeps the numbers away
	// from the axis.
	a.Tick.Length, a.Padding = 5, 4
	a.LineStyle.Color, a.LineStyle.Width = palette[Grey], 1
	a.Tick.LineStyle.Width = 0
	return nil
}

func (a Axis) marker() gonum.Ticker {
	return gonum.TickerFunc(func(low, high float64) []gonum.Tick {
		var out []gonum.Tick
		for i, v := range a.ticks(low, high) {
			if v < low || v > high {
				continue
			}
			label := strconv.FormatFloat(v, 'g', 6, 64)
			if v == 0 {
				label = "0" // rounding may yield -0
			}
			if a.Names != nil {
				label = a.Names[i]
			}
			out = append(out, gonum.Tick{Value: v, Label: label})
		}
		return out
	})
}

func (a Axis) ticks(low, high float64) []float64 {
	if a.Ticks != nil {
		return a.Ticks
	}
	if !a.Log {
		return roundTicks(low, high)
	}
	decades, steps := math.Log10(high/low), []float64{1, 2, 5}
	switch {
	case decades > 3:
		steps = []float64{1}
	case decades > 1.2:
		steps = []float64{1, 3}
	}
	var out []float64
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		if decades > 5 && math.Mod(e, 2) != 0 {
			continue
		}
		for _, s := range steps {
			out = append(out, s*power(e))
		}
	}
	return out
}

// power returns 10^e as strconv parses it, because math.Pow is wrong in the
// last digit for negative e.
func power(e float64) float64 {
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(int(e)), 64)
	return v
}

func roundTicks(low, high float64) []float64 {
	raw := (high - low) / 5
	e := power(math.Floor(math.Log10(raw)))
	step := 10 * e
	for _, s := range []float64{1, 2, 2.5, 5} {
		if s*e >= raw {
			step = s * e
			break
		}
	}
	var out []float64
	for k := math.Ceil(low / step); k*step <= high; k++ {
		out = append(out, math.Round(k*step*1e6)/1e6)
	}
	return out
}
