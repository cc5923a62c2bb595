package decode

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
)

// irot rotates anticlockwise by quarters. imir mirrors: 0 top-bottom, 1
// left-right.
func irot(quarters byte) []byte { return isoBox("irot", []byte{quarters}) }
func imir(axis byte) []byte     { return isoBox("imir", []byte{axis}) }

func corner(t *testing.T) *Image {
	data, err := os.ReadFile(filepath.Join("testdata", "corner.png"))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

func cornerOf(p *Image) string {
	yellow := func(x, y int) bool {
		c := p.Row(y)[3*x:]
		return c[0] > 200 && c[1] > 200 && c[2] < 90
	}
	found := ""
	for _, c := range []struct {
		name string
		x, y int
	}{{"top left", 4, 4}, {"top right", p.Width - 5, 4}, {"bottom left", 4, p.Height - 5}, {"bottom right", p.Width - 5, p.Height - 5}} {
		if yellow(c.x, c.y) {
			found += c.name
		}
	}
	return found
}

func TestHEIC(t *testing.T) {
	want := corner(t)
	for name, r := range map[string]heifRecipe{
		"a picture":  {w: 96, h: 64},
		"with tail":  {w: 96, h: 64, after: isoBox("mdat", make([]byte, 999))},
		"full range": {w: 96, h: 64, properties: [][]byte{isoBox("colr", []byte("nclx"), be16(1, 13, 6), []byte{0x80})}},
	} {
		p := decode(t, r.encode(t))
		if p.Width != 96 || p.Height != 64 || off(p, want) > 4 {
			t.Errorf("%s: %d×%d, off by %.1f", name, p.Width, p.Height, off(p, want))
		}
	}
	p := decode(t, heifRecipe{w: 192, h: 64, tiles: 2}.encode(t))
	if p.Width != 192 || p.Height != 64 || cornerOf(p) != "top left" || p.Row(4)[3*100] < 200 {
		t.Errorf("a grid: %d×%d, %s", p.Width, p.Height, cornerOf(p))
	}
}

// The properties rotate the image, so EXIF must not.
func TestHEICIsRotatedOnce(t *testing.T) {
	exif := "Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"
	for _, c := range []struct {
		name       string
		properties [][]byte
		w          int
		corner     string
	}{
		{"upright", nil, 96, "top left"},
		{"90° anticlockwise", [][]byte{irot(1)}, 64, "bottom left"},
		{"180°", [][]byte{irot(2)}, 96, "bottom right"},
		{"90° clockwise", [][]byte{irot(3)}, 64, "top right"},
		{"mirrored left-right", [][]byte{imir(1)}, 96, "top right"},
		{"mirrored and turned", [][]byte{imir(1), irot(1)}, 64, "top left"},
	} {
		data := heifRecipe{w: 96, h: 64, properties: c.properties, after: isoBox("mdat", []byte(exif))}.encode(t)
		if p := decode(t, data); p.Width != c.w || cornerOf(p) != c.corner {
			t.Errorf("%s: %d×%d, corner %s; want %s", c.name, p.Width, p.Height, cornerOf(p), c.corner)
		}
	}
}

// Luma of films runs from 16 to 235, so 16 is black.
func TestHEICOfVideoRange(t *testing.T) {
	full := decode(t, heifRecipe{w: 96, h: 64}.encode(t))
	film := decode(t, heifRecipe{w: 96, h: 64, properties: [][]byte{isoBox("colr", []byte("nclx"), be16(1, 13, 6), []byte{0})}}.encode(t))
	stretched, same := 0.0, 0.0
	for i, v := range full.RGB {
		stretched += math.Abs(float64(film.RGB[i]) - min(max((float64(v)-16)*255/219, 0), 255))
		same += math.Abs(float64(film.RGB[i]) - float64(v))
	}
	if 2*stretched > same {
		t.Errorf("off by %.0f in the range of films, by %.0f in the range of photos", stretched, same)
	}
}

func TestHEICRefused(t *testing.T) {
	good := heifRecipe{w: 96, h: 64}.encode(t)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut in its boxes":        {good[:100], "claims no size"},
		"cut in the picture":      {good[:len(good)/2], "libheif"},
		"a size for nothing":      {heifRecipe{w: 9000, h: 9000}.encode(t), "exhaust memory"},
		"a size beyond all":       {heifRecipe{w: 1 << 31, h: 1 << 31}.encode(t), "on a side"},
		"more than memory allows": {heifRecipe{w: 16000, h: 16000, after: make([]byte, 1<<20)}.encode(t), "of memory"},
		"a grid without tiles":    {heifRecipe{w: 60000, h: 64, tiles: 1, after: make([]byte, 1<<16)}.encode(t), "libheif"},
	} {
		_, err := Decode(c.data)
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want one that says %q", name, err, c.want)
		}
	}
}

func FuzzHEIC(f *testing.F) {
	f.Add(heifRecipe{w: 96, h: 64}.encode(f))
	f.Add(heifRecipe{w: 192, h: 64, tiles: 2, properties: [][]byte{irot(1)}}.encode(f))
	f.Add([]byte("\x00\x00\x00\x18ftypheic"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 12 || string(data[4:8]) != "ftyp" {
			return
		}
		p, err := Decode(data)
		if err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Fatalf("%v does not wrap ErrInput", err)
		}
		if err == nil && len(p.RGB) != 3*p.Width*p.Height {
			t.Fatalf("%d×%d pixels in %d bytes", p.Width, p.Height, len(p.RGB))
		}
	})
}

func BenchmarkHEIC(b *testing.B) {
	data := heifRecipe{w: 96 * 128, h: 64, tiles: 128}.encode(b)
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
