package scene

import "math"

// mountains draws a range whose feet are at base and whose peaks rise about
// height above it. snow is the share of the height that is white, from the top.
// Returns the silhouette.
func (p *painting) mountains(base, height, spacing, distance, snow float64, rock rgb) line {
	off := p.between(0, 200)
	crest := func(x float64) float64 { return p.noise.ridged(x/spacing+off, off, 5) }
	top := profile(func(x float64) float64 {
		return base - height*clamp((crest(x)-0.30)/0.6, 0.06, 1.1)
	})
	peak := base
	for x := range Width {
		peak = min(peak, top(float64(x)))
	}
	snowline := peak + (base-peak)*snow
	keywords := []string{"mountain"}
	if snow > 0 {
		keywords = append(keywords, "snow")
	}
	shade := func(x, y float64) float64 {
		// Spurs run down from the crest: the crest's own slope, sampled along a
		// slanting line, and roughened.
		along := x + p.side*(y-top(x))*0.7 + 22*(p.noise.fbm(x/30, y/30, 3)-0.5)
		slope := crest(along+2.5) - crest(along-2.5)
		return clamp(0.62+p.side*slope*spacing*0.055+0.9*(p.noise.fbm(x/11, y/11, 3)-0.5), 0.25, 1.15)
	}
	p.layer(func() {
		p.area(top, flat(base+3), func(x, y float64) (rgb, float64) {
			c := rock.scale(shade(x, y))
			mist := distance + 0.35*smoothstep(base-height*0.5, base, y)*(1-distance)
			return p.far(c, mist), 1
		})
	}, "mountain")
	if snow > 0 {
		p.layer(func() {
			p.area(top, flat(base), func(x, y float64) (rgb, float64) {
				// It reaches down furthest in the gullies, in streaks along the fall line.
				edge := snowline + (p.noise.fbm((x+p.side*(y-top(x))*0.5)/7, y/26, 4)-0.5)*height*0.8 + 0.3*(top(x)-peak) - 14*(shade(x, y)-0.6)
				alpha := smoothstep(edge+3, edge-3, y)
				s := shade(x, y)
				return p.far(hex(0x9db4d6).mix(hex(0xffffff), smoothstep(0.4, 0.8, s)), distance*0.7), alpha
			})
		}, keywords...)
	}
	return top
}

// rolling is the outline of hills: smooth, of the given height above base.
func (p *painting) rolling(base, height, spacing float64) line {
	off := p.between(0, 200)
	return profile(func(x float64) float64 {
		return base - height*smoothstep(0.2, 0.8, p.noise.fbm(x/spacing+off, off, 2))
	})
}

// ground covers everything below top with a soil of two colours, coarser
// towards the viewer.
func (p *painting) ground(top line, a, b rgb, distance float64, keywords ...string) {
	off := p.between(0, 200)
	p.layer(func() {
		p.area(top, flat(Height), func(x, y float64) (rgb, float64) {
			t := clamp((y-top(x))/(Height-top(x)+1), 0, 1)
			grain := 3 + 9*t
			n := 0.6*p.noise.fbm(x/grain/3+off, y/grain+off, 3) + 0.4*p.noise.fbm(x/60+off, y/22, 2)
			fine := p.noise.at(x/1.3, y/1.1) - 0.5
			c := a.mix(b, smoothstep(0.3, 0.7, n)).scale(0.95 + 0.12*fine)
			return p.far(c, distance*(1-t)), 1
		})
	}, keywords...)
}

var greens = []rgb{hex(0x5f8f37), hex(0x7aa23f), hex(0x4f8442), hex(0x8fae4c), hex(0x6b8f2f)}

func (p *painting) grass(top line, distance float64, keywords ...string) {
	g := near(p.rng, pick(p.rng, greens...), 0.04)
	p.ground(top, g.scale(0.8), g.scale(1.18).mix(hex(0xd8d060), 0.15), distance, append([]string{"grass"}, keywords...)...)
}

// blades stand in front, where single ones can be told apart.
func (p *painting) blades(from float64, n int, c rgb) {
	p.layer(func() {
		for tone := range 4 {
			for range n / 4 {
				t := math.Sqrt(p.rng.Float64())
				x, y := p.between(0, Width), from+(Height+6-from)*t
				l := 4 + 13*t*p.between(0.5, 1)
				lean := p.between(-0.45, 0.45) * l
				p.gc.MoveTo(x-0.7, y)
				p.gc.QuadraticTo(x, y-l*0.6, x+lean, y-l)
				p.gc.QuadraticTo(x+1, y-l*0.5, x+0.9, y)
				p.gc.ClosePath()
			}
			p.fill(p.lit(c.scale(0.62+0.24*float64(tone))), 0.9)
		}
	}, "grass")
}

// field has rows that run to a vanishing point on the horizon.
func (p *painting) field(horizon float64) {
	crop := pick(p.rng, [2]rgb{hex(0xd9b44a), hex(0xb08a34)}, [2]rgb{hex(0xe8d23a), hex(0x9aa832)},
		[2]rgb{hex(0x86a84a), hex(0x5c6b34)}, [2]rgb{hex(0x9a7a50), hex(0x6b4f36)}, [2]rgb{hex(0x8d78b8), hex(0x5f7a48)})
	vx, rows := p.between(40, Width-40), p.between(0.05, 0.085)
	p.layer(func() {
		p.area(flat(horizon), flat(Height), func(x, y float64) (rgb, float64) {
			t := (y - horizon + 1.5) / (Height - horizon)
			u := (x - vx) / t * rows
			wave := 0.5 + 0.5*math.Sin(u*math.Pi*1.2+2.2*(p.noise.fbm(x/25, y/10, 2)-0.5))
			// Far rows are finer than a pixel: fade to their mean.
			wave = 0.5 + (wave-0.5)*smoothstep(0.12, 0.45, t)
			n := p.noise.fbm(x/(1.5+5*t), y/(1+4*t), 2) - 0.5
			c := crop[1].mix(crop[0], clamp(wave+0.9*n, 0, 1))
			return p.far(c, 0.35*(1-t)*(1-t)), 1
		})
	}, "field")
}

