package scene

import "math"

var (
	walls = []rgb{hex(0xf0e6d2), hex(0xe8d0a8), hex(0xd8a080), hex(0xf4f0ea), hex(0xc86f50), hex(0xa8bcc8), hex(0xe6c560)}
	roofs = []rgb{hex(0xa8442c), hex(0x8a3a2a), hex(0x5a4a44), hex(0x6b5648), hex(0x4a5560)}
)

// house stands with its lower left corner at x, y; w is the width of its front.
// Windows are drawn, and count, when they are large enough to be seen.
func (p *painting) house(x, y, w, distance, snow float64) {
	wall, roof := near(p.rng, pick(p.rng, walls...), 0.03), near(p.rng, pick(p.rng, roofs...), 0.03)
	h, rise := w*p.between(0.55, 0.8), w*p.between(0.4, 0.55)
	over := w * 0.08
	ridge := pick(p.rng, 0.5, 0.16) // 0.5: the gable in front
	p.layer(func() {
		cx := x + w*pick(p.rng, 0.2, 0.7)
		p.gc.DrawRectangle(cx, y-h-rise*0.95, w*0.11, rise*0.8)
		p.fill(p.far(hex(0x7a4a3a), distance), 1)
		p.gc.DrawRectangle(x, y-h, w, h)
		p.fill(p.far(wall, distance), 1)
		p.gc.DrawRectangle(x, y-h, w, h*0.14)
		p.fill(p.far(wall.scale(0.7), distance), 0.8)
		p.polygon(x-over, y-h+1, x+w*ridge, y-h-rise, x+w*(1-ridge), y-h-rise, x+w+over, y-h+1)
		p.fill(p.far(roof, distance), 1)
		p.polygon(x+w/2-p.side*w*0.05, y-h-rise*0.9, x+w/2+p.side*w*0.5, y-h, x+w/2+p.side*w*0.1, y-h)
		p.fill(p.far(roof.scale(1.25), distance), 0.5)
		dx := x + w*pick(p.rng, 0.42, 0.1, 0.7)
		p.gc.DrawRectangle(dx, y-h*0.55, w*0.17, h*0.55)
		p.fill(p.far(hex(0x5a3a26), distance), 1)
	}, "house")
	if snow > 0 {
		p.layer(func() {
			p.gc.MoveTo(x-over-1, y-h+1)
			p.gc.LineTo(x+w*ridge, y-h-rise-2)
			p.gc.LineTo(x+w*(1-ridge), y-h-rise-2)
			p.gc.LineTo(x+w+over+1, y-h+1)
			for k := 4; k >= 1; k-- { // its lower edge sags
				p.gc.QuadraticTo(x+w*(0.25*float64(k)-0.06), y-h-rise*0.12, x+w*0.25*float64(k-1), y-h-rise*0.34*smoothstep(0, 0.2, 0.25*float64(k-1)))
			}
			p.gc.ClosePath()
			p.fill(p.lit(hex(0xf6f9fd)), 0.95)
		}, "snow", "house")
	}
	keywords := []string{"house"}
	if w >= 34 {
		keywords = append(keywords, "window")
	}
	glass := hex(0x4a6478)
	if p.mood.light.b < 0.5 || p.mood.light.r < 0.7 && p.chance(0.6) {
		glass = hex(0xffd27a).scale(1 / max(0.3, p.mood.light.r))
	}
	p.layer(func() {
		for _, at := range []float64{0.1, 0.38, 0.68} {
			p.gc.DrawRectangle(x+w*at-1, y-h*0.78-1, w*0.18+2, h*0.3+2)
		}
		p.fill(p.far(hex(0xf6f2e8), distance), 1)
		for _, at := range []float64{0.1, 0.38, 0.68} {
			p.gc.DrawRectangle(x+w*at, y-h*0.78, w*0.18, h*0.3)
		}
		p.fill(p.far(glass, distance), 1)
		if w >= 34 {
			for _, at := range []float64{0.1, 0.38, 0.68} {
				p.gc.DrawRectangle(x+w*(at+0.08), y-h*0.78, max(1, w*0.018), h*0.3)
				p.gc.DrawRectangle(x+w*at, y-h*0.65, w*0.18, max(1, w*0.018))
			}
			p.fill(p.far(hex(0xf6f2e8), distance), 1)
		}
	}, keywords...)
}

