package scene

import "math"

var seas = []rgb{hex(0x1d6a8f), hex(0x20809a), hex(0x2a5f96), hex(0x2e8f9c)}

// sea reaches from the horizon to bottom. sunX is where a low sun or moon casts
// its path of glints, or outside of the picture.
func (p *painting) sea(horizon float64, bottom line, sunX float64, keyword string) {
	deep := p.lit(near(p.rng, pick(p.rng, seas...), 0.03))
	// Water is mostly reflected sky: pale far away, its own colour below us.
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
			w := 5 + 34*t
			path := math.Exp(-(x - sunX) * (x - sunX) / (w * w))
			c = c.mix(p.mood.sun.mix(p.mood.horizon, 0.25), path*smoothstep(0.42, 0.62, n))
			return c, 1
		})
	}, keyword)
}

// shore is a wavy line for a beach, falling to one side.
func (p *painting) shore(y, slope float64) line {
	off := p.between(0, 200)
	return profile(func(x float64) float64 {
		return y + slope*(x-Width/2) + 12*(p.noise.fbm(x/55+off, off, 3)-0.5)
	})
}

// foam breaks along the shore in a few rows. It hides little, and is sea.
func (p *painting) foam(shore line) {
	p.layer(func() {
		for k := range 3 {
			up := float64(k) * p.between(6, 10)
			p.area(func(x float64) float64 { return shore(x) - up - 4 }, func(x float64) float64 { return shore(x) - up + 2 },
				func(x, y float64) (rgb, float64) {
					n := p.noise.fbm(x/15+float64(k)*33, y/7, 4)
					edge := 1 - math.Abs(y-(shore(x)-up-1))/3.2
					return p.lit(hex(0xffffff)).mix(p.mood.horizon, 0.2), smoothstep(0.4+0.05*float64(k), 0.72, n+0.12*edge) * smoothstep(0, 0.6, edge)
				})
		}
	}, "sea")
}

// mirror makes a lake below top: what is above it upside down, rippled.
func (p *painting) mirror(top float64, ripple float64, keyword string) {
	tint := p.lit(near(p.rng, hex(0x2f5f70), 0.04))
	above := make([]rgb, Width*Height)
	for i := range above {
		above[i] = p.get(i%Width, i/Width)
	}
	p.layer(func() {
		p.area(flat(top), flat(Height), func(x, y float64) (rgb, float64) {
			d := y - top
			n := p.noise.fbm(x/(14+d*0.4), y/(1.2+d*0.045), 3) - 0.5
			sx := int(x + ripple*n*(3+d*0.10))
			sy := int(top - d*0.95 + ripple*n*(4+d*0.2))
			sx, sy = min(max(sx, 0), Width-1), min(max(sy, 0), int(top)-1)
			c := above[sy*Width+sx].scale(0.9).mix(tint, 0.16+0.25*smoothstep(0, Height-top, d))
			bright := smoothstep(0.16, 0.3, n) * ripple * 0.22
			return c.mix(p.mood.horizon, bright), 1
		})
		p.area(flat(top-0.8), flat(top+0.9), func(x, y float64) (rgb, float64) { return p.mood.horizon, 0.35 * p.noise.at(x/8, 3) })
	}, keyword)
}

// river winds from the horizon to the viewer; the banks are drawn with it.
// Returns the middle line, as x for a y.
func (p *painting) river(horizon, atX, bottomX, half float64) func(y float64) (centre, half float64) {
	wind, turns := p.between(22, 50)*pick(p.rng, -1.0, 1.0), p.between(1.2, 2)
	course := func(y float64) (float64, float64) {
		t := clamp((y-horizon)/(Height-horizon), 0, 1)
		return atX + (bottomX-atX)*t + wind*math.Sin(turns*math.Pi*math.Sqrt(t))*(0.3+0.7*t), 1.5 + half*math.Pow(t, 1.2)
	}
	deep := p.lit(near(p.rng, hex(0x3f7f98), 0.04)).mix(p.mood.middle, 0.35)
	p.layer(func() {
		p.area(flat(horizon), flat(Height), func(x, y float64) (rgb, float64) {
			centre, w := course(y)
			d := math.Abs(x-centre) + 5*(p.noise.fbm(x/12, y/7, 2)-0.5)*w/30
			alpha := clamp(w-d+0.5, 0, 1)
			if alpha == 0 {
				return p.lit(hex(0x6b5a3c)), 0.7 * clamp(w*1.07+1.5-d, 0, 1)
			}
			t := (y - horizon) / (Height - horizon)
			n := p.noise.fbm(x/(5+22*t), y/(1.2+4*t), 4)
			c := deep.mix(p.mood.horizon, 0.55*(1-t)+0.5*smoothstep(0.5, 0.72, n)).scale(0.82 + 0.25*n)
			return c.mix(p.lit(hex(0x35503a)), 0.45*smoothstep(0.75, 1, d/w)), alpha
		})
	}, "river")
	return course
}

