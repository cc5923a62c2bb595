package scene

import "math"

// sky paints everything above the horizon, with clouds, or stars and a moon. It
// continues below the horizon for low hills.
func (p *painting) sky(horizon float64) {
	m := &p.mood
	keywords := []string{"sky"}
	if m.keyword != "" {
		keywords = append(keywords, m.keyword)
	}
	p.layer(func() {
		p.below(flat(0), func(x, y float64) rgb {
			t := y/horizon + 0.05*(p.noise.at(x/90, y/40)-0.5)
			if t < 0.55 {
				return m.zenith.mix(m.middle, t/0.55)
			}
			return m.middle.mix(m.horizon, smoothstep(0.55, 1.05, t))
		})
	}, keywords...)
	if m.keyword == "night" {
		p.stars(horizon)
		if p.chance(0.5) {
			p.moon(p.between(40, 216), p.between(22, 42), p.between(8, 13), p.between(-0.6, 1))
		}
	} else if p.chance(0.7) {
		p.clouds(horizon)
	}
}

func (p *painting) clouds(horizon float64) {
	// Width of a cloud, ratio of width to height, and covered share of the sky.
	size, flatness, cover := p.between(45, 80), p.between(1.6, 2.8), p.between(0.3, 0.5)
	if p.mood.keyword == "sunset" { // long and thin
		size, flatness = size*1.5, flatness*2.2
	}
	ox, oy := p.between(0, 200), p.between(0, 200)
	// fbm is roughly normal around one half. Invert its distribution.
	low := 0.5 + 0.30*(0.5-cover)
	p.layer(func() {
		p.area(flat(0), flat(horizon), func(x, y float64) (rgb, float64) {
			// Clouds near the horizon are smaller and flatter.
			depth := 1 + 1.6*y/horizon
			u, v := (x-Width/2)/size*depth+ox, y/size*flatness*depth+oy
			n := p.noise.fbm(u, v, 5)
			alpha := smoothstep(low, low+0.16, n)
			if alpha == 0 {
				return rgb{}, 0
			}
			above := p.noise.fbm(u-0.25*p.side, v-0.45, 3)
			c := p.mood.cloudDark.mix(p.mood.cloudLit, smoothstep(-0.22, 0.14, n-above))
			return c.mix(p.mood.haze, 0.35*y/horizon), 0.96 * alpha
		})
	}, "clouds", "sky")
}

func (p *painting) sun(x, y, radius float64) {
	p.shine = x
	p.glow(x, y, radius*7, p.mood.sun.mul(rgb{1, 0.75, 0.35}), 0.3)
	p.glow(x, y, radius*2.2, p.mood.sun.mul(rgb{1, 0.9, 0.4}), 0.35)
	p.layer(func() {
		p.gc.DrawCircle(x, y, radius)
		p.fill(p.mood.sun, 1)
	}, "sun", "sky")
}

// moon shows its phase: 1 full, 0 half, down to -1 new. The terminator is half
// an ellipse.
func (p *painting) moon(x, y, radius, phase float64) {
	p.shine = x
	p.glow(x, y, radius*4, hex(0x8fa3cf), 0.35)
	p.layer(func() {
		p.gc.DrawEllipticalArc(x, y, p.side*radius, radius, -math.Pi/2, math.Pi/2)
		p.gc.DrawEllipticalArc(x, y, p.side*radius*phase, radius, math.Pi/2, 3*math.Pi/2)
		p.fill(p.mood.sun, 1)
	}, "moon", "sky")
}

func (p *painting) stars(horizon float64) {
	slope, at := p.between(-1.2, 1.2), p.between(60, 200)
	p.layer(func() {
		p.area(flat(0), flat(horizon), func(x, y float64) (rgb, float64) { // the milky way
			d := (x - at - slope*(y-horizon/2)) / 38
			return hex(0x8f9cc8), 0.34 * math.Exp(-d*d) * smoothstep(0.3, 0.75, p.noise.fbm(x/26, y/26, 4))
		})
		for range 4 { // a few bright, many faint
			c, bright := pick(p.rng, hex(0xffffff), hex(0xcfdcff), hex(0xffe9c8)), p.between(0.4, 1.3)
			for range int(p.between(0.3, 0.6) * horizon / bright) {
				p.gc.DrawCircle(p.between(0, Width), p.between(0, horizon), 0.8*bright)
			}
			p.fill(c, 0.9)
		}
	}, "stars", "night", "sky")
}

func (p *painting) birds() {
	if p.chance(0.45) {
		return
	}
	cx, cy, size := p.between(60, 200), p.between(25, 55), p.between(4, 9)
	p.layer(func() {
		for range 4 + p.rng.IntN(5) {
			x, y, up, tilt := cx+p.between(-55, 55), cy+p.between(-20, 20), size*p.between(0.25, 0.7), size*p.between(-0.25, 0.25)
			p.gc.MoveTo(x-size, y-up*0.5+tilt)
			p.gc.QuadraticTo(x-size*0.45, y-up, x, y)
			p.gc.QuadraticTo(x+size*0.45, y-up, x+size, y-up*0.5-tilt)
		}
		p.stroke(p.lit(hex(0x3a4450)), 1.4)
	}, "bird")
}

func (p *painting) fog(top, densest, bottom, strength float64) {
	c := p.mood.horizon.mix(hex(0xf4f5f5), 0.5)
	p.layer(func() {
		p.area(flat(top), flat(bottom), func(x, y float64) (rgb, float64) {
			t := smoothstep(top, densest, y) * smoothstep(bottom, densest, y)
			n := p.noise.fbm(x/85, y/24, 4)
			return c, strength * t * smoothstep(0.18, 0.62, n+0.12*t)
		})
	}, "fog")
}

// sea reaches from the horizon to bottom, with glints below the sun or moon.
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
