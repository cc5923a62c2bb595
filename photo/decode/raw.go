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
//	CR3                  boxes: below
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

// Canon's boxes, by the sixteen bytes of their uuid.
const (
	canonMetadata = "\x85\xc0\xb6\x87\x82\x0f\x11\xe0\x81\x11\xf4\xce\x46\x2b\x6a\x48" // CMT1, THMB
	canonPreview  = "\xea\xf4\x2b\x5e\x1c\x98\x4b\x88\xb9\xfb\xb7\xdc\x40\x6e\x4d\x16" // PRVW
)

// cr3Photo finds the previews of a CR3: a thumbnail and a preview in boxes of their own, and
// the whole photo as the one sample of a track.
func cr3Photo(data []byte) *rawPhoto {
	r := &rawPhoto{turn: 1}
	moov := box(data, "moov")
	canon := box(moov, canonMetadata)
	r.turn = tiffOrientation(box(canon, "CMT1"))
	if t, ok := newTIFF(box(canon, "CMT1")); ok {
		d := t.directory(t.first())
		r.width, _ = d.number(tagWidth)
		r.height, _ = d.number(tagHeight)
	}
	for kind, body := range boxes(moov) {
		if kind == "trak" && len(r.previews) < maxDirectories {
			r.previews = append(r.previews, firstSample(data, body))
		}
	}
	// Eight bytes precede the preview's box, and some its JPEG.
	if preview := box(data, canonPreview); len(preview) > 8 {
		r.previews = append(r.previews, findJPEG(box(preview[8:], "PRVW")))
	}
	r.previews = append(r.previews, findJPEG(box(canon, "THMB")))
	return r
}

// findJPEG is the JPEG behind the short head of a box.
func findJPEG(body []byte) []byte {
	if at := bytes.Index(body[:min(len(body), 64)], []byte("\xff\xd8\xff")); at >= 0 {
		return body[at:]
	}
	return nil
}

// firstSample returns the bytes of a track's first sample.
func firstSample(data, track []byte) []byte {
	table := box(track, "mdia", "minf", "stbl")
	sizes, far, near := box(table, "stsz"), box(table, "co64"), box(table, "stco")
	if len(sizes) < 12 {
		return nil
	}
	length := uint64(binary.BigEndian.Uint32(sizes[4:]))
	if length == 0 && len(sizes) >= 16 { // sizes differ: a list follows
		length = uint64(binary.BigEndian.Uint32(sizes[12:]))
	}
	var at uint64
	switch {
	case len(far) >= 16:
		at = binary.BigEndian.Uint64(far[8:])
	case len(near) >= 12:
		at = uint64(binary.BigEndian.Uint32(near[8:]))
	}
	if at == 0 || at > uint64(len(data)) || length > uint64(len(data))-at {
		return nil
	}
	return data[at : at+length]
}
