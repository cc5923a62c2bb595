// Package picture turns image files into upright 8-bit sRGB pixels.
//
//	file ─▶ ReadFile ─▶ bytes ─▶ Decode ─▶ Picture, 3·Width·Height bytes of RGB
//	                               │ limits, before anything is allocated
//	                               │ JPEG, PNG, GIF, WebP, TIFF, BMP, HEIC; the JPEG within a raw
//	                               │ photo; large ones at reduced size
//	                               └ transparency over white, turned as EXIF says
//
// Image files come from anywhere, so nothing in them is trusted: a file that is damaged,
// or that claims more than the limits in decode.go allow, is an error that wraps
// cpar.ErrInput.
package decode

import (
	"errors"
	"fmt"
	"image"
	"io/fs"
	"os"

	"cpar"
)

// A Picture is a decoded, upright image.
type Image struct {
	// Width and Height are in pixels. A large photo is decoded at a half, a quarter or an
	// eighth of its size (jpegreduced.go); these are then the reduced sides.
	Width, Height int
	// RGB holds 3·Width·Height bytes, row by row from the top left.
	RGB []byte
	// Truncated says that the end of the file is missing or damaged. The picture then ends
	// with the last row that is whole, or lacks detail.
	Truncated bool
}

// Row returns the 3·Width bytes of row y, which p still owns.
func (p *Image) Row(y int) []byte { return p.RGB[3*p.Width*y:][:3*p.Width] }

// Image returns a copy of p as an image.RGBA, for drawing.
func (p *Image) RGBA() *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, p.Width, p.Height))
	for i := range p.Width * p.Height {
		copy(m.Pix[4*i:], p.RGB[3*i:][:3])
		m.Pix[4*i+3] = 255
	}
	return m
}

// ReadFile reads an image file. It checks the size first, so that a file that is no photo
// cannot fill the memory. Errors wrap cpar.ErrInput and leave the path to the caller, who
// knows how to show it.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading image: %w: %w", cpar.ErrInput, cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading image: %w: not a regular file", cpar.ErrInput)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("reading image: %w: %d bytes, more than the %d accepted", cpar.ErrInput, info.Size(), int64(maxFileBytes))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("reading image: %w: %w; check the file's permissions", cpar.ErrInput, cause(err))
		}
		return nil, fmt.Errorf("reading image: %w: %w", cpar.ErrInput, cause(err))
	}
	return data, nil
}

// cause strips the path from an error.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
