package metadata

import (
	"encoding/binary"
	"io"
)

const signatureRAF = "FUJIFILMCCD-RAW "

// readRAF reads the preview inside a raw file of Fujifilm, a JPEG file with the metadata.
// Its place and length stand at byte 84.
func (b *blocks) readRAF(r io.ReaderAt, size int64) {
	place, err := readRange(r, size, 84, 8)
	if err != nil {
		b.problem("RAF", errTruncated)
		return
	}
	at, n := int64(binary.BigEndian.Uint32(place)), int64(binary.BigEndian.Uint32(place[4:]))
	if at > size || n > size-at {
		b.problem("RAF", errTruncated)
		return
	}
	b.readJPEG(io.NewSectionReader(r, at, n))
}
