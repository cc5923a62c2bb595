package zeroshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/model/feature"
	"cpar/photo/decode"
)

// A colourNet is an image half whose embedding is the mean colour.
type colourNet struct{ calls atomic.Int64 }

func (*colourNet) Digest() [32]byte { return sha256.Sum256([]byte("colours")) }

func (n *colourNet) Embed(p *decode.Image) ([]float32, error) {
	n.calls.Add(1)
	out := []float32{0, 0, 0, 64} // common to all images
	for i, b := range p.RGB {
		out[i%3] += float32(b) / float32(len(p.RGB)/3)
	}
	return out, nil
}

// A colourText is the matching text half, which averages the colours that a
// text names. With strange set it uses other names.
type colourText struct {
	strange bool
	dim     int
	calls   atomic.Int64
}

func (c *colourText) Digest() [32]byte {
	if c.strange {
		return sha256.Sum256([]byte("strange"))
	}
	return sha256.Sum256([]byte("text"))
}

func (c *colourText) Text(text string) ([]float32, error) {
	c.calls.Add(1)
	out := make([]float32, max(4, c.dim))
	out[3] = 200
	for _, word := range strings.Fields(strings.Trim(text, ".")) {
		for i, named := range colours {
			if c.strange {
				named = colours[(i+1)%len(colours)]
			}
			if named.name == word {
				for k := range 3 {
					out[k] += float32(colours[i].rgb[k])
				}
			}
		}
	}
	return out, nil
}

func paint(t *testing.T, dir, name string, c color.Color) string {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 20, 20))
	for i := range 400 {
		m.Set(i%20, i/20, c)
	}
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, m); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeywords(t *testing.T) {
	dir := t.TempDir()
	cache, err := feature.OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, text := &colourNet{}, &colourText{}
	o := Options{Encoder: n, Text: text, Asked: []string{"red", "blue", "Red", "grün"}, MaxKeywords: 2, Cache: cache}
	var told int
	o.Progress = func(_ string, done, total int) { told = total - done }
	p, err := Prepare(context.Background(), o)
	if err != nil || p.Doubtful || p.ColourMatches < 5 || told != 0 {
		t.Fatalf("%v; %d of %d, %d words were not told of", err, p.ColourMatches, p.ColourCount, told)
	}
	red := paint(t, dir, "red.png", color.RGBA{200, 30, 30, 255})
	found, err := p.Keywords(red, nil)
	if err != nil || len(found) != 2 || found[0].Word != "red" || found[0].Score <= found[1].Score {
		t.Errorf("%v, %v", found, err)
	}
	if found, err = p.Keywords(red, []string{"RED"}); err != nil || len(found) != 2 || found[0].Word == "red" {
		t.Errorf("a keyword that is known is told again: %v, %v", found, err)
	}
	calls, pictures := text.calls.Load(), n.calls.Load()
	o.MinScore = 1
	if p, err = Prepare(context.Background(), o); err != nil || text.calls.Load() != calls {
		t.Errorf("%v; the cache was not asked: %d texts, before %d", err, text.calls.Load(), calls)
	}
	if found, err = p.Keywords(red, nil); err != nil || len(found) > 0 || n.calls.Load() != pictures {
		t.Errorf("%v, %v of score 1; %d pictures, before %d", found, err, n.calls.Load(), pictures)
	}
	// Another text half has other vectors and must be reported as doubtful.
	o.Text = &colourText{strange: true}
	if p, err = Prepare(context.Background(), o); err != nil || !p.Doubtful {
		t.Errorf("%v; a strange text half names %d of %d", err, p.ColourMatches, p.ColourCount)
	}
	o.Text, o.Cache = &colourText{dim: 7}, nil
	if _, err = Prepare(context.Background(), o); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "4 values and the text half 7") {
		t.Errorf("halves of other lengths: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o.Text = text; err == nil {
		t.Error("no error")
	}
	if _, err = Prepare(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := p.Keywords(filepath.Join(dir, "none.png"), nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no photo: %v", err)
	}
}

func TestRank(t *testing.T) {
	vectors := [][]float32{{3, 4}, {0, 2}, {5, 0}, {-1, 0}}
	list := []string{"a", "b", "c", "d"}
	r, err := NewRanker(list, vectors, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Rank([]float32{0, 0.5}, 10, 0, nil)
	if err != nil || len(got) != 3 || got[0].Word != "b" || got[1].Word != "a" || got[2].Word != "c" {
		t.Fatalf("%v, %v; want b a c, and d not offered", got, err)
	}
	sum := math.Exp(80-100) + 1 + math.Exp(-100) + math.Exp(-100)
	if math.Abs(got[0].Score-1/sum) > 1e-9 || math.Abs(got[1].Score*sum/math.Exp(-20)-1) > 1e-4 {
		t.Errorf("%v", got)
	}
	if got, err = r.Rank([]float32{0, 0.5}, 1, 0, nil); err != nil || len(got) != 1 {
		t.Errorf("at most one: %v, %v", got, err)
	}
	for name, v := range map[string][]float32{"another length": {1, 2, 3}, "nothing": {0, 0}, "no number": {float32(math.NaN()), 0}, "infinite": {float32(math.Inf(1)), 0}} {
		if _, err := r.Rank(v, 1, 0, nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := NewRanker([]string{"a", "b"}, [][]float32{{1, 2}, v}, 1); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("a word of %s: %v", name, err)
		}
	}
}

func TestReadList(t *testing.T) {
	got, err := ReadList("beach,  pier ,Beach # and so on\n\n# none\nold  man\r\nStraße\n")
	if want := []string{"beach", "pier", "old man", "Straße"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"1, 2", "a\x00b", "a\xffb", strings.Repeat("x", 101)} {
		if _, err := ReadList(text); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var many strings.Builder
	for i := range maxWords + 1 {
		many.WriteString("w" + strings.Repeat("x", i%90) + string(rune('a'+i%26)) + string(rune(0x4e00+i)) + "\n")
	}
	if _, err := ReadList(many.String()); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("many words: %v", err)
	}
	if list := Everyday(); len(list) < 300 || len(list) > 600 || len(list) != len(unique(slices.Clone(list))) {
		t.Errorf("%d everyday words", len(list))
	}
}
