package scene

import (
	"bytes"
	"cmp"
	"image"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fogleman/gg"
)

// painting is an image in progress. It remembers the last visible layer at
// every pixel, so the keywords are those of layers still visible at the end.
type painting struct {
	img    *image.RGBA
	gc     *gg.Context // draws into img
	rng    *rand.Rand
	noise  *noise
	mood   mood
	side   float64             // direction of the light: -1 left, 1 right
	shine  float64             // x of the sun or moon that water reflects
	layers [][]string          // keywords of each layer, the first is bare canvas
	shown  [Width * Height]int // pixel → index into layers

	// testOnlyWithout names a keyword whose layers are composed but not shown.
	testOnlyWithout string
}

func newPainting(rng *rand.Rand, m mood) *painting {
	gc := gg.NewContext(Width, Height)
	gc.SetRGB(0, 0, 0)
	gc.Clear()
	return &painting{
		img: gc.Image().(*image.RGBA), gc: gc, rng: rng, noise: newNoise(rng), mood: m,
		side: pick(rng, -1.0, 1.0), shine: -Width, layers: [][]string{nil},
	}
}

// layer draws and assigns keywords to the pixels that clearly changed.
func (p *painting) layer(draw func(), keywords ...string) {
	before := bytes.Clone(p.img.Pix)
	draw()
	if p.testOnlyWithout != "" && slices.Contains(keywords, p.testOnlyWithout) {
		copy(p.img.Pix, before)
	}
	for i := range p.shown {
		if difference([4]uint8(before[4*i:]), [4]uint8(p.img.Pix[4*i:])) >= 9 {
			p.shown[i] = len(p.layers)
		}
	}
	p.layers = append(p.layers, keywords)
}

func difference(a, b [4]uint8) (d int) {
	for c := range a {
		d += max(int(a[c])-int(b[c]), int(b[c])-int(a[c]))
	}
	return d
}

func (p *painting) seen() map[string]int {
	seen := map[string]int{}
	for _, layer := range p.shown {
		for _, k := range p.layers[layer] {
			seen[k]++
		}
	}
	return seen
}

func (p *painting) keywords() []string {
	seen := p.seen()
	maps.DeleteFunc(seen, func(k string, pixels int) bool { return pixels < minPixels(k) })
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), strings.Compare(a, b))
	})
}

// minPixels is the size at which a person can name a thing. A moon of radius 6
// has 113 pixels, three birds about 40.
func minPixels(keyword string) int {
	switch keyword {
	case "sky", "clouds", "night", "sunset", "sea", "fog":
		return Width * Height / 50
	case "sand", "beach", "desert", "grass", "snow", "mountain", "hill", "forest", "river", "city":
		return Width * Height / 120
	case "bird", "moon", "boat":
		return 35
	default:
		return 70
	}
}

// finish varies the exposure, darkens the corners and adds sensor noise, as in
// a photo.
func (p *painting) finish() {
	exposure, tint := p.between(0.93, 1.07), near(p.rng, rgb{1, 1, 1}, 0.025)
	dark, grain := p.between(0.05, 0.22), p.between(2, 5)/255
	for y := range Height {
		for x := range Width {
			dx, dy := float64(2*x)/Width-1, float64(2*y)/Height-1
			f := exposure * (1 - dark*(dx*dx+dy*dy)/2)
			// The sum of two uniform values is a cheap and sufficient grain.
			g := grain * (p.rng.Float64() + p.rng.Float64() - 1)
			p.put(x, y, p.get(x, y).mul(tint).scale(f).add(rgb{g, g, g}), 1)
		}
	}
}
