package decode

import (
	"bytes"
	"encoding/binary"
	"slices"
)

type field struct {
	tag    uint16
	values any // []uint16, []uint32, []byte, []ifd
}

type ifd []field

type tiffWriter struct {
	order binary.AppendByteOrder
	out   []byte
}

func tiffFile(order binary.AppendByteOrder, extra []byte, chain ...ifd) []byte {
	w := &tiffWriter{order: order, out: []byte("II*\x00")}
	if order.String() == "BigEndian" {
		w.out = []byte("MM\x00*")
	}
	w.out = append(append(w.out, 0, 0, 0, 0), extra...)
	link := 4 // position of the next directory's offset
	for _, d := range chain {
		at := w.directory(d)
		w.patch(link, uint32(at))
		link = at + 2 + 12*len(d)
	}
	return w.out
}

func (w *tiffWriter) patch(at int, v uint32) { copy(w.out[at:], w.order.AppendUint32(nil, v)) }

func (w *tiffWriter) directory(d ifd) int {
	at := len(w.out)
	w.out = w.order.AppendUint16(w.out, uint16(len(d)))
	w.out = append(w.out, make([]byte, 12*len(d)+4)...)
	for i, f := range d {
		var kind uint16
		var count int
		var raw []byte
		switch v := f.values.(type) {
		case []uint16:
			kind, count = 3, len(v)
			for _, x := range v {
				raw = w.order.AppendUint16(raw, x)
			}
		case []uint32:
			kind, count = 4, len(v)
			for _, x := range v {
				raw = w.order.AppendUint32(raw, x)
			}
		case []byte:
			kind, count, raw = 7, len(v), v
		case []ifd:
			kind, count = 4, len(v)
			for _, below := range v {
				raw = w.order.AppendUint32(raw, uint32(w.directory(below)))
			}
		}
		if len(raw) > 4 {
			place := uint32(len(w.out))
			w.out = append(w.out, raw...)
			raw = w.order.AppendUint32(nil, place)
		}
		entry := w.order.AppendUint16(nil, f.tag)
		entry = w.order.AppendUint16(entry, kind)
		entry = w.order.AppendUint32(entry, uint32(count))
		copy(w.out[at+2+12*i:], append(entry, raw...))
	}
	return at
}

func placed(order binary.AppendByteOrder, head []byte, files [][]byte, chain func(at []uint32) []ifd) []byte {
	extra := slices.Clone(head)
	var at []uint32
	for _, f := range files {
		at = append(at, uint32(8+len(extra)))
		extra = append(extra, f...)
	}
	return tiffFile(order, extra, chain(at)...)
}

func long(v ...uint32) []uint32  { return v }
func short(v ...uint16) []uint16 { return v }

func losslessJPEG() []byte {
	return withSegment([]byte("\xff\xd8\xff\xd9"), 0xc3, "\x0e\x0f\xa0\x17\x70\x02\x01\x11\x00\x02\x11\x00")
}

func dngFile(thumb, preview []byte, turn uint16) []byte {
	lossless := losslessJPEG()
	return placed(binary.LittleEndian, nil, [][]byte{thumb, preview, lossless}, func(at []uint32) []ifd {
		return []ifd{{
			{tagWidth, long(32)}, {tagHeight, long(24)}, {tagCompression, short(7)}, {tagPhotometric, short(6)},
			{tagStrips, long(at[0])}, {0x0112, short(turn)}, {tagStripBytes, long(uint32(len(thumb)))},
			{tagSubIFDs, []ifd{
				{{tagWidth, long(6000)}, {tagHeight, long(4000)}, {tagCompression, short(7)}, {tagPhotometric, short(32803)},
					{tagStrips, long(at[2])}, {tagStripBytes, long(uint32(len(lossless)))}},
				{{tagCompression, short(7)}, {tagPhotometric, short(6)},
					{tagStrips, long(at[1])}, {tagStripBytes, long(uint32(len(preview)))}},
			}},
			{tagDNGVersion, []byte{1, 4, 0, 0}},
		}}
	})
}

