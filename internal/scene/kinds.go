package scene

import "math"

// A kind of scene has a paint function and several moods.
type kind struct {
	moods []mood
	paint func(*painting)
}

var kinds = []kind{
	{[]mood{day, day, sunset}, func(p *painting) { p.seaside(p.between(66, 100), true) }},
	{[]mood{day, day, sunset}, func(p *painting) { p.seaside(p.between(75, 115), false) }},
	{[]mood{day, sunset, night, night}, city},
	{[]mood{day, day, sunset, night}, snowyMountains},
	{[]mood{overcast, overcast, day}, foggyFirs},
	{[]mood{day}, meadow},
	{[]mood{day, day, sunset}, balloons},
	{[]mood{day, day, sunset, night}, dunes},
}

// seaside paints a beach with parasols, or the open sea with boats. At sunset
// the sun sinks into the sea.
func (p *painting) seaside(horizon float64, beach bool) {
	p.sky(horizon)
	if p.mood.keyword == "sunset" {
		p.disc(p.between(50, 206), horizon-p.between(6, 30), p.between(9, 15), "sun")
	}
	if p.chance(0.55) {
		p.birds()
	}
	shore := flat(Height + 20)
	if beach {
		shore = p.rolling(p.between(138, 165), 26, 130)
	}
	p.water(horizon, shore, p.hue(0x1d6a8f, 0x20809a, 0x2a5f96, 0x2e8f9c), "sea")
	p.land(shore, p.hue(0xe6cf9d, 0xdfbe86, 0xefe0bd, 0xd6b483).scale(1.15), 0, "sand", "beach")
	for k := range 1 + p.rng.IntN(3) {
		y := horizon + 8 + float64(k)*p.between(14, 26)
		switch {
		case !beach:
			p.sailboat(p.between(40, 216), y, 26+(y-horizon)*p.between(0.7, 1))
		case p.mood.keyword == "":
			p.parasol(p.between(30, 226), p.between(168, 184), p.between(28, 42))
		}
	}
}

func city(p *painting) {
	h := p.between(124, 148)
	p.sky(h)
	p.skyline(h, 25, p.between(60, 82), 0.42)
	p.skyline(h, 22, p.between(85, 114), 0.1)
	p.water(h, flat(Height+20), hex(0x2f5f70), "river")
}

func snowyMountains(p *painting) {
	h := p.between(140, 160)
	p.sky(h)
	p.mountains(h, p.between(85, 110), p.between(70, 100), 0.45, 0.75)
	p.mountains(h+6, p.between(65, 90), p.between(50, 75), 0.12, 0.55)
	low := p.rolling(h, p.between(4, 12), 70)
	if p.chance(0.5) {
		p.land(low, hex(0xf6faff), 0, "snow")
	} else {
		p.grass(low, 0.2)
	}
	p.firs(low, 11, 16, 34, 0.1)
}

func foggyFirs(p *painting) {
	h, c := p.between(60, 80), p.hue(0x285540, 0x336141)
	p.sky(h + 30)
	for k := range 4 {
		f := float64(k)
		ground := p.rolling(h+30*f+12, p.between(10, 22), p.between(60, 110))
		p.land(ground, c, 0.6-0.18*f, "forest")
		p.firs(ground, 8+3*f, 22+9*f, 40+17*f, 0.6-0.19*f)
		p.fog(h + 30*f + 12)
	}
	p.firs(flat(198), 30, 58, 105, 0)
}

func meadow(p *painting) {
	h := p.between(62, 95)
	p.sky(h)
	if p.chance(0.5) {
		p.mountains(h+2, p.between(22, 42), p.between(50, 80), 0.5, pick(p.rng, 0, 0.4))
	}
	hill := p.rolling(h, p.between(4, 12), 90)
	p.grass(hill, 0.3)
	if p.chance(0.6) {
		p.firs(hill, 22, 24, 46, 0.1)
	}
	p.flowers(hill, p.between(4.5, 7.5))
}

func balloons(p *painting) {
	h := p.between(128, 148)
	p.sky(h)
	p.mountains(h+2, p.between(16, 34), p.between(60, 90), 0.5, 0)
	p.grass(p.rolling(h+4, 10, 90), 0.3, "hill")
	n := 1 + p.rng.IntN(5)
	for k := range n {
		r := p.between(12, 20) + 30/float64(n*n)
		p.balloon(Width*(float64(k)+0.5)/float64(n)+p.between(-15, 15), p.between(r+6, h-2.4*r), r)
	}
}

func dunes(p *painting) {
	h, sand := p.between(80, 105), p.hue(0xe0a860, 0xd88f50, 0xe8c080)
	p.sky(h + 30)
	if p.mood.keyword != "night" {
		p.disc(p.between(40, 216), p.between(22, 60), p.between(9, 13), "sun")
	}
	p.land(flat(h+26), sand, 0.6, "desert", "sand")
	for k := range 4 {
		peakX, width := p.between(20, 236), p.between(70, 120)
		peakY := h + 20*float64(k) + p.between(-6, 6)
		p.land(trace(func(x float64) float64 {
			return peakY + 70*(1-math.Exp(-math.Pow(math.Abs(x-peakX)/width, 1.35)))
		}), sand.scale(1.1), 0.45-0.15*float64(k), "sand", "desert")
	}
}
