package scene

import "math"

func (p *painting) tent(x, y, w float64, glowing bool) {
	c := pick(p.rng, hex(0xd86a28), hex(0xd8a428), hex(0x3f8a9a), hex(0xb83a34), hex(0x5a8a3f))
	light := p.lit(c)
	if glowing {
		light = c.mix(hex(0xffd890), 0.15).scale(0.85)
	}
	p.layer(func() {
		p.polygon(x-w*0.5, y, x, y-w*0.62, x+w*0.5, y)
		p.fill(light, 1)
		p.polygon(x, y-w*0.62, x+w*0.5, y, x+w*0.85, y-w*0.08, x+w*0.36, y-w*0.6)
		p.fill(light.scale(0.6), 1)
		p.polygon(x-w*0.17, y, x, y-w*0.48, x+w*0.17, y)
		p.fill(light.scale(0.3), 1)
		p.polygon(x-w*0.17, y, x, y-w*0.48, x-w*0.02, y-w*0.2)
		p.fill(light.scale(1.25), 1)
	}, "tent")
}

// fire burns on logs at x, y, h high, and lights its surroundings.
func (p *painting) fire(x, y, h float64) {
	p.glow(x, y-h*0.3, h*2.1, hex(0xff7a20), 0.42)
	p.glow(x, y-h*0.3, h*0.9, hex(0xffa040), 0.4)
	p.layer(func() {
		for _, d := range []float64{-1, 1, -0.3} {
			p.gc.DrawLine(x-d*h*0.42, y+h*0.06, x+d*h*0.3, y-h*0.12)
		}
		p.stroke(hex(0x4a2a16), 1, h*0.11)
		for _, tongue := range []struct {
			c       rgb
			n       int
			w, size float64
		}{{hex(0xd83a10), 9, 0.32, 1}, {hex(0xf57a18), 8, 0.26, 0.8}, {hex(0xffb828), 7, 0.2, 0.6}, {hex(0xfff0a0), 5, 0.12, 0.4}} {
			for range tongue.n {
				d := p.between(-1, 1)
				fx, fw := x+d*h*tongue.w, h*0.13*tongue.size+1
				fh := h * tongue.size * (1 - 0.55*math.Abs(d)) * p.between(0.7, 1)
				sway := p.between(-0.12, 0.12) * h
				p.gc.MoveTo(fx-fw, y-h*0.03)
				p.gc.CubicTo(fx-fw*1.6, y-fh*0.45, fx+sway-fw*0.1, y-fh*0.6, fx+sway, y-fh)
				p.gc.CubicTo(fx+sway+fw*0.4, y-fh*0.6, fx+fw*1.7, y-fh*0.4, fx+fw, y-h*0.03)
				p.gc.ClosePath()
			}
			p.fill(tongue.c, 0.9)
		}
		for range 22 {
			p.gc.DrawCircle(x+p.between(-0.5, 0.5)*h, y-h*p.between(0.7, 1.9), p.between(0.5, 1.1))
		}
		p.fill(hex(0xffb050), 0.9)
	}, "fire")
}

// pier is a jetty of planks on posts, out into the water.
func (p *painting) pier(x0, x1, y float64) {
	p.layer(func() {
		for x := x0 + 4; x < x1; x += 13 {
			p.gc.DrawRectangle(x, y, 2.6, 13)
		}
		p.fill(p.lit(hex(0x4a3826)), 1)
		p.gc.DrawRectangle(x0, y-3, x1-x0, 5)
		p.fill(p.lit(hex(0x96744e)), 1)
		for x := x0; x < x1; x += 4 {
			p.gc.DrawRectangle(x, y-3, 0.8, 5)
		}
		p.fill(p.lit(hex(0x5a452e)), 1)
	}, "pier")
}

// parasol stands in the sand.
func (p *painting) parasol(x, y, h float64) {
	a, b := pick(p.rng, hex(0xd8352f), hex(0x2f6fc4), hex(0xe8a020), hex(0x1f9a78)), hex(0xfbf7ec)
	p.layer(func() {
		p.gc.DrawEllipse(x-p.side*h*0.3, y, h*0.5, h*0.07)
		p.fill(hex(0x5a4428), 0.35)
		p.gc.DrawLine(x, y, x+h*0.06, y-h*0.95)
		p.stroke(p.lit(hex(0xe8e0d0)), 1, max(1, h*0.035))
		for k := range 6 {
			c := a
			if k%2 == 1 {
				c = b
			}
			a0, a1 := math.Pi*(1+float64(k)/6), math.Pi*(1+float64(k+1)/6)
			p.gc.MoveTo(x+h*0.06, y-h)
			p.gc.LineTo(x+h*0.06+h*0.58*math.Cos(a0), y-h*0.62+h*0.1*math.Sin(a0)*0.3)
			p.gc.QuadraticTo(x+h*0.06+h*0.52*math.Cos((a0+a1)/2), y-h*0.68, x+h*0.06+h*0.58*math.Cos(a1), y-h*0.62+h*0.1*math.Sin(a1)*0.3)
			p.gc.ClosePath()
			p.fill(p.lit(c), 1)
		}
	}, "umbrella")
}

func (p *painting) sheep(x, y, s float64) {
	p.layer(func() {
		d := pick(p.rng, -1.0, 1.0)
		for _, k := range []float64{-0.55, -0.25, 0.3, 0.55} {
			p.gc.DrawRectangle(x+k*s-s*0.06, y-s*0.4, s*0.12, s*0.42)
		}
		p.fill(p.lit(hex(0x3a322c)), 1)
		for range 16 {
			a, r := p.between(0, 2*math.Pi), math.Sqrt(p.rng.Float64())
			p.gc.DrawCircle(x+math.Cos(a)*r*s*0.6, y-s*0.65+math.Sin(a)*r*s*0.28, s*p.between(0.18, 0.28))
		}
		p.fill(p.lit(hex(0xd8d2c4)), 1)
		for range 9 {
			p.gc.DrawCircle(x+p.between(-0.5, 0.5)*s, y-s*0.78+p.between(-0.12, 0.1)*s, s*p.between(0.14, 0.22))
		}
		p.fill(p.lit(hex(0xfbf8f0)), 1)
		p.gc.DrawEllipse(x+d*s*0.85, y-s*p.between(0.45, 0.85), s*0.21, s*0.26)
		p.fill(p.lit(hex(0x40362f)), 1)
	}, "sheep")
}
