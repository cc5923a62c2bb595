package demo

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"math"

	"golang.org/x/image/draw"

	photo "cpar/photo/decode"
)

const (
	// These are the longest sides of images in the page, in pixels.
	pictureSide = 640
	thumbSide   = 144
)

// A picture is an image as a data: URI, so that the page needs no other file.
type picture struct {
	URL           string
	Width, Height int
}

// loadPictures loads the page's images. It must be called before painted files
// are removed. It leaves out images that cannot be shown.
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

// loadPicture reads an image file, turned upright and scaled down to at most
// `side` pixels.
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
	return picture{"data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b), size.X, size.Y}
}

// noise draws bytes as full rows of grey pixels, in about the proportions of
// shape. The image shows the request as an observer without the key sees it.
func noise(b []byte, shape picture) picture {
	ratio := 4.0 / 3
	if shape.Width > 0 && shape.Height > 0 {
		ratio = float64(shape.Width) / float64(shape.Height)
	}
	// With an odd width, the eight-byte numbers of the request do not line up
	// as stripes.
	w := max(1, int(math.Round(math.Sqrt(float64(len(b))*ratio)))) | 1
	img := image.NewGray(image.Rect(0, 0, w, len(b)/w))
	copy(img.Pix, b)
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return picture{}
	}
	return newPicture("image/png", out.Bytes(), img.Rect.Max)
}
