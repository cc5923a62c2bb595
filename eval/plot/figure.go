// Package plot draws measurements. It does not depend on other packages of
// CPAR.
//
//	Figure (axes, series of points) ─▶ SVG
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"cpar/internal/humanfmt"
)

// A Figure is one plot. It omits empty series.
type Figure struct {
	Name   string // base name of the plot's file
	Title  string
	X, Y   Axis
	Series []Series
}

type Axis struct {
	Label string
	Log   bool
	// Ticks are the positions of numbers on the axis. If nil, round numbers are
	// chosen.
	Ticks []float64
	// Names replace the numbers at Ticks.
	Names []string
	// The axis includes the range [From, To], unless both are equal.
	From, To float64
}

type Series struct {
	Name   string
	Colour Colour
	Style  Style
	Points []Point
}

// A Point may have an interval in each direction. An interval whose ends are
// both 0 is omitted.
type Point struct {
	X, Y        float64
	XLow, XHigh float64
	YLow, YHigh float64
}

type Style int

const (
	Marked    Style = iota // a line and dots
	Dashed                 // a dashed line, for bounds and theory
	Triangles              // the paper's points
	Crossed                // crosses, for a scan among curves of searches
	Bars                   // vertical bars from 0 at X = 1, 2, 3 …
)

// Colour is an index into the palette.
type Colour int

const (
	Blue Colour = iota
	Green
	Orange // the paper
	Grey   // bounds and theory
	Purple
	Red
	Olive // FLANN
)

var (
	palette    = []color.RGBA{{0x1f, 0x5f, 0xd6, 255}, {0x0c, 0x8f, 0x6f, 255}, {0xd9, 0x5f, 0x0e, 255}, {0x7a, 0x82, 0x8e, 255}, {0x7b, 0x3f, 0xbf, 255}, {0xc2, 0x2f, 0x4f, 255}, {0x85, 0x7a, 0x00, 255}}
	ink        = color.RGBA{0x1c, 0x22, 0x2b, 255}
	faint      = color.RGBA{0xe3, 0xe6, 0xea, 255}
	background = color.RGBA{0xff, 0xff, 0xff, 255}
)

const (
	width   = 480 * vg.Length(1)
	height  = 340 * vg.Length(1)
	fontPt  = 12.5
	titlePt = 14
)

func face(size float64, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

func (f *Figure) SVG() ([]byte, error) {
	p, err := f.plot()
	if err != nil {
		return nil, err
	}
	c := vgsvg.New(width, height)
	f.draw(p, draw.New(c))
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("encoding figure %s: %w", f.Name, err)
	}
	return buf.Bytes(), nil
}

func (f *Figure) draw(p *gonum.Plot, c draw.Canvas) {
	c.SetColor(background)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, 8, -14, 8, -10)
	title := text.Style{Color: ink, Font: face(titlePt, true), Handler: gonum.DefaultTextHandler, YAlign: -1}
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, f.Title)
	used := vg.Length(titlePt + 10)
	used += f.legend(draw.Crop(c, 0, 0, 0, -used))
	c = draw.Crop(c, 0, 0, 0, -used-4)
	f.axisLabels(c)
	p.Draw(draw.Crop(c, labelRoom+4, 0, labelRoom, 0))
}

const labelRoom = 20

// axisLabels draws the axis labels, because gonum misplaces them on logarithmic
// axes.
func (f *Figure) axisLabels(c draw.Canvas) {
	sty := text.Style{Color: ink, Font: face(fontPt, false), Handler: gonum.DefaultTextHandler, XAlign: -0.5, YAlign: 0}
	c.FillText(sty, vg.Point{X: (c.Min.X+c.Max.X)/2 + labelRoom, Y: c.Min.Y + 2}, f.X.Label)
	sty.Rotation, sty.YAlign = math.Pi/2, -1
	c.FillText(sty, vg.Point{X: c.Min.X, Y: (c.Min.Y+c.Max.Y)/2 + labelRoom}, f.Y.Label)
}

func (f *Figure) legend(c draw.Canvas) vg.Length {
	const sample, gap, line = 22, 16, 17
	sty := text.Style{Color: ink, Font: face(fontPt-0.5, false), Handler: gonum.DefaultTextHandler, YAlign: -0.5}
	x, y := c.Min.X, c.Max.Y-line/2
	for _, s := range f.Series {
		if s.Name == "" || len(s.Points) == 0 {
			continue
		}
		w := sample + 5 + sty.Width(s.Name)
		if x > c.Min.X && x+w > c.Max.X {
			x, y = c.Min.X, y-line
		}
		mid := vg.Point{X: x + sample/2, Y: y}
		if s.Style == Marked || s.Style == Dashed {
			c.StrokeLine2(s.line(), x, y, x+sample, y)
		}
		if s.Style != Dashed {
			c.DrawGlyph(s.glyph(), mid)
		}
		c.FillText(sty, vg.Point{X: x + sample + 5, Y: y}, s.Name)
		x += w + gap
	}
	return c.Max.Y - y + line/2
}

