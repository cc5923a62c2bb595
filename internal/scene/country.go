package scene

import "math"

// Scenes of mountains, woods, fields and deserts.

func snowyMountains(p *painting) {
	p.mood = pick(p.rng, day, day, day, sunset)(p.rng)
	base := p.between(140, 160)
	p.sky(base)
	p.fairClouds(base * 0.8)
	if p.mood.light.r < 0.9 {
		p.mood.light = rgb{0.98, 0.76, 0.74} // the last light on the snow
	}
	rock := pick(p.rng, hex(0x6f6a6c), hex(0x5f6878), hex(0x7a6e64))
	p.mountains(base, p.between(85, 110), p.between(70, 100), 0.45, 0.75, rock)
	p.mountains(base+6, p.between(65, 90), p.between(50, 75), 0.12, 0.55, rock)
	low := p.rolling(base, p.between(4, 12), 70)
	if p.chance(0.5) {
		p.snowGround(low)
	} else {
		p.grass(low, 0.2)
	}
	if p.chance(0.6) {
		p.conifers(p.stand(func(x float64) float64 { return low(x) + 14 }, 11, 16, 34), pick(p.rng, firGreens...), 0.1, 0, "forest")
	}
}

func starryMountains(p *painting) {
	p.mood = night(p.rng)
	base := p.between(145, 165)
	p.sky(base)
	p.stars(base, 260+p.rng.IntN(260))
	if p.chance(0.65) {
		p.moon(p.between(40, 216), p.between(22, 46), p.between(9, 15), pick(p.rng, 0.25, 0.5, 1))
	}
	snow := pick(p.rng, 0, 0.6)
	p.mood.light = p.mood.light.scale(1.5)
	p.mountains(base, p.between(55, 85), p.between(60, 95), 0.25, snow, hex(0x4f5870))
	p.mood.light = p.mood.light.scale(0.5)
	low := p.rolling(base, 14, 60)
	p.ground(low, hex(0x2f4030), hex(0x3a4c38), 0)
	if p.chance(0.7) {
		p.conifers(p.stand(func(x float64) float64 { return low(x) + 10 }, 12, 18, 42), hex(0x1c3028), 0, 0, "forest")
	}
}

func firForest(p *painting) {
	p.mood = pick(p.rng, day, overcast, overcast)(p.rng)
	misty := p.chance(0.5)
	h := p.between(60, 80)
	p.sky(h + 30)
	c := pick(p.rng, firGreens...)
	for k := range 4 {
		f := float64(k)
		ground := p.rolling(h+30*f+12, p.between(10, 22), p.between(60, 110))
		p.ground(ground, c.scale(0.9), c.scale(1.3), 0.6-0.18*f, "forest")
		p.conifers(p.stand(ground, 8+3*f, 22+9*f, 40+17*f), c.scale(1.15), 0.6-0.19*f, 0, "forest")
		if misty {
			p.fog(h+30*f-22, h+30*f+12, h+30*f+42, 0.62)
		}
	}
	p.conifers(p.stand(flat(200), 30, 58, 105), c, 0, 0, "forest")
}

func autumnForest(p *painting) { p.wood(autumnTones, hex(0xa8642a), "autumn") }
func summerForest(p *painting) { p.wood(leafGreens, hex(0x5a6f34), "") }

// wood is a broadleaf forest seen from inside, in the tones of a season.
func (p *painting) wood(tones []rgb, floor rgb, season string) {
	p.mood = day(p.rng)
	p.mood.light = rgb{1.05, 0.97, 0.85}
	trees, below := []string{"forest"}, []string{"grass"}
	if season != "" {
		trees, below = []string{"forest", season}, []string{season}
	}
	p.sky(100)
	back := pick(p.rng, tones...)
	p.ground(p.rolling(60, 14, 30), back.scale(0.6), back.scale(0.95), 0.4, "forest")
	for k := range 3 {
		f := float64(k)
		base := 112 + 20*f
		if k == 1 {
			p.ground(flat(110), floor.scale(0.75), floor.scale(1.2), 0.1, below...)
			if p.chance(0.65) {
				p.layer(func() {
					p.area(flat(112), flat(Height), func(x, y float64) (rgb, float64) {
						t := (y - 112) / 80
						d := math.Abs(x-128-26*math.Sin(t*3)) / (3 + 34*t)
						return p.lit(hex(0xb09a78).scale(0.9 + 0.25*(p.noise.fbm(x/4, y/3, 3)-0.5))), smoothstep(1.05, 0.92, d+0.2*(p.noise.at(x/4, y/4)-0.5))
					})
				}, "path")
			}
		}
		for x := p.between(-10, 10); x < Width+10; x += p.between(20, 34) + 9*f {
			if k == 2 && math.Abs(x-128) < 45 {
				continue
			}
			p.broadleaf(stem{x, base + p.between(-4, 8), p.between(70, 90) + 22*f}, near(p.rng, pick(p.rng, tones...), 0.03), 0.3-0.15*f, trees...)
		}
	}
	if season == "autumn" {
		p.layer(func() {
			for range 4 {
				for range 70 {
					t := math.Sqrt(p.rng.Float64())
					p.gc.DrawEllipse(p.between(0, Width), 125+67*t, 0.8+1.6*t, 0.5+0.9*t)
				}
				p.fill(p.lit(pick(p.rng, tones...).scale(1.15)), 0.9)
			}
		}, "autumn")
	}
}

