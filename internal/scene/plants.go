package scene

import "math"

// stem is where a tree stands and how high it is.
type stem struct{ x, base, h float64 }

// conifers draws a row of firs as one shape, and the lit half of each over it.
func (p *painting) conifers(trees []stem, c rgb, distance, snow float64, keywords ...string) {
	type level struct{ x, y, w, top float64 }
	var levels []level
	for _, t := range trees {
		n := int(clamp(t.h/6, 4, 9))
		slim := p.between(0.17, 0.25)
		for k := range n {
			s := float64(k+1) / float64(n)
			levels = append(levels, level{t.x, t.base - t.h*(1-0.93*s), t.h * slim * s * p.between(0.85, 1.12), t.base - t.h*(1-0.93*(s-1.7/float64(n)))})
		}
	}
	p.layer(func() {
		for _, t := range trees {
			p.gc.DrawRectangle(t.x-t.h*0.02, t.base-t.h*0.1, t.h*0.04, t.h*0.11)
		}
		p.fill(p.far(hex(0x4a3626), distance), 1)
		for _, l := range levels {
			top := max(l.top, l.y-l.w*2.6)
			p.polygon(l.x, top, l.x+l.w, l.y, l.x+l.w*0.5, l.y-l.w*0.08, l.x, l.y+l.w*0.07, l.x-l.w*0.45, l.y-l.w*0.1, l.x-l.w, l.y)
		}
		p.fill(p.far(c, distance), 1)
		for _, l := range levels {
			top := max(l.top, l.y-l.w*2.6)
			p.polygon(l.x, top, l.x+p.side*l.w*0.92, l.y-l.w*0.05, l.x+p.side*l.w*0.3, l.y-l.w*0.25)
		}
		p.fill(p.far(c.scale(1.45), distance), 0.75)
	}, append([]string{"tree"}, keywords...)...)
	if snow > 0 {
		p.layer(func() {
			for _, l := range levels {
				top := max(l.top, l.y-l.w*2.2)
				p.polygon(l.x, top, l.x+l.w*0.85, l.y-l.w*0.2, l.x+l.w*0.3, l.y-l.w*0.5*(2-snow), l.x, l.y-l.w*0.35, l.x-l.w*0.4, l.y-l.w*0.6, l.x-l.w*0.8, l.y-l.w*0.2)
			}
			p.fill(p.far(hex(0xf2f6fc), distance), 0.9)
		}, append([]string{"tree", "snow"}, keywords...)...)
	}
}

// row of stems along a ground line, near enough to each other to make a forest.
func (p *painting) stand(ground line, spacing, low, high float64) []stem {
	var trees []stem
	for x := -spacing; x < Width+spacing; x += spacing * p.between(0.5, 1.4) {
		trees = append(trees, stem{x, ground(clamp(x, 0, Width-1)) + 2, p.between(low, high)})
	}
	return trees
}

var (
	leafGreens  = []rgb{hex(0x3f6f2a), hex(0x527f30), hex(0x36602f), hex(0x62863a)}
	autumnTones = []rgb{hex(0xc8641e), hex(0xd88a20), hex(0xb03a20), hex(0xe0b030), hex(0x9a5020)}
	firGreens   = []rgb{hex(0x1f4030), hex(0x274a32), hex(0x1d3a3a), hex(0x30502f)}
)

// broadleaf draws a round tree: crowns of leaves in three tones.
func (p *painting) broadleaf(t stem, c rgb, distance float64, keywords ...string) {
	p.layer(func() {
		cy := t.base - t.h*0.63
		p.polygon(t.x-t.h*0.045, t.base, t.x-t.h*0.025, cy, t.x+t.h*0.025, cy, t.x+t.h*0.05, t.base)
		p.fill(p.far(hex(0x55402c), distance), 1)
		type leafage struct{ x, y, r float64 }
		var tufts []leafage
		for range 18 {
			a, d := p.between(0, 2*math.Pi), math.Sqrt(p.rng.Float64())
			tufts = append(tufts, leafage{t.x + math.Cos(a)*d*t.h*0.27, cy + math.Sin(a)*d*t.h*0.24, t.h * p.between(0.09, 0.16)})
		}
		for pass, tone := range []float64{0.55, 0.85, 1.15, 1.4} {
			f := float64(pass)
			for _, l := range tufts {
				up := (cy - l.y) / (t.h * 0.24)
				if pass == 3 && up+p.side*(l.x-t.x)/(t.h*0.3) < 0.25 {
					continue
				}
				// Small leaves around a tuft's middle rather than a smooth disc.
				for range 4 {
					s := l.r * (1 - 0.22*f)
					p.gc.DrawCircle(l.x+p.side*f*t.h*0.018+p.between(-0.8, 0.8)*l.r, l.y-f*t.h*0.022+p.between(-0.8, 0.8)*l.r, s*p.between(0.25, 0.6)+0.3)
				}
			}
			p.fill(p.far(c.scale(tone), distance), 0.93)
		}
	}, append([]string{"tree"}, keywords...)...)
}

