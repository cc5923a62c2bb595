package scene

import "math"

func (p *painting) skyline(base, low, high, distance float64) {
	centre := p.between(60, Width-60)
	for x := -10.0; x < Width+10; {
		w := p.between(13, 32)
		d := (x + w/2 - centre) / 95
		p.tower(x, base, w, low+(high-low)*math.Exp(-d*d)*p.between(0.45, 1), distance)
		x += w + pick(p.rng, 0.0, 0, 1, 4)
	}
}

func (p *painting) tower(x, base, w, h, distance float64) {
	c := near(p.rng, pick(p.rng, hex(0x8a93a0), hex(0xa8a298), hex(0x6f7f92), hex(0xb8aa96), hex(0x9a8478), hex(0x5f7488)), 0.03)
	top := base - h
	p.layer(func() {
		p.gc.DrawRectangle(x, top, w, h+2)
		if p.chance(0.3) { // a pointed roof, or a smaller storey
			p.polygon(x, top, x+w/2, top-w*0.6, x+w, top)
		} else if p.chance(0.3) {
			p.gc.DrawRectangle(x+w*0.25, top-h*0.08-2, w*0.5, h*0.1+3)
		}
		p.fill(p.far(c, distance), 1)
		p.gc.DrawRectangle(x+w*0.36*(1-p.side), top, w*0.28, h+2)
		p.fill(p.far(c.scale(0.62), distance), 0.8)
	}, "building", "city")
	pane, lit, keywords := p.far(pick(p.rng, hex(0x3f5468), hex(0x52708a), hex(0xb8d4e8)), distance), 1.0, []string{"building", "city"}
	if p.mood.keyword == "night" {
		pane, lit = pick(p.rng, hex(0xffd880), hex(0xffe8b0), hex(0xffc860), hex(0xd8ecff)), p.between(0.3, 0.7)
		keywords = append(keywords, "lights")
	}
	pw, ph := p.between(1.8, 2.6), p.between(2.2, 2.8)
	p.layer(func() {
		for wy := top + 3; wy < base-3; wy += ph * 1.9 {
			for wx := x + 2; wx+pw < x+w-1.5; wx += pw * 2 {
				if p.chance(lit) {
					p.gc.DrawRectangle(wx, wy, pw, ph)
				}
			}
		}
		p.fill(pane, 0.9)
	}, keywords...)
}

// striped fills a shape repeatedly, narrower each time, in two alternating
// colours.
func (p *painting) striped(a, b rgb, shape func(width float64)) {
	for k, width := range []float64{1, 0.9, 0.62, 0.22} {
		shape(width)
		p.fill(p.lit([]rgb{a, b}[k%2]), 1)
	}
}

func (p *painting) parasol(x, y, h float64) {
	c := pick(p.rng, hex(0xd8352f), hex(0x2f6fc4), hex(0xe8a020), hex(0x1f9a78))
	p.layer(func() {
		p.gc.DrawEllipse(x-p.side*h*0.3, y, h*0.5, h*0.07)
		p.fill(hex(0x5a4428), 0.35)
		p.gc.DrawLine(x-h*0.06, y, x, y-h*0.95)
		p.stroke(p.lit(hex(0xe8e0d0)), max(1, h*0.035))
		p.striped(c, hex(0xfbf7ec), func(width float64) {
			p.gc.MoveTo(x, y-h)
			p.gc.LineTo(x-h*0.58*width, y-h*0.62)
			p.gc.QuadraticTo(x, y-h*0.68, x+h*0.58*width, y-h*0.62)
		})
	}, "umbrella")
}

func (p *painting) balloon(x, y, radius float64) {
	a := pick(p.rng, hex(0xd83a34), hex(0xe88a20), hex(0x2f6fc4), hex(0x6a3fa0), hex(0x1f9a78))
	b := pick(p.rng, hex(0xfff2d0), hex(0xf5d040), hex(0xffffff))
	half := func(w float64) { // from the mouth up one side to the crown, and down
		p.gc.MoveTo(x, y+1.4*radius)
		p.gc.LineTo(x+0.2*w, y+1.4*radius)
		p.gc.QuadraticTo(x+w, y+0.75*radius, x+w, y)
		p.gc.CubicTo(x+w, y-0.55*radius, x+0.55*w, y-radius, x, y-radius)
	}
	p.layer(func() {
		p.striped(a, b, func(width float64) {
			half(width * radius)
			half(-width * radius)
		})
		half(-p.side * radius)
		p.fill(hex(0x201028), 0.18)
		p.gc.DrawLine(x-radius*0.18, y+radius*1.4, x-radius*0.12, y+radius*1.75)
		p.gc.DrawLine(x+radius*0.18, y+radius*1.4, x+radius*0.12, y+radius*1.75)
		p.stroke(hex(0x4a3a2a), 0.8)
		p.gc.DrawRectangle(x-radius*0.14, y+radius*1.7, radius*0.28, radius*0.26)
		p.fill(p.lit(hex(0x7a5230)), 1)
	}, "balloon")
}

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
