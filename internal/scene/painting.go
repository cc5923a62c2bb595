package scene

import (
	"encoding/binary"
	"image"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fogleman/gg"
)

// painting is a picture in the making. It remembers for every pixel which layer
// was seen there last, so that the keywords at the end are those of layers that
// can still be seen, however the scene was composed.
type painting struct {
	img    *image.RGBA
	gc     *gg.Context // draws into img
	rng    *rand.Rand
	noise  *noise
	mood   mood
	side   float64 // where the light comes from: -1 left, 1 right
	before []uint8 // img as it was when the layer began
	owner  []int   // pixel → index into layers
	layers [][]string
	veiled map[string]int // pixels that translucent layers changed

	// testOnlyWithout names a keyword whose layers are composed but not shown.
	testOnlyWithout string
}

func newPainting(rng *rand.Rand) *painting {
	img := image.NewRGBA(image.Rect(0, 0, Width, Height))
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	return &painting{
		img: img, gc: gg.NewContextForRGBA(img), rng: rng, noise: newNoise(rng), side: pick(rng, -1.0, 1.0),
		before: make([]uint8, len(img.Pix)), owner: make([]int, Width*Height),
		layers: [][]string{nil}, veiled: map[string]int{},
	}
}

// layer draws something opaque; the pixels it changes now show keywords.
func (p *painting) layer(draw func(), keywords ...string) {
	id := len(p.layers)
	p.layers = append(p.layers, keywords)
	p.changed(draw, keywords, 9, func(pixel int) { p.owner[pixel] = id })
}

// veil draws something translucent (fog, rain, a rainbow): what is behind stays
// visible, and each pixel it changes clearly shows keywords as well.
func (p *painting) veil(draw func(), keywords ...string) {
	n := 0
	p.changed(draw, keywords, 24, func(int) { n++ })
	for _, k := range keywords {
		p.veiled[k] += n
	}
}

// changed calls each for the pixels that draw changes by at least least levels,
// summed over the channels.
func (p *painting) changed(draw func(), keywords []string, least int, each func(pixel int)) {
	copy(p.before, p.img.Pix)
	draw()
	if p.testOnlyWithout != "" && slices.Contains(keywords, p.testOnlyWithout) {
		copy(p.img.Pix, p.before)
	}
	for i := 0; i < len(p.before); i += 4 {
		was, is := p.before[i:i+4:i+4], p.img.Pix[i:i+4:i+4]
		// Most layers leave most pixels alone: compare them whole first.
		if binary.LittleEndian.Uint32(was) == binary.LittleEndian.Uint32(is) {
			continue
		}
		d := 0
		for c := range 3 {
			d += max(int(was[c])-int(is[c]), int(is[c])-int(was[c]))
		}
		if d >= least {
			each(i / 4)
		}
	}
}

// seen counts for each keyword the pixels that show it.
func (p *painting) seen() map[string]int {
	seen := maps.Clone(p.veiled)
	pixels := make([]int, len(p.layers))
	for _, id := range p.owner {
		pixels[id]++
	}
	for id, keywords := range p.layers {
		for _, k := range keywords {
			seen[k] += pixels[id]
		}
	}
	return seen
}

// keywords lists what can be seen, largest first, ties by name.
func (p *painting) keywords() []string {
	seen := p.seen()
	var list []string
	for k, n := range seen {
		if n >= leastPixels(k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if seen[a] != seen[b] {
			return seen[b] - seen[a]
		}
		if a < b {
			return -1
		}
		return 1
	})
	return list
}

// leastPixels is how much of a thing a person needs to name it. Ground, water
// and sky count when they are a part of the scene, things when they can be made
// out: a moon of radius 6 is 113 pixels, three birds are about 40.
func leastPixels(keyword string) int {
	switch keyword {
	case "sky", "clouds", "night", "sunset", "sea", "fog", "rain":
		return Width * Height / 50
	case "sand", "beach", "desert", "grass", "field", "snow", "mountain", "hill", "forest", "lake", "river", "road", "city", "path":
		return Width * Height / 120
	case "bird", "moon", "boat":
		return 35
	default:
		return 70
	}
}

// put blends c over the pixel x, y.
func (p *painting) put(x, y int, c rgb, alpha float64) {
	if x < 0 || y < 0 || x >= Width || y >= Height || alpha <= 0 {
		return
	}
	alpha = min(alpha, 1)
	px := p.img.Pix[p.img.PixOffset(x, y):][:3]
	for i, v := range [3]float64{c.r, c.g, c.b} {
		px[i] = uint8(clamp(float64(px[i])+(v*255-float64(px[i]))*alpha+0.5, 0, 255))
	}
}

