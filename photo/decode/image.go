// Package decode decodes photos into upright 8-bit sRGB images.
//
//	file ─▶ ReadFile ─▶ bytes ─▶ Decode ─▶ Image, 3·Width·Height bytes of RGB
//	                               │ limits are checked before allocation
//	                               │ JPEG, PNG, GIF, WebP, TIFF, BMP, HEIC, and
//	                               │ the JPEG preview of a RAW photo
//	                               │ large images at reduced size
//	                               └ white behind transparency, EXIF orientation
//
// Input is untrusted. A damaged file, or one that exceeds the limits in
// decode.go, returns an error that wraps cpar.ErrInput.
package decode

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"os"

	"cpar"
	"cpar/photo"
)

type Image struct {
	// Width and Height are in pixels, after a large photo has been reduced.
	Width, Height int
	// RGB holds 3·Width·Height bytes, row by row from the top left.
	RGB []byte
	// Truncated is set if the end of the file is missing or damaged. The image
	// then consists of the complete rows, or lacks detail.
	Truncated bool
}

// Row returns the 3·Width bytes of row y. They share memory with p.
func (p *Image) Row(y int) []byte { return p.RGB[3*p.Width*y:][:3*p.Width] }

func (p *Image) RGBA() *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, p.Width, p.Height))
	for i := range p.Width * p.Height {
		copy(m.Pix[4*i:], p.RGB[3*i:][:3])
		m.Pix[4*i+3] = 255
	}
	return m
}

// ReadFile reads an image file after checking its size. Errors wrap
// cpar.ErrInput and omit the path, which the caller adds in printable form.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case info.Size() > maxFileBytes:
		err = fmt.Errorf("%d bytes, more than the %d accepted", info.Size(), int64(maxFileBytes))
	default:
		var data []byte
		if data, err = os.ReadFile(path); err == nil {
			return data, nil
		}
	}
	advice := ""
	if errors.Is(err, os.ErrPermission) {
		advice = "; check the file's permissions"
	}
	return nil, fmt.Errorf("reading image: %w: %w%s", cpar.ErrInput, photo.Cause(err), advice)
}

// A rowReader writes row y of the stored image as 8-bit sRGB over white.
type rowReader func(y int, rgb []byte)

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
		op = draw.Src // faster
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

// padPalette extends a palette with white, because damaged files have indices
// beyond its end, for which package image panics.
func padPalette(m *image.Paletted) *image.Paletted {
	whole := *m
	whole.Palette = make(color.Palette, 256)
	for i := range whole.Palette {
		whole.Palette[i] = color.White
	}
	copy(whole.Palette, m.Palette)
	return &whole
}

func upright(read rowReader, w, h int, o orientation) *Image {
	p := &Image{Width: w, Height: h, RGB: make([]byte, 3*w*h)}
	if o == 1 {
		for y := range h {
			read(y, p.Row(y))
		}
		return p
	}
	if o.swaps() {
		p.Width, p.Height = h, w
	}
	line := make([]byte, 3*w)
	for y := range h {
		read(y, line)
		for x := range w {
			ux, uy := x, y // coordinates along the stored axes
			if o.reversesX() {
				ux = w - 1 - x
			}
			if o.reversesY() {
				uy = h - 1 - y
			}
			if o.swaps() {
				ux, uy = uy, ux
			}
			copy(p.RGB[3*(p.Width*uy+ux):][:3], line[3*x:][:3])
		}
	}
	return p
}

// meansOf returns a reader of the means of cells of side×side pixels. Cells in
// the last column and row may be smaller.
func meansOf(read rowReader, w, h, side int) (means rowReader, columns, rows int) {
	if side == 1 {
		return read, w, h
	}
	columns, rows = ceilDiv(w, side), ceilDiv(h, side)
	line, sums := make([]byte, 3*w), make([]uint32, 3*columns)
	return func(y int, rgb []byte) {
		clear(sums)
		deep := min(side, h-y*side)
		for dy := range deep {
			read(y*side+dy, line)
			for x := range columns {
				sum := sums[3*x:][:3]
				for p := line[3*x*side : 3*min((x+1)*side, w)]; len(p) >= 3; p = p[3:] {
					sum[0] += uint32(p[0])
					sum[1] += uint32(p[1])
					sum[2] += uint32(p[2])
				}
			}
		}
		for x := range columns {
			n := uint32(deep * min(side, w-x*side))
			for i := 3 * x; i < 3*x+3; i++ {
				rgb[i] = byte((sums[i] + n/2) / n)
			}
		}
	}, columns, rows
}
