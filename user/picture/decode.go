package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"sync"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"cpar"
)

// Limits on the resources that an image may use. The claims in a file are checked against
// them before anything is allocated.
const (
	maxPixels    = 100 << 20 // per image
	maxSide      = 1 << 16   // JPEG's own limit
	maxFileBytes = 1 << 30
	maxDecoded   = 512 << 20 // bytes of decoded samples: 16-bit colour takes 8 per pixel

	// Beyond plainPixels an image must have a byte for every pixelsPerByte pixels. A
	// blank progressive JPEG of 4:2:0 reaches about 500, a blank PNG 1000 (deflate's
	// limit, at one byte per pixel); only files made to exhaust memory go further.
	plainPixels   = 4 << 20
	pixelsPerByte = 2048

	// maxScans bounds the scans of a progressive JPEG: each costs a pass over all blocks
	// however few bytes it has. Encoders write about ten.
	maxScans = 500

	// Pictures of at least hugePixels are decoded one at a time.
	hugePixels = 24 << 20
)

// huge is locked while a huge picture is decoded: a hundred megapixels of progressive
// JPEG take most of a gigabyte, whatever the number of goroutines.
var huge sync.Mutex

// Decode reads a JPEG, PNG, GIF (its first frame), WebP, TIFF or BMP image. Anything else
// is an error that wraps cpar.ErrInput, never a panic.
func Decode(data []byte) (*Picture, error) {
	c, claim, err := inspect(data)
	if err != nil {
		return nil, err
	}
	if claim.Width*claim.Height >= hugePixels {
		huge.Lock()
		defer huge.Unlock()
	}
	img, err := c.image(data, claim)
	if err != nil {
		return nil, c.failure(err)
	}
	size := img.Bounds().Size()
	return upright(rowsOf(c.name, img), size.X, size.Y, readOrientation(c.name, data)), nil
}

// image decodes a file whose claimed size has been accepted.
func (c *codec) image(data []byte, claim image.Config) (image.Image, error) {
	if cell := cellSide(claim.Width, claim.Height); c.name == "jpeg" && cell > 1 {
		img, err := guard(func() (image.Image, error) { return decodeReduced(data, claim.Width, claim.Height, cell) })
		if err == nil {
			return img, nil
		}
	}
	img, err := guard(func() (image.Image, error) { return c.decode(data) })
	if err != nil {
		return nil, err
	}
	// Check again: the decoder may find another size than the header claims.
	b := img.Bounds()
	return img, checkClaim(image.Config{ColorModel: img.ColorModel(), Width: b.Dx(), Height: b.Dy()}, len(data))
}

type codec struct {
	name   string
	config func(data []byte) (image.Config, error)
	decode func(data []byte) (image.Image, error)
}

// sniff detects the format from the content, since names and extensions lie.
func sniff(data []byte) (*codec, error) {
	has := func(off int, magic string) bool {
		return len(data) >= off+len(magic) && string(data[off:off+len(magic)]) == magic
	}
	switch {
	case has(0, "\xff\xd8\xff"):
		return &codec{"jpeg", jpegConfig, jpegDecode}, nil
	case has(0, "\x89PNG\r\n\x1a\n"):
		return newCodec("png", png.DecodeConfig, png.Decode), nil
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return newCodec("gif", gif.DecodeConfig, gif.Decode), nil
	case has(0, "RIFF") && has(8, "WEBP"):
		return &codec{"webp", webpConfig, func(d []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(d)) }}, nil
	case has(0, "II*\x00"), has(0, "MM\x00*"):
		return newCodec("tiff", tiff.DecodeConfig, tiff.Decode), nil
	case has(0, "BM"):
		return newCodec("bmp", bmp.DecodeConfig, bmp.Decode), nil
	case len(data) == 0:
		return nil, fmt.Errorf("%w: the file is empty", cpar.ErrInput)
	case has(4, "ftyp"):
		return nil, fmt.Errorf("%w: a HEIF, AVIF or video file; convert it to JPEG first", cpar.ErrInput)
	}
	return nil, fmt.Errorf("%w: not a JPEG, PNG, GIF, WebP, TIFF or BMP image", cpar.ErrInput)
}

// newCodec adapts a decoder that reads from an io.Reader.
func newCodec(name string, config func(io.Reader) (image.Config, error), decode func(io.Reader) (image.Image, error)) *codec {
	return &codec{
		name:   name,
		config: func(d []byte) (image.Config, error) { return config(bytes.NewReader(d)) },
		decode: func(d []byte) (image.Image, error) { return decode(bytes.NewReader(d)) },
	}
}

