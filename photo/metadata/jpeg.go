package metadata

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	signatureXMP       = "http://ns.adobe.com/xap/1.0/\x00"
	signatureExtended  = "http://ns.adobe.com/xmp/extension/\x00"
	signatureExif      = "Exif\x00\x00"
	signaturePhotoshop = "Photoshop 3.0\x00"
	signatureMPF       = "MPF\x00"
)

const (
	soi, eoi, sos           = 0xd8, 0xd9, 0xda
	app0, app1, app2, app13 = 0xe0, 0xe1, 0xe2, 0xed
	maxPayload              = 0xffff - 2
	maxSegments             = 64 << 20 // total bytes of the segments before the scan
	extendedHead            = len(signatureExtended) + 32 + 4 + 4
)

// A segment is a part of a JPEG file: 0xff…, marker, length, payload.
type segment struct {
	marker  byte
	fill    int  // extra 0xff bytes before the marker
	bare    bool // no length follows (TEM and RSTn)
	payload []byte
}

func (s segment) is(marker byte, signature string) bool {
	return s.marker == marker && bytes.HasPrefix(s.payload, []byte(signature))
}

func (s segment) bytes() []byte {
	out := append(bytes.Repeat([]byte{0xff}, s.fill+1), s.marker)
	if s.bare {
		return out
	}
	out = binary.BigEndian.AppendUint16(out, uint16(len(s.payload)+2))
	return append(out, s.payload...)
}

// readSegments reads the segments before the first scan and keeps the payloads
// of markers for which `want` returns true. On error, it returns the segments
// before the damage.
func readSegments(r io.Reader, want func(marker byte) bool) (found []segment, err error) {
	br := bufio.NewReaderSize(r, 32<<10)
	var start [2]byte
	if _, err := io.ReadFull(br, start[:]); err != nil || start != [2]byte{0xff, soi} {
		return nil, errors.New("not a JPEG file")
	}
	for total := 0; total <= maxSegments; {
		var s segment
		b, err := br.ReadByte()
		if err != nil {
			return found, errTruncated
		}
		if b != 0xff {
			return found, errors.New("a segment does not begin with a marker")
		}
		for s.marker = b; s.marker == 0xff; s.fill++ {
			if s.marker, err = br.ReadByte(); err != nil {
				return found, errTruncated
			}
		}
		s.fill-- // one 0xff belongs to the marker
		switch {
		case s.marker == sos || s.marker == eoi:
			return found, nil
		case s.marker == 0x01 || s.marker >= 0xd0 && s.marker <= 0xd7:
			s.bare = true
			found = append(found, s)
			total += s.fill + 2
			continue
		}
		var size [2]byte
		if _, err := io.ReadFull(br, size[:]); err != nil {
			return found, errTruncated
		}
		n := int(binary.BigEndian.Uint16(size[:])) - 2
		if n < 0 {
			return found, fmt.Errorf("segment %#x has an impossible length", s.marker)
		}
		total += s.fill + 4 + n
		if !want(s.marker) {
			if _, err := br.Discard(n); err != nil {
				return found, errTruncated
			}
			continue
		}
		s.payload = make([]byte, n)
		if _, err := io.ReadFull(br, s.payload); err != nil {
			return found, errTruncated
		}
		found = append(found, s)
	}
	return found, fmt.Errorf("its segments take more than %d MiB", maxSegments>>20)
}

func (b *blocks) readJPEG(r io.Reader) {
	segments, err := readSegments(r, func(m byte) bool { return m == app1 || m == app13 })
	b.problem("", err)
	var photoshop []byte
	for _, s := range segments {
		switch {
		case s.is(app13, signaturePhotoshop):
			photoshop = append(photoshop, s.payload[len(signaturePhotoshop):]...)
		case s.is(app1, signatureXMP):
			b.xmp = append(b.xmp, s.payload[len(signatureXMP):])
		case s.is(app1, signatureExif):
			b.readTIFF(bytes.NewReader(s.payload[len(signatureExif):]), int64(len(s.payload)-len(signatureExif)))
		}
	}
	b.readPhotoshop(photoshop)
	for _, main := range b.xmp {
		if p, err := parsePacket(main); err == nil {
			extended, err := extendedXMP(segments, p)
			b.problem("extended XMP", err)
			if extended != nil {
				b.xmp = append(b.xmp, extended)
			}
			break
		}
	}
}

// extendedXMP joins the chunks of the extension that packet `main` names. Each
// chunk holds the digest and length of the whole extension and its own offset.
func extendedXMP(segments []segment, main *packet) ([]byte, error) {
	named := main.list(property{ns: nsNote, name: "HasExtendedXMP"})
	if len(named) == 0 {
		return nil, nil
	}
	type chunk struct {
		offset uint32
		data   []byte
	}
	var chunks []chunk
	var full uint32
	for _, s := range segments {
		if !s.is(app1, signatureExtended) || len(s.payload) < extendedHead {
			continue
		}
		head := s.payload[len(signatureExtended):extendedHead]
		if string(head[:32]) != named[0] {
			continue
		}
		full = binary.BigEndian.Uint32(head[32:])
		chunks = append(chunks, chunk{binary.BigEndian.Uint32(head[36:]), s.payload[extendedHead:]})
	}
	slices.SortStableFunc(chunks, func(a, b chunk) int { return int(int64(a.offset) - int64(b.offset)) })
	var joined []byte
	for _, c := range chunks {
		if uint64(c.offset) != uint64(len(joined)) {
			return nil, errors.New("a part is missing")
		}
		joined = append(joined, c.data...)
	}
	if len(chunks) == 0 || uint64(len(joined)) != uint64(full) {
		return nil, errors.New("a part is missing")
	}
	return joined, nil
}
