package metadata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // for the size
	_ "image/jpeg" // for the size
	_ "image/png"  // for the size
	"io"
	"strings"
	"time"

	_ "golang.org/x/image/bmp"  // for the size
	_ "golang.org/x/image/tiff" // for the size
	_ "golang.org/x/image/webp" // for the size

	"cpar/internal/sanitize"
)

// Facts describes how a photo was taken, according to its EXIF block. Missing
// facts are zero.
type Facts struct {
	// Time is in seconds since 1970, as if the camera's clock showed UTC.
	Time          int64
	Camera        string
	Width, Height int // as stored, before the orientation
	Orientation   uint8
	// Place is latitude and longitude in degrees, or nil.
	Place *[2]float64
}

// ReadFacts reads the facts of a photo. Damaged blocks count as missing.
func ReadFacts(path string) (Facts, error) {
	f, size, err := open(path)
	if err != nil {
		return Facts{}, fmt.Errorf("reading %s: %w", sanitize.Text(path), err)
	}
	defer f.Close()
	b := blocks{left: size, facts: &Facts{}}
	head := make([]byte, 32)
	n, _ := f.ReadAt(head, 0)
	for _, kind := range readers {
		if kind.is(head[:n]) {
			kind.read(&b, f, size)
			break
		}
	}
	if c, _, err := image.DecodeConfig(io.NewSectionReader(f, 0, size)); err == nil {
		b.facts.Width, b.facts.Height = c.Width, c.Height
	}
	return *b.facts, nil
}

const (
	tagMake, tagModel, tagOrientation, tagDateTime     = 0x10f, 0x110, 0x112, 0x132
	tagExif, tagGPS                                    = 0x8769, 0x8825
	tagDateTimeOriginal, tagPixelWidth, tagPixelHeight = 0x9003, 0xa002, 0xa003
)

// directory returns the values of a TIFF directory by tag.
func (b *blocks) directory(r io.ReaderAt, size int64, order binary.ByteOrder, at int64) map[uint16][]byte {
	var count [2]byte
	if _, err := r.ReadAt(count[:], at); err != nil {
		return nil
	}
	entries := make([]byte, 12*min(int(order.Uint16(count[:])), maxEntries))
	n, _ := r.ReadAt(entries, at+2)
	values := map[uint16][]byte{}
	for e := entries[:n]; len(e) >= 12; e = e[12:] {
		switch order.Uint16(e) {
		case tagXMP, tagIPTC, tagPhotoshop, tagXPKeywords:
			continue // a large value that is read elsewhere
		}
		if order.Uint32(e[4:]) > 1<<10 {
			continue
		}
		if v, err := b.tiffValue(r, size, order, e); err == nil {
			values[order.Uint16(e)] = v
		}
	}
	return values
}

func (b *blocks) readFacts(r io.ReaderAt, size int64) {
	head := make([]byte, 8)
	if _, err := r.ReadAt(head, 0); err != nil || !isTIFF(head) {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'M' {
		order = binary.BigEndian
	}
	main := b.directory(r, size, order, int64(order.Uint32(head[4:])))
	sub := func(tag uint16) map[uint16][]byte {
		if v := main[tag]; len(v) == 4 {
			return b.directory(r, size, order, int64(order.Uint32(v)))
		}
		return nil
	}
	exif, gps, f := sub(tagExif), sub(tagGPS), b.facts
	for _, v := range [][]byte{exif[tagDateTimeOriginal], main[tagDateTime]} {
		if t, err := time.Parse("2006:01:02 15:04:05", text(v)); err == nil && f.Time == 0 {
			f.Time = t.Unix()
		}
	}
	maker, model := text(main[tagMake]), text(main[tagModel])
	if f.Camera = model; !strings.HasPrefix(strings.ToLower(model), strings.ToLower(maker)) {
		f.Camera = strings.TrimSpace(maker + " " + model)
	}
	if o := shortOrLong(order, main[tagOrientation]); o >= 1 && o <= 8 {
		f.Orientation = uint8(o)
	}
	f.Width, f.Height = shortOrLong(order, exif[tagPixelWidth]), shortOrLong(order, exif[tagPixelHeight])
	lat, ok1 := degrees(order, gps[2], text(gps[1]) == "S")
	lon, ok2 := degrees(order, gps[4], text(gps[3]) == "W")
	if ok1 && ok2 && lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180 {
		f.Place = &[2]float64{lat, lon}
	}
}

func text(v []byte) string {
	v, _, _ = bytes.Cut(v, []byte{0})
	return strings.TrimSpace(strings.ToValidUTF8(string(v), ""))
}

func shortOrLong(order binary.ByteOrder, v []byte) int {
	switch len(v) {
	case 2:
		return int(order.Uint16(v))
	case 4:
		return int(order.Uint32(v))
	}
	return 0
}

// degrees returns the value of three fractions: degrees, minutes and seconds.
func degrees(order binary.ByteOrder, v []byte, negative bool) (d float64, ok bool) {
	if len(v) != 24 {
		return 0, false
	}
	for i, unit := range []float64{1, 60, 3600} {
		n, of := order.Uint32(v[8*i:]), order.Uint32(v[8*i+4:])
		if of == 0 && n != 0 || i == 0 && of == 0 {
			return 0, false
		}
		if of != 0 {
			d += float64(n) / float64(of) / unit
		}
	}
	if negative {
		d = -d
	}
	return d, true
}
