package decode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"io"
	"runtime/debug"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
	"golang.org/x/sync/semaphore"

	"cpar"
)

// These limits are checked against the header of an image before memory is
// allocated. decodeBudget limits the memory.
const (
	maxPixels    = 400 << 20 // enough for the largest sensors and for panoramas of phones
	maxSide      = 1 << 16   // the limit of the JPEG format
	maxFileBytes = 1 << 30

	// The file of an image with more than maxUncheckedPixels must have a byte
	// for every pixelsPerByte pixels. A blank PNG has 1000 pixels per byte, the
	// limit of deflate. Only files made to exhaust memory exceed 2048.
	maxUncheckedPixels = 4 << 20
	pixelsPerByte      = 2048

	// maxScans bounds the number of scans of a progressive JPEG, because each
	// scan visits all blocks. Encoders write about ten.
	maxScans = 500

	// JPEGs, HEICs and images of at least minReducedPixels are reduced while
	// they are read, because no feature needs all pixels (cellSide).
	minReducedPixels = 24 << 20
)

// Decode decodes a JPEG, PNG, GIF (first frame), WebP, TIFF, BMP or HEIC image,
// or the largest JPEG preview in a RAW photo. Other input returns an error that
// wraps cpar.ErrInput and never panics.
func Decode(data []byte) (*Image, error) {
	if r := rawOf(data); r != nil {
		return r.decode()
	}
	return decodeImage(data, 0)
}

// decodeImage decodes an image that is not RAW. It applies orientation `turn`,
// or the orientation in the image's metadata if `turn` is 0.
func decodeImage(data []byte, turn orientation) (*Image, error) {
	c, claim, err := inspect(data)
	if err != nil {
		return nil, err
	}
	if turn == 0 {
		turn = readOrientation(c.name, data)
	}
	var verdict error
	for _, a := range c.attempts(data, claim, turn) {
		p, err := a.try()
		if err == nil {
			return p, nil
		}
		// image/jpeg describes the cause more precisely than errIrregular.
		if !errors.Is(err, errIrregular) {
			verdict = err
		}
	}
	return nil, c.failure(verdict)
}

// attempts returns the ways to decode a file whose claimed size was accepted,
// the best first.
func (c *codec) attempts(data []byte, claim image.Config, turn orientation) []attempt {
	w, h := claim.Width, claim.Height
	cell := 1
	if w*h >= minReducedPixels || c.name == "heic" {
		cell = cellSide(w, h)
	}
	colours := c.name
	if c.name == "heic" && heicVideoRange(data) {
		colours = "webp" // WebP also has YCbCr in video range
	}
	rgb := 3 * int64(ceilDiv(w, cell)) * int64(ceilDiv(h, cell))
	whole := attempt{c.bytes(claim, data) + rgb, func() (p *Image, err error) {
		err = c.decode(data, func(img image.Image) error {
			// Check again, because the decoded size may differ from the header.
			b := img.Bounds()
			if err := checkClaim(image.Config{ColorModel: img.ColorModel(), Width: b.Dx(), Height: b.Dy()}, len(data)); err != nil {
				return err
			}
			read, columns, rows := meansOf(rowsOf(colours, img), b.Dx(), b.Dy(), cell)
			p = upright(read, columns, rows, turn)
			return nil
		})
		return p, err
	}}
	if c.name != "jpeg" {
		return []attempt{whole}
	}
	if cellSide(w, h) == 1 {
		return []attempt{whole, reducedAttempt(data, claim, turn, true)}
	}
	return []attempt{reducedAttempt(data, claim, turn, false), whole, reducedAttempt(data, claim, turn, true)}
}

type codec struct {
	name   string
	config func(data []byte) (image.Config, error)
	// decode calls function `use` with the image. The pixels of a HEIC are in
	// the sandbox's memory and valid only until use returns.
	decode func(data []byte, use func(image.Image) error) error
	bytes  func(claim image.Config, data []byte) int64
}

// A reason is an error that people read beside the name of the photo. It
// matches cpar.ErrInput without containing the text of that error.
type reason string

func (r reason) Error() string      { return string(r) }
func (reason) Is(target error) bool { return target == cpar.ErrInput }