// get reads the pixel x, y, or the nearest one of the picture.
func (p *painting) get(x, y int) rgb {
	px := p.img.Pix[p.img.PixOffset(min(max(x, 0), Width-1), min(max(y, 0), Height-1)):]
	return rgb{float64(px[0]) / 255, float64(px[1]) / 255, float64(px[2]) / 255}
}

// line is a height for every x, in pixels from the top.
type line func(x float64) float64

func flat(y float64) line { return func(float64) float64 { return y } }

// profile evaluates a costly line once for each column.
func profile(f line) line {
	var at [Width]float64
	for x := range at {
		at[x] = f(float64(x) + 0.5)
	}
	return func(x float64) float64 { return at[min(max(int(x), 0), Width-1)] }
}

// area colours the pixels between two lines, with soft edges.
func (p *painting) area(top, bottom line, colour func(x, y float64) (rgb, float64)) {
	for x := range Width {
		fx := float64(x) + 0.5
		t, b := top(fx), bottom(fx)
		for y := max(0, int(math.Floor(t))); y < Height && float64(y) < b; y++ {
			cover := min(b, float64(y)+1) - max(t, float64(y))
			c, alpha := colour(fx, float64(y)+0.5)
			p.put(x, y, c, cover*alpha)
		}
	}
}

// fill fills the path that was laid, once for all of its parts.
func (p *painting) fill(c rgb, alpha float64) {
	p.gc.SetRGBA(clamp(c.r, 0, 1), clamp(c.g, 0, 1), clamp(c.b, 0, 1), alpha)
	p.gc.Fill()
}

func (p *painting) stroke(c rgb, alpha, width float64) {
	p.gc.SetRGBA(clamp(c.r, 0, 1), clamp(c.g, 0, 1), clamp(c.b, 0, 1), alpha)
	p.gc.SetLineWidth(width)
	p.gc.SetLineCapRound()
	p.gc.Stroke()
}

// polygon lays a closed path through x, y pairs.
func (p *painting) polygon(xy ...float64) {
	p.gc.NewSubPath()
	for i := 0; i+1 < len(xy); i += 2 {
		p.gc.LineTo(xy[i], xy[i+1])
	}
	p.gc.ClosePath()
}

// lit is a colour in the light of the hour, far the same seen through haze
// (distance 0: here, 1: gone).
func (p *painting) lit(c rgb) rgb                   { return c.mul(p.mood.light) }
func (p *painting) far(c rgb, distance float64) rgb { return p.lit(c).mix(p.mood.haze, distance) }

func (p *painting) between(low, high float64) float64 { return between(p.rng, low, high) }
func (p *painting) chance(of float64) bool            { return p.rng.Float64() < of }

// glow adds light around a point.
func (p *painting) glow(x, y, radius float64, c rgb, strength float64) {
	for py := max(0, int(y-2*radius)); py < min(Height, int(y+2*radius)+1); py++ {
		for px := max(0, int(x-2*radius)); px < min(Width, int(x+2*radius)+1); px++ {
			d := math.Hypot(float64(px)+0.5-x, float64(py)+0.5-y) / radius
			if d < 2 {
				f := (1 - d/2) * (1 - d/2) * strength
				p.put(px, py, p.get(px, py).add(c.scale(f)), 1)
			}
		}
	}
}

// finish turns the painting into something like a photo: the exposure varies a
// little, corners darken, the sensor is noisy, and half of them are mirrored.
func (p *painting) finish() {
	exposure, tint := p.between(0.93, 1.07), near(p.rng, rgb{1, 1, 1}, 0.025).scale(255)
	dark, grain, mirror := p.between(0.05, 0.22), p.between(2, 5), p.chance(0.5)
	for y := range Height {
		for x := range Width {
			dx, dy := float64(2*x)/Width-1, float64(2*y)/Height-1
			f := exposure * (1 - dark*(dx*dx+dy*dy)/2)
			// The sum of two uniform values is grain enough, and cheap.
			g := grain * (p.rng.Float64() + p.rng.Float64() - 1)
			px := p.img.Pix[p.img.PixOffset(x, y):][:3]
			for i, t := range [3]float64{tint.r, tint.g, tint.b} {
				px[i] = uint8(clamp(float64(px[i])/255*t*f+g+0.5, 0, 255))
			}
		}
	}
	if !mirror {
		return
	}
	for y := range Height {
		row := p.img.Pix[y*p.img.Stride:][:4*Width]
		for a, b := 0, Width-1; a < b; a, b = a+1, b-1 {
			for c := range 4 {
				row[4*a+c], row[4*b+c] = row[4*b+c], row[4*a+c]
			}
		}
	}
}
