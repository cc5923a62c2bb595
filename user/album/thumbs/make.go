package thumbs

import (
	"bytes"
	"image"
	"image/jpeg"

	"golang.org/x/image/draw"

	"cpar/photo/decode"
)

// qualities are JPEG qualities, at which thumbnails take about 1.5 kB and 7 kB.
var qualities = map[Size]int{Small: 70, Medium: 70}

// Images are a photo's thumbnails, JPEG files without metadata. They are empty if
// the photo cannot be decoded.
type Images struct{ small, medium []byte }

func (m *Images) of(s Size) []byte {
	if s == Small {
		return m.small
	}
	return m.medium
}

// Make returns the thumbnails of a photo's file, which it decodes once.
func Make(file []byte) *Images {
	p, err := decode.Decode(file)
	if err != nil {
		return &Images{}
	}
	medium := Scale(p, Medium.Side())
	w, h := fit(p.Width, p.Height, Small.Side())
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(small, small.Rect, medium, medium.Rect, draw.Src, nil)
	return &Images{encode(small, qualities[Small]), encode(medium, qualities[Medium])}
}

func encode(m image.Image, quality int) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		panic("thumbs: JPEG of a small image in memory: " + err.Error())
	}
	return b.Bytes()
}

// fit returns the size of an image of w×h pixels, reduced so that the longer side
// has at most `side` pixels.
func fit(w, h, side int) (int, int) {
	if longer := max(w, h); longer > side {
		return max(1, w*side/longer), max(1, h*side/longer)
	}
	return w, h
}

// Scale reduces an image so that its longer side has at most `side` pixels. It
// averages blocks first, because a kernel over all pixels of a photo is slow.
func Scale(p *decode.Image, side int) *image.RGBA {
	from := p
	if block := max(p.Width, p.Height) / (2 * side); block > 1 {
		from = averaged(p, block)
	}
	w, h := fit(p.Width, p.Height, side)
	if w == from.Width && h == from.Height {
		return from.RGBA()
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(to, to.Rect, from.RGBA(), image.Rect(0, 0, from.Width, from.Height), draw.Src, nil)
	return to
}

// averaged returns the means of blocks of n×n pixels as an image. It drops
// incomplete blocks at the edges.
func averaged(p *decode.Image, n int) *decode.Image {
	if min(p.Width, p.Height) < n { // a strip narrower than a block
		return p
	}
	out := &decode.Image{Width: p.Width / n, Height: p.Height / n}
	out.RGB = make([]byte, 3*out.Width*out.Height)
	sums := make([]uint32, 3*out.Width)
	for y := range out.Height {
		clear(sums)
		for dy := range n {
			row := p.Row(y*n + dy)
			for x := range out.Width {
				for i := 3 * n * x; i < 3*n*(x+1); i += 3 {
					sums[3*x] += uint32(row[i])
					sums[3*x+1] += uint32(row[i+1])
					sums[3*x+2] += uint32(row[i+2])
				}
			}
		}
		for x, sum := range sums {
			out.Row(y)[x] = byte((sum + uint32(n*n)/2) / uint32(n*n))
		}
	}
	return out
}
