package demo

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"cpar/model/rank"
)

func TestPoster(t *testing.T) {
	var b bytes.Buffer
	red := image.NewUniform(color.RGBA{200, 0, 0, 255})
	img := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for i := range 40 * 30 {
		img.Set(i%40, i/40, red.C)
	}
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	request := bytes.Repeat([]byte{7, 250}, 2000)
	photo := Photo{Picture: newPicture("image/png", b.Bytes(), img), request: request,
		Keywords: marked([]rank.Keyword{{Word: "WWW", Probability: 0.9}, {Word: "MMM", Probability: 0.4}}, true, 10, []string{"WWW"})}
	path := filepath.Join(t.TempDir(), "poster.png")
	if err := (&Result{Photos: []Photo{photo, photo}}).WritePoster(path); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	poster, err := png.Decode(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	if got := poster.At(posterMargin+posterColumn+50, posterMargin+posterLine+50); got != color.Color(red.C) {
		t.Errorf("the second photo is %v, want %v", got, red.C)
	}
	count := map[color.Color]int{}
	for y := range poster.Bounds().Dy() {
		for x := range poster.Bounds().Dx() {
			count[poster.At(x, y)]++
		}
	}
	for name, ink := range map[string]color.Color{"right": posterTrue, "wrong": posterSoft} {
		if count[ink] < 20 {
			t.Errorf("no keyword is %s", name)
		}
	}
	// Each byte is a square of 16 pixels, twice.
	for i, grey := range []uint8{7, 250} {
		if got, want := count[color.RGBA{grey, grey, grey, 255}], 2*16*66*49/2; got != want {
			t.Errorf("%d pixels of byte %d, want %d", got, i, want)
		}
	}
}