// sailboat stands with its waterline at y; h is the height of the mast.
func (p *painting) sailboat(x, y, h float64) {
	hull := pick(p.rng, hex(0xf4f1ea), hex(0x8a2f2a), hex(0x24406b), hex(0x2c5a48), hex(0x6b4a2c))
	sail := pick(p.rng, hex(0xfdfbf4), hex(0xfdfbf4), hex(0xf2e6c8), hex(0xd8503a), hex(0xe8a23a))
	d := pick(p.rng, -1.0, 1.0)
	p.layer(func() {
		p.reflection(x, y, h*0.38, h*0.5, sail.mix(hull, 0.4))
		p.polygon(x-h*0.02, y-h*0.12, x-h*0.02, y-h, x+h*0.03, y-h, x+h*0.03, y-h*0.12)
		p.fill(p.lit(hex(0x5a4632)), 1)
		p.gc.MoveTo(x+d*h*0.05, y-h*0.97)
		p.gc.QuadraticTo(x+d*h*0.36, y-h*0.5, x+d*h*0.42, y-h*0.19)
		p.gc.LineTo(x+d*h*0.05, y-h*0.17)
		p.gc.ClosePath()
		p.fill(p.lit(sail), 1)
		p.gc.MoveTo(x-d*h*0.05, y-h*0.88)
		p.gc.QuadraticTo(x-d*h*0.12, y-h*0.45, x-d*h*0.36, y-h*0.17)
		p.gc.LineTo(x-d*h*0.05, y-h*0.2)
		p.gc.ClosePath()
		p.fill(p.lit(sail.scale(0.86)), 1)
		p.hull(x, y, h*0.42, h*0.15, d, hull)
	}, "boat")
}

// motorboat has a cabin instead of a mast; w is its half length.
func (p *painting) motorboat(x, y, w float64) {
	hull := pick(p.rng, hex(0xc8402f), hex(0x2f62a8), hex(0x2f7a54), hex(0xf0ede4), hex(0xe0a030), hex(0x37474f))
	d := pick(p.rng, -1.0, 1.0)
	p.layer(func() {
		p.reflection(x, y, w, w*0.55, hull)
		p.gc.DrawRectangle(x-w*0.35-d*w*0.15, y-w*0.8, w*0.7, w*0.5)
		p.fill(p.lit(hex(0xf5f2ea)), 1)
		p.gc.DrawRectangle(x-w*0.42-d*w*0.15, y-w*0.9, w*0.84, w*0.12)
		p.fill(p.lit(hull.scale(0.8)), 1)
		for k := range 2 {
			p.gc.DrawRectangle(x-w*0.25-d*w*0.15+float64(k)*w*0.3, y-w*0.7, w*0.2, w*0.2)
		}
		p.fill(p.lit(hex(0x37566b)), 1)
		p.gc.DrawLine(x-d*w*0.2, y-w*0.9, x-d*w*0.2, y-w*1.6)
		p.stroke(p.lit(hex(0x3a322c)), 1, max(0.8, w*0.05))
		p.hull(x, y, w, w*0.36, d, hull)
	}, "boat")
}

// rowboat is small and open.
func (p *painting) rowboat(x, y, w float64) {
	wood := pick(p.rng, hex(0x8a5a30), hex(0xa8402a), hex(0x3f6b8a), hex(0x3f7a54))
	p.layer(func() {
		p.reflection(x, y, w, w*0.3, wood)
		p.hull(x, y, w, w*0.36, 1, wood)
		p.gc.DrawEllipse(x, y-w*0.35, w*0.85, w*0.09)
		p.fill(p.lit(wood.scale(0.45)), 1)
	}, "boat")
}

// hull is pointed towards d; half its length is w, it rises by h.
func (p *painting) hull(x, y, w, h, d float64, c rgb) {
	p.gc.MoveTo(x-d*w*0.92, y-h)
	p.gc.LineTo(x+d*w*1.15, y-h*1.25)
	p.gc.QuadraticTo(x+d*w*0.85, y, x+d*w*0.6, y)
	p.gc.LineTo(x-d*w*0.75, y)
	p.gc.ClosePath()
	p.fill(p.lit(c), 1)
	p.polygon(x-d*w*0.92, y-h, x+d*w*1.15, y-h*1.25, x+d*w*1.08, y-h*1.0, x-d*w*0.9, y-h*0.75)
	p.fill(p.lit(c.mix(hex(0xffffff), 0.55)), 1)
}

// reflection is broken into short strokes that get sparser with depth.
func (p *painting) reflection(x, y, w, depth float64, c rgb) {
	for d := 0.5; d < depth; d += 1.3 {
		s := w * (1 - 0.6*d/depth) * p.between(0.6, 1)
		p.gc.DrawRectangle(x-s+p.between(-1.5, 1.5), y+d, 2*s, 0.9)
	}
	p.fill(p.lit(c.scale(0.6)), 0.5)
}