// skyline is a row of towers with their feet at base.
func (p *painting) skyline(base, low, high, distance float64, dark bool) {
	type tower struct{ x, w, h float64 }
	var towers []tower
	centre := p.between(60, Width-60)
	for x := -10.0; x < Width+10; {
		w := p.between(13, 32)
		// Cities are highest in the middle.
		d := (x + w/2 - centre) / 95
		h := low + (high-low)*math.Exp(-d*d)*p.between(0.45, 1)
		towers = append(towers, tower{x, w, h})
		x += w + pick(p.rng, 0.0, 0, 1, 4)
	}
	for _, t := range towers {
		c := pick(p.rng, hex(0x8a93a0), hex(0xa8a298), hex(0x6f7f92), hex(0xb8aa96), hex(0x7f8a86), hex(0x9a8478), hex(0x5f7488))
		c = near(p.rng, c, 0.03)
		top := base - t.h
		p.layer(func() {
			p.gc.DrawRectangle(t.x, top, t.w, t.h+2)
			switch p.rng.IntN(5) {
			case 0:
				p.gc.DrawRectangle(t.x+t.w*0.25, top-t.h*0.08-2, t.w*0.5, t.h*0.1+3)
			case 1:
				p.polygon(t.x, top, t.x+t.w/2, top-t.w*0.6, t.x+t.w, top)
			case 2:
				p.gc.DrawRectangle(t.x+t.w/2-0.8, top-t.h*0.25, 1.6, t.h*0.3)
			}
			p.fill(p.far(c, distance), 1)
			p.gc.DrawRectangle(t.x+t.w*(0.72-0.72*(p.side+1)/2), top, t.w*0.28, t.h+2)
			p.fill(p.far(c.scale(0.62), distance), 0.8)
		}, "building", "city")
		p.windows(t.x, top, t.w, t.h, distance, dark)
	}
}

// windows covers a tower with a grid of small panes; at night some are lit.
func (p *painting) windows(x, y, w, h, distance float64, dark bool) {
	pw, ph := pick(p.rng, 1.8, 2.2, 2.6), pick(p.rng, 2.2, 2.8)
	gx, gy := pw*2, ph*1.9
	var lit, unlit [][2]float64
	busy := p.between(0.3, 0.7)
	for wy := y + 3; wy < y+h-3; wy += gy {
		for wx := x + 2; wx+pw < x+w-1.5; wx += gx {
			if dark && p.chance(busy) {
				lit = append(lit, [2]float64{wx, wy})
			} else {
				unlit = append(unlit, [2]float64{wx, wy})
			}
		}
	}
	p.layer(func() {
		for _, at := range unlit {
			p.gc.DrawRectangle(at[0], at[1], pw, ph)
		}
		p.fill(p.far(pick(p.rng, hex(0x3f5468), hex(0x52708a), hex(0xb8d4e8)), distance), 0.8)
	}, "building", "city")
	if dark {
		p.layer(func() {
			for _, at := range lit {
				p.gc.DrawRectangle(at[0], at[1], pw, ph)
			}
			p.fill(pick(p.rng, hex(0xffd880), hex(0xffe8b0), hex(0xffc860), hex(0xd8ecff)), 0.95)
		}, "building", "city", "lights")
	}
}

