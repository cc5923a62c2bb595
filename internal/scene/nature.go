package scene

import (
	"math"
	"strings"
)

// A mood is a time of day with its weather: the colours of the sky, and the
// light that multiplies all colours below.
type mood struct {
	keyword                 string // keyword of the sky, "" by day
	zenith, middle, horizon rgb
	light, sun              rgb
	cloudLit, cloudDark     rgb
}

var (
	day      = mood{"", hex(0x3d6fc0), hex(0x7eaee0), hex(0xdde8f0), hex(0xfffff2), hex(0xfff2a0), hex(0xffffff), hex(0x9fb0c6)}
	overcast = mood{"", hex(0x929ca6), hex(0xb0b8be), hex(0xd5d4d5), hex(0xbdc4cc), rgb{}, hex(0xd9dee2), hex(0x7b8794)}
	sunset   = mood{"sunset", hex(0x46366a), hex(0xd86858), hex(0xffbc60), hex(0xc89088), hex(0xfff6c8), hex(0xffac68), hex(0x784864)}
	night    = mood{"night", hex(0x060b20), hex(0x121c42), hex(0x2f3f68), hex(0x485478), hex(0xfdf6df), rgb{}, rgb{}}
)

func (p *painting) sky(horizon float64) {
	m := p.mood
	p.area(flat(0), flat(Height), func(x, y float64) (rgb, float64) {
		t := y/horizon + 0.05*(p.noise.at(x/90, y/40)-0.5)
		return m.zenith.mix(m.middle, smoothstep(0, 0.6, t)).mix(m.horizon, smoothstep(0.5, 1.05, t)), 1
	}, p.skyWords()...)
	if m.keyword == "night" {
		p.layer(func() {
			for range 200 {
				p.gc.DrawCircle(p.between(0, Width), p.between(0, horizon), p.between(0.3, 1))
				p.fill(p.hue(0xffffff, 0xcfdcff, 0xffe9c8), 0.9)
			}
		}, "stars", "night", "sky")
		if p.chance(0.5) {
			p.disc(p.between(40, 216), p.between(22, 42), p.between(8, 13), "moon")
		}
	} else if p.chance(0.7) {
		p.clouds(horizon)
	}
}

func (p *painting) skyWords() []string { return strings.Fields("sky " + p.mood.keyword) }

func (p *painting) clouds(horizon float64) {
	size, flatness, low := p.between(45, 80), p.between(1.6, 2.8), p.between(0.5, 0.56)
	if p.mood.keyword == "sunset" { // long and thin
		size, flatness = size*1.5, flatness*2.2
	}
	p.area(flat(0), flat(horizon), func(x, y float64) (rgb, float64) {
		depth := 1 + 1.6*y/horizon // clouds are smaller and flatter near the horizon
		u, v := (x-Width/2)/size*depth, y/size*flatness*depth
		n := p.noise.fbm(u, v, 5)
		above := p.noise.fbm(u-0.25*p.side, v-0.45, 3)
		return p.mood.cloudDark.mix(p.mood.cloudLit, smoothstep(-0.22, 0.14, n-above)), smoothstep(low, low+0.16, n)
	}, "clouds", "sky")
}

func (p *painting) disc(x, y, radius float64, keyword string) {
	p.area(flat(0), flat(Height), func(px, py float64) (rgb, float64) {
		d := math.Hypot(px-x, py-y) / radius / 3
		return p.mood.sun.mix(p.mood.middle, 0.3), 0.5 * math.Exp(-d*d)
	}, p.skyWords()...)
	p.layer(func() {
		p.gc.DrawCircle(x, y, radius)
		p.fill(p.mood.sun, 1)
	}, keyword, "sky")
}

func (p *painting) birds() {
	cx, cy, size := p.between(60, 200), p.between(25, 55), p.between(4, 9)
	p.layer(func() {
		for range 4 + p.rng.IntN(5) {
			x, y, up := cx+p.between(-55, 55), cy+p.between(-20, 20), size*p.between(0.25, 0.7)
			p.polygon(x-size, y-up*0.6, x-size*0.5, y-up, x, y, x+size*0.5, y-up, x+size, y-up*0.6, x+size*0.45, y-up+1.3, x, y+1.8, x-size*0.45, y-up+1.3)
		}
		p.fill(p.lit(hex(0x3a4450), 0), 1)
	}, "bird")
}

func (p *painting) fog(densest float64) {
	p.area(flat(densest-34), flat(densest+30), func(x, y float64) (rgb, float64) {
		t := smoothstep(34, 0, math.Abs(y-densest))
		return p.mood.horizon.mix(hex(0xf4f5f5), 0.5), 0.62 * t * smoothstep(0.18, 0.62, p.noise.fbm(x/85, y/24, 4)+0.12*t)
	}, "fog")
}

