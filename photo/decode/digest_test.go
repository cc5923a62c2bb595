package decode

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
)

func withSegment(jpg []byte, marker byte, body string) []byte {
	head := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2))
	return slices.Concat(jpg[:2], head, []byte(body), jpg[2:])
}

func withChunk(p []byte, name, body string) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	chunk = append(append(chunk, name...), body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return slices.Concat(p[:33], chunk, p[33:])
}

func TestContentDigestIgnoresMetadata(t *testing.T) {
	jpg, png := encodeJPEG(t, synthetic(40, 30)), encodePNG(t, synthetic(40, 30))
	turned := withExif(jpg, 6)
	for name, c := range map[string]struct{ before, after []byte }{
		"iptc":                {jpg, withSegment(jpg, 0xed, "Photoshop 3.0\x008BIM\x04\x04 dog")},
		"xmp":                 {jpg, withSegment(jpg, 0xe1, "http://ns.adobe.com/xap/1.0/\x00<dog/>")},
		"comment":             {jpg, withSegment(jpg, 0xfe, "dog")},
		"upright exif":        {jpg, withExif(jpg, 1)},
		"xmp beside exif":     {turned, withSegment(turned, 0xe1, "http://ns.adobe.com/xap/1.0/\x00<dog/>")},
		"another keyword":     {withSegment(jpg, 0xed, "dog"), withSegment(jpg, 0xed, "a cat instead")},
		"png xmp":             {png, withChunk(png, "iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00<dog/>")},
		"png text":            {png, withChunk(png, "tEXt", "Keywords\x00dog")},
		"png date":            {png, withChunk(png, "tIME", "\x07\xea\x01\x01\x00\x00\x00")},
		"png compressed":      {png, withChunk(png, "zTXt", "Keywords\x00\x00x")},
		"a capacity to spare": {jpg, append(make([]byte, 0, 2*len(jpg)), jpg...)},
	} {
		if ContentDigest(c.before) != ContentDigest(c.after) {
			t.Errorf("%s: other content", name)
		}
	}
}

func TestContentDigestDistinguishesImages(t *testing.T) {
	other := synthetic(40, 30)
	other.Pix[0] ^= 0x80
	jpg, png := encodeJPEG(t, synthetic(40, 30)), encodePNG(t, synthetic(40, 30))
	block := "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"
	files := map[string][]byte{
		"jpeg": jpg, "jpeg of other pixels": encodeJPEG(t, other),
		"jpeg turned": withExif(jpg, 6), "jpeg turned back": withExif(jpg, 8),
		"jpeg of other colours": withSegment(jpg, 0xee, "Adobe\x00\x64\x00\x00\x00\x00\x00"),
		"jpeg of other tables":  withSegment(jpg, 0xdd, "\x00\x04"),
		"jpeg cut":              jpg[:len(jpg)-10],
		"jpeg header cut":       jpg[:30],
		"png":                   png, "png of other pixels": encodePNG(t, other),
		"png turned": withChunk(png, "eXIf", block),
		"png gamma":  withChunk(png, "gAMA", "\x00\x00\xb1\x8f"),
		"png cut":    png[:len(png)-20],
		"text":       []byte("no picture"), "nothing": nil,
	}
	seen := map[[32]byte]string{}
	for name, data := range files {
		digest := ContentDigest(data)
		if before, ok := seen[digest]; ok {
			t.Errorf("%s and %s have the same digest", before, name)
		}
		seen[digest] = name
	}
}

func FuzzContent(f *testing.F) {
	jpg, png := encodeJPEG(f, synthetic(9, 7)), encodePNG(f, synthetic(9, 7))
	f.Add(jpg, []byte("dog"))
	f.Add(png, []byte("dog"))
	f.Add(withExif(jpg, 6)[:40], []byte{})
	f.Fuzz(func(t *testing.T, data, words []byte) {
		content := ContentDigest(data)
		if len(data) > 3 && string(data[:3]) == "\xff\xd8\xff" && len(words) < 1<<16-2 &&
			content != ContentDigest(withSegment(data, 0xfe, string(words))) {
			t.Error("a comment changes the digest")
		}
	})
}
