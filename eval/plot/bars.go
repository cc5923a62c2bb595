package plot

import (
	"image/color"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"cpar/internal/humanfmt"
)

// bars is a series of vertical bars from 0, each labelled with its value.
// Several series stand side by side around the same X values, which must be 1
// apart.
type bars struct {
	points    []Point
	colour    color.RGBA
	index, of int
}

func (f *Figure) bars() []gonum.Plotter {
	var list []bars
	for _, s := range f.Series {
		if s.Style == Bars && len(s.Points) > 0 {
			list = append(list, bars{points: s.Points, colour: palette[s.Colour], index: len(list)})
		}
	}
	out := make([]gonum.Plotter, len(list))
	for i, b := range list {
		b.of = len(list)
		out[i] = b
	}
	return out
}

const barsWidth = 0.84

func (b bars) Plot(c draw.Canvas, p *gonum.Plot) {
	x, y := p.Transforms(&c)
	width := barsWidth / float64(b.of)
	label := text.Style{Color: ink, Font: face(fontPt-2.5, false), Handler: gonum.DefaultTextHandler, XAlign: -0.5}
	for _, q := range b.points {
		left := q.X - barsWidth/2 + width*float64(b.index)
		low, high := vg.Point{X: x(left) + 0.7, Y: y(0)}, vg.Point{X: x(left+width) - 0.7, Y: y(q.Y)}
		c.FillPolygon(b.colour, []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}})
		c.FillText(label, vg.Point{X: (low.X + high.X) / 2, Y: high.Y + 2}, humanfmt.Digits(q.Y))
	}
}

// Groups returns the axes for bars under names.
func Groups(names []string, label string, series []Series) (x, y Axis) {
	x = Axis{Names: names, From: 0.5, To: float64(len(names)) + 0.5}
	y = Axis{Label: label}
	for i := range names {
		x.Ticks = append(x.Ticks, float64(i+1))
	}
	for _, s := range series {
		for _, q := range s.Points {
			y.To = max(y.To, 1.06*q.Y) // space for the value
		}
	}
	return x, y
}