// cr2File has four directories: the preview, a thumbnail, unsupported pixels,
// and lossless JPEG.
func cr2File(preview, thumb []byte, turn uint16) []byte {
	lossless := losslessJPEG()
	return placed(binary.LittleEndian, []byte("CR\x02\x00\x00\x00\x00\x00"), [][]byte{preview, thumb, lossless}, func(at []uint32) []ifd {
		return []ifd{
			{{tagWidth, short(6000)}, {tagHeight, short(4000)}, {tagCompression, short(6)}, {tagStrips, long(at[0])},
				{0x0112, short(turn)}, {tagStripBytes, long(uint32(len(preview)))}},
			{{tagJPEG, long(at[1])}, {tagJPEGBytes, long(uint32(len(thumb)))}},
			{{tagWidth, short(300)}, {tagHeight, short(200)}, {tagCompression, short(1)}},
			{{tagCompression, short(6)}, {tagStrips, long(at[2])}, {tagStripBytes, long(uint32(len(lossless)))}},
		}
	})
}

func nefFile(below, inNotes []byte, turn uint16) []byte {
	note := placed(binary.BigEndian, nil, [][]byte{inNotes}, func(at []uint32) []ifd {
		return []ifd{{{0x0011, []ifd{{{tagCompression, short(6)}, {tagJPEG, long(at[0])}, {tagJPEGBytes, long(uint32(len(inNotes)))}}}}}}
	})
	return placed(binary.BigEndian, nil, [][]byte{below}, func(at []uint32) []ifd {
		return []ifd{{
			{tagWidth, long(160)}, {tagHeight, long(120)}, {tagCompression, short(1)}, {0x0112, short(turn)},
			{tagSubIFDs, []ifd{
				{{tagCompression, short(6)}, {tagJPEG, long(at[0])}, {tagJPEGBytes, long(uint32(len(below)))}},
				{{tagWidth, long(6000)}, {tagHeight, long(4000)}, {tagCompression, short(34713)}, {tagPhotometric, short(32803)}},
			}},
			{tagEXIF, []ifd{{{tagMakerNote, slices.Concat([]byte("Nikon\x00\x02\x10\x00\x00"), note)}}}},
		}}
	})
}

func arwFile(preview []byte, turn uint16) []byte {
	return placed(binary.LittleEndian, nil, [][]byte{preview}, func(at []uint32) []ifd {
		return []ifd{{
			{tagCompression, short(6)}, {0x0112, short(turn)}, {tagJPEG, long(at[0])}, {tagJPEGBytes, long(uint32(len(preview)))},
			{tagSubIFDs, []ifd{{{tagWidth, short(6000)}, {tagHeight, short(4000)}, {tagCompression, short(32767)}}}},
		}}
	})
}

func rafFile(preview []byte) []byte {
	head := append([]byte("FUJIFILMCCD-RAW 0201FF389501X-T1"), make([]byte, 52)...)
	return slices.Concat(head, be32(148, uint32(len(preview))), make([]byte, 148-92), preview, make([]byte, 500))
}

// cr3File has a thumbnail and a preview in boxes, and the photo as a track's
// sample.
func cr3File(thumb, preview, whole []byte, turn uint16) []byte {
	ftyp := isoBox("ftyp", []byte("crx "), be32(1), []byte("crx isom"))
	uuid := func(id string, parts ...[]byte) []byte {
		return isoBox("uuid", append([][]byte{[]byte(id)}, parts...)...)
	}
	cmt1 := tiffFile(binary.LittleEndian, nil, ifd{{tagWidth, short(6000)}, {tagHeight, short(4000)}, {0x0112, short(turn)}})
	build := func(at uint32) []byte {
		table := isoBox("stbl",
			isoBox("stsz", be32(0, uint32(len(whole)), 1)),
			isoBox("co64", be32(0, 1, 0, at)))
		return slices.Concat(ftyp,
			isoBox("moov",
				uuid(canonMetadata, isoBox("CMT1", cmt1), isoBox("THMB", be32(0), be16(160, 120), be32(uint32(len(thumb)), 0), thumb)),
				isoBox("trak", isoBox("mdia", isoBox("minf", table)))),
			uuid(canonPreview, be32(0, 1), isoBox("PRVW", be32(0), be16(1, 1620, 1080, 1), be32(uint32(len(preview))), preview)))
	}
	front := build(0)
	front = build(uint32(len(front) + 8))
	return slices.Concat(front, isoBox("mdat", whole, bytes.Repeat([]byte{7}, 99)))
}