// water mirrors the pixels above it in waves, takes on its own colour towards
// the viewer, and foams at its lower edge.
func (p *painting) water(top float64, bottom line, c rgb, keyword string) {
	p.area(flat(top), bottom, func(x, y float64) (rgb, float64) {
		d := y - top
		n := p.noise.fbm(x/(14+d*0.4), y/(1.2+d*0.045), 3) - 0.5
		mirrored := p.get(int(x+n*(8+0.3*d)), int(min(top-0.9*d+n*(4+0.4*d), top-1)))
		own := p.lit(c.scale(1+0.9*n), 0)
		foam := smoothstep(0.45, 0.7, p.noise.fbm(x/15, y/5, 4)+0.3*smoothstep(14, 0, bottom.at(x)-y)) * smoothstep(16, 8, bottom.at(x)-y)
		return mirrored.mix(own, 0.2+0.5*smoothstep(0, 60, d)).mix(p.lit(rgb{1, 1, 1}, 0.2), foam), 1
	}, keyword)
}

// shade returns the brightness of ground below a crest. Light comes from one
// side, and slopes continue downwards along a slanted line.
func (p *painting) shade(crest *line, x, y float64) float64 {
	down := y - crest.at(x)
	along := x + 0.7*p.side*down + 22*(p.noise.fbm(x/30, y/30, 3)-0.5)
	slope, grain := crest.at(along+3)-crest.at(along-3), 3+0.06*max(0, down)
	return 0.6 + 0.45*smoothstep(-4, 4, p.side*slope) + 0.6*(p.noise.fbm(x/grain/3, y/grain, 3)-0.5)
}

// land covers the area below a crest, hazy at a distance.
func (p *painting) land(crest line, c rgb, distance float64, keywords ...string) {
	p.area(crest, flat(Height), func(x, y float64) (rgb, float64) {
		near := clamp((y-crest.at(x))/Height, 0, 1)
		return p.lit(c.scale(p.shade(&crest, x, y)), distance*(1-near)), 1
	}, keywords...)
}

func (p *painting) rolling(base, height, spacing float64) line {
	off := p.between(0, 200)
	return trace(func(x float64) float64 {
		return base - height*smoothstep(0.2, 0.8, p.noise.fbm(x/spacing+off, off, 2))
	})
}

// mountains paints mountains that rise by `height` above `base`. `snow` is the
// white fraction of the height, from the top.
func (p *painting) mountains(base, height, spacing, distance, snow float64) {
	off := p.between(0, 200)
	crest := trace(func(x float64) float64 {
		ridge := 1 - math.Abs(4*p.noise.fbm(x/spacing+off, off, 5)-2)
		return base - height*clamp(ridge*(0.6+0.6*p.noise.at(x/70, off)), 0.1, 1)
	})
	p.land(crest, p.hue(0x6f6a6c, 0x5f6878, 0x7a6e64), distance, "mountain")
	if snow == 0 {
		return
	}
	p.area(crest, flat(base), func(x, y float64) (rgb, float64) {
		s, edge := p.shade(&crest, x, y), base-height*(1-snow)+0.9*height*(p.noise.fbm(x/7, y/26, 4)-0.5)
		return p.lit(hex(0x9db4d6).mix(hex(0xffffff), smoothstep(0.55, 1, s)), distance*0.7), smoothstep(edge+3, edge-3, y)
	}, "mountain", "snow")
}

func (p *painting) grass(crest line, distance float64, keywords ...string) {
	p.land(crest, p.hue(0x6f9f42, 0x86aa48, 0x5f904c, 0x98b455), distance, append(keywords, "grass")...)
}

func (p *painting) firs(ground line, spacing, low, high, distance float64) {
	c := p.hue(0x1f4030, 0x274a32, 0x1d3a3a, 0x30502f)
	p.layer(func() {
		for x := -spacing; x < Width+spacing; x += spacing * p.between(0.5, 1.4) {
			base, h, slim := ground.at(x)+p.between(2, 12), p.between(low, high), p.between(0.17, 0.25)
			const boughs = 6
			for k := boughs; k >= 1; k-- { // from the lowest upwards, each with its lit part
				y, w := base-h*(1-float64(k)/boughs), h*slim*float64(k)/boughs*p.between(0.85, 1.12)
				top := y - h*1.6/boughs
				p.polygon(x, top, x+w, y, x, y+w*0.1, x-w, y)
				p.fill(p.lit(c, distance), 1)
				p.polygon(x, top, x+p.side*w, y, x+p.side*w*0.3, y-w*0.25)
				p.fill(p.lit(c.scale(1.45), distance), 0.75)
			}
		}
	}, "tree", "forest")
}

func (p *painting) flowers(from line, size float64) {
	petals := []rgb{p.hue(0xd8352f, 0xffffff, 0xb04fc0), p.hue(0xf07fa8, 0x5566d8, 0xf08a28)}
	p.layer(func() {
		for t := 0.1; t < 1; t += 0.004 { // the nearest flowers last
			x, r := p.between(0, Width), size*(0.25+0.85*t)*p.between(0.75, 1.2)
			y := from.at(x) + (Height-from.at(x))*t
			for a := r; a < r+6; a += 2 * math.Pi / 5 {
				p.gc.DrawCircle(x+math.Cos(a)*r*0.6, y+math.Sin(a)*r*0.5, r*0.45)
			}
			p.fill(p.lit(pick(p.rng, petals...), 0), 1)
			p.gc.DrawCircle(x, y, r*0.32)
			p.fill(p.lit(hex(0xe8b428), 0), 1)
		}
	}, "flower")
}
