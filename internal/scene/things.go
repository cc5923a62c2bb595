package scene

import "math"

// skyline paints towers from left to right, with windows that are lit at night.
func (p *painting) skyline(base, low, high, distance float64) {
	for x := -10.0; x < Width; {
		w, h := p.between(13, 32), low+(high-low)*smoothstep(0.2, 0.8, p.noise.at(x/50, high))*p.between(0.5, 1)
		p.tower(x, base-h, w, h+2, distance)
		x += w + p.between(-1, 3)
	}
}

func (p *painting) tower(x, top, w, h, distance float64) {
	c := p.hue(0x8a93a0, 0xa8a298, 0x6f7f92, 0xb8aa96, 0x9a8478, 0x5f7488)
	p.layer(func() {
		p.gc.DrawRectangle(x, top, w, h)
		if p.chance(0.3) {
			p.polygon(x, top, x+w/2, top-w*0.6, x+w, top)
		}
		p.fill(p.lit(c, distance), 1)
		p.gc.DrawRectangle(x+w*0.36*(1-p.side), top, w*0.28, h)
		p.fill(p.lit(c.scale(0.62), distance), 0.8)
	}, "building", "city")
	pane, lit, keywords := p.lit(p.hue(0x3f5468, 0x52708a, 0xb8d4e8), distance), 1.0, []string{"building", "city"}
	if p.mood.keyword == "night" {
		pane, lit, keywords = p.hue(0xffd880, 0xffe8b0, 0xffc860, 0xd8ecff), p.between(0.3, 0.7), append(keywords, "lights")
	}
	p.layer(func() {
		for wy := top + 3; wy < top+h-5; wy += 4.6 {
			for wx := x + 2; wx < x+w-3.5; wx += 4.4 {
				if p.chance(lit) {
					p.gc.DrawRectangle(wx, wy, 2.2, 2.5)
				}
			}
		}
		p.fill(pane, 0.9)
	}, keywords...)
}

func (p *painting) parasol(x, y, h float64) {
	stripes := []rgb{p.hue(0xd8352f, 0x2f6fc4, 0xe8a020, 0x1f9a78), hex(0xfbf7ec)}
	p.layer(func() {
		p.gc.DrawEllipse(x-p.side*h*0.3, y, h*0.5, h*0.07)
		p.fill(hex(0x5a4428), 0.35)
		p.polygon(x-h*0.07, y, x-h*0.03, y, x+0.6, y-h*0.9, x-0.6, y-h*0.9)
		p.fill(p.lit(hex(0xe8e0d0), 0), 1)
		for k, width := range []float64{0.58, 0.36, 0.13} {
			p.polygon(x, y-h, x-h*width, y-h*0.62, x, y-h*0.65, x+h*width, y-h*0.62)
			p.fill(p.lit(stripes[k%2], 0), 1)
		}
	}, "umbrella")
}

func (p *painting) balloon(x, y, radius float64) {
	stripes := []rgb{p.hue(0xd83a34, 0xe88a20, 0x2f6fc4, 0x6a3fa0, 0x1f9a78), p.hue(0xfff2d0, 0xf5d040)}
	p.layer(func() {
		for k, width := range []float64{1, 0.62, 0.22} {
			w := width * radius
			p.gc.DrawEllipse(x, y, w, radius)
			p.polygon(x-w*0.97, y+0.25*radius, x+w*0.97, y+0.25*radius, x+0.2*w, y+1.4*radius, x-0.2*w, y+1.4*radius)
			p.fill(p.lit(stripes[k%2], 0), 1)
		}
		p.polygon(x-radius*0.16, y+radius*1.6, x+radius*0.16, y+radius*1.6, x+radius*0.12, y+radius*1.9, x-radius*0.12, y+radius*1.9)
		p.fill(p.lit(hex(0x7a5230), 0), 1)
	}, "balloon")
}

func (p *painting) sailboat(x, y, h float64) {
	hull, sail := p.hue(0xf4f1ea, 0x8a2f2a, 0x24406b, 0x2c5a48, 0x6b4a2c), p.hue(0xfdfbf4, 0xf2e6c8, 0xd8503a, 0xe8a23a)
	d := pick(p.rng, -h, h) // distance to the bow, left or right
	p.layer(func() {
		p.gc.DrawEllipse(x, y+h*0.12, h*0.4, h*0.14) // reflection in the water
		p.fill(p.lit(hull.scale(0.5), 0), 0.4)
		for _, to := range []float64{d, -0.85 * d} {
			p.polygon(x+to*0.04, y-h*0.45-math.Abs(to)*0.52, x+to*0.28, y-h*0.55, x+to*0.42, y-h*0.18, x+to*0.04, y-h*0.17)
			p.fill(p.lit(sail.scale(0.93+0.07*to/d), 0), 1)
		}
		p.polygon(x-d*0.39, y-h*0.15, x+d*0.48, y-h*0.19, x+d*0.38, y-h*0.05, x+d*0.25, y, x-d*0.32, y)
		p.fill(p.lit(hull, 0), 1)
	}, "boat")
}
