package scene

import "math/rand/v2"

// rgb is a colour with channels in [0, 1]; arithmetic may leave that range and
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

// near gives a colour by chance within a of c in each channel.
func near(rng *rand.Rand, c rgb, a float64) rgb {
	return rgb{c.r + a*(2*rng.Float64()-1), c.g + a*(2*rng.Float64()-1), c.b + a*(2*rng.Float64()-1)}
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func between(rng *rand.Rand, low, high float64) float64 { return low + (high-low)*rng.Float64() }

// mood is an hour and its weather: the colours of the sky and what they do to
// everything below.
type mood struct {
	zenith, middle, horizon rgb
	light                   rgb // multiplies the colour of what it falls on
	haze                    rgb // what the distance fades into
	sun                     rgb
	cloudLit, cloudDark     rgb
	keywords                []string // of the sky itself
}

func day(rng *rand.Rand) mood {
	m := pick(rng,
		mood{zenith: hex(0x2f6fc4), middle: hex(0x6ba6e0), horizon: hex(0xcfe5f4)},
		mood{zenith: hex(0x2a84c9), middle: hex(0x74bde6), horizon: hex(0xe0f1f5)},
		mood{zenith: hex(0x3d63ad), middle: hex(0x86a9dd), horizon: hex(0xdde6f3)},
		mood{zenith: hex(0x4c93cf), middle: hex(0x93c6e8), horizon: hex(0xf2ead8)})
	m.zenith, m.middle = near(rng, m.zenith, 0.04), near(rng, m.middle, 0.04)
	m.light = near(rng, rgb{1.02, 1, 0.95}, 0.04)
	m.haze = m.horizon.mix(m.middle, 0.35)
	m.sun = hex(0xfff2a0)
	m.cloudLit, m.cloudDark = hex(0xffffff), hex(0x9fb0c6)
	return m
}

func sunset(rng *rand.Rand) mood {
	m := pick(rng,
		mood{zenith: hex(0x36366f), middle: hex(0xc65a5a), horizon: hex(0xffc061)},
		mood{zenith: hex(0x52336b), middle: hex(0xe0647a), horizon: hex(0xffb27a)},
		mood{zenith: hex(0x2f4a7c), middle: hex(0xe8894e), horizon: hex(0xffdc7c)},
		mood{zenith: hex(0x6b2f4a), middle: hex(0xe2592f), horizon: hex(0xffa836)})
	m.zenith, m.middle = near(rng, m.zenith, 0.04), near(rng, m.middle, 0.04)
	m.light = rgb{0.62, 0.42, 0.40}
	m.haze = m.horizon.mix(m.middle, 0.5)
	m.sun = hex(0xfff6c8)
	m.cloudLit, m.cloudDark = m.horizon.mix(hex(0xff9a70), 0.5), m.zenith.mix(m.middle, 0.35)
	m.keywords = []string{"sunset"}
	return m
}

func night(rng *rand.Rand) mood {
	m := pick(rng,
		mood{zenith: hex(0x050b22), middle: hex(0x0e1c40), horizon: hex(0x2a3d68)},
		mood{zenith: hex(0x0a0820), middle: hex(0x1c1640), horizon: hex(0x43356b)},
		mood{zenith: hex(0x04101f), middle: hex(0x0a2740), horizon: hex(0x1f4d63)})
	m.zenith = near(rng, m.zenith, 0.015)
	m.light = rgb{0.16, 0.19, 0.30}
	m.haze = m.horizon.scale(0.8)
	m.sun = hex(0xfdf6df)
	m.cloudLit, m.cloudDark = m.horizon.mix(hex(0x8a93b5), 0.3), m.zenith
	m.keywords = []string{"night"}
	return m
}

func overcast(rng *rand.Rand) mood {
	m := pick(rng,
		mood{zenith: hex(0x8a97a5), middle: hex(0xa9b4be), horizon: hex(0xcdd3d6)},
		mood{zenith: hex(0x9aa0a8), middle: hex(0xb7bcc0), horizon: hex(0xdcdad4)})
	m.zenith = near(rng, m.zenith, 0.03)
	m.light = rgb{0.74, 0.77, 0.80}
	m.haze = m.horizon
	m.sun = hex(0xffffff)
	m.cloudLit, m.cloudDark = hex(0xd9dee2), hex(0x7b8794)
	return m
}

func storm(rng *rand.Rand) mood {
	m := overcast(rng)
	m.zenith, m.middle, m.horizon = near(rng, hex(0x414c5b), 0.03), hex(0x5f6b79), hex(0x99a3a8)
	m.light = rgb{0.58, 0.62, 0.66}
	m.haze = m.horizon.scale(0.9)
	m.cloudLit, m.cloudDark = hex(0x929ca6), hex(0x38424f)
	return m
}
