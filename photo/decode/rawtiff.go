package decode

import (
	"bytes"
	"slices"
)

// These are tags of RAW photos in TIFF format (TIFF 6.0, DNG 1.7).
const (
	tagWidth       = 0x0100
	tagHeight      = 0x0101
	tagCompression = 0x0103
	tagPhotometric = 0x0106
	tagStrips      = 0x0111
	tagStripBytes  = 0x0117
	tagSubIFDs     = 0x014a
	tagJPEG        = 0x0201
	tagJPEGBytes   = 0x0202
	tagEXIF        = 0x8769
	tagMakerNote   = 0x927c
	tagDNGVersion  = 0xc612
)

// maxDirectories bounds the work for malicious files. No camera writes as many.
const maxDirectories = 64

// tiffPhoto finds the previews of a DNG, CR2, NEF or ARW. It returns nil for an
// ordinary TIFF.
func tiffPhoto(t tiffBlock) *rawPhoto {
	first := t.directory(t.first())
	r := &rawPhoto{turn: first.orientation()}
	_, _, dng := first.entry(tagDNGVersion)
	raw := len(dng) > 0 || bytes.HasPrefix(t.data[8:], []byte("CR\x02"))
	for d := range t.directories {
		if w, ok := d.number(tagWidth); ok {
			h, _ := d.number(tagHeight)
			if uint64(w)*uint64(h) > uint64(r.width)*uint64(r.height) {
				r.width, r.height = w, h
			}
		}
		compression, _ := d.number(tagCompression)
		photometric, _ := d.number(tagPhotometric)
		switch {
		case photometric == 32803, photometric == 34892, // sensor data: colour filter array or linear
			compression == 34713, compression == 32767: // compression of Nikon and Sony
			raw = true
		}
		if len(r.previews) < maxDirectories {
			r.previews = append(r.previews, d.previews(compression)...)
		}
	}
	if !raw {
		return nil
	}
	return r
}

// directories yields the chain of directories, their subdirectories, and
// Nikon's maker note.
func (t tiffBlock) directories(yield func(tiffDirectory) bool) {
	todo, seen := []uint32{t.first()}, map[uint32]bool{0: true}
	for len(todo) > 0 && len(seen) <= maxDirectories {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		d := t.directory(at)
		if !yield(d) {
			return
		}
		below := d.numbers(tagSubIFDs)
		if exif, ok := d.number(tagEXIF); ok {
			below = append(below, exif)
		}
		if nikon, ok := nikonPreview(d); ok && !yield(nikon) {
			return
		}
		todo = append(todo, slices.Concat(below[:min(len(below), maxDirectories)], []uint32{d.next})...)
	}
}

// nikonPreview returns the preview directory of Nikon's maker note. The note is
// a header of ten bytes and a TIFF block.
func nikonPreview(d tiffDirectory) (preview tiffDirectory, ok bool) {
	_, _, note := d.entry(tagMakerNote)
	if len(note) < 10 || !bytes.HasPrefix(note, []byte("Nikon\x00\x02")) {
		return preview, false
	}
	t, ok := newTIFF(note[10:])
	if !ok {
		return preview, false
	}
	at, ok := t.directory(t.first()).number(0x0011)
	if !ok {
		return preview, false
	}
	return t.directory(at), true
}

// previews returns the JPEG files to which a directory refers, by dedicated
// tags or as contiguous strips.
func (d tiffDirectory) previews(compression uint32) (list [][]byte) {
	if at, ok := d.number(tagJPEG); ok {
		length, _ := d.number(tagJPEGBytes)
		list = append(list, d.t.within(at, length))
	}
	starts, lengths := d.numbers(tagStrips), d.numbers(tagStripBytes)
	if compression != 6 && compression != 7 || len(starts) == 0 || len(starts) != len(lengths) {
		return list
	}
	total := lengths[0]
	for i := 1; i < len(starts); i++ {
		if uint64(starts[i]) != uint64(starts[0])+uint64(total) {
			return list
		}
		total += lengths[i]
	}
	return append(list, d.t.within(starts[0], total))
}
