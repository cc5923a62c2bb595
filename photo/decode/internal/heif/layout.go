package heif

import (
	"fmt"
	"image"
)

// Values of libheif's enumerations.
const (
	spaceYCbCr = 0
	spaceRGB   = 1
	spaceGrey  = 2

	chroma420 = 1
	chroma422 = 2
	chroma444 = 3
)

// maxSide is HEVC's for level 8.5 and more than any camera has; products of two fit an int64.
const maxSide = 1 << 16

// layout says how many bytes the decoder writes, and what picture they are: planes one
// after the other, with padded rows.
func layout(head [headWords]uint32) (img func(pixels []byte) image.Image, size int64, err error) {
	w, h := int64(head[width]), int64(head[height])
	if w < 1 || h < 1 || w > maxSide || h > maxSide {
		return nil, 0, fmt.Errorf("%w: it has %d×%d pixels", ErrDamaged, w, h)
	}
	rect := image.Rect(0, 0, int(w), int(h))
	switch head[colourSpace] {
	case spaceYCbCr:
		return yCbCr(rect, head[chroma])
	case spaceGrey:
		stride := padded(w, 1)
		return func(p []byte) image.Image {
			return &image.Gray{Pix: p, Stride: int(stride), Rect: rect}
		}, stride * h, nil
	case spaceRGB:
		stride := padded(w, 4)
		return func(p []byte) image.Image {
			if head[premultiplied] == 1 {
				return &image.RGBA{Pix: p, Stride: int(stride), Rect: rect}
			}
			return &image.NRGBA{Pix: p, Stride: int(stride), Rect: rect}
		}, stride * h, nil
	}
	return nil, 0, fmt.Errorf("%w: its colour space is unknown", ErrDamaged)
}

func yCbCr(rect image.Rectangle, chroma uint32) (func([]byte) image.Image, int64, error) {
	w, h := int64(rect.Dx()), int64(rect.Dy())
	cw, ch, ratio := w, h, image.YCbCrSubsampleRatio444
	switch chroma {
	case chroma420:
		cw, ch, ratio = (w+1)/2, (h+1)/2, image.YCbCrSubsampleRatio420
	case chroma422:
		cw, ratio = (w+1)/2, image.YCbCrSubsampleRatio422
	case chroma444:
	default:
		return nil, 0, fmt.Errorf("%w: its subsampling is unknown", ErrDamaged)
	}
	stride, chromaStride := padded(w, 1), padded(cw, 1)
	cb := stride * h
	cr := cb + chromaStride*ch
	end := cr + chromaStride*ch
	return func(p []byte) image.Image {
		return &image.YCbCr{
			Y: p[:cb:cb], Cb: p[cb:cr:cr], Cr: p[cr:end:end],
			YStride: int(stride), CStride: int(chromaStride), SubsampleRatio: ratio, Rect: rect,
		}
	}, end, nil
}

// padded is the length of a row in libheif, which gives it at least 64 pixels.
func padded(pixels, bytes int64) int64 {
	return (max((pixels+1)&^1, 64)*bytes + 15) &^ 15
}
