package scene

import "math"

// sea reaches from the horizon to bottom, with a path of glints below the sun or moon.
func (p *painting) sea(horizon float64, bottom line) {
	deep := p.lit(near(p.rng, pick(p.rng, hex(0x1d6a8f), hex(0x20809a), hex(0x2a5f96), hex(0x2e8f9c)), 0.03))
	// Water mostly reflects the sky: pale far away, its own colour close by.
	distant := deep.mix(p.mood.horizon, 0.45)
	shallow := deep.mix(p.lit(hex(0x6fd0c8)), 0.4)
	p.layer(func() {
		p.area(flat(horizon), bottom, func(x, y float64) (rgb, float64) {
			t := (y - horizon) / (Height - horizon)
			z := 1 / (t + 0.06)
			n := p.noise.fbm((x-Width/2)*z*0.04+40, z*4.5+p.noise.at(x/40, y/9)*0.8, 4)
			c := distant.mix(deep, smoothstep(0, 0.5, t)).mix(shallow, 0.8*smoothstep(26, 0, bottom(x)-y)*smoothstep(0.2, 0.6, t))
			c = c.scale(0.86 + 0.34*smoothstep(0.3, 0.7, n))
			c = c.mix(p.mood.horizon, 0.5*smoothstep(0.6, 0.75, n)*smoothstep(0, 0.12, t))
			off := (x - p.shine) / (5 + 34*t)
			return c.mix(p.mood.sun.mix(p.mood.horizon, 0.25), math.Exp(-off*off)*smoothstep(0.42, 0.62, n)), 1
		})
	}, "sea")
}

// foam breaks along the shore in a few rows. It hides little and counts as sea.
func (p *painting) foam(shore line) {
	p.layer(func() {
		for k := range 3 {
			row := shore.down(-float64(k) * p.between(6, 10))
			p.area(row.down(-4), row.down(2), func(x, y float64) (rgb, float64) {
				n := p.noise.fbm(x/15+float64(k)*33, y/7, 4)
				edge := 1 - math.Abs(y-row(x)+1)/3.2
				return p.lit(hex(0xffffff)).mix(p.mood.horizon, 0.2), smoothstep(0.4+0.05*float64(k), 0.72, n+0.12*edge) * smoothstep(0, 0.6, edge)
			})
		}
	}, "sea")
}

// mirror makes still water below top: a rippled mirror image of what is above.
func (p *painting) mirror(top float64, ripple float64, keyword string) {
	tint := p.lit(near(p.rng, hex(0x2f5f70), 0.04))
	p.layer(func() {
		p.below(flat(top), func(x, y float64) rgb {
			d := y - top
			n := p.noise.fbm(x/(14+d*0.4), y/(1.2+d*0.045), 3) - 0.5
			sx, sy := x+ripple*n*(3+d*0.10), top-d*0.95+ripple*n*(4+d*0.2)
			c := p.get(int(sx), min(int(sy), int(top)-1)).scale(0.9).mix(tint, 0.16+0.25*smoothstep(0, Height-top, d))
			return c.mix(p.mood.horizon, 0.22*ripple*smoothstep(0.16, 0.3, n))
		})
	}, keyword)
}

// sailboat stands with its waterline at y; h is the height of the mast.
func (p *painting) sailboat(x, y, h float64) {
	hull := pick(p.rng, hex(0xf4f1ea), hex(0x8a2f2a), hex(0x24406b), hex(0x2c5a48), hex(0x6b4a2c))
	sail := pick(p.rng, hex(0xfdfbf4), hex(0xfdfbf4), hex(0xf2e6c8), hex(0xd8503a), hex(0xe8a23a))
	d := pick(p.rng, -h, h) // to the bow, left or right
	p.layer(func() {
		for k := 0.5; k < h*0.5; k += 1.3 { // the reflection: strokes, shorter with depth
			s := h * (0.38 - 0.45*k/h) * p.between(0.6, 1)
			p.gc.DrawRectangle(x-s, y+k, 2*s, 0.9)
		}
		p.fill(p.lit(sail.mix(hull, 0.4).scale(0.6)), 0.5)
		p.gc.DrawRectangle(x-h*0.02, y-h, h*0.045, h*0.9)
		p.fill(p.lit(hex(0x5a4632)), 1)
		for _, to := range []float64{d, -0.85 * d} {
			p.gc.MoveTo(x+to*0.05, y-h*0.45-math.Abs(to)*0.52)
			p.gc.QuadraticTo(x+to*0.36, y-h*0.5, x+to*0.42, y-h*0.18)
			p.gc.LineTo(x+to*0.05, y-h*0.17)
			p.fill(p.lit(sail.scale(0.93+0.07*to/d)), 1)
		}
		p.polygon(x-d*0.39, y-h*0.15, x+d*0.48, y-h*0.19, x+d*0.38, y-h*0.05, x+d*0.25, y, x-d*0.32, y)
		p.fill(p.lit(hull), 1)
		p.polygon(x-d*0.39, y-h*0.15, x+d*0.48, y-h*0.19, x+d*0.45, y-h*0.15, x-d*0.38, y-h*0.11)
		p.fill(p.lit(hull.mix(hex(0xffffff), 0.55)), 1)
	}, "boat")
}
