package feature

import (
	"image"
	"image/color"
)

// openRows chooses how the rows of a decoded image become 8-bit sRGB over
// white. 16-bit samples keep their high byte, as libpng's strip does.
func openRows(format string, img image.Image) func() rowReader {
	switch m := img.(type) {
	case *image.YCbCr:
		if format == "webp" {
			return openYCbCr(m, videoRGB)
		}
		return openYCbCr(m, jpegRGB)
	case *image.NYCbCrA:
		return openYCbCrA(m)
	case *image.Gray:
		return stateless(func(y int, rgb []byte) {
			for x, v := range m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):][:len(rgb)/3] {
				rgb[3*x], rgb[3*x+1], rgb[3*x+2] = v, v, v
			}
		})
	case *image.Gray16:
		return stateless(func(y int, rgb []byte) {
			pix := m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):]
			for x := range len(rgb) / 3 {
				v := pix[2*x]
				rgb[3*x], rgb[3*x+1], rgb[3*x+2] = v, v, v
			}
		})
	case *image.RGBA:
		return stateless(func(y int, rgb []byte) {
			premultipliedRow(rgb, m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):], 1)
		})
	case *image.RGBA64:
		return stateless(func(y int, rgb []byte) {
			premultipliedRow(rgb, m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):], 2)
		})
	case *image.NRGBA:
		return stateless(func(y int, rgb []byte) {
			straightRow(rgb, m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):], 1)
		})
	case *image.NRGBA64:
		return stateless(func(y int, rgb []byte) {
			straightRow(rgb, m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):], 2)
		})
	case *image.Paletted:
		return openPaletted(m)
	case *image.CMYK:
		return stateless(func(y int, rgb []byte) {
			cmykRow(rgb, m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):])
		})
	}
	b := img.Bounds()
	return stateless(func(y int, rgb []byte) {
		for x := range len(rgb) / 3 {
			r, g, bl := overWhite(img.At(b.Min.X+x, b.Min.Y+y))
			rgb[3*x], rgb[3*x+1], rgb[3*x+2] = r, g, bl
		}
	})
}

func stateless(r rowReader) func() rowReader { return func() rowReader { return r } }

// premultipliedRow composites colours already multiplied by alpha over white;
// step is the bytes of a sample.
func premultipliedRow(rgb, pix []byte, step int) {
	for x := range len(rgb) / 3 {
		p := pix[4*step*x:][: 3*step+1 : 3*step+1]
		white := 255 - p[3*step]
		// A file may hold a colour brighter than its alpha: saturate.
		rgb[3*x] = byte(min(255, int(p[0])+int(white)))
		rgb[3*x+1] = byte(min(255, int(p[step])+int(white)))
		rgb[3*x+2] = byte(min(255, int(p[2*step])+int(white)))
	}
}

// straightRow composites colours not multiplied by alpha over white.
func straightRow(rgb, pix []byte, step int) {
	for x := range len(rgb) / 3 {
		p := pix[4*step*x:][: 3*step+1 : 3*step+1]
		a := p[3*step]
		rgb[3*x] = blendWhite(p[0], a)
		rgb[3*x+1] = blendWhite(p[step], a)
		rgb[3*x+2] = blendWhite(p[2*step], a)
	}
}

// blendWhite is c·a + 255·(1 − a), rounded; exact for a of 0 and 255.
func blendWhite(c, a byte) byte {
	return byte((int(c)*int(a) + 255*(255-int(a)) + 127) / 255)
}

func overWhite(c color.Color) (r, g, b byte) {
	n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
	a := byte(n.A >> 8)
	return blendWhite(byte(n.R>>8), a), blendWhite(byte(n.G>>8), a), blendWhite(byte(n.B>>8), a)
}

func openPaletted(m *image.Paletted) func() rowReader {
	// 256 entries whatever the palette's length: an index beyond it is white.
	var table [256][3]byte
	for i := range table {
		table[i] = [3]byte{255, 255, 255}
		if i < len(m.Palette) {
			table[i][0], table[i][1], table[i][2] = overWhite(m.Palette[i])
		}
	}
	return stateless(func(y int, rgb []byte) {
		for x, v := range m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):][:len(rgb)/3] {
			copy(rgb[3*x:3*x+3], table[v][:])
		}
	})
}

// cmykRow is OpenCV's conversion of CMYK, in which 255 means no ink; Go's
// decoder has inverted that already.
func cmykRow(rgb, pix []byte) {
	for x := range len(rgb) / 3 {
		p := pix[4*x:][:4:4]
		k := 255 - int(p[3])
		for c := range 3 {
			rgb[3*x+c] = byte(max(0, k-int(p[c])*k>>8))
		}
	}
}
