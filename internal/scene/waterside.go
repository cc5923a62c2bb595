package scene

import "math"

// Scenes by the sea, at lakes and rivers.

func beachDay(p *painting) {
	p.mood = day(p.rng)
	h := p.between(62, 92)
	p.sky(h)
	p.fairClouds(h)
	if p.chance(0.3) {
		p.sun(p.between(30, 226), p.between(18, 36), p.between(8, 11))
	}
	shore := p.shore(p.between(124, 145), p.between(-0.12, 0.12))
	p.sea(h, shore, -500, "sea")
	if p.chance(0.4) {
		p.sailboat(p.between(30, 226), h+p.between(4, 14), p.between(16, 30))
	}
	p.sand(shore, "beach")
	p.foam(shore)
	for range 1 + p.rng.IntN(3) {
		p.parasol(p.between(40, 220), p.between(165, 182), p.between(28, 42))
	}
	if p.chance(0.6) {
		d := pick(p.rng, -1.0, 1.0)
		for range 1 + p.rng.IntN(2) {
			p.palm(stem{128 - d*p.between(70, 112), p.between(165, 190), p.between(85, 130)}, d, pick(p.rng, leafGreens...))
		}
	}
	if p.chance(0.3) {
		p.birds(p.between(60, 200), p.between(25, 50), 4+p.rng.IntN(4), p.between(5, 8), hex(0x3a4450))
	}
}

func beachSunset(p *painting) {
	p.mood = sunset(p.rng)
	h := p.between(80, 108)
	sunX := p.between(50, 206)
	p.sky(h)
	if p.chance(0.7) {
		p.streaks(h)
	}
	p.sun(sunX, h-p.between(6, 30), p.between(10, 16))
	shore := p.shore(p.between(145, 165), p.between(-0.14, 0.14))
	p.sea(h, shore, sunX, "sea")
	p.sand(shore, "beach")
	p.foam(shore)
	if p.chance(0.6) {
		d := pick(p.rng, -1.0, 1.0)
		for range 1 + p.rng.IntN(2) {
			p.palm(stem{128 - d*p.between(70, 115), p.between(175, 195), p.between(95, 140)}, d, hex(0x2a2a1c))
		}
	}
	if p.chance(0.55) {
		p.birds(p.between(60, 200), p.between(28, 60), 5+p.rng.IntN(5), p.between(5, 8), hex(0x2a1c24))
	}
}

func sailing(p *painting) {
	if p.chance(0.3) {
		p.mood = sunset(p.rng)
	} else {
		p.mood = day(p.rng)
	}
	h := p.between(75, 115)
	p.sky(h)
	p.fairClouds(h)
	if p.chance(0.3) {
		p.mountains(h+1, p.between(14, 30), p.between(50, 80), 0.55, 0, hex(0x6a7a70))
	}
	p.sea(h, flat(Height), -500, "sea")
	for k := range 1 + p.rng.IntN(3) {
		y := h + 8 + float64(k)*p.between(14, 26)
		p.sailboat(p.between(40, 216), y, 26+(y-h)*p.between(0.7, 1))
	}
	if p.chance(0.4) {
		p.birds(p.between(60, 200), p.between(25, 50), 4+p.rng.IntN(4), p.between(5, 8), p.lit(hex(0x3a4450)))
	}
}

func harbour(p *painting) {
	p.mood = pick(p.rng, day, day, overcast)(p.rng)
	h := p.between(84, 104)
	p.sky(h)
	p.fairClouds(h)
	p.grass(p.rolling(h-6, p.between(14, 36), p.between(60, 110)), 0.35, "hill")
	for x := p.between(-8, 4); x < Width; {
		w := p.between(24, 33)
		p.house(x, h+p.between(1, 3), w, 0.08, 0)
		x += w + p.between(1, 7)
	}
	p.ground(flat(h+1), hex(0x8a8478), hex(0x9a9488), 0.1)
	p.mirror(h+9, 0.9, "sea")
	p.pier(-5, p.between(80, 170), p.between(150, 165))
	for k := range 3 + p.rng.IntN(3) {
		y := h + 17 + float64(k)*11 + p.between(-3, 3)
		x := p.between(25, 231)
		if p.chance(0.5) {
			p.motorboat(x, y, 12+(y-h)*0.16)
		} else {
			p.sailboat(x, y, 34+(y-h)*0.4)
		}
	}
}

