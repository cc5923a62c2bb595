package scene

import "math"

// sky fills everything above the horizon, and fades on below it, for hills that
// do not reach up.
func (p *painting) sky(horizon float64) {
	m := p.mood
	p.layer(func() {
		p.area(flat(0), flat(Height), func(x, y float64) (rgb, float64) {
			t := y/horizon + 0.05*(p.noise.at(x/90, y/40)-0.5)
			if t < 0.55 {
				return m.zenith.mix(m.middle, t/0.55), 1
			}
			return m.middle.mix(m.horizon, smoothstep(0.55, 1.05, t)), 1
		})
	}, append([]string{"sky"}, m.keywords...)...)
}

// clouds covers about a share cover of the sky. size is the width of a cloud,
// flatness how much wider than high it is.
func (p *painting) clouds(horizon, cover, size, flatness float64) {
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

// fairClouds are what a fine day has, often none.
func (p *painting) fairClouds(horizon float64) {
	if p.chance(0.65) {
		p.clouds(horizon, p.between(0.25, 0.5), p.between(45, 80), p.between(1.6, 2.8))
	}
}

// streaks are the long thin clouds of an evening.
func (p *painting) streaks(horizon float64) {
	p.clouds(horizon, p.between(0.3, 0.5), p.between(80, 120), p.between(5, 8))
}

func (p *painting) sun(x, y, radius float64) {
	// The glow must stay darker than the disc, or there is no disc to see.
	p.glow(x, y, radius*7, p.mood.sun.mul(rgb{1, 0.75, 0.35}), 0.3)
	p.glow(x, y, radius*2.2, p.mood.sun.mul(rgb{1, 0.9, 0.4}), 0.35)
	p.layer(func() {
		p.gc.DrawCircle(x, y, radius)
		p.fill(p.mood.sun, 1)
	}, "sun", "sky")
}

// moon draws a full moon with its plains, or a crescent (phase in (0, 1]).
func (p *painting) moon(x, y, radius, phase float64) {
	p.glow(x, y, radius*4, hex(0x8fa3cf), 0.35)
	p.layer(func() {
		for py := int(y - radius - 1); py <= int(y+radius+1); py++ {
			for px := int(x - radius - 1); px <= int(x+radius+1); px++ {
				dx, dy := float64(px)+0.5-x, float64(py)+0.5-y
				d := math.Hypot(dx, dy)
				alpha := clamp(radius-d+0.5, 0, 1)
				// The terminator is half an ellipse.
				edge := (1 - 2*phase) * math.Sqrt(max(0, radius*radius-dy*dy))
				alpha *= clamp(p.side*dx-edge+0.5, 0, 1)
				plain := smoothstep(0.5, 0.68, p.noise.fbm(dx/radius*1.6+31, dy/radius*1.6+7, 3))
				p.put(px, py, hex(0xfbf7e8).mix(hex(0xb9b7b4), 0.75*plain), alpha)
			}
		}
	}, "moon", "sky")
}

func (p *painting) stars(horizon float64, n int) {
	p.layer(func() {
		if p.chance(0.5) { // the milky way
			slope, at := p.between(-1.2, 1.2), p.between(60, 200)
			p.area(flat(0), flat(horizon), func(x, y float64) (rgb, float64) {
				d := (x - at - slope*(y-horizon/2)) / 38
				n := p.noise.fbm(x/26, y/26, 4)
				return hex(0x8f9cc8), 0.34 * math.Exp(-d*d) * smoothstep(0.3, 0.75, n)
			})
		}
		for range n {
			x, y := p.between(0, Width), p.between(0, horizon)
			bright := math.Pow(p.rng.Float64(), 2.2)
			c := pick(p.rng, hex(0xffffff), hex(0xffffff), hex(0xcfdcff), hex(0xffe9c8))
			p.put(int(x), int(y), c, 0.35+0.65*bright)
			if bright > 0.55 {
				for _, d := range [4][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
					p.put(int(x)+d[0], int(y)+d[1], c, 0.6*bright)
				}
			}
		}
	}, "stars", "night", "sky")
}

func (p *painting) rainbow(cx, cy, radius, width float64) {
	bands := []rgb{hex(0x7a3fd0), hex(0x3f5fe0), hex(0x2fb0d8), hex(0x46c552), hex(0xf5e645), hex(0xf59a30), hex(0xe23b35)}
	p.veil(func() {
		for y := range Height {
			for x := range Width {
				t := (math.Hypot(float64(x)+0.5-cx, float64(y)+0.5-cy) - radius) / width
				if t < 0 || t >= 1 {
					continue
				}
				at := t * float64(len(bands)-1)
				c := bands[int(at)].mix(bands[min(int(at)+1, len(bands)-1)], at-math.Floor(at))
				p.put(x, y, c, 0.72*smoothstep(0, 0.15, t)*smoothstep(1, 0.85, t))
			}
		}
	}, "rainbow")
}

// birds are a loose flock of wings.
func (p *painting) birds(cx, cy float64, n int, size float64, c rgb) {
	p.layer(func() {
		for range n {
			x, y := cx+p.between(-55, 55), cy+p.between(-20, 20)
			s := size * p.between(0.7, 1.3)
			up, tilt := p.between(0.25, 0.7), p.between(-0.25, 0.25)
			p.gc.MoveTo(x-s, y-s*up*0.5+s*tilt)
			p.gc.QuadraticTo(x-s*0.45, y-s*up, x, y)
			p.gc.QuadraticTo(x+s*0.45, y-s*up, x+s, y-s*up*0.5-s*tilt)
			p.stroke(c, 1, max(1.3, s*0.22))
		}
	}, "bird")
}

// fog lies from top to bottom, thickest where it lies densest.
func (p *painting) fog(top, densest, bottom, strength float64) {
	c := p.mood.horizon.mix(hex(0xf4f5f5), 0.5)
	p.veil(func() {
		p.area(flat(top), flat(bottom), func(x, y float64) (rgb, float64) {
			t := smoothstep(top, densest, y) * smoothstep(bottom, densest, y)
			n := p.noise.fbm(x/85, y/24, 4)
			return c, strength * t * smoothstep(0.18, 0.62, n+0.12*t)
		})
	}, "fog")
}

func (p *painting) rain(n int) {
	slant := p.between(-0.35, 0.35)
	p.veil(func() {
		for range n {
			x, y, l := p.between(-20, Width+20), p.between(-20, Height), p.between(9, 24)
			p.gc.MoveTo(x, y)
			p.gc.LineTo(x+slant*l, y+l)
		}
		p.stroke(hex(0xe2e9f0), 0.5, 1.1)
	}, "rain")
}

// snowfall needs no keyword of its own: the snow lies already.
func (p *painting) snowfall(n int) {
	for range n {
		p.gc.DrawCircle(p.between(0, Width), p.between(0, Height), p.between(0.6, 1.9))
	}
	p.fill(hex(0xffffff), 0.85)
}

func (p *painting) balloon(x, y, radius float64) {
	a, b := pick(p.rng, hex(0xd83a34), hex(0xe88a20), hex(0x2f6fc4), hex(0x6a3fa0), hex(0x1f9a78)), pick(p.rng, hex(0xfff2d0), hex(0xf5d040), hex(0xffffff))
	p.layer(func() {
		const gores = 7
		for py := int(y - radius); py <= int(y+radius*1.45); py++ {
			dy := (float64(py) + 0.5 - y) / radius
			half := math.Sqrt(max(0, 1-dy*dy))
			if dy > 0.35 { // tapering to the mouth
				half = 0.937 - (dy-0.35)*0.66
			}
			half *= radius
			for px := int(x - half - 1); px <= int(x+half+1); px++ {
				dx := float64(px) + 0.5 - x
				alpha := clamp(half-math.Abs(dx)+0.5, 0, 1)
				angle := math.Asin(clamp(dx/max(half, 0.5), -1, 1))
				c := a
				if int(math.Floor(angle/math.Pi*gores+100))%2 == 0 {
					c = b
				}
				p.put(px, py, p.lit(c.scale(0.82+0.25*p.side*math.Sin(angle))), alpha)
			}
		}
		p.gc.DrawLine(x-radius*0.18, y+radius*1.4, x-radius*0.12, y+radius*1.75)
		p.gc.DrawLine(x+radius*0.18, y+radius*1.4, x+radius*0.12, y+radius*1.75)
		p.stroke(hex(0x4a3a2a), 1, 0.8)
		p.gc.DrawRectangle(x-radius*0.14, y+radius*1.7, radius*0.28, radius*0.26)
		p.fill(p.lit(hex(0x7a5230)), 1)
	}, "balloon")
}