// facade is the front of one house in a street, seen from across it: its
// windows fill the picture.
func (p *painting) facade(x, top, w, base float64) {
	wall := near(p.rng, pick(p.rng, append(walls, hex(0xb86a4a), hex(0x9a5a48), hex(0xc8c0b0), hex(0x8fa88f))...), 0.03)
	brick := p.chance(0.35)
	p.layer(func() {
		p.area(func(px float64) float64 {
			if px < x || px > x+w {
				return Height
			}
			return top
		}, flat(base), func(px, py float64) (rgb, float64) {
			c := wall.scale(0.94 + 0.14*(p.noise.fbm(px/20, py/20, 3)-0.5))
			if brick {
				row := math.Floor(py / 3)
				if py-3*row < 0.9 || math.Mod(px+4*math.Mod(row, 2)+800, 8) < 1 {
					c = c.scale(0.82)
				}
			}
			return p.lit(c), 1
		})
		p.gc.DrawRectangle(x-1.5, top-3, w+3, 5)
		p.fill(p.lit(wall.scale(0.72)), 1)
	}, "building")

	cols := max(2, int(w/p.between(24, 30)))
	rows := max(2, int((base-top)/p.between(34, 40)))
	cw, ch := w/float64(cols), (base-top-6)/float64(rows)
	ww, wh := cw*p.between(0.42, 0.56), ch*p.between(0.52, 0.64)
	frame := pick(p.rng, hex(0xf8f5ee), hex(0xf8f5ee), hex(0x4a3a30))
	shutters := pick(p.rng, rgb{}, hex(0x3f6f5a), hex(0x8a3f30), hex(0x41618a))
	door := p.rng.IntN(cols)
	p.layer(func() {
		for r := range rows {
			for k := range cols {
				wx, wy := x+cw*(float64(k)+0.5)-ww/2, top+5+ch*(float64(r)+0.5)-wh/2
				if r == rows-1 && k == door {
					p.gc.DrawRectangle(wx, wy, ww, base-wy)
					p.fill(p.lit(hex(0x5a3826)), 1)
					p.gc.DrawRectangle(wx+2, wy+2, ww-4, ch*0.2)
					p.fill(p.lit(hex(0x9fb4c0)), 1)
					continue
				}
				if shutters != (rgb{}) {
					p.gc.DrawRectangle(wx-ww*0.36, wy, ww*0.3, wh)
					p.gc.DrawRectangle(wx+ww*1.06, wy, ww*0.3, wh)
					p.fill(p.lit(shutters), 1)
				}
				p.gc.DrawRectangle(wx-1.5, wy-1.5, ww+3, wh+3)
				p.fill(p.lit(frame), 1)
				p.gc.DrawRectangle(wx, wy, ww, wh)
				glass := p.lit(hex(0x3d566b)).mix(p.mood.middle, p.between(0.1, 0.5))
				p.fill(glass, 1)
				p.polygon(wx, wy+wh*0.6, wx+ww*0.7, wy, wx+ww, wy, wx, wy+wh*0.95)
				p.fill(hex(0xffffff), 0.16)
				p.gc.DrawRectangle(wx+ww/2-0.7, wy, 1.4, wh)
				p.gc.DrawRectangle(wx, wy+wh*0.36, ww, 1.4)
				p.fill(p.lit(frame), 1)
				p.gc.DrawRectangle(wx-3, wy+wh+1.5, ww+6, 2.2)
				p.fill(p.lit(wall.scale(0.7)), 1)
			}
		}
	}, "window", "building")
}

// archBridge crosses from x0 to x1; its deck is at y, the water at y+h.
func (p *painting) archBridge(x0, x1, y, h float64) {
	stone := near(p.rng, pick(p.rng, hex(0xa89a84), hex(0x8f8478), hex(0xb08a6a)), 0.03)
	n := 2 + p.rng.IntN(3)
	span := (x1 - x0) / float64(n)
	rise := h * p.between(0.15, 0.35)
	deck := func(x float64) float64 {
		d := (x - (x0+x1)/2) / ((x1 - x0) / 2)
		return y - rise*(1-d*d)
	}
	open := func(x float64) float64 { // the crown of the arch above x
		u := math.Mod(x-x0, span)/span*2 - 1
		u /= 0.84
		if x < x0 || x > x1 || math.Abs(u) >= 1 {
			return Height
		}
		return y + h - (h*0.82+rise*0.5)*math.Sqrt(1-u*u)
	}
	p.layer(func() {
		p.area(func(x float64) float64 {
			if x < x0-30 || x > x1+30 {
				return Height
			}
			return deck(clamp(x, x0, x1)) - 5
		}, func(x float64) float64 { return min(y+h, open(x)) }, func(x, py float64) (rgb, float64) {
			c := stone.scale(0.9 + 0.35*(p.noise.fbm(x/9, py/5, 3)-0.5))
			row := math.Floor(py / 4)
			if py-4*row < 0.8 || math.Mod(x+5*math.Mod(row, 2)+900, 10) < 1 {
				c = c.scale(0.8)
			}
			if o := open(x); py > o-3 {
				c = c.scale(0.68)
			}
			if top := deck(clamp(x, x0, x1)); py < top-2.5 {
				c = c.scale(1.25)
			}
			return p.lit(c), 1
		})
	}, "bridge")
}

