package scene

import "math"

// mountains draws a range whose feet are at base and whose peaks rise about
// height above it. snow is the share of the height that is white, from the top.
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
		// Spurs run down from the crest: the crest's own slope, sampled along a slanted
		// line and roughened.
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
			// It reaches furthest down in the gullies, in streaks along the fall line.
			s, streak := shade(x, y), p.noise.fbm((x+p.side*(y-top(x))*0.5)/7, y/26, 4)-0.5
			edge := peak + (base-peak)*snow + streak*height*0.8 + 0.3*(top(x)-peak) - 14*(s-0.6)
			return p.far(hex(0x9db4d6).mix(hex(0xffffff), smoothstep(0.4, 0.8, s)), distance*0.7), smoothstep(edge+3, edge-3, y)
		})
	}, "mountain", "snow")
}

// rolling is the outline of hills: smooth, of the given height above base.
func (p *painting) rolling(base, height, spacing float64) line {
	off := p.between(0, 200)
	return cached(func(x float64) float64 {
		return base - height*smoothstep(0.2, 0.8, p.noise.fbm(x/spacing+off, off, 2))
	})
}

// ground covers everything below top with soil in two colours, coarser towards the viewer.
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