func (p *painting) snowGround(top line, keywords ...string) {
	off := p.between(0, 200)
	p.layer(func() {
		p.area(top, flat(Height), func(x, y float64) (rgb, float64) {
			n := p.noise.fbm(x/48+off, y/17+off, 4)
			c := hex(0xb3c6e2).mix(hex(0xfdfdff), smoothstep(0.34, 0.6, n))
			return p.lit(c.scale(0.98 + 0.05*p.noise.at(x, y))), 1
		})
	}, append([]string{"snow"}, keywords...)...)
}

var sands = []rgb{hex(0xe6cf9d), hex(0xdfbe86), hex(0xefe0bd), hex(0xd6b483)}

func (p *painting) sand(top line, keywords ...string) {
	s := near(p.rng, pick(p.rng, sands...), 0.02)
	off := p.between(0, 200)
	p.layer(func() {
		p.area(top, flat(Height), func(x, y float64) (rgb, float64) {
			n := p.noise.fbm(x/40+off, y/12+off, 4) - 0.5
			wet := 1 - smoothstep(0, 13, y-top(x))
			c := s.scale(1 + 0.35*n + 0.14*(p.noise.at(x*1.3, y*1.3)-0.5))
			return p.lit(c.mix(hex(0x9a8262), 0.6*wet)), 1
		})
	}, append([]string{"sand"}, keywords...)...)
}

// dune has a lit and a shaded side that meet in a line down from its peak.
func (p *painting) dune(peakX, peakY, width, distance float64, s rgb) {
	off := p.between(0, 200)
	top := profile(func(x float64) float64 {
		d := math.Abs(x-peakX) / width
		return peakY + 70*(1-math.Exp(-math.Pow(d, 1.35))) + 5*(p.noise.fbm(x/60+off, off, 2)-0.5)
	})
	bend := p.between(10, 30)
	p.layer(func() {
		p.area(top, flat(Height), func(x, y float64) (rgb, float64) {
			down := max(0, y-peakY)
			edge := peakX - p.side*down*0.55 + bend*math.Sin(down/26)
			lit := smoothstep(-2.5, 2.5, p.side*(x-edge))
			ripple := 0.05 * math.Sin(y*1.1+x*0.12+9*p.noise.fbm(x/30+off, y/30, 2)) * smoothstep(0, 30, down)
			c := s.scale(0.62).mix(hex(0x8a4a3a), 0.25).mix(s.scale(1.08), lit).scale(1 + ripple + 0.06*(p.noise.at(x*1.4, y*1.4)-0.5))
			return p.far(c, distance), 1
		})
	}, "desert", "sand")
}

// road runs from the bottom to a point on the horizon, in a bend.
func (p *painting) road(horizon, atX, bottomX, half float64) {
	asphalt := near(p.rng, hex(0x5d5d62), 0.03)
	paint := pick(p.rng, hex(0xf2f0e6), hex(0xf0c93a))
	bend := p.between(-60, 60)
	p.layer(func() {
		p.area(flat(horizon), flat(Height), func(x, y float64) (rgb, float64) {
			t := (y - horizon) / (Height - horizon)
			centre := atX + (bottomX-atX)*t + bend*t*(1-t)
			w := 0.8 + half*t
			d := (x - centre) / w
			edge := clamp((1.12-math.Abs(d))*w+0.5, 0, 1)
			if edge == 0 {
				return rgb{}, 0
			}
			c := asphalt.scale(0.92 + 0.3*(p.noise.fbm(x/2, y/2, 2)-0.5))
			stripe := clamp((0.045-math.Abs(d))*w+0.5, 0, 1)
			if math.Mod(2.2/(t+0.05)+40, 1) > 0.55 {
				stripe = 0 // dashes, even in depth
			}
			border := clamp((0.035-math.Abs(math.Abs(d)-0.93))*w+0.5, 0, 1)
			if math.Abs(d) > 1.02 {
				c = hex(0x9a8a6c)
			}
			c = c.mix(paint, 0.9*stripe*smoothstep(0, 0.12, t)).mix(hex(0xf2f0e6), 0.9*border*smoothstep(0, 0.15, t))
			return p.far(c, 0.4*(1-t)*(1-t)), edge
		})
	}, "road")
}

// rocks heaps dark boulders between two points along the shore.
func (p *painting) rocks(x0, x1, y, size float64, n int) {
	p.layer(func() {
		for range n {
			x, s := p.between(x0, x1), size*p.between(0.5, 1.2)
			g := p.between(0.24, 0.42)
			base := y + p.between(-size*0.2, size*0.5)
			p.polygon(x-s, base, x-s*0.8, base-s*p.between(0.4, 0.7), x-s*0.2, base-s*p.between(0.7, 1),
				x+s*0.5, base-s*p.between(0.6, 0.9), x+s, base-s*0.15, x+s, base)
			p.fill(p.lit(rgb{g, g * 0.95, g * 0.9}), 1)
			p.polygon(x-s*0.2*p.side, base-s*0.6, x+s*0.5*p.side, base-s*0.62, x+s*0.8*p.side, base-s*0.2, x+s*0.2*p.side, base-s*0.3)
			p.fill(p.lit(rgb{g, g, g}.scale(1.5)), 0.8)
		}
	}, "rock")
}
