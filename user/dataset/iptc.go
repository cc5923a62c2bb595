package dataset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

var errTruncated = errors.New("it ends too early")

// iptcKeywords returns the values of dataset 2:25 of a JPEG. imagemeta is not used
// because it loses the keywords after a resource of odd length, as Photoshop may write,
// and when they continue in a second segment.
//
//	APP13 "Photoshop 3.0\0" ─▶ resources "8BIM" id name size data ─▶ id 0x0404:
//	IIM datasets 0x1c record dataset length value
func iptcKeywords(r io.Reader) ([]string, error) {
	resources, err := photoshopResources(r)
	iim, err2 := resource(resources, 0x0404)
	keywords, err3 := iimKeywords(iim)
	return keywords, errors.Join(err, err2, err3)
}

// photoshopResources joins the payloads of the APP13 segments before the scan.
func photoshopResources(r io.Reader) ([]byte, error) {
	const (
		sos, eoi, app13 = 0xda, 0xd9, 0xed
		signature       = "Photoshop 3.0\x00"
	)
	br := bufio.NewReader(r)
	if _, err := br.Discard(2); err != nil { // SOI
		return nil, errTruncated
	}
	var joined []byte
	for {
		b, err := br.ReadByte()
		if err != nil {
			return joined, errTruncated
		}
		if b != 0xff {
			return joined, errors.New("a segment does not begin with a marker")
		}
		marker := b
		for marker == 0xff { // fill bytes
			if marker, err = br.ReadByte(); err != nil {
				return joined, errTruncated
			}
		}
		if marker == sos || marker == eoi {
			return joined, nil
		}
		var size [2]byte
		if _, err := io.ReadFull(br, size[:]); err != nil {
			return joined, errTruncated
		}
		n := int(binary.BigEndian.Uint16(size[:])) - 2
		if n < 0 {
			return joined, fmt.Errorf("segment %#x has an impossible length", marker)
		}
		if marker != app13 {
			if _, err := br.Discard(n); err != nil {
				return joined, errTruncated
			}
			continue
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(br, payload); err != nil {
			return joined, errTruncated
		}
		if data, ok := bytes.CutPrefix(payload, []byte(signature)); ok {
			joined = append(joined, data...)
		}
	}
}

// resource finds a Photoshop image resource. Names and data are padded to even length.
func resource(b []byte, id uint16) ([]byte, error) {
	for len(b) > 0 {
		if !bytes.HasPrefix(b, []byte("8BIM")) {
			// Some programs pad the end; anything else is damage.
			if len(bytes.Trim(b, "\x00")) == 0 {
				return nil, nil
			}
			return nil, errors.New("a Photoshop resource does not begin with 8BIM")
		}
		if len(b) < 7 {
			return nil, errTruncated
		}
		this := binary.BigEndian.Uint16(b[4:])
		head := 6 + (int(b[6])+2)&^1 // the name and its length byte, padded
		if len(b) < head+4 {
			return nil, errTruncated
		}
		size := uint64(binary.BigEndian.Uint32(b[head:]))
		b = b[head+4:]
		if size > uint64(len(b)) {
			if this == id {
				return b, errTruncated
			}
			return nil, errTruncated
		}
		if this == id {
			return b[:size], nil
		}
		b = b[min(size+size%2, uint64(len(b))):]
	}
	return nil, nil
}

// iimKeywords reads IIM datasets. Dataset 1:90 declares UTF-8 with ESC % G. Without it
// the rule is Latin-1, but many programs write UTF-8 anyway, and Latin-1 text beyond
// ASCII is hardly ever valid UTF-8 by chance.
func iimKeywords(b []byte) ([]string, error) {
	var keywords []string
	declaredUTF8 := false
	// Padding after the last dataset is common, so the first other byte is the end.
	for len(b) > 0 && b[0] == 0x1c {
		if len(b) < 5 {
			return keywords, errTruncated
		}
		record, dataset := b[1], b[2]
		size := uint64(binary.BigEndian.Uint16(b[3:]))
		b = b[5:]
		if size&0x8000 != 0 { // extended: the low bits count the bytes of the length
			n := size & 0x7fff
			if n > 4 || n > uint64(len(b)) {
				return keywords, errTruncated
			}
			size = 0
			for _, c := range b[:n] {
				size = size<<8 | uint64(c)
			}
			b = b[n:]
		}
		if size > uint64(len(b)) {
			return keywords, errTruncated
		}
		value := string(b[:size])
		b = b[size:]
		switch {
		case record == 1 && dataset == 90:
			declaredUTF8 = value == "\x1b%G"
		case record == 2 && dataset == 25:
			if !declaredUTF8 && !utf8.ValidString(value) {
				value = decodeText([]byte(value))
			}
			keywords = append(keywords, value)
		}
	}
	return keywords, nil
}
