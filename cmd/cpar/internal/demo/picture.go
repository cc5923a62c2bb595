package demo

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"

	"golang.org/x/image/draw"

	photo "cpar/photo/decode"
	"cpar/user"
)

const (
	// Longest sides in the page, in pixels.
	pictureSide = 640
	thumbSide   = 144
)

// A picture is an image as a data: URI, so that the page needs no other file.
type picture struct {
	URL           template.URL
	Width, Height int
}

// loadPictures loads the page's images while the painted files exist. Images
// that cannot be shown are left out.
func (s *session) loadPictures() error {
	r := &s.result
	r.thumbs = map[uint32]picture{}
	for i := range r.Photos {
		p := &r.Photos[i]
		p.picture, _ = loadPicture(p.path, pictureSide)
		for _, near := range p.nearest() {
			if _, ok := r.thumbs[near.Record]; ok || int(near.Record) >= len(s.records) {
				continue
			}
			r.thumbs[near.Record], _ = loadPicture(s.records[s.indexes[user.DefaultScheme].builder.PhotoOf(near.Record)].Path, thumbSide)
		}
	}
	return nil
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
	return newPicture("image/jpeg", out.Bytes(), size), nil
}

func newPicture(kind string, b []byte, size image.Point) picture {
	url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)
	return picture{template.URL(url), size.X, size.Y}
}

// noise draws bytes as grey pixels in the shape of another picture, as an
// observer without the key sees them.
func noise(b []byte, shape picture) picture {
	ratio := 4.0 / 3
	if shape.Width > 0 && shape.Height > 0 {
		ratio = float64(shape.Width) / float64(shape.Height)
	}
	// An odd width keeps the eight-byte numbers from lining up as stripes.
	w := max(1, int(math.Round(math.Sqrt(float64(len(b))*ratio)))) | 1
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