func (s *Series) line() draw.LineStyle {
	l := draw.LineStyle{Color: palette[s.Colour], Width: 2}
	if s.Style == Dashed {
		l.Width, l.Dashes = 1.6, []vg.Length{5, 4}
	}
	return l
}

func (s *Series) glyph() draw.GlyphStyle {
	g := draw.GlyphStyle{Color: palette[s.Colour], Radius: 3.4, Shape: draw.CircleGlyph{}}
	switch s.Style {
	case Triangles:
		g.Shape, g.Radius = draw.PyramidGlyph{}, 5
	case Crossed:
		g.Shape, g.Radius = draw.CrossGlyph{}, 5
	case Bars:
		g.Shape, g.Radius = draw.BoxGlyph{}, 5
	}
	return g
}

func (f *Figure) plot() (*gonum.Plot, error) {
	p := gonum.New()
	p.BackgroundColor = background
	for _, a := range []struct {
		to   *gonum.Axis
		from Axis
		of   func(Point) (float64, float64, float64)
	}{
		{&p.X, f.X, func(q Point) (float64, float64, float64) { return q.X, q.XLow, q.XHigh }},
		{&p.Y, f.Y, func(q Point) (float64, float64, float64) { return q.Y, q.YLow, q.YHigh }},
	} {
		if err := f.axis(a.to, a.from, a.of); err != nil {
			return nil, err
		}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	grid.Vertical.Width, grid.Horizontal.Width = 0.8, 0.8
	p.Add(grid)
	if standing := f.bars(); len(standing) > 0 {
		p.Add(standing...)
	}
	for i := range f.Series {
		if f.Series[i].Style == Bars || len(f.Series[i].Points) == 0 {
			continue
		}
		if err := f.Series[i].add(p); err != nil {
			return nil, fmt.Errorf("series %q: %w", f.Series[i].Name, err)
		}
	}
	return p, nil
}

func (s *Series) add(p *gonum.Plot) error {
	xys := make(plotter.XYs, len(s.Points))
	bars := errorBars{xys, make(plotter.XErrors, len(s.Points)), make(plotter.YErrors, len(s.Points))}
	any := false
	for i, q := range s.Points {
		xys[i] = plotter.XY{X: q.X, Y: q.Y}
		if q.XLow != 0 || q.XHigh != 0 {
			bars.XErrors[i].Low, bars.XErrors[i].High, any = q.X-q.XLow, q.XHigh-q.X, true
		}
		if q.YLow != 0 || q.YHigh != 0 {
			bars.YErrors[i].Low, bars.YErrors[i].High, any = q.Y-q.YLow, q.YHigh-q.Y, true
		}
	}
	if any {
		x, err := plotter.NewXErrorBars(bars)
		if err != nil {
			return err
		}
		y, err := plotter.NewYErrorBars(bars)
		if err != nil {
			return err
		}
		x.LineStyle = draw.LineStyle{Color: palette[s.Colour], Width: 1}
		y.LineStyle, x.CapWidth, y.CapWidth = x.LineStyle, 5, 5
		p.Add(x, y)
	}
	if s.Style == Marked || s.Style == Dashed {
		line, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		line.LineStyle = s.line()
		p.Add(line)
	}
	if s.Style != Dashed {
		dots, err := plotter.NewScatter(xys)
		if err != nil {
			return err
		}
		dots.GlyphStyle = s.glyph()
		p.Add(dots)
	}
	return nil
}

type errorBars struct {
	plotter.XYs
	plotter.XErrors
	plotter.YErrors
}

// bars draws vertical bars from 0, each labelled with its value. Several series
// are drawn side by side around the same X values, which must be 1 apart.
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

// Groups returns the axes for groups of bars above `names`.
func Groups(names []string, label string, series []Series) (x, y Axis) {
	x = Axis{Names: names, From: 0.5, To: float64(len(names)) + 0.5}
	y = Axis{Label: label}
	for i := range names {
		x.Ticks = append(x.Ticks, float64(i+1))
	}
	for _, s := range series {
		for _, q := range s.Points {
			y.To = max(y.To, 1.06*q.Y) // leaves space for the value
		}
	}
	return x, y
}
