package scene

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cpar/internal/parallel"
)

func TestKeywordsOfACollection(t *testing.T) {
	const n = 360
	var lists [n][]string
	parallel.For(n, func(i int) { lists[i] = paint(1, i, "").keywords() })
	count := map[string]int{}
	for i, keywords := range lists {
		if len(keywords) < 3 || len(keywords) > 12 {
			t.Errorf("picture %d, kind %d: %q", i, kindOf(1, i), keywords)
		}
		for k, word := range keywords {
			if slices.Contains(keywords[:k], word) {
				t.Errorf("picture %d: %q twice", i, word)
			}
			count[word]++
		}
	}
	vocabulary := strings.Fields(`sky clouds sea sand beach desert sun moon stars night sunset mountain snow hill tree forest
		grass flower building city lights river boat bird fog balloon umbrella`)
	for _, word := range vocabulary {
		if count[word] < 8 {
			t.Errorf("%s is in %d pictures only", word, count[word])
		}
		delete(count, word)
	}
	if len(count) > 0 {
		t.Errorf("unexpected words: %v", count)
	}
}

// A scene composed without the layers of a listed keyword looks different.
func TestEveryListedKeywordIsVisible(t *testing.T) {
	parallel.For(2*len(kinds), func(i int) {
		with := paint(1, i, "")
		for _, word := range with.keywords() {
			without := paint(1, i, word)
			differ := 0
			for at := 0; at < len(with.img.Pix); at += 4 {
				if difference([4]uint8(with.img.Pix[at:]), [4]uint8(without.img.Pix[at:])) >= 12 {
					differ++
				}
			}
			// Fewer pixels differ where two layers of one colour overlap or a
			// thing is hazy.
			if differ < minPixels(word)*2/3 {
				t.Errorf("picture %d, kind %d: without %s only %d pixels differ", i, kindOf(1, i), word, differ)
			}
		}
	})
}

func TestHiddenThingsAreNotListed(t *testing.T) {
	rng := stream(1, 1, "test")
	p := newPainting(rng, day)
	block := func(x0, y0, x1, y1 int, c uint8, word string) {
		p.layer(func() {
			for y := y0; y < y1; y++ {
				for x := x0; x < x1; x++ {
					p.img.SetRGBA(x, y, color.RGBA{c, c, c, 255})
				}
			}
		}, word)
	}
	block(0, 0, Width, Height, 200, "sky")
	block(0, 100, Width, Height, 100, "sea")
	block(10, 10, 20, 20, 50, "balloon")
	block(100, 120, 140, 140, 30, "boat")
	block(0, 120, 135, Height, 150, "rock") // leaves 5 × 20 pixels of the boat
	block(5, 5, 25, 25, 201, "umbrella")    // hides the balloon, in the sky's colour
	block(200, 0, Width, 50, 202, "fog")    // too faint to see
	block(150, 10, 155, 15, 250, "moon")    // too small to name
	got := p.seen()
	for word, want := range map[string]int{
		"sky": Width*100 - 125, "sea": Width*92 - 135*72 - 100, "balloon": 0, "boat": 100, "rock": 135 * 72, "umbrella": 100, "fog": 0, "moon": 25,
	} {
		if got[word] != want {
			t.Errorf("%s shows in %d pixels, want %d", word, got[word], want)
		}
	}
	if got, want := p.keywords(), []string{"sky", "sea", "rock", "boat", "umbrella"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestRenderIsAFunctionOfSeedAndIndex(t *testing.T) {
	const n = 8
	var first [n][]byte
	var words [n][]string
	render := func(seed uint64, i int) ([]byte, []string) {
		p := paint(seed, i, "")
		if p.img.Rect != image.Rect(0, 0, Width, Height) {
			t.Errorf("picture %d has the bounds %v", i, p.img.Rect)
		}
		return p.img.Pix, p.keywords()
	}
	parallel.For(n, func(i int) { first[i], words[i] = render(7, i) })
	for i := range n {
		pix, keywords := render(7, i)
		if !bytes.Equal(pix, first[i]) || !slices.Equal(keywords, words[i]) {
			t.Errorf("picture %d came out differently the second time", i)
		}
		if other, _ := render(8, i); bytes.Equal(other, first[i]) {
			t.Errorf("picture %d is the same for two seeds", i)
		}
		for j := range i {
			if bytes.Equal(first[i], first[j]) {
				t.Errorf("pictures %d and %d are the same", i, j)
			}
		}
	}
	for _, i := range []int{1 << 40, -1, -1 << 62} {
		if _, keywords := render(^uint64(0), i); len(keywords) == 0 {
			t.Errorf("picture %d shows nothing", i)
		}
	}
}

func TestRenderJPEG(t *testing.T) {
	jpg, words, err := RenderJPEG(5, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := paint(5, 3, "").keywords(); !slices.Equal(words, want) {
		t.Errorf("%q, rendered %q", words, want)
	}
	if c, err := jpeg.DecodeConfig(bytes.NewReader(jpg)); err != nil || c.Width != Width || c.Height != Height {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestKindsAreDealtEvenly(t *testing.T) {
	orders := map[string]bool{}
	for deal := range 5 {
		seen, order := map[int]bool{}, ""
		for i := range kinds {
			k := kindOf(3, deal*len(kinds)+i)
			seen[k] = true
			order += strconv.Itoa(k) + " "
		}
		orders[order] = true
		if len(seen) != len(kinds) {
			t.Errorf("deal %d has %d of %d kinds", deal, len(seen), len(kinds))
		}
	}
	if len(orders) != 5 {
		t.Errorf("five deals come in %d orders", len(orders))
	}
}

func TestNoiseStaysInRange(t *testing.T) {
	rng := stream(2, 2, "test")
	n := newNoise(rng)
	low, high := 1.0, 0.0
	for range 20000 {
		x, y := 1000*rng.Float64()-500, 1000*rng.Float64()-500
		for _, v := range []float64{n.at(x, y), n.fbm(x, y, 5)} {
			low, high = min(low, v), max(high, v)
		}
		// Smooth: no jump between neighbours, not even across a lattice line.
		for _, at := range [][2]float64{{math.Floor(x), y}, {x, math.Floor(y)}} {
			if d := n.at(at[0]-1e-6, at[1]-1e-6) - n.at(at[0]+1e-6, at[1]+1e-6); d > 1e-5 || d < -1e-5 {
				t.Fatalf("a jump of %v at %v", d, at)
			}
		}
	}
	if low < 0 || high > 1 || high-low < 0.9 {
		t.Errorf("values from %v to %v", low, high)
	}
}

func BenchmarkRender(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		paint(1, i, "")
	}
}
