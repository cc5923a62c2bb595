package scene

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// eachScene renders pictures 0 to n-1 on all cores.
func eachScene(t testing.TB, seed uint64, n int, do func(i int, img image.Image, keywords []string)) {
	t.Helper()
	type picture struct {
		img      image.Image
		keywords []string
	}
	pictures := make([]picture, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			pictures[i].img, pictures[i].keywords = Render(seed, i)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, p := range pictures {
		do(i, p.img, p.keywords)
	}
}

func TestKeywordsOfTheDefaultCollection(t *testing.T) {
	count := map[string]int{}
	eachScene(t, 1, 360, func(i int, img image.Image, keywords []string) {
		if img.Bounds() != image.Rect(0, 0, Width, Height) {
			t.Fatalf("picture %d has the bounds %v", i, img.Bounds())
		}
		// A flower may be all there is; anything else shows three things.
		if len(keywords) < 2 || len(keywords) > 12 {
			t.Errorf("picture %d, %s: %q", i, Kind(1, i), keywords)
		}
		for k, word := range keywords {
			if slices.Contains(keywords[:k], word) {
				t.Errorf("picture %d: %q twice", i, word)
			}
			count[word]++
		}
	})
	vocabulary := strings.Fields(`sky clouds sea sand beach sun moon stars night sunset mountain snow tree forest grass
		field road building city window house flower boat bird rainbow fog rain desert river bridge fire lake hill palm cactus
		lighthouse sheep balloon tent autumn lights leaf path pier rock umbrella`)
	for _, word := range vocabulary {
		if count[word] < 8 {
			t.Errorf("%s is in %d pictures only", word, count[word])
		}
		delete(count, word)
	}
	if len(count) > 0 {
		t.Errorf("words that nobody expects: %v", count)
	}
}

// What a listed keyword stands for can be seen: the same scene composed without
// the layers of that keyword looks different.
func TestEveryListedKeywordIsVisible(t *testing.T) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range kinds {
		g.Go(func() error {
			with := paint(1, i, "")
			for _, word := range with.keywords() {
				without := paint(1, i, word)
				differ := 0
				for px := 0; px < len(with.img.Pix); px += 4 {
					d := 0
					for c := px; c < px+3; c++ {
						d += max(int(with.img.Pix[c])-int(without.img.Pix[c]), int(without.img.Pix[c])-int(with.img.Pix[c]))
					}
					if d >= 12 {
						differ++
					}
				}
				// Where two layers of a colour overlap, or a thing is hazy, less differs.
				if differ < leastPixels(word)*2/3 {
					t.Errorf("picture %d, %s: without %s only %d pixels differ", i, Kind(1, i), word, differ)
				}
			}
			return nil
		})
	}
	g.Wait()
}

// The bookkeeping behind it, on a painting of rectangles.
func TestHiddenThingsAreNotListed(t *testing.T) {
	p := newPainting(stream(1, 1, "test"))
	block := func(x0, y0, x1, y1 int, c uint8) func() {
		return func() {
			for y := y0; y < y1; y++ {
				for x := x0; x < x1; x++ {
					p.img.SetRGBA(x, y, color.RGBA{c, c, c, 255})
				}
			}
		}
	}
	p.layer(block(0, 0, Width, Height, 200), "sky")
	p.layer(block(0, 100, Width, Height, 100), "sea")
	p.layer(block(10, 10, 20, 20, 50), "balloon")
	p.layer(block(100, 120, 140, 140, 30), "boat")
	p.layer(block(0, 120, 135, Height, 150), "rock") // leaves 5 × 20 of the boat
	p.layer(block(5, 5, 25, 25, 201), "house")       // hides the balloon, in the sky's colour
	p.veil(block(200, 10, 220, 30, 120), "rainbow")
	p.veil(block(0, 0, 20, 20, 203), "fog") // too faint to see
	got := p.seen()
	for word, want := range map[string]int{
		"sky": Width*100 - 100, "sea": Width*92 - 135*72 - 100, "balloon": 0, "boat": 100, "rock": 135 * 72, "house": 100, "rainbow": 400, "fog": 0,
	} {
		if got[word] != want {
			t.Errorf("%s shows in %d pixels, want %d", word, got[word], want)
		}
	}
	if got, want := p.keywords(), []string{"sky", "sea", "rock", "rainbow", "boat", "house"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestRenderIsAFunctionOfSeedAndIndex(t *testing.T) {
	const n = 8
	var first [n]*image.RGBA
	var words [n][]string
	eachScene(t, 7, n, func(i int, img image.Image, keywords []string) { first[i], words[i] = img.(*image.RGBA), keywords })
	for i := range n {
		img, keywords := Render(7, i)
		if !bytes.Equal(img.(*image.RGBA).Pix, first[i].Pix) || !slices.Equal(keywords, words[i]) {
			t.Errorf("picture %d came out differently the second time", i)
		}
		if other, _ := Render(8, i); bytes.Equal(other.(*image.RGBA).Pix, first[i].Pix) {
			t.Errorf("picture %d is the same for two seeds", i)
		}
		for j := range i {
			if bytes.Equal(first[i].Pix, first[j].Pix) {
				t.Errorf("pictures %d and %d are the same", i, j)
			}
		}
	}
	// Far from zero, where nobody looks: no panic, and a picture all the same.
	for _, i := range []int{1 << 40, -1, -1 << 62} {
		if _, keywords := Render(^uint64(0), i); len(keywords) == 0 {
			t.Errorf("picture %d shows nothing", i)
		}
	}
}

func TestKindsAreDealtEvenly(t *testing.T) {
	names := map[string]bool{}
	for _, k := range kinds {
		names[k.name] = true
	}
	if len(names) != len(kinds) || len(kinds) < 12 {
		t.Fatalf("%d names for %d kinds", len(names), len(kinds))
	}
	orders := map[string]bool{}
	for deal := range 5 {
		seen := map[string]bool{}
		var order strings.Builder
		for i := range kinds {
			k := Kind(3, deal*len(kinds)+i)
			seen[k] = true
			order.WriteString(k)
		}
		orders[order.String()] = true
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
		x, y := between(rng, -500, 500), between(rng, -500, 500)
		for _, v := range []float64{n.at(x, y), n.fbm(x, y, 5), n.ridged(x, y, 5)} {
			low, high = min(low, v), max(high, v)
		}
		// Smooth: no jump between neighbours, least of all across a lattice line.
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
		Render(1, i)
	}
}
