package decode

import (
	"image"
	"image/color"
	"image/draw"
)

// A rowReader writes row y of a stored image as 8-bit sRGB over white.
type rowReader func(y int, rgb []byte)

// rowsOf returns a reader for a decoded image.
func rowsOf(format string, img image.Image) rowReader {
	switch m := img.(type) {
	case *image.YCbCr:
		if format == "webp" {
			return yCbCrRows(m, videoRGB)
		}
		return yCbCrRows(m, jpegRGB)
	case *image.NYCbCrA:
		return yCbCrARows(m)
	case *image.Paletted:
		img = padPalette(m)
	}
	b := img.Bounds()
	line := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	op := draw.Over
	if m, ok := img.(interface{ Opaque() bool }); ok && m.Opaque() {
		op = draw.Src // this is faster
	}
	return func(y int, rgb []byte) {
		if op == draw.Over {
			draw.Draw(line, line.Rect, image.White, image.Point{}, draw.Src)
		}
		draw.Draw(line, line.Rect, img, image.Pt(b.Min.X, b.Min.Y+y), op)
		for x := range b.Dx() {
			from, to := line.Pix[4*x:][:3], rgb[3*x:][:3]
			to[0], to[1], to[2] = from[0], from[1], from[2]
		}
	}
}

// padPalette extends a palette with white: a damaged file may have indices beyond its
// end, on which package image would panic.
func padPalette(m *image.Paletted) *image.Paletted {
	whole := *m
	whole.Palette = make(color.Palette, 256)
	for i := range whole.Palette {
		whole.Palette[i] = color.White
	}
	copy(whole.Palette, m.Palette)
	return &whole
}