// inspect reads only the header and refuses excessive claims.
func inspect(data []byte) (*codec, image.Config, error) {
	if len(data) > maxFileBytes {
		return nil, image.Config{}, fmt.Errorf("decoding image: %w: %d bytes, more than the %d accepted", cpar.ErrInput, len(data), int64(maxFileBytes))
	}
	c, err := sniff(data)
	if err != nil {
		return nil, image.Config{}, fmt.Errorf("decoding image: %w", err)
	}
	cfg, err := guard(func() (image.Config, error) { return c.config(data) })
	if err != nil {
		return nil, cfg, c.failure(err)
	}
	if err := checkClaim(cfg, len(data)); err != nil {
		return nil, cfg, c.failure(err)
	}
	return c, cfg, nil
}

// checkClaim checks the claimed size against the limits and the file's length.
func checkClaim(cfg image.Config, size int) error {
	w, h := int64(cfg.Width), int64(cfg.Height)
	switch {
	case w <= 0 || h <= 0:
		return fmt.Errorf("it has no pixels (%dx%d)", w, h)
	case w > maxSide || h > maxSide:
		return fmt.Errorf("it claims %dx%d pixels, more than %d on a side; scale it down first", w, h, maxSide)
	case w*h > maxPixels:
		return fmt.Errorf("it claims %dx%d pixels, more than the %d million accepted; scale it down first", w, h, maxPixels>>20)
	case w*h*sampleBytes(cfg.ColorModel) > maxDecoded:
		return fmt.Errorf("it claims %dx%d pixels of 16-bit colour, too many to hold; scale it down or store 8 bits", w, h)
	case w*h > plainPixels && w*h > pixelsPerByte*int64(size):
		return fmt.Errorf("it claims %dx%d pixels but has only %d bytes; it is damaged or made to exhaust memory", w, h, size)
	}
	return nil
}

// sampleBytes is the most that a decoded pixel takes.
func sampleBytes(m color.Model) int64 {
	switch m {
	case color.GrayModel, color.AlphaModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

// guard turns a decoder's panic into an error: both decoders and files are other people's.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed on it (%v)", r)
		}
	}()
	return f()
}

func (c *codec) failure(err error) error {
	hint := ""
	text := err.Error()
	if strings.Contains(text, "EOF") || strings.Contains(text, "short Huffman data") {
		hint = "; the file is cut short, copy it again from its source"
	}
	if errors.Is(err, cpar.ErrInput) {
		return fmt.Errorf("decoding %s image: %w%s", c.name, err, hint)
	}
	return fmt.Errorf("decoding %s image: %w: %w%s", c.name, cpar.ErrInput, err, hint)
}

// webpConfig checks the frame as well as the canvas: an extended header may claim a
// canvas far smaller than the frame that will be allocated.
func webpConfig(data []byte) (image.Config, error) {
	cfg, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return cfg, err
	}
	for id, body := range riffChunks(data) {
		switch {
		case id == "ANIM" || id == "ANMF":
			return cfg, errors.New("it is an animation; save one of its frames")
		case id == "VP8 " && len(body) >= 10:
			cfg.Width = max(cfg.Width, int(binary.LittleEndian.Uint16(body[6:])&0x3fff))
			cfg.Height = max(cfg.Height, int(binary.LittleEndian.Uint16(body[8:])&0x3fff))
		case id == "VP8L" && len(body) >= 5:
			n := binary.LittleEndian.Uint32(body[1:])
			cfg.Width = max(cfg.Width, int(n&0x3fff)+1)
			cfg.Height = max(cfg.Height, int(n>>14&0x3fff)+1)
		}
	}
	return cfg, nil
}

// jpegConfig also counts the scans. Their marker cannot occur in entropy-coded data, so
// the count is an upper bound, whatever else the file holds.
func jpegConfig(data []byte) (image.Config, error) {
	if n := bytes.Count(data, []byte{0xff, 0xda}); n > maxScans {
		return image.Config{}, fmt.Errorf("it has %d scans, more than the %d accepted", n, maxScans)
	}
	return jpeg.DecodeConfig(bytes.NewReader(data))
}

// jpegDecode treats four-component files without Adobe's marker as CMYK, as other
// programs do. image/jpeg refuses them, so they are given a marker.
func jpegDecode(data []byte) (image.Image, error) {
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil && strings.Contains(err.Error(), "APP14") {
		adobe := []byte{0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}
		marked := append(append(append(make([]byte, 0, len(data)+len(adobe)), data[:2]...), adobe...), data[2:]...)
		return jpeg.Decode(bytes.NewReader(marked))
	}
	return img, err
}
