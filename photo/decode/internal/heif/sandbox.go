package heif

import (
	"context"
	"fmt"
	"image"

	"github.com/edsrzf/mmap-go"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	spaceYCbCr = 0
	spaceRGB   = 1
	spaceGrey  = 2

	chroma420 = 1
	chroma422 = 2
	chroma444 = 3
)

// maxSide is HEVC's limit at level 8.5. Products of two sides fit in an int64.
const maxSide = 1 << 16

// layout returns the size of the decoder's output, consecutive planes with
// padded rows, and a constructor of the image.
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

// padded returns a row's length in libheif's memory, at least 64 pixels.
func padded(pixels, bytes int64) int64 {
	return (max((pixels+1)&^1, 64)*bytes + 15) &^ 15
}

// A region is the sandbox's memory, mapped outside Go's heap. It grows without
// copying and is released when the photo has been decoded.
type region struct{ mapped mmap.MMap }

// newRegion reserves the maximum size. It rejects sizes below the decoder's
// initial memory, for which wazero would panic.
func newRegion(size, least int64) (*region, error) {
	if size < least {
		return nil, fmt.Errorf("%w in %d bytes of memory", ErrDamaged, size)
	}
	mapped, err := mmap.MapRegion(nil, int(size), mmap.RDWR, mmap.ANON, 0)
	if err != nil {
		return nil, fmt.Errorf("reserving %d MB of memory: %w", size>>20, err)
	}
	return &region{mapped}, nil
}

// Allocate returns the region itself, because an instance has one memory.
func (r *region) Allocate(_, _ uint64) experimental.LinearMemory { return r }

func (r *region) Reallocate(size uint64) []byte {
	if size > uint64(len(r.mapped)) {
		return nil
	}
	return r.mapped[:size:size]
}

func (r *region) Free() {
	if r.mapped != nil {
		r.mapped.Unmap()
		r.mapped = nil
	}
}

// Go can neither preempt compiled WebAssembly nor collect garbage while it
// runs, so one photo could block all others. wazero can check the deadline at
// every loop iteration, but decoding then takes 2.3 times as long. This file
// checks the deadline at the entry of all functions except the most frequent,
// which are short.

// hotFunctions are the functions of heif.wasm.gz that a 12-megapixel photo
// calls between 100,000 and 22 million times. They read bits, coefficients and
// samples, or are malloc and free. Checking all others adds 200,000 calls, some
// tens of milliseconds.
var hotFunctions = map[uint32]bool{
	681: true, 692: true, 694: true, 695: true, 697: true, 742: true, 752: true, 830: true, 843: true,
	850: true, 864: true, 865: true, 866: true, 867: true, 883: true, 1282: true, 1284: true,
}

func watching(f api.FunctionDefinition) experimental.FunctionListener {
	if hotFunctions[f.Index()] {
		return nil
	}
	return watch{}
}

type watch struct{}

// Before panics after the deadline. wazero turns the panic into an error.
func (watch) Before(ctx context.Context, _ api.Module, _ api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
	if err := ctx.Err(); err != nil {
		panic(err)
	}
}

func (watch) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}
func (watch) Abort(context.Context, api.Module, api.FunctionDefinition, error)    {}
