package decode

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func isoBox(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(kind), body)
}

func be16(v ...uint16) (b []byte) {
	for _, x := range v {
		b = binary.BigEndian.AppendUint16(b, x)
	}
	return b
}

func be32(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

// A heifRecipe is a HEIC as phones write it: one HEVC image, or a grid of
// tiles. The HEVC data come from testdata/corner.heic.
type heifRecipe struct {
	w, h       uint32 // as claimed
	tiles      int    // side by side, 0 for one image without a grid
	properties [][]byte
	after      []byte // appended, as by live photos
}

func (r heifRecipe) encode(t testing.TB) []byte {
	source, err := os.ReadFile(filepath.Join("testdata", "corner.heic"))
	if err != nil {
		t.Fatal(err)
	}
	hevc := isoBox("hvcC", box(heifProperties(source), "hvcC"))
	sample := box(source, "mdat")
	grid := []byte{0, 0, 0, byte(max(r.tiles, 1) - 1)}
	grid = append(grid, be16(uint16(r.w), uint16(r.h))...)

	ipco := [][]byte{hevc, isoBox("ispe", be32(0, 96, 64)), isoBox("ispe", be32(0, r.w, r.h))}
	primary := []byte{0x81, 0x03}
	if r.tiles > 0 {
		primary = []byte{0x03}
	}
	for i, p := range r.properties {
		ipco = append(ipco, p)
		primary = append(primary, 0x80|byte(4+i))
	}
	entry := func(id uint16, kind string) []byte {
		return isoBox("infe", be32(2<<24), be16(id, 0), []byte(kind+"\x00"))
	}
	first, infos, ipma, references := "hvc1", [][]byte(nil), [][]byte(nil), [][]byte(nil)
	if r.tiles > 0 {
		first = "grid"
		ids := []uint16{}
		for i := range r.tiles {
			id := uint16(2 + i)
			ids = append(ids, id)
			infos = append(infos, entry(id, "hvc1"))
			ipma = append(ipma, slices.Concat(be16(id), []byte{2, 0x81, 0x02}))
		}
		references = [][]byte{isoBox("iref", be32(0), isoBox("dimg", be16(1, uint16(len(ids))), be16(ids...)))}
	}
	infos = append([][]byte{entry(1, first)}, infos...)
	ipma = append([][]byte{slices.Concat(be16(1), []byte{byte(len(primary))}, primary)}, ipma...)
	ftyp := isoBox("ftyp", []byte("heic"), be32(0), []byte("mif1heic"))
	build := func(offset uint32) []byte {
		var iloc [][]byte
		for i := range len(infos) {
			at, length := offset, uint32(len(sample))
			if i == 0 && r.tiles > 0 {
				at, length = offset+uint32(len(sample)), uint32(len(grid))
			}
			iloc = append(iloc, be16(uint16(i+1), 0, 1), be32(at, length))
		}
		return isoBox("meta", be32(0),
			isoBox("hdlr", be32(0, 0), []byte("pict"), make([]byte, 13)),
			isoBox("pitm", be32(0), be16(1)),
			isoBox("iloc", be32(0), be16(0x4400, uint16(len(infos))), slices.Concat(iloc...)),
			isoBox("iinf", be32(0), be16(uint16(len(infos))), slices.Concat(infos...)),
			slices.Concat(references...),
			isoBox("iprp", isoBox("ipco", ipco...), isoBox("ipma", be32(0, uint32(len(ipma))), slices.Concat(ipma...))))
	}
	meta := build(uint32(len(ftyp) + len(build(0)) + 8))
	return slices.Concat(ftyp, meta, isoBox("mdat", sample, grid), r.after)
}
