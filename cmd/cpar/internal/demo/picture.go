package demo

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	_ "image/gif" // registers the decoder
	"image/jpeg"
	"image/png"
	"math"
	"os"

	"github.com/bep/imagemeta"
	_ "golang.org/x/image/bmp" // registers the decoder
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // registers the decoder
	_ "golang.org/x/image/webp" // registers the decoder

	"cpar"
)

const (
	// pictureSide and thumbSide are the longest sides in the page, in pixels.
	pictureSide = 640
	thumbSide   = 144
)

// A picture is an image as a data: URI, so that the page needs no other file.
type picture struct {
	URL           template.URL
	Width, Height int
}

// loadPictures makes the page's pictures while the painted files are there.
// A picture that cannot be shown is left out: its keywords are what counts.
func (s *session) loadPictures() error {
	r := &s.result
	r.thumbs = map[uint32]picture{}
	for i := range r.Photos {
		p := &r.Photos[i]
		p.picture, _ = loadPicture(p.path, pictureSide)
		for _, near := range p.Answers[0].Nearest {
			if _, ok := r.thumbs[near.Record]; ok || int(near.Record) >= len(s.records) {
				continue
			}
			r.thumbs[near.Record], _ = loadPicture(s.records[s.indexes[cpar.SchemeCPAR].builder.Image(near.Record)].Path, thumbSide)
		}
	}
	return nil
}

// loadPicture reads an image file, upright and scaled down to at most side.
func loadPicture(path string, side int) (picture, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return picture{}, err
	}
	img, format, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return picture{}, err
	}
	size := img.Bounds().Size()
	if longest := max(size.X, size.Y); longest > side {
		size = image.Pt(max(1, size.X*side/longest), max(1, size.Y*side/longest))
	}
	small := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src)
	draw.CatmullRom.Scale(small, small.Bounds(), img, img.Bounds(), draw.Over, nil)
	upright := turn(small, orientation(b, format))
	var out bytes.Buffer
	if err := jpeg.Encode(&out, upright, &jpeg.Options{Quality: 85}); err != nil {
		return picture{}, err
	}
	return newPicture("image/jpeg", out.Bytes(), upright.Bounds().Size()), nil
}

func newPicture(kind string, b []byte, size image.Point) picture {
	url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)
	return picture{template.URL(url), size.X, size.Y}
}

// orientation is EXIF's, 1 (as stored) to 8; 1 where there is none.
func orientation(b []byte, format string) int {
	formats := map[string]imagemeta.ImageFormat{"jpeg": imagemeta.JPEG, "png": imagemeta.PNG, "webp": imagemeta.WebP, "tiff": imagemeta.TIFF}
	o := 1
	if f, ok := formats[format]; ok {
		imagemeta.Decode(imagemeta.Options{
			R: bytes.NewReader(b), ImageFormat: f, Sources: imagemeta.EXIF,
			ShouldHandleTag: func(t imagemeta.TagInfo) bool { return t.Tag == "Orientation" },
			HandleTag: func(t imagemeta.TagInfo) error {
				fmt.Sscan(fmt.Sprint(t.Value), &o)
				return nil
			},
		})
	}
	return o
}

// turn makes an image upright: EXIF 2 to 4 mirror and turn by 180°, 5 to 8
// exchange rows and columns as well.
func turn(img *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return img
	}
	size := img.Bounds().Size()
	swap := orientation >= 5
	reverseX := orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8
	reverseY := orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7
	to := size
	if swap {
		to = image.Pt(size.Y, size.X)
	}
	out := image.NewRGBA(image.Rectangle{Max: to})
	for y := range size.Y {
		for x := range size.X {
			a, b := x, y
			if reverseX {
				a = size.X - 1 - x
			}
			if reverseY {
				b = size.Y - 1 - y
			}
			if swap {
				a, b = b, a
			}
			out.SetRGBA(a, b, img.RGBAAt(x, y))
		}
	}
	return out
}

// noise draws bytes as grey pixels, row by row, in the shape of another
// picture: what somebody sees who has the bytes and not the key.
func noise(b []byte, shape picture) picture {
	ratio := 4.0 / 3
	if shape.Width > 0 && shape.Height > 0 {
		ratio = float64(shape.Width) / float64(shape.Height)
	}
	w := max(1, int(math.Round(math.Sqrt(float64(len(b))*ratio))))
	h := (len(b) + w - 1) / w
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i, x := range b {
		img.SetNRGBA(i%w, i/w, color.NRGBA{x, x, x, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return picture{}
	}
	return newPicture("image/png", out.Bytes(), image.Pt(w, h))
}
