package decode

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"slices"

	"cpar"
)

// Raw photos: what the sensor saw, developed by programs for that. A camera stores with it
// one or more JPEGs of what it would have made of it, to be shown on its back: these are
// decoded, the largest first.
//
//	DNG, CR2, NEF, ARW   TIFF: rawtiff.go
//	CR3                  boxes: rawcr3.go
//	RAF                  a fixed head, below

// A rawPhoto is what was found in a raw file.
type rawPhoto struct {
	previews      [][]byte    // JPEG files
	turn          orientation // as the raw file says
	width, height uint32      // of the sensor's picture, as stored; 0 if not known
}

// rawOf finds the previews of a raw photo, nil if data is none.
func rawOf(data []byte) *rawPhoto {
	switch {
	case bytes.HasPrefix(data, []byte("FUJIFILMCCD-RAW ")):
		return rafPhoto(data)
	case len(data) > 12 && string(data[4:12]) == "ftypcrx ":
		return cr3Photo(data)
	}
	if t, ok := newTIFF(data); ok {
		return tiffPhoto(t)
	}
	return nil
}

// rafPhoto: the preview is a JPEG as the camera would store it, with its EXIF.
func rafPhoto(data []byte) *rawPhoto {
	r := &rawPhoto{turn: 1}
	if len(data) >= 92 {
		at, length := uint64(binary.BigEndian.Uint32(data[84:])), uint64(binary.BigEndian.Uint32(data[88:]))
		if at < uint64(len(data)) {
			r.previews = append(r.previews, data[at:min(at+length, uint64(len(data)))])
		}
	}
	return r
}

// maxPreviews is more than any camera stores.
const maxPreviews = 16

// decode decodes the largest preview that can be.
func (r *rawPhoto) decode() (*Image, error) {
	type preview struct {
		data []byte
		size image.Config
	}
	var usable []preview
	for _, data := range r.previews {
		// Raw samples are often stored as lossless JPEG, which is refused here.
		if c, cfg, err := inspect(data); err == nil && c.name == "jpeg" {
			usable = append(usable, preview{data, cfg})
		}
	}
	slices.SortStableFunc(usable, func(a, b preview) int { return cmp.Compare(b.size.Width*b.size.Height, a.size.Width*a.size.Height) })
	err := errors.New("it holds no preview in JPEG; develop it to JPEG with a raw converter")
	for _, p := range usable[:min(len(usable), maxPreviews)] {
		var shown *Image
		if shown, err = decodeImage(p.data, r.previewOrientation(p.data, p.size)); err == nil {
			return shown, nil
		}
	}
	return nil, fmt.Errorf("decoding raw image: %w: %w", cpar.ErrInput, err)
}

// previewOrientation says how to turn a preview. Most are stored as the sensor saw them, without EXIF of
// their own: they are turned as the raw file says. Some carry the same EXIF themselves: that
// counts once. And where a raw file lies on its side, a preview that stands is upright
// already, whatever the file says.
func (r *rawPhoto) previewOrientation(preview []byte, size image.Config) orientation {
	if own := readOrientation("jpeg", preview); own != 1 {
		return own
	}
	stands, lies := size.Height > size.Width, r.width > r.height
	if r.turn.swaps() && r.width != r.height && size.Width != size.Height && stands == lies {
		return 1
	}
	return r.turn
}
