package scene

import "math"

func (p *painting) put(x, y int, c rgb, alpha float64) {
	if x < 0 || y < 0 || x >= Width || y >= Height || alpha <= 0 {
		return
	}
	alpha = min(alpha, 1)
	px := p.img.Pix[p.img.PixOffset(x, y):][:3]
	for i, v := range [3]float64{c.r, c.g, c.b} {
		px[i] = uint8(clamp(float64(px[i])+(v*255-float64(px[i]))*alpha+0.5, 0, 255))
	}
}

func (p *painting) get(x, y int) rgb {
	px := p.img.Pix[p.img.PixOffset(min(max(x, 0), Width-1), min(max(y, 0), Height-1)):]
	return rgb{float64(px[0]) / 255, float64(px[1]) / 255, float64(px[2]) / 255}
}

type line func(x float64) float64

func flat(y float64) line           { return func(float64) float64 { return y } }
func (f line) down(by float64) line { return func(x float64) float64 { return f(x) + by } }

func cached(f line) line {
	var at [Width]float64
	for x := range at {
		at[x] = f(float64(x) + 0.5)
	}
	return func(x float64) float64 { return at[min(max(int(x), 0), Width-1)] }
}

// area colours the pixels between two lines, with soft edges.
func (p *painting) area(top, bottom line, colour func(x, y float64) (rgb, float64)) {
	for x := range Width {
		fx := float64(x) + 0.5
		t, b := top(fx), bottom(fx)
		for y := max(0, int(math.Floor(t))); y < Height && float64(y) < b; y++ {
			cover := min(b, float64(y)+1) - max(t, float64(y))
			c, alpha := colour(fx, float64(y)+0.5)
			p.put(x, y, c, cover*alpha)
		}
	}
}

func (p *painting) below(top line, colour func(x, y float64) rgb) {
	p.area(top, flat(Height), func(x, y float64) (rgb, float64) { return colour(x, y), 1 })
}

func (p *painting) fill(c rgb, alpha float64) {
	p.gc.SetRGBA(clamp(c.r, 0, 1), clamp(c.g, 0, 1), clamp(c.b, 0, 1), alpha)
	p.gc.Fill()
}

func (p *painting) stroke(c rgb, width float64) {
	p.gc.SetRGB(clamp(c.r, 0, 1), clamp(c.g, 0, 1), clamp(c.b, 0, 1))
	p.gc.SetLineWidth(width)
	p.gc.Stroke()
}

func (p *painting) polygon(xy ...float64) {
	p.gc.NewSubPath()
	for i := 0; i+1 < len(xy); i += 2 {
		p.gc.LineTo(xy[i], xy[i+1])
	}
	p.gc.ClosePath()
}

// lit applies the light of the hour to a colour. far also applies haze
// (distance 0 is here, 1 is invisible).
func (p *painting) lit(c rgb) rgb                   { return c.mul(p.mood.light) }
func (p *painting) far(c rgb, distance float64) rgb { return p.lit(c).mix(p.mood.haze, distance) }

func (p *painting) between(low, high float64) float64 { return between(p.rng, low, high) }
func (p *painting) chance(of float64) bool            { return p.rng.Float64() < of }

func (p *painting) glow(x, y, radius float64, c rgb, strength float64) {
	for py := max(0, int(y-2*radius)); py < min(Height, int(y+2*radius)+1); py++ {
		for px := max(0, int(x-2*radius)); px < min(Width, int(x+2*radius)+1); px++ {
			d := math.Hypot(float64(px)+0.5-x, float64(py)+0.5-y) / radius
			if d < 2 {
				f := (1 - d/2) * (1 - d/2) * strength
				p.put(px, py, p.get(px, py).add(c.scale(f)), 1)
			}
		}
	}
}
