package demo

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"

	"github.com/fogleman/gg"
	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"cpar/internal/durable"
	photo "cpar/photo/decode"
)

const (
	// Longest sides in the page, in pixels.
	pictureSide = 640
	thumbSide   = 144
)

// A picture is an image, also as a data: URI, so that the page needs no other
// file.
type picture struct {
	URL           template.URL
	Width, Height int
	pixels        image.Image
}

// loadPictures loads the page's images while the painted files exist. Images
// that cannot be shown are left out.
func (s *session) loadPictures() {
	thumb := func(it *item) item {
		if it.Picture.URL == "" {
			it.Picture, _ = loadPicture(it.Path, thumbSide)
		}
		return *it
	}
	for i := range s.result.Photos {
		p := &s.result.Photos[i]
		p.Picture, _ = loadPicture(s.fresh[i].Path, pictureSide)
		for _, near := range p.Nearest[:min(shownNear, len(p.Nearest))] {
			p.Near = append(p.Near, thumb(&s.train[s.builder.PhotoOf(near.Record)]))
		}
	}
	for _, it := range spread(s.train, shownAlbum) {
		s.result.Album = append(s.result.Album, thumb(&it))
	}
}

// loadPicture reads an image file, upright and scaled down to at most side.
func loadPicture(path string, side int) (picture, error) {
	b, err := photo.ReadFile(path)
	if err != nil {
		return picture{}, err
	}
	upright, err := photo.Decode(b)
	if err != nil {
		return picture{}, err
	}
	img := upright.RGBA()
	size := img.Rect.Max
	if longest := max(size.X, size.Y); longest > side {
		size = image.Pt(max(1, size.X*side/longest), max(1, size.Y*side/longest))
	}
	small := image.NewRGBA(image.Rectangle{Max: size})
	draw.CatmullRom.Scale(small, small.Rect, img, img.Rect, draw.Src, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: 85}); err != nil {
		return picture{}, err
	}
	return newPicture("image/jpeg", out.Bytes(), small), nil
}

func newPicture(kind string, b []byte, pixels image.Image) picture {
	url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)
	return picture{template.URL(url), pixels.Bounds().Dx(), pixels.Bounds().Dy(), pixels}
}

// noise draws bytes as full rows of grey pixels in the shape of another picture,
// as an observer without the key sees them.
func noise(b []byte, shape picture) picture {
	ratio := 4.0 / 3
	if shape.Width > 0 && shape.Height > 0 {
		ratio = float64(shape.Width) / float64(shape.Height)
	}
	// An odd width keeps the eight-byte numbers from lining up as stripes.
	w := max(1, int(math.Round(math.Sqrt(float64(len(b))*ratio)))) | 1
	img := image.NewGray(image.Rect(0, 0, w, len(b)/w))
	copy(img.Pix, b)
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return picture{}
	}
	return newPicture("image/png", out.Bytes(), img)
}

// The poster shows a row of photos with the keywords found, and below each the
// request that left the machine.
const (
	posterPhotos  = 4
	posterColumn  = 292 // pixels
	posterMargin  = 28
	posterPicture = 264
	posterHeight  = 3 * posterPicture / 4
	posterLine    = 26
	posterSquare  = 4 // side of a byte
)

var (
	posterGround = color.RGBA{0xf6, 0xf5, 0xf1, 0xff}
	posterInk    = color.RGBA{0x1d, 0x21, 0x26, 0xff}
	posterSoft   = color.RGBA{0x5d, 0x66, 0x70, 0xff}
	posterTrue   = color.RGBA{0x0d, 0x6b, 0x4f, 0xff}
	posterWall   = color.RGBA{0xb4, 0x53, 0x2a, 0xff}
)

// WritePoster draws the first photos into a PNG file.
func (r *Result) WritePoster(path string) error {
	photos := r.Photos[:min(posterPhotos, len(r.Photos))]
	p := poster{gg.NewContext(2*posterMargin+len(photos)*posterColumn-(posterColumn-posterPicture), 2*posterMargin+2*posterHeight+8*posterLine)}
	p.SetColor(posterGround)
	p.Clear()
	if err := p.text(posterMargin, posterMargin+14, gobold.TTF, posterInk, "You: new photos, and the keywords found for them"); err != nil {
		return fmt.Errorf("drawing the picture: %w", err)
	}
	for i, photo := range photos {
		if err := p.column(posterMargin+i*posterColumn, photo); err != nil {
			return fmt.Errorf("drawing the picture: %w", err)
		}
	}
	var b bytes.Buffer
	if err := p.EncodePNG(&b); err != nil {
		return fmt.Errorf("drawing the picture: %w", err)
	}
	if err := durable.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}

type poster struct{ *gg.Context }

func (p poster) column(x int, photo Photo) error {
	y := posterMargin + posterLine
	if photo.Picture.pixels != nil {
		p.photo(x, y, photo.Picture.pixels)
	}
	y += posterHeight + posterLine
	at := x
	for _, k := range photo.Keywords {
		ink, word := posterSoft, k.Word
		if k.Correct {
			ink = posterTrue
		}
		if !k.Sure && k.Probability > 0 {
			word += "?"
		}
		width, _ := p.MeasureString(word + "   ")
		if at+int(width) > x+posterPicture+posterMargin/2 {
			at, y = x, y+posterLine
		}
		if err := p.text(at, y, goregular.TTF, ink, word); err != nil {
			return err
		}
		at += int(width)
	}
	y = posterMargin + posterHeight + 5*posterLine
	if x == posterMargin {
		if err := p.text(x, y+14, gobold.TTF, posterWall, "The server: a request for each, and no way to read it"); err != nil {
			return err
		}
	}
	grey := image.NewGray(image.Rect(0, 0, posterPicture/posterSquare, posterHeight/posterSquare))
	copy(grey.Pix, photo.request)
	to := image.Rectangle{Max: grey.Rect.Max.Mul(posterSquare)}.Add(image.Pt(x, y+posterLine))
	draw.NearestNeighbor.Scale(p.target(), to, grey, grey.Rect, draw.Src, nil)
	return p.text(x, y+2*posterLine+posterHeight, goregular.TTF, posterSoft, Bytes(uint64(len(photo.request)))+", encrypted")
}

func (p poster) target() draw.Image { return p.Image().(draw.Image) }

// photo draws an image into the rectangle at x, y and crops the excess.
func (p poster) photo(x, y int, from image.Image) {
	size, cut := from.Bounds().Size(), from.Bounds()
	if w := size.Y * posterPicture / posterHeight; w < size.X {
		cut = image.Rect((size.X-w)/2, 0, (size.X+w)/2, size.Y)
	} else if h := size.X * posterHeight / posterPicture; h < size.Y {
		cut = image.Rect(0, (size.Y-h)/2, size.X, (size.Y+h)/2)
	}
	draw.CatmullRom.Scale(p.target(), image.Rect(x, y, x+posterPicture, y+posterHeight), from, cut, draw.Src, nil)
}

func (p poster) text(x, y int, ttf []byte, c color.Color, s string) error {
	f, err := opentype.Parse(ttf)
	if err != nil {
		return err
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: 17, DPI: 72, Hinting: font.HintingFull})
	p.SetFontFace(face)
	p.SetColor(c)
	p.DrawString(s, float64(x), float64(y))
	return err
}
