package scene

import (
	"math"
	"math/rand/v2"
)

// rgb is a colour with channels in [0, 1]. Arithmetic may leave that range, so
// put and fill clip the result.
type rgb struct{ r, g, b float64 }

func hex(v uint32) rgb {
	return rgb{float64(v>>16&255) / 255, float64(v>>8&255) / 255, float64(v&255) / 255}
}

func (c rgb) mix(d rgb, t float64) rgb {
	return rgb{c.r + (d.r-c.r)*t, c.g + (d.g-c.g)*t, c.b + (d.b-c.b)*t}
}

func (c rgb) scale(f float64) rgb { return c.mul(rgb{f, f, f}) }
func (c rgb) mul(d rgb) rgb       { return rgb{c.r * d.r, c.g * d.g, c.b * d.b} }

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func (p *painting) between(low, high float64) float64 { return low + (high-low)*p.rng.Float64() }
func (p *painting) chance(of float64) bool            { return p.rng.Float64() < of }
func (p *painting) hue(of ...uint32) rgb              { return p.near(hex(pick(p.rng, of...)), 0.03) }

func (p *painting) near(c rgb, by float64) rgb {
	return rgb{c.r + p.between(-by, by), c.g + p.between(-by, by), c.b + p.between(-by, by)}
}

// lit applies light and the haze of a distance (0 at the viewer, 1 invisible)
// to a colour.
func (p *painting) lit(c rgb, distance float64) rgb {
	return c.mul(p.mood.light).mix(p.mood.horizon.mix(p.mood.middle, 0.4), distance)
}

func (p *painting) put(x, y int, c rgb, alpha float64) {
	px := p.img.Pix[p.img.PixOffset(x, y):][:3]
	for i, v := range [3]float64{c.r, c.g, c.b} {
		px[i] = uint8(clamp(float64(px[i])+(v*255-float64(px[i]))*clamp(alpha, 0, 1)+0.5, 0, 255))
	}
}

func (p *painting) get(x, y int) rgb {
	px := p.img.Pix[p.img.PixOffset(min(max(x, 0), Width-1), min(max(y, 0), Height-1)):]
	return rgb{float64(px[0]) / 255, float64(px[1]) / 255, float64(px[2]) / 255}
}

// A line is a height for each column of the image.
type line [Width]float64

func trace(height func(x float64) float64) (l line) {
	for x := range l {
		l[x] = height(float64(x) + 0.5)
	}
	return l
}

func flat(y float64) line { return trace(func(float64) float64 { return y }) }

func (l *line) at(x float64) float64 { return l[min(max(int(x), 0), Width-1)] }

// area paints a layer with soft edges between two lines.
func (p *painting) area(top, bottom line, colour func(x, y float64) (rgb, float64), keywords ...string) {
	p.layer(func() {
		for x, t := range top {
			for y := max(0, int(math.Floor(t))); y < Height && float64(y) < bottom[x]; y++ {
				c, alpha := colour(float64(x)+0.5, float64(y)+0.5)
				p.put(x, y, c, alpha*(min(bottom[x], float64(y)+1)-max(t, float64(y))))
			}
		}
	}, keywords...)
}

func (p *painting) fill(c rgb, alpha float64) {
	p.gc.SetRGBA(clamp(c.r, 0, 1), clamp(c.g, 0, 1), clamp(c.b, 0, 1), alpha)
	p.gc.Fill()
}

func (p *painting) polygon(xy ...float64) {
	p.gc.NewSubPath()
	for i := 0; i+1 < len(xy); i += 2 {
		p.gc.LineTo(xy[i], xy[i+1])
	}
	p.gc.ClosePath()
}
