package decode

import (
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"iter"
	"slices"
	"strings"
)

// boxes yields the boxes of an ISO media file (ISO/IEC 14496-12, 4.2) by type,
// or uuid boxes by UUID. The last box may be truncated.
func boxes(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for len(data) >= 8 {
			size, head, kind := uint64(binary.BigEndian.Uint32(data)), uint64(8), string(data[4:8])
			if size == 1 && len(data) >= 16 {
				size, head = binary.BigEndian.Uint64(data[8:]), 16
			}
			if kind == "uuid" && uint64(len(data)) >= head+16 {
				kind = string(data[head : head+16])
				head += 16
			}
			if size == 0 || size > uint64(len(data)) {
				size = uint64(len(data))
			}
			if size < head {
				return
			}
			if !yield(kind, data[head:size]) {
				return
			}
			data = data[size:]
		}
	}
}

func box(data []byte, path ...string) []byte {
	for _, kind := range path {
		var found []byte
		for k, body := range boxes(data) {
			if k == kind {
				found = body
				break
			}
		}
		if found == nil {
			return nil
		}
		data = found
	}
	return data
}

func brands(data []byte) (list []string) {
	body := box(data, "ftyp")
	for i := 0; i+4 <= len(body) && i < 256; i += 4 {
		if i != 4 { // skip the minor version
			list = append(list, string(body[i:i+4]))
		}
	}
	return list
}

// isHEIC reports whether the file is an HEVC photo, which the sandbox decodes,
// rather than AVIF or a video.
func isHEIC(data []byte) bool {
	return slices.ContainsFunc(brands(data), func(brand string) bool {
		return slices.Contains([]string{"heic", "heix", "heim", "heis"}, brand)
	})
}

func isAVIF(data []byte) bool {
	return slices.ContainsFunc(brands(data), func(brand string) bool { return strings.HasPrefix(brand, "avi") })
}

// heifProperties returns the properties of all images in a file, including
// tiles and thumbnails.
func heifProperties(data []byte) []byte {
	meta := box(data, "meta")
	if len(meta) < 4 {
		return nil
	}
	return box(meta[4:], "iprp", "ipco")
}

// heicConfig returns the largest size that a HEIC claims, before rotation. The
// decoder gets memory only for this size.
func heicConfig(data []byte) (cfg image.Config, err error) {
	cfg.ColorModel = color.YCbCrModel
	for kind, body := range boxes(heifProperties(data)) {
		if kind != "ispe" || len(body) < 12 {
			continue
		}
		w, h := int(binary.BigEndian.Uint32(body[4:])), int(binary.BigEndian.Uint32(body[8:]))
		if w > maxSide || h > maxSide || w*h > cfg.Width*cfg.Height {
			cfg.Width, cfg.Height = w, h
		}
	}
	if cfg.Width == 0 {
		return cfg, errors.New("it claims no size; it is damaged or cut short")
	}
	return cfg, nil
}

// heicVideoRange reports whether luma runs from 16 to 235. Phones use 0 to 255.
func heicVideoRange(data []byte) bool {
	for kind, body := range boxes(heifProperties(data)) {
		if kind == "colr" && len(body) >= 11 && string(body[:4]) == "nclx" {
			return body[10]&0x80 == 0
		}
	}
	return false
}