func meadow(p *painting) {
	p.mood = day(p.rng)
	h := p.between(62, 95)
	p.sky(h)
	p.fairClouds(h)
	if p.chance(0.4) {
		p.mountains(h+2, p.between(22, 42), p.between(50, 80), 0.5, pick(p.rng, 0, 0.4), hex(0x6a7a86))
	}
	hill := p.rolling(h, p.between(4, 12), 90)
	p.grass(hill, 0.3)
	if p.chance(0.45) {
		p.broadleaf(stem{p.between(30, 226), h + 12, p.between(40, 66)}, pick(p.rng, leafGreens...), 0.1)
	}
	p.blades(h+45, 420, pick(p.rng, greens...))
	p.flowers(func(x float64) float64 { return hill(x) + 16 }, 150+p.rng.IntN(150), p.between(4.5, 7.5))
	if p.chance(0.25) {
		p.birds(p.between(60, 200), p.between(20, 40), 4, p.between(5, 7), hex(0x3a4450))
	}
}

func rainbowField(p *painting) {
	p.mood = storm(p.rng)
	h := p.between(104, 124)
	p.sky(h)
	p.clouds(h, 0.6, p.between(60, 90), 2)
	p.rainbow(p.between(80, 176), h+p.between(5, 25), p.between(84, 108), p.between(15, 20))
	p.mood.light = rgb{0.95, 0.95, 0.86} // the sun is behind us
	p.grass(p.rolling(h+2, p.between(4, 12), 90), 0.35)
	p.field(h + 2)
	for range p.rng.IntN(4) {
		p.broadleaf(stem{p.between(10, 246), h + p.between(4, 12), p.between(18, 32)}, pick(p.rng, leafGreens...), 0.15)
	}
	if p.chance(0.35) {
		p.house(p.between(30, 190), h+8, p.between(22, 30), 0.1, 0)
	}
}

func dunes(p *painting) {
	p.mood = pick(p.rng, day, day, sunset)(p.rng)
	h := p.between(80, 105)
	p.sky(h + 30)
	if p.chance(0.5) {
		p.sun(p.between(40, 216), p.between(22, 48), p.between(8, 12))
	}
	s := near(p.rng, pick(p.rng, hex(0xe0a860), hex(0xd88f50), hex(0xe8c080)), 0.02)
	if p.mood.light.r < 0.9 {
		p.mood.light = rgb{0.95, 0.68, 0.55}
	}
	p.ground(flat(h+26), s.scale(0.95), s.scale(1.05), 0.6, "desert", "sand")
	for k := range 4 {
		f := float64(k)
		p.dune(p.between(20, 236), h+20*f+p.between(-6, 6), p.between(70, 120), 0.45-0.15*f, s)
	}
}

func cactusDesert(p *painting) {
	p.mood = pick(p.rng, day, day, sunset)(p.rng)
	h := p.between(92, 115)
	p.sky(h)
	if p.chance(0.4) {
		p.sun(p.between(40, 216), p.between(22, 45), p.between(8, 12))
	}
	if p.chance(0.6) {
		p.mountains(h+2, p.between(26, 48), p.between(60, 100), 0.3, 0, hex(0xa05f45))
	}
	if p.mood.light.r < 0.9 {
		p.mood.light = rgb{0.8, 0.58, 0.5}
	}
	p.ground(flat(h), hex(0xc98f58), hex(0xe0b47a), 0.3, "desert", "sand")
	for range 10 {
		y := p.between(h+6, 188)
		s := 2 + (y-h)*0.07
		p.rocks(p.between(0, Width), p.between(0, Width), y, s, 1)
	}
	n := 2 + p.rng.IntN(4)
	for k := range n {
		y := h + 10 + (170-h)*float64(k+1)/float64(n)
		p.cactus(stem{p.between(20, 236), y, 22 + (y-h)*p.between(0.8, 1.15)})
	}
}

func openRoad(p *painting) {
	p.mood = pick(p.rng, day, day, overcast, sunset)(p.rng)
	h := p.between(82, 108)
	p.sky(h)
	p.fairClouds(h)
	if p.chance(0.6) {
		p.mountains(h+2, p.between(20, 48), p.between(50, 90), 0.4, pick(p.rng, 0, 0, 0.45), hex(0x76706c))
	}
	switch p.rng.IntN(3) {
	case 0:
		p.ground(flat(h), hex(0xc08a58), hex(0xd8ae78), 0.3, "desert", "sand")
	case 1:
		p.field(h)
	default:
		p.grass(flat(h), 0.3)
		for k := range 9 {
			y := h + 3 + 5*float64(k)
			p.broadleaf(stem{128 + pick(p.rng, -1.0, 1.0)*p.between(75, 125), y, 14 + 5*float64(k)}, pick(p.rng, leafGreens...), 0.2)
		}
	}
	p.road(h, p.between(90, 166), p.between(95, 160), p.between(72, 100))
}

