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

// painting is an image in progress, with the last visible layer at every pixel.
type painting struct {
	img    *image.RGBA
	gc     *gg.Context // draws into img
	rng    *rand.Rand
	noise  *noise
	mood   mood
	side   float64             // direction of the light: -1 left, 1 right
	layers [][]string          // keywords of each layer (0 is the empty canvas)
	shown  [Width * Height]int // pixel → index into `layers`

	// testOnlyWithout names a keyword whose layers are drawn and then undone.
	testOnlyWithout string
}

func newPainting(rng *rand.Rand, m mood) *painting {
	gc := gg.NewContext(Width, Height)
	gc.SetRGB(0, 0, 0)
	gc.Clear()
	p := &painting{img: gc.Image().(*image.RGBA), gc: gc, rng: rng, noise: newNoise(rng), mood: m, side: pick(rng, -1.0, 1.0), layers: [][]string{nil}}
	p.mood.zenith, p.mood.middle, p.mood.horizon = p.near(m.zenith, 0.05), p.near(m.middle, 0.06), p.near(m.horizon, 0.03)
	return p
}

// layer calls `draw` and assigns keywords to the pixels that clearly change.
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

// minPixels returns the number of pixels from which on a person can recognise
// the object. A moon of radius 6 has 113 pixels, three birds about 40.
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

// finish varies the exposure and adds noise like that of a camera's sensor.
func (p *painting) finish() {
	exposure, grain := p.near(hex(0xffffff), 0.05), p.between(2, 5)/255
	for y := range Height {
		for x := range Width {
			p.put(x, y, p.near(p.get(x, y).mul(exposure), grain), 1)
		}
	}
}
