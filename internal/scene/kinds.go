package scene

import (
	"math/rand/v2"
)

// A kind composes one kind of scene in one of several moods. Keywords follow
// from the layers that remain visible.
type kind struct {
	hours hours
	paint func(*painting)
}

type hours []func(*rand.Rand) mood

var kinds = []kind{
	{hours{day, day, sunset}, beach},
	{hours{day, day, sunset}, sailing},
	{hours{day, sunset, night, night}, city},
	{hours{day, day, sunset, night}, snowyMountains},
	{hours{overcast, overcast, day}, foggyFirs},
	{hours{day}, meadow},
	{hours{day, day, sunset}, balloons},
	{hours{day, day, sunset, night}, dunes},
}

// adapt brightens an evening or a night, as the eye adapts.
func (p *painting) adapt(f float64) {
	if p.mood.keyword != "" {
		p.mood.light = p.mood.light.scale(f)
	}
}

// seaside paints the sky over a sea, with the sun sinking into it at sunset.
func (p *painting) seaside(horizon float64) {
	p.sky(horizon)
	if p.mood.keyword == "sunset" {
		p.sun(p.between(50, 206), horizon-p.between(6, 30), p.between(9, 15))
	}
	p.birds()
}

func beach(p *painting) {
	h := p.between(66, 100)
	p.seaside(h)
	shore := p.rolling(p.between(138, 165), 26, 130)
	p.sea(h, shore)
	s := near(p.rng, pick(p.rng, hex(0xe6cf9d), hex(0xdfbe86), hex(0xefe0bd), hex(0xd6b483)), 0.02)
	p.ground(shore, s.scale(0.93), s.scale(1.05), 0, "sand", "beach")
	p.foam(shore)
	if p.mood.keyword == "" {
		for range 1 + p.rng.IntN(3) {
			p.parasol(p.between(30, 226), p.between(168, 184), p.between(28, 42))
		}
	}
}

func sailing(p *painting) {
	h := p.between(75, 115)
	p.seaside(h)
	if p.chance(0.3) {
		p.mountains(h+1, p.between(14, 30), p.between(50, 80), 0.55, 0)
	}
	p.sea(h, flat(Height))
	for k := range 1 + p.rng.IntN(3) {
		y := h + 8 + float64(k)*p.between(14, 26)
		p.sailboat(p.between(40, 216), y, 26+(y-h)*p.between(0.7, 1))
	}
}

func city(p *painting) {
	h := p.between(124, 148)
	p.sky(h)
	if p.mood.keyword == "night" {
		p.glow(128, h, 130, hex(0xc87838), 0.3)
	}
	p.skyline(h, 25, p.between(60, 82), 0.42)
	p.skyline(h, 22, p.between(85, 114), 0.1)
	p.mirror(h, p.between(0.7, 1.3), "river")
}

func snowyMountains(p *painting) {
	p.adapt(1.55)
	h := p.between(140, 160)
	p.sky(h)
	p.mountains(h, p.between(85, 110), p.between(70, 100), 0.45, 0.75)
	p.mountains(h+6, p.between(65, 90), p.between(50, 75), 0.12, 0.55)
	low := p.rolling(h, p.between(4, 12), 70)
	if p.chance(0.5) {
		p.ground(low, hex(0xd4e0f2), hex(0xfdfdff), 0, "snow")
	} else {
		p.grass(low, 0.2)
	}
	p.firs(low.down(12), 11, 16, 34, p.firGreen(), 0.1)
}

func foggyFirs(p *painting) {
	h := p.between(60, 80)
	p.sky(h + 30)
	c := p.firGreen()
	for k := range 4 {
		f := float64(k)
		ground := p.rolling(h+30*f+12, p.between(10, 22), p.between(60, 110))
		p.ground(ground, c.scale(0.9), c.scale(1.3), 0.6-0.18*f, "forest")
		p.firs(ground, 8+3*f, 22+9*f, 40+17*f, c.scale(1.15), 0.6-0.19*f)
		p.fog(h+30*f-22, h+30*f+12, h+30*f+42, 0.62)
	}
	p.firs(flat(200), 30, 58, 105, c, 0)
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
		p.firs(hill.down(4), 22, 24, 46, p.firGreen(), 0.1)
	}
	p.flowers(hill.down(16), p.between(4.5, 7.5))
}

func balloons(p *painting) {
	p.adapt(1.4)
	h := p.between(128, 148)
	p.sky(h)
	p.mountains(h+2, p.between(16, 34), p.between(60, 90), 0.5, 0)
	p.grass(p.rolling(h+4, 10, 90), 0.3, "hill")
	n := 1 + p.rng.IntN(5)
	for k := range n {
		x := Width*(float64(k)+0.5)/float64(n) + p.between(-15, 15)
		r := p.between(12, 20)
		if n <= 2 {
			r = p.between(24, 34)
		}
		p.balloon(x, p.between(r+6, h-2.4*r), r)
	}
}

func dunes(p *painting) {
	p.adapt(1.5)
	h := p.between(80, 105)
	p.sky(h + 30)
	if p.mood.keyword != "night" {
		p.sun(p.between(40, 216), p.between(22, 60), p.between(9, 13))
	}
	s := near(p.rng, pick(p.rng, hex(0xe0a860), hex(0xd88f50), hex(0xe8c080)), 0.02)
	p.ground(flat(h+26), s.scale(0.95), s.scale(1.05), 0.6, "desert", "sand")
	for k := range 4 {
		f := float64(k)
		p.dune(p.between(20, 236), h+20*f+p.between(-6, 6), p.between(70, 120), 0.45-0.15*f, s)
	}
}
