package metadata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

func isWebP(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// readWebP collects the blocks of a WebP file: chunks of type, length and data, padded to
// even length.
func (b *blocks) readWebP(r io.ReaderAt, size int64) {
	for at := int64(12); at+8 <= size; {
		var head [8]byte
		if _, err := r.ReadAt(head[:], at); err != nil {
			b.problem("WebP", errTruncated)
			return
		}
		kind, n := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		at += 8
		if kind == "XMP " || kind == "EXIF" {
			data, err := readRange(r, size, at, n)
			switch {
			case err != nil:
				b.problem("WebP", fmt.Errorf("chunk %s: %w", kind, err))
			case kind == "XMP ":
				b.xmp = append(b.xmp, data)
			default:
				data = bytes.TrimPrefix(data, []byte(signatureExif))
				b.readTIFF(bytes.NewReader(data), int64(len(data)))
			}
		}
		at += n + n&1
	}
}