// acacia is the flat tree of a savanna.
func (p *painting) acacia(t stem, c rgb) {
	p.layer(func() {
		lean := p.between(-0.1, 0.1) * t.h
		top := t.base - t.h*0.72
		for _, to := range []float64{-0.42, -0.15, 0.14, 0.4} {
			p.gc.MoveTo(t.x, t.base)
			p.gc.QuadraticTo(t.x+lean*0.4, t.base-t.h*0.35, t.x+lean+to*t.h, top)
		}
		p.stroke(p.lit(hex(0x3a2a20)), 1, t.h*0.045)
		for range 26 {
			d := p.between(-1, 1)
			p.gc.DrawEllipse(t.x+lean+d*t.h*0.55, top-t.h*0.1*(1-d*d)+p.between(-0.04, 0.05)*t.h, t.h*p.between(0.09, 0.17), t.h*p.between(0.04, 0.08))
		}
		p.fill(p.lit(c), 1)
	}, "tree")
}

// palm leans towards d; the crown is a star of drooping fronds.
func (p *painting) palm(t stem, d float64, c rgb) {
	p.layer(func() {
		tx, ty := t.x+d*t.h*0.28, t.base-t.h
		for k := range 12 { // a trunk of rings
			s0, s1 := float64(k)/12, float64(k+1)/12
			x0, x1 := t.x+d*t.h*0.28*s0*s0, t.x+d*t.h*0.28*s1*s1
			w0, w1 := t.h*(0.034-0.015*s0), t.h*(0.038-0.015*s1)
			p.polygon(x0-w0, t.base-t.h*s0, x0+w0, t.base-t.h*s0, x1+w1, t.base-t.h*s1, x1-w1, t.base-t.h*s1)
			p.fill(p.lit(hex(0x806548).scale(0.88+0.2*float64(k%2))), 1)
		}
		for k := range 10 {
			a := math.Pi*(0.02+0.96*float64(k)/9) + p.between(-0.1, 0.1)
			l := t.h * p.between(0.36, 0.46)
			ex, ey := tx+math.Cos(a)*l, ty-math.Sin(a)*l*0.45+l*0.42
			mx, my := tx+math.Cos(a)*l*0.55, ty-math.Sin(a)*l*0.5-l*0.22
			p.gc.MoveTo(tx, ty)
			p.gc.QuadraticTo(mx, my, ex, ey)
			p.gc.QuadraticTo(mx-math.Cos(a)*l*0.02, my+l*0.26, tx, ty+t.h*0.02)
			p.gc.ClosePath()
			p.fill(p.lit(c.scale(0.75+0.5*float64(k%3)/2)), 1)
		}
		for range 3 {
			p.gc.DrawCircle(tx+p.between(-0.04, 0.04)*t.h, ty+t.h*0.04, t.h*0.025)
		}
		p.fill(p.lit(hex(0x6a4a2a)), 1)
	}, "palm", "tree")
}

func (p *painting) cactus(t stem) {
	c := near(p.rng, hex(0x4c7a45), 0.03)
	w := t.h * 0.13
	p.layer(func() {
		limbs := func() {
			p.gc.MoveTo(t.x, t.base)
			p.gc.LineTo(t.x, t.base-t.h+w)
			for k, d := range []float64{-1, 1} {
				up := 0.38 + 0.13*float64(k)
				p.gc.MoveTo(t.x, t.base-t.h*up)
				p.gc.LineTo(t.x+d*t.h*0.19, t.base-t.h*up)
				p.gc.QuadraticTo(t.x+d*t.h*0.25, t.base-t.h*up, t.x+d*t.h*0.25, t.base-t.h*(up+0.08))
				p.gc.LineTo(t.x+d*t.h*0.25, t.base-t.h*(up+0.28))
			}
		}
		p.gc.DrawEllipse(t.x-p.side*t.h*0.2, t.base, t.h*0.3, t.h*0.035)
		p.fill(hex(0x3a2418), 0.4)
		limbs()
		p.stroke(p.lit(c.scale(0.7)), 1, w*1.25)
		p.gc.Push()
		p.gc.Translate(p.side*w*0.22, 0)
		limbs()
		p.gc.Pop()
		p.stroke(p.lit(c.scale(1.2)), 1, w*0.5)
	}, "cactus")
}