func coast(p *painting) {
	shining := p.chance(0.3)
	if shining {
		p.mood = night(p.rng)
		p.mood.light = rgb{0.32, 0.36, 0.48}
	} else {
		p.mood = pick(p.rng, day, day, sunset, overcast)(p.rng)
	}
	h := p.between(100, 120)
	p.sky(h)
	if shining {
		p.stars(h, 130)
	} else {
		p.clouds(h, p.between(0.3, 0.55), p.between(50, 80), p.between(1.8, 3))
	}
	p.sea(h, flat(Height), -500, "sea")
	x, y := p.between(60, 196), h+p.between(4, 20)
	cliff := profile(func(px float64) float64 {
		d := (px - x) / 52
		return y + 60*(1-math.Exp(-d*d*d*d)) + 12*(p.noise.fbm(px/14, 5, 4)-0.5)
	})
	p.ground(cliff, hex(0x6b6258), hex(0x94897a), 0, "rock")
	p.grass(func(px float64) float64 {
		if math.Abs(px-x) > 46 {
			return Height
		}
		return cliff(px) - 1
	}, 0)
	p.ground(func(px float64) float64 { return cliff(px) + 7 + 5*p.noise.fbm(px/5, 1, 2) }, hex(0x5b5349), hex(0x8a7f70), 0, "rock")
	p.rocks(x-75, x+75, 178, 14, 12)
	p.lighthouse(x, y+6, p.between(78, 98), shining)
	if !shining && p.chance(0.5) {
		p.birds(p.between(60, 200), p.between(25, 55), 5+p.rng.IntN(4), p.between(5, 8), p.lit(hex(0x3a4450)))
	}
	p.foam(p.shore(186, 0))
}

func mountainLake(p *painting) {
	p.mood = pick(p.rng, day, day, sunset)(p.rng)
	if p.mood.light.r < 0.9 {
		p.mood.light = rgb{0.95, 0.74, 0.72}
	}
	h := p.between(104, 124)
	p.sky(h)
	p.fairClouds(h * 0.8)
	rock := pick(p.rng, hex(0x6f6a6c), hex(0x5f6878), hex(0x7a6e64))
	p.mountains(h, p.between(62, 88), p.between(60, 90), 0.3, pick(p.rng, 0, 0.45, 0.65), rock)
	bank := p.rolling(h, 8, 60)
	p.grass(bank, 0.25)
	p.conifers(p.stand(bank, 6, 10, 22), pick(p.rng, firGreens...), 0.2, 0, "forest")
	p.mirror(h+5, p.between(0.35, 0.9), "lake")
	if p.chance(0.45) {
		p.rowboat(p.between(50, 206), p.between(145, 172), p.between(14, 22))
	}
}

func foggyLake(p *painting) {
	p.mood = overcast(p.rng)
	warm := p.between(0, 0.5)
	p.mood.horizon = p.mood.horizon.mix(hex(0xf2d8b8), warm)
	p.mood.haze = p.mood.horizon
	h := p.between(98, 120)
	p.sky(h)
	p.ground(p.rolling(h, p.between(30, 50), 90), hex(0x55705f), hex(0x48624f), 0.75) // too faint to name
	bank := p.rolling(h, 6, 60)
	p.conifers(p.stand(bank, p.between(7, 11), 16, 34), pick(p.rng, firGreens...), 0.5, 0)
	p.mirror(h+3, 0.3, "lake")
	p.fog(h-60, h-4, h+40, 0.9)
	p.fog(h-30, h+25, Height, 0.45)
	if p.chance(0.5) {
		p.rowboat(p.between(50, 206), p.between(145, 172), p.between(16, 26))
	}
	if p.chance(0.5) {
		x := pick(p.rng, p.between(10, 40), p.between(216, 246))
		near := p.rolling(190, 12, 50)
		p.ground(near, hex(0x3f4a38), hex(0x505c44), 0, "grass")
		p.broadleaf(stem{x, 190, p.between(95, 130)}, hex(0x47573f), 0.12)
	}
}

func riverBridge(p *painting) {
	p.mood = pick(p.rng, day, day, overcast)(p.rng)
	h := p.between(72, 92)
	p.sky(h)
	p.fairClouds(h)
	p.grass(p.rolling(h+2, p.between(10, 24), 80), 0.5, "hill")
	bank := p.rolling(h+8, 6, 70)
	p.grass(bank, 0.25)
	for range 7 + p.rng.IntN(5) {
		p.broadleaf(stem{p.between(0, Width), h + p.between(8, 18), p.between(20, 34)}, pick(p.rng, leafGreens...), 0.22)
	}
	course := p.river(h+12, p.between(100, 156), p.between(90, 166), p.between(78, 105))
	y := p.between(h+26, h+34)
	cx, w := course(y + 18)
	p.archBridge(cx-w-16, cx+w+16, y, 24)
	for _, d := range []float64{-1, 1} {
		if p.chance(0.7) {
			p.broadleaf(stem{128 + d*p.between(95, 120), p.between(145, 165), p.between(60, 90)}, pick(p.rng, leafGreens...), 0)
		}
	}
}
