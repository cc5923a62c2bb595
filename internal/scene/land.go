package scene

import "math"

// mountains paints a range that rises from base by about height. snow is the
// white share of the height, from the top.
func (p *painting) mountains(base, height, spacing, distance, snow float64) {
	off := p.between(0, 200)
	rock := pick(p.rng, hex(0x6f6a6c), hex(0x5f6878), hex(0x7a6e64))
	crest := func(x float64) float64 { return p.noise.ridged(x/spacing+off, off, 5) }
	top := cached(func(x float64) float64 {
		return base - height*clamp((crest(x)-0.30)/0.6, 0.06, 1.1)
	})
	peak := base
	for x := range Width {
		peak = min(peak, top(float64(x)))
	}
	shade := func(x, y float64) float64 {
		// Spurs follow the slope of the crest, sampled along a slanted line and
		// roughened.
		along := x + p.side*(y-top(x))*0.7 + 22*(p.noise.fbm(x/30, y/30, 3)-0.5)
		slope := crest(along+2.5) - crest(along-2.5)
		return clamp(0.62+p.side*slope*spacing*0.055+0.9*(p.noise.fbm(x/11, y/11, 3)-0.5), 0.25, 1.15)
	}
	p.layer(func() {
		p.area(top, flat(base+3), func(x, y float64) (rgb, float64) {
			mist := distance + 0.35*smoothstep(base-height*0.5, base, y)*(1-distance)
			return p.far(rock.scale(shade(x, y)), mist), 1
		})
	}, "mountain")
	if snow == 0 {
		return
	}
	p.layer(func() {
		p.area(top, flat(base), func(x, y float64) (rgb, float64) {
			// Snow reaches furthest down in the gullies, in streaks along the
			// fall line.
			s, streak := shade(x, y), p.noise.fbm((x+p.side*(y-top(x))*0.5)/7, y/26, 4)-0.5
			edge := peak + (base-peak)*snow + streak*height*0.8 + 0.3*(top(x)-peak) - 14*(s-0.6)
			return p.far(hex(0x9db4d6).mix(hex(0xffffff), smoothstep(0.4, 0.8, s)), distance*0.7), smoothstep(edge+3, edge-3, y)
		})
	}, "mountain", "snow")
}

func (p *painting) rolling(base, height, spacing float64) line {
	off := p.between(0, 200)
	return cached(func(x float64) float64 {
		return base - height*smoothstep(0.2, 0.8, p.noise.fbm(x/spacing+off, off, 2))
	})
}

// ground covers everything below top with soil in two colours, coarser towards
// the viewer.
func (p *painting) ground(top line, a, b rgb, distance float64, keywords ...string) {
	off := p.between(0, 200)
	p.layer(func() {
		p.below(top, func(x, y float64) rgb {
			t := clamp((y-top(x))/(Height-top(x)+1), 0, 1)
			grain := 3 + 9*t
			n := 0.6*p.noise.fbm(x/grain/3+off, y/grain+off, 3) + 0.4*p.noise.fbm(x/60+off, y/22, 2)
			fine := p.noise.at(x/1.3, y/1.1) - 0.5
			return p.far(a.mix(b, smoothstep(0.3, 0.7, n)).scale(0.97+0.08*fine), distance*(1-t))
		})
	}, keywords...)
}

var greens = []rgb{hex(0x5f8f37), hex(0x7aa23f), hex(0x4f8442), hex(0x8fae4c), hex(0x6b8f2f)}

func (p *painting) grass(top line, distance float64, keywords ...string) {
	g := near(p.rng, pick(p.rng, greens...), 0.04)
	p.ground(top, g.scale(0.8), g.scale(1.18).mix(hex(0xd8d060), 0.15), distance, append(keywords, "grass")...)
}

// dune has a lit and a shaded side that meet in a line down from its peak.
func (p *painting) dune(peakX, peakY, width, distance float64, s rgb) {
	off, bend := p.between(0, 200), p.between(10, 30)
	top := cached(func(x float64) float64 {
		d := math.Abs(x-peakX) / width
		return peakY + 70*(1-math.Exp(-math.Pow(d, 1.35))) + 5*(p.noise.fbm(x/60+off, off, 2)-0.5)
	})
	p.layer(func() {
		p.below(top, func(x, y float64) rgb {
			down := max(0, y-peakY)
			edge := peakX - p.side*down*0.55 + bend*math.Sin(down/26)
			c := s.scale(0.62).mix(hex(0x8a4a3a), 0.25).mix(s.scale(1.08), smoothstep(-2.5, 2.5, p.side*(x-edge)))
			ripple := 0.05 * math.Sin(y*1.1+x*0.12+9*p.noise.fbm(x/30+off, y/30, 2)) * smoothstep(0, 30, down)
			return p.far(c.scale(1+ripple+0.06*(p.noise.at(x*1.4, y*1.4)-0.5)), distance)
		})
	}, "sand", "desert")
}

func (p *painting) firGreen() rgb {
	return pick(p.rng, hex(0x1f4030), hex(0x274a32), hex(0x1d3a3a), hex(0x30502f))
}

func (p *painting) firs(ground line, spacing, low, high float64, c rgb, distance float64) {
	p.layer(func() {
		for x := -spacing; x < Width+spacing; x += spacing * p.between(0.5, 1.4) {
			base, h, slim := ground(x)+2, p.between(low, high), p.between(0.17, 0.25)
			p.gc.DrawRectangle(x-h*0.02, base-h*0.1, h*0.04, h*0.11)
			p.fill(p.far(hex(0x4a3626), distance), 1)
			n := clamp(math.Floor(h/6), 4, 9)
			for k := n; k >= 1; k-- { // boughs, from the lowest, and their lit parts
				y, w := base-h*(1-0.93*k/n), h*slim*k/n*p.between(0.85, 1.12)
				top := max(y-h*1.58/n, y-w*2.6)
				p.polygon(x, top, x+w, y, x+w*0.5, y-w*0.08, x, y+w*0.07, x-w*0.45, y-w*0.1, x-w, y)
				p.fill(p.far(c, distance), 1)
				p.polygon(x, top, x+p.side*w*0.92, y-w*0.05, x+p.side*w*0.3, y-w*0.25)
				p.fill(p.far(c.scale(1.45), distance), 0.75)
			}
		}
	}, "tree", "forest")
}

func (p *painting) flowers(from line, size float64) {
	var petals [3]rgb
	for k := range petals {
		petals[k] = pick(p.rng, hex(0xd8352f), hex(0xffffff), hex(0xb04fc0), hex(0xf07fa8), hex(0x5566d8), hex(0xf08a28))
	}
	p.layer(func() {
		n := 180 + p.rng.IntN(120)
		for k := range n { // the nearest last
			x, t := p.between(0, Width), math.Pow(float64(k)/float64(n), 0.8)
			y, r := from(x)+3+(Height-from(x))*t, size*(0.25+0.85*t)*p.between(0.75, 1.2)
			for a := r; a < r+6; a += 2 * math.Pi / 5 {
				p.gc.DrawEllipse(x+math.Cos(a)*r*0.6, y+math.Sin(a)*r*0.5, r*0.5, r*0.45)
			}
			p.fill(p.lit(near(p.rng, pick(p.rng, petals[:]...), 0.04)), 1)
			p.gc.DrawCircle(x, y, r*0.32)
			p.fill(p.lit(hex(0xe8b428)), 1)
		}
	}, "flower")
}
