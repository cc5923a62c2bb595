package decode

import (
	"bytes"
	"encoding/binary"
)

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
