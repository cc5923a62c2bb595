package metadata

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// readPNG collects the metadata blocks of a PNG file from its chunks. A chunk is
// a length, a type, the data and a checksum.
//
//	iTXt XML:com.adobe.xmp        the packet, as standardised
//	eXIf                          a TIFF block
//	tEXt, zTXt, iTXt
//	  Raw profile type …          ImageMagick's iptc, 8bim, xmp and exif, in hex
func (b *blocks) readPNG(r io.ReaderAt, size int64) {
	for at := int64(len(pngSignature)); at < size; {
		var head [8]byte
		if _, err := r.ReadAt(head[:], at); err != nil {
			b.problem("PNG", errTruncated)
			return
		}
		n, kind := int64(binary.BigEndian.Uint32(head[:])), string(head[4:])
		at += 8
		switch kind {
		case "IEND":
			return
		case "eXIf":
			if at+n <= size {
				b.readTIFF(io.NewSectionReader(r, at, n), n)
			}
		case "tEXt", "zTXt", "iTXt":
			data, err := readRange(r, size, at, n)
			if err != nil {
				b.problem("PNG", fmt.Errorf("chunk %s: %w", kind, err))
				break
			}
			b.problem("PNG", b.readText(kind, data))
		}
		at += n + 4
	}
}

func (b *blocks) readText(kind string, data []byte) error {
	keyword, rest, ok := strings.Cut(string(data), "\x00")
	profile, isProfile := strings.CutPrefix(strings.ToLower(keyword), "raw profile type ")
	if !ok || keyword != "XML:com.adobe.xmp" && !isProfile {
		return nil
	}
	text, err := b.chunkText(kind, rest)
	if err != nil {
		return fmt.Errorf("%s: %w", keyword, err)
	}
	if !isProfile {
		b.xmp = append(b.xmp, text)
		return nil
	}
	raw, err := rawProfile(text)
	if err != nil {
		return fmt.Errorf("raw profile: %w", err)
	}
	b.readProfile(profile, raw)
	return nil
}

// readProfile detects the kind of a profile by content first, because names are
// unreliable.
func (b *blocks) readProfile(name string, raw []byte) {
	exif := bytes.TrimPrefix(raw, []byte(signatureExif))
	switch {
	case bytes.HasPrefix(raw, []byte(signatureXMP)):
		b.xmp = append(b.xmp, raw[len(signatureXMP):])
	case bytes.HasPrefix(raw, []byte("8BIM")):
		b.readPhotoshop(raw)
	case name == "xmp":
		b.xmp = append(b.xmp, raw)
	case name == "iptc":
		b.iim = append(b.iim, raw)
	case (name == "exif" || name == "app1") && isTIFF(exif):
		b.readTIFF(bytes.NewReader(exif), int64(len(exif)))
	}
}

func (b *blocks) chunkText(kind, rest string) ([]byte, error) {
	packed := false
	switch kind {
	case "zTXt":
		if len(rest) < 1 {
			return nil, errTruncated
		}
		packed, rest = true, rest[1:]
	case "iTXt": // the text follows flag, method, language and translated keyword
		if len(rest) < 2 {
			return nil, errTruncated
		}
		packed, rest = rest[0] == 1, rest[2:]
		for range 2 {
			_, after, ok := strings.Cut(rest, "\x00")
			if !ok {
				return nil, errTruncated
			}
			rest = after
		}
	}
	if !packed {
		return []byte(rest), nil
	}
	z, err := zlib.NewReader(strings.NewReader(rest))
	if err != nil {
		return nil, err
	}
	// Few compressed bytes may expand to many.
	text, err := io.ReadAll(io.LimitReader(z, maxXMP-b.packed+1))
	if b.packed += int64(len(text)); b.packed > maxXMP {
		return nil, fmt.Errorf("it is larger than %d MiB", maxXMP>>20)
	}
	return text, err
}

// rawProfile skips the profile's name and length and decodes its hex digits,
// which may span lines.
func rawProfile(text []byte) ([]byte, error) {
	_, rest, _ := bytes.Cut(bytes.TrimLeft(text, "\n"), []byte("\n"))
	_, digits, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, errTruncated
	}
	digits = bytes.Join(bytes.Fields(digits), nil)
	raw := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(raw, digits); err != nil {
		return nil, err
	}
	return raw, nil
}

// readRange reads n bytes at an offset. It checks n against the file size
// before it allocates.
func readRange(r io.ReaderAt, size, at, n int64) ([]byte, error) {
	switch {
	case at < 0 || n < 0 || at > size || n > size-at:
		return nil, errTruncated
	case n > maxXMP:
		return nil, fmt.Errorf("it is larger than %d MiB", maxXMP>>20)
	}
	data := make([]byte, n)
	if _, err := r.ReadAt(data, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}
