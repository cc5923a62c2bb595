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

// RAW photos hold sensor data and JPEG previews. CPAR uses the largest preview
// that can be decoded.
//
//	DNG, CR2, NEF, ARW   TIFF: rawtiff.go
//	CR3                  ISO boxes, below
//	RAF                  a fixed header, below

type rawPhoto struct {
	previews      [][]byte    // JPEG files
	turn          orientation // from the RAW file's metadata
	width, height uint32      // sensor size as stored, 0 if unknown
}

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

// maxPreviews limits the previews that are tried. No camera writes as many.
const maxPreviews = 16

func (r *rawPhoto) decode() (*Image, error) {
	type preview struct {
		data []byte
		size image.Config
	}
	var usable []preview
	for _, data := range r.previews {
		// Sensor data are often lossless JPEG, which inspect rejects.
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

// previewOrientation returns the orientation in the preview's own EXIF. A
// preview without one is stored like the sensor's image, so the RAW file's
// orientation applies. If only one of the two images is higher than wide, the
// preview is already upright.
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

// These are the 16-byte UUIDs of Canon's boxes.
const (
	canonMetadata = "\x85\xc0\xb6\x87\x82\x0f\x11\xe0\x81\x11\xf4\xce\x46\x2b\x6a\x48" // CMT1, THMB
	canonPreview  = "\xea\xf4\x2b\x5e\x1c\x98\x4b\x88\xb9\xfb\xb7\xdc\x40\x6e\x4d\x16" // PRVW
)

// cr3Photo finds the previews of a CR3 file: a thumbnail, a preview box, and
// the full photo, which is the only sample of a track.
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
	// Eight bytes precede the preview's box, and a short header precedes its
	// JPEG.
	if preview := box(data, canonPreview); len(preview) > 8 {
		r.previews = append(r.previews, findJPEG(box(preview[8:], "PRVW")))
	}
	r.previews = append(r.previews, findJPEG(box(canon, "THMB")))
	return r
}

func findJPEG(body []byte) []byte {
	if at := bytes.Index(body[:min(len(body), 64)], []byte("\xff\xd8\xff")); at >= 0 {
		return body[at:]
	}
	return nil
}

func firstSample(data, track []byte) []byte {
	table := box(track, "mdia", "minf", "stbl")
	sizes, far, near := box(table, "stsz"), box(table, "co64"), box(table, "stco")
	if len(sizes) < 12 {
		return nil
	}
	length := uint64(binary.BigEndian.Uint32(sizes[4:]))
	if length == 0 && len(sizes) >= 16 { // without a common size, a table follows
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