// suspensionBridge spans the picture between two towers; the deck is at y.
func (p *painting) suspensionBridge(y, towerH, depth float64) {
	c := pick(p.rng, hex(0xc0452f), hex(0xc0452f), hex(0x2f3a46))
	if p.mood.light.r < 0.3 {
		c = hex(0xffb070).scale(3) // floodlit
	}
	a, b := p.between(40, 75), p.between(180, 215)
	p.layer(func() {
		for _, x := range []float64{a, b} {
			p.gc.DrawRectangle(x-4, y-towerH, 2.8, towerH+depth)
			p.gc.DrawRectangle(x+1.4, y-towerH, 2.8, towerH+depth)
			for _, up := range []float64{1, 0.68, 0.36} {
				p.gc.DrawRectangle(x-4, y-towerH*up, 8, 3)
			}
		}
		p.gc.DrawRectangle(0, y-2, Width, 4.5)
		p.fill(p.lit(c), 1)
		cable := func(x float64) float64 {
			switch {
			case x < a:
				return y - towerH*math.Pow(x/a, 1.3)
			case x > b:
				return y - towerH*math.Pow((Width-x)/(Width-b), 1.3)
			}
			d := (x - (a+b)/2) / ((b - a) / 2)
			return y - 4 - (towerH-4)*d*d
		}
		p.gc.MoveTo(0, y)
		for x := 0.0; x <= Width; x += 2 {
			p.gc.LineTo(x, cable(x))
		}
		p.stroke(p.lit(c), 1, 1.8)
		for x := 4.0; x < Width; x += 6 {
			p.gc.DrawLine(x, cable(x), x, y)
		}
		p.stroke(p.lit(c), 0.8, 0.8)
	}, "bridge")
}

// lighthouse stands with its foot at x, y.
func (p *painting) lighthouse(x, y, h float64, shining bool) {
	band := pick(p.rng, hex(0xc8302c), hex(0xc8302c), hex(0x24406b), hex(0x2a2a2e))
	p.layer(func() {
		for k := range 6 {
			s0, s1 := float64(k)/6*0.8, float64(k+1)/6*0.8
			w0, w1 := h*(0.105-0.055*s0), h*(0.105-0.055*s1)
			c := hex(0xf8f5ee)
			if k%2 == 1 {
				c = band
			}
			p.polygon(x-w0, y-h*s0, x+w0, y-h*s0, x+w1, y-h*s1-0.5, x-w1, y-h*s1-0.5)
			p.fill(p.lit(c), 1)
			p.polygon(x-p.side*w0*0.2, y-h*s0, x-p.side*w0, y-h*s0, x-p.side*w1, y-h*s1-0.5, x-p.side*w1*0.2, y-h*s1-0.5)
			p.fill(hex(0x101828), 0.22)
		}
		p.gc.DrawRectangle(x-h*0.085, y-h*0.82, h*0.17, h*0.025)
		p.fill(p.lit(hex(0x3a3a40)), 1)
		p.gc.DrawRectangle(x-h*0.045, y-h*0.92, h*0.09, h*0.1)
		p.fill(hex(0xffe9a0), 1)
		p.polygon(x-h*0.065, y-h*0.92, x, y-h, x+h*0.065, y-h*0.92)
		p.fill(p.lit(band), 1)
	}, "lighthouse")
	if shining {
		p.polygon(x, y-h*0.87, x+p.side*170, y-h*0.87-34, x+p.side*170, y-h*0.87+14)
		p.fill(hex(0xfff0b8), 0.25)
		p.glow(x, y-h*0.87, h*0.22, hex(0xffe9a0), 0.7)
	}
}
