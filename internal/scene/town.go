package scene

import "math"

// Scenes with houses and streets.

func cityDay(p *painting) {
	p.mood = pick(p.rng, day, day, sunset, overcast)(p.rng)
	h := p.between(128, 150)
	p.sky(h)
	p.fairClouds(h)
	p.skyline(h, 25, p.between(60, 80), 0.55, false)
	p.skyline(h, 22, p.between(85, 115), 0.18, false)
	switch p.rng.IntN(3) {
	case 0:
		p.mirror(h, 0.8, "river")
		p.suspensionBridge(h+p.between(8, 14), p.between(48, 66), 24)
	case 1:
		p.grass(flat(h), 0)
		for range 7 {
			p.broadleaf(stem{p.between(5, 250), p.between(h+12, 186), p.between(28, 44)}, pick(p.rng, leafGreens...), 0)
		}
	default:
		p.ground(flat(h), hex(0x6a6a6e), hex(0x7c7c80), 0.1)
		p.road(h-8, p.between(90, 166), p.between(90, 166), 95)
		p.skyline(h, 14, 40, 0.05, false)
	}
}

func cityNight(p *painting) {
	p.mood = night(p.rng)
	h := p.between(124, 148)
	p.sky(h)
	if p.chance(0.6) {
		p.moon(p.between(30, 226), p.between(20, 40), p.between(8, 13), pick(p.rng, 0.3, 0.6, 1))
	}
	p.glow(128, h, 130, hex(0xc87838), 0.3)
	p.skyline(h, 25, p.between(60, 85), 0.3, true)
	p.skyline(h, 22, p.between(85, 112), 0.05, true)
	if p.chance(0.7) {
		p.mirror(h, 1.2, "river")
		if p.chance(0.5) {
			p.suspensionBridge(h+p.between(8, 14), p.between(48, 66), 24)
		}
	} else {
		p.ground(flat(h), hex(0x6a6a6e), hex(0x7c7c80), 0)
		p.road(h-3, 128, p.between(90, 166), 105)
		for k := range 5 {
			for _, d := range []float64{-1, 1} {
				t := 0.12 + 0.2*float64(k)
				p.glow(128+d*95*t, h+(Height-h)*t-24*t, 4+6*t, hex(0xffc070), 1)
			}
		}
	}
}

func street(p *painting) {
	p.mood = pick(p.rng, day, day, overcast)(p.rng)
	base := p.between(150, 162)
	p.sky(70)
	for x := p.between(-50, -10); x < Width; {
		w := p.between(70, 115)
		p.facade(x, p.between(-6, 44), w, base)
		x += w
	}
	p.ground(flat(base), hex(0xa8a49c), hex(0x94908a), 0)
	p.layer(func() {
		p.area(flat(base+9), flat(Height), func(x, y float64) (rgb, float64) {
			c := hex(0x5f5f64).scale(0.92 + 0.3*(p.noise.fbm(x/3, y/2, 2)-0.5))
			if math.Mod(x+y*0.8, 46) < 24 && math.Abs(y-base-24) < 1.6 {
				c = hex(0xf2f0e6)
			}
			return p.lit(c), 1
		})
	}, "road")
	if p.chance(0.65) {
		for range 1 + p.rng.IntN(2) {
			p.broadleaf(stem{p.between(20, 236), base + 7, p.between(70, 110)}, pick(p.rng, leafGreens...), 0)
		}
	}
}

func village(p *painting) {
	p.mood = pick(p.rng, day, day, sunset)(p.rng)
	if p.mood.light.r < 0.9 {
		p.mood.light = rgb{0.85, 0.66, 0.6}
	}
	h := p.between(62, 80)
	p.sky(h)
	p.fairClouds(h)
	if p.chance(0.4) {
		p.mountains(h+4, p.between(24, 44), p.between(50, 80), 0.5, pick(p.rng, 0, 0.4), hex(0x6a7a86))
	}
	p.grass(p.rolling(h+5, 5, 80), 0.45, "hill")
	for k := range 3 {
		f := float64(k)
		ground := p.rolling(h+12+28*f, p.between(8, 16), p.between(60, 110))
		p.grass(ground, 0.35-0.13*f, "hill")
		for range 3 {
			x := p.between(0, Width)
			p.broadleaf(stem{x, ground(x) + 5, p.between(18, 26) + 9*f}, pick(p.rng, leafGreens...), 0.28-0.12*f)
		}
		for x := p.between(0, 50); x < Width-30; {
			w := p.between(17, 24) + 13*f
			p.house(x, ground(x+w/2)+6+f*3, w, 0.25-0.1*f, 0)
			x += w + p.between(6, 50)
		}
	}
	p.grass(p.rolling(h+112, 8, 90), 0)
	if p.chance(0.4) {
		p.flowers(flat(h+108), 70, 5)
	}
}

func winterVillage(p *painting) {
	dark := p.chance(0.3)
	if dark {
		p.mood = night(p.rng)
		p.mood.light = rgb{0.36, 0.42, 0.6}
	} else {
		p.mood = pick(p.rng, overcast, day)(p.rng)
	}
	h := p.between(72, 92)
	p.sky(h)
	if dark {
		p.stars(h, 150)
	}
	hill := p.rolling(h+6, p.between(14, 28), 80)
	p.snowGround(hill)
	p.conifers(p.stand(func(x float64) float64 { return hill(x) + 5 }, 14, 18, 34), pick(p.rng, firGreens...), 0.15, 1)
	ground := p.rolling(h+48, 10, 90)
	p.snowGround(ground)
	for x := p.between(5, 50); x < Width-45; {
		w := p.between(38, 56)
		p.house(x, ground(x+w/2)+10, w, 0, 1)
		x += w + p.between(12, 55)
	}
	for range 2 + p.rng.IntN(3) {
		x := p.between(0, Width)
		p.conifers([]stem{{x, p.between(165, 185), p.between(50, 80)}}, pick(p.rng, firGreens...), 0, 1)
	}
	if p.chance(0.55) {
		p.snowfall(170)
	}
}

func rainyRoad(p *painting) {
	p.mood = storm(p.rng)
	h := p.between(96, 118)
	p.sky(h)
	p.clouds(h, 0.65, p.between(60, 90), 2)
	if p.chance(0.6) {
		p.skyline(h+2, 18, p.between(45, 75), 0.25, p.chance(0.4))
		p.ground(flat(h), hex(0x6a6a6e), hex(0x7c7c80), 0.2)
	} else {
		p.grass(p.rolling(h, 6, 80), 0.35)
		for range 5 {
			p.broadleaf(stem{128 + pick(p.rng, -1.0, 1.0)*p.between(70, 125), p.between(h+6, h+30), p.between(28, 55)}, pick(p.rng, leafGreens...), 0.15)
		}
	}
	p.road(h, p.between(100, 156), p.between(95, 160), p.between(85, 110))
	p.layer(func() { // puddles
		p.area(flat(h+22), flat(Height), func(x, y float64) (rgb, float64) {
			t := (y - h) / (Height - h)
			return p.mood.horizon.mix(p.mood.middle, 0.3), 0.6 * smoothstep(0.58, 0.66, p.noise.fbm(x/(30*t+6), y/(8*t+1), 3))
		})
	}, "road")
	p.rain(330 + p.rng.IntN(200))
}