// sniff detects the format from the content, because extensions are unreliable.
func sniff(data []byte) (*codec, error) {
	has := func(off int, magic string) bool {
		return len(data) >= off+len(magic) && string(data[off:off+len(magic)]) == magic
	}
	switch {
	case has(0, "\xff\xd8\xff"):
		return newCodec("jpeg", jpegConfig, jpegDecode, jpegBytes), nil
	case has(0, "\x89PNG\r\n\x1a\n"):
		return newCodec("png", reading(png.DecodeConfig), reading(png.Decode), pngBytes), nil
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return newCodec("gif", reading(gif.DecodeConfig), reading(gif.Decode), timesSamples(1)), nil
	case has(0, "RIFF") && has(8, "WEBP"):
		return newCodec("webp", webpConfig, reading(webp.Decode), webpBytes), nil
	case has(0, "II*\x00"), has(0, "MM\x00*"):
		// A strip, which may hold the whole file, is in memory in addition to
		// the pixels.
		return newCodec("tiff", reading(tiff.DecodeConfig), reading(tiff.Decode), timesSamples(2)), nil
	case has(0, "BM"):
		return newCodec("bmp", reading(bmp.DecodeConfig), reading(bmp.Decode), timesSamples(1)), nil
	case len(data) == 0:
		return nil, reason("the file is empty")
	case has(4, "ftyp") && isHEIC(data):
		return &codec{"heic", heicConfig, heicDecode, heicBytes}, nil
	case has(4, "ftyp") && isAVIF(data):
		return nil, reason("it is an AVIF image; convert it to JPEG first")
	case has(4, "ftyp"):
		return nil, reason("it is a video, or a kind of HEIF without a photo in HEVC")
	}
	return nil, reason("it is not a JPEG, PNG, GIF, WebP, TIFF, BMP, HEIC or raw image, whatever its name ends in")
}

func newCodec(name string, config func([]byte) (image.Config, error), decode func([]byte) (image.Image, error), weigh func(image.Config, []byte) int64) *codec {
	return &codec{name, config, func(data []byte, use func(image.Image) error) error {
		img, err := decode(data)
		if err != nil {
			return err
		}
		return use(img)
	}, weigh}
}

func reading[T any](from func(io.Reader) (T, error)) func([]byte) (T, error) {
	return func(data []byte) (T, error) { return from(bytes.NewReader(data)) }
}

func inspect(data []byte) (*codec, image.Config, error) {
	if len(data) > maxFileBytes {
		return nil, image.Config{}, reason(fmt.Sprintf("it has %d bytes, more than the %d accepted", len(data), int64(maxFileBytes)))
	}
	c, err := sniff(data)
	if err != nil {
		return nil, image.Config{}, err
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

func checkClaim(cfg image.Config, size int) error {
	w, h := int64(cfg.Width), int64(cfg.Height)
	switch {
	case w <= 0 || h <= 0:
		return fmt.Errorf("it has no pixels (%dx%d)", w, h)
	case w > maxSide || h > maxSide:
		return fmt.Errorf("it claims %dx%d pixels, more than %d on a side", w, h, maxSide)
	case w*h > maxPixels:
		return fmt.Errorf("it claims %dx%d pixels, more than the %d million accepted; a smaller copy of it gets the same keywords", w, h, maxPixels>>20)
	case w*h > maxUncheckedPixels && w*h > pixelsPerByte*int64(size):
		return fmt.Errorf("it claims %dx%d pixels but has only %d bytes; it is damaged or made to exhaust memory", w, h, size)
	}
	return nil
}

func (c *codec) failure(err error) error {
	hint := ""
	text := err.Error()
	if errors.Is(err, errTooFewRows) || strings.Contains(text, "EOF") || strings.Contains(text, "short Huffman data") {
		hint = "; the file is cut short, copy it again from its source"
	}
	if errors.Is(err, cpar.ErrInput) {
		return fmt.Errorf("decoding %s image: %w%s", c.name, err, hint)
	}
	return fmt.Errorf("decoding %s image: %w: %w%s", c.name, cpar.ErrInput, err, hint)
}

// decodeBudget bounds the bytes of all concurrent decodings. The process may
// use 500 MB, and files, features, a network and the index need 120 MB. The
// budget suffices for 400 megapixels of JPEG, 94 of PNG, or 50 of HEIC.
const decodeBudget = 360 << 20

// largeDecode is the size from which on memory is returned to the system
// immediately, so that garbage does not accumulate.
const largeDecode = 64 << 20

var decoding = semaphore.NewWeighted(decodeBudget)

type attempt struct {
	bytes int64
	run   func() (*Image, error)
}

func (a attempt) try() (*Image, error) {
	if a.bytes > decodeBudget {
		return nil, fmt.Errorf("decoding takes %d MB of memory, more than the %d accepted; a smaller copy of the photo gets the same keywords", a.bytes>>20, decodeBudget>>20)
	}
	if err := decoding.Acquire(context.Background(), a.bytes); err != nil {
		return nil, fmt.Errorf("waiting for memory: %w", err)
	}
	defer decoding.Release(a.bytes)
	if a.bytes >= largeDecode {
		defer debug.FreeOSMemory()
	}
	return guard(a.run)
}

// guard turns a panic of a third-party decoder into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed on it (%v)", r)
		}
	}()
	return f()
}
