package scene

import "math"

func (p *painting) firGreen() rgb {
	return pick(p.rng, hex(0x1f4030), hex(0x274a32), hex(0x1d3a3a), hex(0x30502f))
}

// firs stand along a ground line, near enough to each other to make a forest.
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

var (
	leafGreens  = []rgb{hex(0x3f6f2a), hex(0x527f30), hex(0x36602f), hex(0x62863a)}
	autumnTones = []rgb{hex(0xc8641e), hex(0xd88a20), hex(0xb03a20), hex(0xe0b030), hex(0x9a5020)}
)

// broadleaf is a round tree made of tufts of leaves, lighter towards the light.
func (p *painting) broadleaf(x, base, h float64, c rgb, distance float64, keywords ...string) {
	p.layer(func() {
		cy := base - h*0.63
		p.polygon(x-h*0.045, base, x-h*0.025, cy, x+h*0.025, cy, x+h*0.05, base)
		p.fill(p.far(hex(0x55402c), distance), 1)
		for pass, tone := range []float64{0.6, 0.85, 1.15, 1.4} {
			f := float64(pass)
			for range 18 {
				a, d := p.between(0, 2*math.Pi), math.Sqrt(p.rng.Float64())*h*(0.29-0.035*f)
				tx, ty := x+math.Cos(a)*d+p.side*f*h*0.035, cy+math.Sin(a)*d*0.9-f*h*0.04
				for range 4 { // small leaves rather than a smooth disc
					p.gc.DrawCircle(tx+p.between(-0.09, 0.09)*h, ty+p.between(-0.09, 0.09)*h, h*(0.08-0.015*f)*p.between(0.4, 1))
				}
			}
			p.fill(p.far(c.scale(tone), distance), 0.93)
		}
	}, append(keywords, "tree")...)
}

// acacia is the flat tree of a savanna.
func (p *painting) acacia(x, base, h float64) {
	lean, top := x+p.between(-0.1, 0.1)*h, base-h*0.72
	p.layer(func() {
		for _, to := range []float64{-0.42, -0.15, 0.14, 0.4} {
			p.gc.MoveTo(x, base)
			p.gc.QuadraticTo(x+(lean-x)*0.4, base-h*0.35, lean+to*h, top)
		}
		p.stroke(p.lit(hex(0x3a2a20)), h*0.045)
		for range 26 {
			d := p.between(-1, 1)
			p.gc.DrawEllipse(lean+d*h*0.55, top-h*0.1*(1-d*d)+p.between(-0.04, 0.05)*h, h*p.between(0.09, 0.17), h*p.between(0.04, 0.08))
		}
		p.fill(p.lit(hex(0x4a4a24)), 1)
	}, "tree")
}

// palm leans towards the sign of d; its crown is a star of drooping fronds.
func (p *painting) palm(x, base, h, d float64, c rgb) {
	tx, ty := x+d*h*0.28, base-h
	p.layer(func() {
		for k := range 12 { // a trunk of rings
			s := float64(k) / 12
			rx, w, lean := x+d*h*0.28*s*s, h*(0.036-0.015*s), d*h*0.05*s
			p.polygon(rx-w*0.9, base-h*s, rx+w*0.9, base-h*s, rx+w+lean, base-h*(s+0.1), rx-w+lean, base-h*(s+0.1))
			p.fill(p.lit(hex(0x806548).scale(0.88+0.2*float64(k%2))), 1)
		}
		for k := range 10 {
			a, l := math.Pi*(0.02+0.96*float64(k)/9)+p.between(-0.1, 0.1), h*p.between(0.36, 0.46)
			mx, my := tx+math.Cos(a)*l*0.55, ty-math.Sin(a)*l*0.5-l*0.22
			p.gc.MoveTo(tx, ty)
			p.gc.QuadraticTo(mx, my, tx+math.Cos(a)*l, ty-math.Sin(a)*l*0.45+l*0.42)
			p.gc.QuadraticTo(mx, my+l*0.26, tx, ty+h*0.02)
			p.fill(p.lit(c.scale(0.75+0.25*float64(k%3))), 1)
		}
	}, "palm", "tree")
}

// flowers grow on the ground below a line in three colours, larger towards the viewer.
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