func campfire(p *painting) {
	p.mood = night(p.rng)
	h := p.between(112, 128)
	p.sky(h)
	p.stars(h, 160+p.rng.IntN(140))
	if p.chance(0.3) {
		p.moon(p.between(40, 216), p.between(18, 34), p.between(7, 11), pick(p.rng, 0.3, 1))
	}
	ground := p.rolling(h, 6, 80)
	p.conifers(p.stand(func(x float64) float64 { return ground(x) + 6 }, 15, 40, 82), hex(0x1a2c26), 0.08, 0, "forest")
	p.ground(ground, hex(0x4a5238), hex(0x5a5a3e), 0) // too dark to tell what grows
	x := p.between(90, 166)
	p.tent(x+pick(p.rng, -1.0, 1.0)*p.between(58, 72), p.between(152, 162), p.between(50, 66), true)
	p.fire(x, p.between(164, 176), p.between(40, 58))
}

func blossomScene(p *painting) {
	p.mood = day(p.rng)
	g := near(p.rng, pick(p.rng, leafGreens...), 0.05)
	p.layer(func() { // a background out of focus
		p.area(flat(0), flat(Height), func(x, y float64) (rgb, float64) {
			n := p.noise.fbm(x/70, y/70, 2)
			c := g.scale(0.45).mix(g.scale(1.5).mix(hex(0xe8e8a0), 0.25), smoothstep(0.25, 0.75, n))
			return c, 1
		})
		for range 26 {
			p.gc.DrawCircle(p.between(0, Width), p.between(0, Height), p.between(5, 16))
			p.fill(g.scale(1.7).mix(hex(0xfff8c8), p.between(0, 0.5)), p.between(0.06, 0.2))
		}
	})
	n := 1 + p.rng.IntN(3)
	c := near(p.rng, pick(p.rng, petals...), 0.04)
	for k := range n {
		x := Width * (float64(k) + 0.5) / float64(n)
		r := p.between(50, 66) - 12*float64(n-1)
		p.blossom(x+p.between(-14, 14), p.between(62, 105), r, c)
	}
}

func savanna(p *painting) {
	p.mood = sunset(p.rng)
	h := p.between(120, 142)
	p.sky(h)
	if p.chance(0.4) {
		p.streaks(h)
	}
	p.sun(p.between(60, 196), h-p.between(8, 50), p.between(14, 24))
	p.mood.light = rgb{0.35, 0.24, 0.18}
	p.ground(p.rolling(h, 6, 100), hex(0x8a6a30), hex(0xa8843c), 0.35, "grass")
	p.blades(h+18, 380, hex(0xb08a40))
	n := 1 + p.rng.IntN(3)
	for k := range n {
		t := float64(k+1) / float64(n)
		p.acacia(stem{p.between(30, 226), h + 2 + 26*t, 40 + 48*t}, hex(0x4a4a24))
	}
	if p.chance(0.6) {
		p.birds(p.between(60, 200), p.between(25, 60), 5+p.rng.IntN(5), p.between(5, 8), hex(0x2a1c18))
	}
}

func pasture(p *painting) {
	p.mood = pick(p.rng, day, day, overcast)(p.rng)
	h := p.between(72, 96)
	p.sky(h)
	p.fairClouds(h)
	if p.chance(0.4) {
		p.mountains(h+2, p.between(22, 42), p.between(50, 80), 0.5, pick(p.rng, 0, 0.4), hex(0x6a7a86))
	}
	p.grass(p.rolling(h+4, p.between(12, 24), 90), 0.4, "hill")
	near := p.rolling(h+22, p.between(8, 16), 90)
	p.grass(near, 0.15, "hill")
	for range p.rng.IntN(3) {
		x := p.between(10, 246)
		p.broadleaf(stem{x, near(x) + 3, p.between(34, 52)}, pick(p.rng, leafGreens...), 0.1)
	}
	n := 5 + p.rng.IntN(6)
	for k := range n {
		t := float64(k) / float64(n)
		y := h + 30 + (184-h-30)*t
		p.sheep(p.between(15, 241), y, 7+13*t)
	}
}

func balloons(p *painting) {
	p.mood = pick(p.rng, day, day, sunset)(p.rng)
	h := p.between(128, 148)
	p.sky(h)
	if p.chance(0.5) {
		p.fairClouds(h)
	}
	if p.mood.light.r < 0.9 {
		p.mood.light = rgb{0.85, 0.66, 0.6}
	}
	p.mountains(h+2, p.between(16, 34), p.between(60, 90), 0.5, 0, hex(0x7a7470))
	if p.chance(0.5) {
		p.field(h)
	} else {
		p.grass(p.rolling(h+4, 10, 90), 0.3, "hill")
	}
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