var petals = []rgb{hex(0xd8352f), hex(0xf2c02f), hex(0xffffff), hex(0xb04fc0), hex(0xf07fa8), hex(0x5566d8), hex(0xf08a28)}

// flowers scatters n blossoms over the ground below from, larger towards the
// viewer, in few colours, as they grow.
func (p *painting) flowers(from line, n int, size float64) {
	kinds := []rgb{pick(p.rng, petals...), pick(p.rng, petals...), pick(p.rng, petals...)}
	p.layer(func() {
		for _, c := range kinds {
			var hearts [][3]float64
			for range n / len(kinds) {
				x, t := p.between(0, Width), math.Pow(p.rng.Float64(), 0.8)
				y := from(x) + 3 + (Height-from(x))*t
				r := size * (0.25 + 0.85*t) * p.between(0.75, 1.2)
				a0 := p.between(0, 2)
				for k := range 5 {
					a := a0 + float64(k)*2*math.Pi/5
					p.gc.DrawEllipse(x+math.Cos(a)*r*0.6, y+math.Sin(a)*r*0.5, r*0.5, r*0.45)
				}
				hearts = append(hearts, [3]float64{x, y, r})
			}
			p.fill(p.lit(near(p.rng, c, 0.04)), 1)
			for _, h := range hearts {
				p.gc.DrawCircle(h[0], h[1], h[2]*0.32)
			}
			heart := hex(0xf0c830)
			if c.r > 0.9 && c.g > 0.6 && c.b < 0.4 {
				heart = hex(0x6a3a14)
			}
			p.fill(p.lit(heart), 1)
		}
	}, "flower")
}

// blossom is one large flower: rings of petals around a seeded heart.
func (p *painting) blossom(x, y, r float64, c rgb) {
	n, rings := 8+p.rng.IntN(9), 2+p.rng.IntN(2)
	turn := p.between(0, 1)
	leaf := near(p.rng, hex(0x3f7a30), 0.05)
	p.layer(func() {
		bend := p.between(-30, 30)
		p.gc.MoveTo(x, y)
		p.gc.QuadraticTo(x+bend, (y+Height)/2, x+bend*0.6, Height+10)
		p.stroke(p.lit(leaf.scale(0.8)), 1, r*0.11)
		for _, d := range []float64{-1, 1} {
			ly := y + r*p.between(1.3, 2)
			p.gc.MoveTo(x+bend*0.5, ly)
			p.gc.QuadraticTo(x+d*r*0.7, ly-r*0.7, x+d*r*1.25, ly-r*0.35)
			p.gc.QuadraticTo(x+d*r*0.7, ly+r*0.2, x+bend*0.5, ly)
			p.fill(p.lit(leaf.scale(p.between(0.8, 1.15))), 1)
		}
	}, "leaf")
	p.layer(func() {
		for ring := range rings {
			l := r * (1 - 0.24*float64(ring))
			for k := range n {
				a := turn + (float64(k)+0.5*float64(ring))*2*math.Pi/float64(n)
				p.gc.Push()
				p.gc.RotateAbout(a, x, y)
				for pass, tone := range []float64{0.72, 1, 1.16} {
					w := l * 2.3 / float64(n) * (1 - 0.3*float64(pass))
					p.gc.DrawEllipse(x+l*(0.56+0.03*float64(pass)), y, l*0.46*(1-0.12*float64(pass)), w)
					p.fill(p.lit(c.scale(tone*(0.88+0.08*float64(ring)))), 0.85)
				}
				p.gc.Pop()
			}
		}
		heart := pick(p.rng, hex(0xe8b020), hex(0x5a3416), hex(0xf0d860), hex(0x7a8a2a))
		p.gc.DrawCircle(x, y, r*0.27)
		p.fill(p.lit(heart.scale(0.8)), 1)
		for k := range 90 { // seeds in a sunflower's spiral
			d, a := r*0.26*math.Sqrt(float64(k)/90), float64(k)*2.39996
			p.gc.DrawCircle(x+d*math.Cos(a), y+d*math.Sin(a), r*0.018+0.3)
		}
		p.fill(p.lit(heart.scale(1.25)), 0.9)
	}, "flower")
}
