package demo

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"cpar/internal/durable"
)

// The poster shows a row of photos with the keywords found, and below each the
// request that left the machine.
const (
	posterPhotos  = 4
	posterColumn  = 292 // pixels
	posterMargin  = 28
	posterPicture = 264
	posterHeight  = 3 * posterPicture / 4
	posterLine    = 26
)

var (
	posterGround = color.RGBA{0xf6, 0xf5, 0xf1, 0xff}
	posterInk    = color.RGBA{0x1d, 0x21, 0x26, 0xff}
	posterSoft   = color.RGBA{0x5d, 0x66, 0x70, 0xff}
	posterTrue   = color.RGBA{0x0d, 0x6b, 0x4f, 0xff}
	posterWall   = color.RGBA{0xb4, 0x53, 0x2a, 0xff}
)

func (r *Result) WritePoster(path string) error {
	p, err := newPoster(r)
	if err != nil {
		return fmt.Errorf("drawing the picture: %w", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.image); err != nil {
		return fmt.Errorf("drawing the picture: %w", err)
	}
	if err := durable.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}

type poster struct {
	image         *image.RGBA
	regular, bold font.Face
}

func newPoster(r *Result) (*poster, error) {
	photos := r.Photos[:min(posterPhotos, len(r.Photos))]
	width := 2*posterMargin + len(photos)*posterColumn - (posterColumn - posterPicture)
	height := 2*posterMargin + 2*posterHeight + 8*posterLine
	p := &poster{image: image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(p.image, p.image.Bounds(), image.NewUniform(posterGround), image.Point{}, draw.Src)
	var err error
	if p.regular, err = face(goregular.TTF, 17); err != nil {
		return nil, err
	}
	if p.bold, err = face(gobold.TTF, 17); err != nil {
		return nil, err
	}
	p.text(posterMargin, posterMargin+14, p.bold, posterInk, "You: new pictures, and the keywords found for them")
	for i, photo := range photos {
		if err := p.column(posterMargin+i*posterColumn, photo); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *poster) column(x int, photo Photo) error {
	y := posterMargin + posterLine
	shown, err := photo.picture.decode()
	if err != nil {
		return err
	}
	p.fill(x, y, shown)
	y += posterHeight + posterLine
	at := x
	for _, k := range photo.answer(hero).Keywords {
		ink, word := posterSoft, k.Word
		if k.Correct {
			ink = posterTrue
		}
		if !k.Sure && k.Probability > 0 {
			word += "?"
		}
		width := font.MeasureString(p.regular, word+"   ").Ceil()
		if at+width > x+posterPicture+posterMargin/2 {
			at, y = x, y+posterLine
		}
		p.text(at, y, p.regular, ink, word)
		at += width
	}
	y = posterMargin + posterHeight + 5*posterLine
	if x == posterMargin {
		p.text(x, y+14, p.bold, posterWall, "The cloud: a request for each, and no way to read it")
	}
	p.bytes(x, y+posterLine, photo.request)
	p.text(x, y+2*posterLine+posterHeight, p.regular, posterSoft, Bytes(float64(len(photo.request)))+", encrypted")
	return nil
}

// fill draws an image into its rectangle and crops the excess.
func (p *poster) fill(x, y int, from image.Image) {
	size := from.Bounds().Size()
	cut := from.Bounds()
	if w := size.Y * posterPicture / posterHeight; w < size.X {
		cut = image.Rect((size.X-w)/2, 0, (size.X+w)/2, size.Y)
	} else if h := size.X * posterHeight / posterPicture; h < size.Y {
		cut = image.Rect(0, (size.Y-h)/2, size.X, (size.Y+h)/2)
	}
	draw.CatmullRom.Scale(p.image, image.Rect(x, y, x+posterPicture, y+posterHeight), from, cut, draw.Src, nil)
}

// bytes draws as many bytes as fit, each as a grey square.
func (p *poster) bytes(x, y int, b []byte) {
	const square = 4
	for i, grey := range b[:min(len(b), posterPicture/square*(posterHeight/square))] {
		at := image.Pt(x+i%(posterPicture/square)*square, y+i/(posterPicture/square)*square)
		draw.Draw(p.image, image.Rectangle{Min: at, Max: at.Add(image.Pt(square, square))}, image.NewUniform(color.Gray{grey}), image.Point{}, draw.Src)
	}
}

func (p *poster) text(x, y int, f font.Face, c color.Color, s string) {
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(c), Face: f, Dot: fixed.P(x, y)}
	d.DrawString(s)
}

func face(ttf []byte, size float64) (font.Face, error) {
	f, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
}

// decode returns the image in a data: URI.
func (p picture) decode() (image.Image, error) {
	_, data, _ := strings.Cut(string(p.URL), ";base64,")
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	return img, err
}
