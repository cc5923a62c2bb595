package decode

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// ContentDigest returns a digest of a JPEG or PNG without its metadata, or of
// any other file as a whole. Editing keywords does not change the digest, but
// changing pixels or orientation does. ContentDigest decodes no pixels, so it
// accepts damaged files.
func ContentDigest(data []byte) (digest [32]byte) {
	h := sha256.New()
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		h.Write([]byte{'j', byte(readOrientation("jpeg", data))})
		jpegContent(h, data)
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		h.Write([]byte{'p', byte(readOrientation("png", data))})
		pngContent(h, data)
	default:
		h.Write([]byte{'f'})
		h.Write(data)
	}
	h.Sum(digest[:0])
	return digest
}

// jpegContent hashes tables, frame and scans. It skips application segments and
// comments, except Adobe's APP14, which selects the colour transform.
func jpegContent(h hash.Hash, data []byte) {
	end := 2
	for s := range jpegSegments(data) {
		end = s.end
		if s.marker == 0xee || s.marker < 0xe0 || s.marker > 0xef && s.marker != 0xfe {
			h.Write(binary.BigEndian.AppendUint16([]byte{s.marker}, uint16(len(s.body))))
			h.Write(s.body)
		}
	}
	h.Write(data[end:])
}

func pngContent(h hash.Hash, data []byte) {
	end := 8
	for kind, chunk := range pngChunks(data) {
		end += len(chunk)
		switch kind {
		case "tEXt", "zTXt", "iTXt", "tIME", "eXIf":
		default:
			h.Write(chunk)
		}
	}
	h.Write(data[end:])
}
