package scene

import "math/rand/v2"

// rgb is a colour with channels in [0, 1]. Arithmetic may leave that range, and
// put clips it.
type rgb struct{ r, g, b float64 }

func hex(v uint32) rgb {
	return rgb{float64(v>>16&255) / 255, float64(v>>8&255) / 255, float64(v&255) / 255}
}

func (c rgb) mix(d rgb, t float64) rgb {
	return rgb{c.r + (d.r-c.r)*t, c.g + (d.g-c.g)*t, c.b + (d.b-c.b)*t}
}

func (c rgb) scale(f float64) rgb { return rgb{c.r * f, c.g * f, c.b * f} }
func (c rgb) mul(d rgb) rgb       { return rgb{c.r * d.r, c.g * d.g, c.b * d.b} }
func (c rgb) add(d rgb) rgb       { return rgb{c.r + d.r, c.g + d.g, c.b + d.b} }

func near(rng *rand.Rand, c rgb, a float64) rgb {
	return rgb{c.r + a*(2*rng.Float64()-1), c.g + a*(2*rng.Float64()-1), c.b + a*(2*rng.Float64()-1)}
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func between(rng *rand.Rand, low, high float64) float64 { return low + (high-low)*rng.Float64() }

// mood is a time of day with its weather: the colours of the sky and their
// effect on everything below.
type mood struct {
	zenith, middle, horizon rgb
	light                   rgb // multiplies the colours of lit things
	haze                    rgb // what the distance fades into
	sun                     rgb
	cloudLit, cloudDark     rgb
	keyword                 string // of the sky itself; "" by day
}

func under(rng *rand.Rand, skies ...[3]uint32) mood {
	s := pick(rng, skies...)
	m := mood{zenith: near(rng, hex(s[0]), 0.03), middle: near(rng, hex(s[1]), 0.03), horizon: hex(s[2])}
	m.haze = m.horizon.mix(m.middle, 0.4)
	return m
}

func day(rng *rand.Rand) mood {
	m := under(rng, [3]uint32{0x2f6fc4, 0x6ba6e0, 0xcfe5f4}, [3]uint32{0x3d63ad, 0x86a9dd, 0xdde6f3}, [3]uint32{0x4c93cf, 0x93c6e8, 0xf2ead8})
	m.light, m.sun = near(rng, rgb{1.02, 1, 0.95}, 0.04), hex(0xfff2a0)
	m.cloudLit, m.cloudDark = hex(0xffffff), hex(0x9fb0c6)
	return m
}

func overcast(rng *rand.Rand) mood {
	m := under(rng, [3]uint32{0x8a97a5, 0xa9b4be, 0xcdd3d6}, [3]uint32{0x9aa0a8, 0xb7bcc0, 0xdcdad4})
	m.light = rgb{0.74, 0.77, 0.80}
	m.cloudLit, m.cloudDark = hex(0xd9dee2), hex(0x7b8794)
	return m
}

func sunset(rng *rand.Rand) mood {
	m := under(rng, [3]uint32{0x36366f, 0xc65a5a, 0xffc061}, [3]uint32{0x52336b, 0xe0647a, 0xffb27a},
		[3]uint32{0x2f4a7c, 0xe8894e, 0xffdc7c}, [3]uint32{0x6b2f4a, 0xe2592f, 0xffa836})
	m.light, m.sun = rgb{0.62, 0.44, 0.42}, hex(0xfff6c8)
	m.cloudLit, m.cloudDark = m.horizon.mix(hex(0xff9a70), 0.5), m.zenith.mix(m.middle, 0.35)
	m.keyword = "sunset"
	return m
}

func night(rng *rand.Rand) mood {
	m := under(rng, [3]uint32{0x050b22, 0x0e1c40, 0x2a3d68}, [3]uint32{0x0a0820, 0x1c1640, 0x43356b}, [3]uint32{0x04101f, 0x0a2740, 0x1f4d63})
	m.light, m.sun = rgb{0.21, 0.25, 0.38}, hex(0xfdf6df)
	m.keyword = "night"
	return m
}
