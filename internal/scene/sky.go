package scene

import "math"

// sky paints everything above the horizon at this hour, with clouds, or stars and a moon.
// It continues below, for hills that do not reach up.
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
	// A cloud's width and its ratio of width to height, and the covered share of the sky.
	size, flatness, cover := p.between(45, 80), p.between(1.6, 2.8), p.between(0.3, 0.5)
	if p.mood.keyword == "sunset" { // long and thin
		size, flatness = size*1.5, flatness*2.2
	}
	ox, oy := p.between(0, 200), p.between(0, 200)
	// fbm is roughly normal around one half; this inverts its distribution.
	low := 0.5 + 0.30*(0.5-cover)
	p.layer(func() {
		p.area(flat(0), flat(horizon), func(x, y float64) (rgb, float64) {
			// Clouds near the horizon are further away: smaller and flatter.
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

// sun shines at x, y. The glow must stay darker than the disc, or the disc would not be visible.
func (p *painting) sun(x, y, radius float64) {
	p.shine = x
	p.glow(x, y, radius*7, p.mood.sun.mul(rgb{1, 0.75, 0.35}), 0.3)
	p.glow(x, y, radius*2.2, p.mood.sun.mul(rgb{1, 0.9, 0.4}), 0.35)
	p.layer(func() {
		p.gc.DrawCircle(x, y, radius)
		p.fill(p.mood.sun, 1)
	}, "sun", "sky")
}

// moon shows its phase: 1 full, 0 half, down to -1 new. The terminator is half an ellipse.
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

// birds are a loose flock of wings, on some days.
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

// fog lies from top to bottom, thickest at densest.
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
