package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"cpar"
)

func shot(t testing.TB, w, h int) []byte { return encodeJPEG(t, synthetic(w, h)) }

func TestRawPreviews(t *testing.T) {
	thumb, preview, large := shot(t, 32, 24), shot(t, 96, 64), shot(t, 192, 128)
	for name, c := range map[string]struct {
		data []byte
		w, h int
	}{
		"dng":              {dngFile(thumb, large, 1), 192, 128},
		"dng, thumb only":  {dngFile(thumb, nil, 1), 32, 24},
		"dng on its side":  {dngFile(thumb, large, 6), 128, 192},
		"cr2":              {cr2File(large, thumb, 1), 192, 128},
		"cr2 on its side":  {cr2File(large, thumb, 8), 128, 192},
		"nef":              {nefFile(large, thumb, 1), 192, 128},
		"nef, in notes":    {nefFile(nil, preview, 1), 96, 64},
		"nef on its side":  {nefFile(large, thumb, 6), 128, 192},
		"arw":              {arwFile(large, 1), 192, 128},
		"arw on its side":  {arwFile(large, 8), 128, 192},
		"raf":              {rafFile(large), 192, 128},
		"raf on its side":  {rafFile(withExif(large, 6)), 128, 192},
		"cr3":              {cr3File(thumb, preview, large, 1), 192, 128},
		"cr3, preview":     {cr3File(thumb, preview, nil, 1), 96, 64},
		"cr3, thumb":       {cr3File(thumb, nil, nil, 1), 32, 24},
		"cr3 on its side":  {cr3File(thumb, preview, large, 8), 128, 192},
		"damaged, smaller": {cr2File(large[:len(large)/3], thumb, 1), 32, 24},
	} {
		p, err := Decode(c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if p.Width != c.w || p.Height != c.h {
			t.Errorf("%s: %d×%d, want %d×%d", name, p.Width, p.Height, c.w, c.h)
		}
	}
}

// A preview that is already upright is not rotated at all.
func TestRawIsRotatedOnce(t *testing.T) {
	wide, standing := shot(t, 96, 64), shot(t, 64, 96)
	at := func(data []byte, turn orientation) *Image {
		p, err := decodeImage(data, turn)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		raw  []byte
		want *Image
	}{
		"by the raw file":         {arwFile(wide, 6), at(wide, 6)},
		"by both":                 {arwFile(withExif(wide, 6), 6), at(wide, 6)},
		"by the preview":          {arwFile(withExif(wide, 8), 1), at(wide, 8)},
		"by half a turn":          {arwFile(wide, 3), at(wide, 3)},
		"upright already":         {arwFile(standing, 6), at(standing, 1)},
		"upright, and it says so": {arwFile(withExif(standing, 1), 8), at(standing, 1)},
	} {
		if got := decode(t, c.raw); got.Width != c.want.Width || !bytes.Equal(got.RGB, c.want.RGB) {
			t.Errorf("%s: %d×%d, other pixels", name, got.Width, got.Height)
		}
	}
}

func TestRawWithoutPreview(t *testing.T) {
	for name, data := range map[string][]byte{
		"dng":           dngFile(nil, nil, 1),
		"raf":           rafFile(nil),
		"raf, cut":      rafFile(shot(t, 96, 64))[:60],
		"cr3":           cr3File(nil, nil, nil, 1),
		"cr3, cut":      cr3File(nil, nil, nil, 1)[:40],
		"cr2, lossless": cr2File(losslessJPEG(), nil, 1),
	} {
		_, err := Decode(data)
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "no preview") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOrdinaryTIFFIsNotRaw(t *testing.T) {
	var b bytes.Buffer
	if err := tiff.Encode(&b, synthetic(33, 21), nil); err != nil {
		t.Fatal(err)
	}
	if p := decode(t, b.Bytes()); p.Width != 33 {
		t.Errorf("%d×%d", p.Width, p.Height)
	}
	thumb := shot(t, 32, 24)
	ordinary := placed(binary.LittleEndian, nil, [][]byte{make([]byte, 12), thumb}, func(at []uint32) []ifd {
		return []ifd{
			{{tagWidth, short(4)}, {tagHeight, short(3)}, {0x0102, short(8)}, {tagCompression, short(1)}, {tagPhotometric, short(1)},
				{tagStrips, long(at[0])}, {0x0112, short(6)}, {0x0115, short(1)}, {0x0116, short(3)}, {tagStripBytes, long(12)}},
			{{tagCompression, short(6)}, {tagJPEG, long(at[1])}, {tagJPEGBytes, long(uint32(len(thumb)))}},
		}
	})
	if p := decode(t, ordinary); p.Width != 3 || p.Height != 4 {
		t.Errorf("with a thumbnail: %d×%d", p.Width, p.Height)
	}
}

func TestCyclicDirectoriesTerminate(t *testing.T) {
	loop := tiffFile(binary.LittleEndian, nil, ifd{{tagDNGVersion, []byte{1, 4, 0, 0}}, {tagSubIFDs, long(8, 8, 8)}})
	binary.LittleEndian.PutUint32(loop[8+2+24:], 8)
	many := make(ifd, 0, 3000)
	for range 3000 {
		many = append(many, field{tagSubIFDs, long(8, 9, 10, 11, 12)})
	}
	for _, data := range [][]byte{loop, tiffFile(binary.BigEndian, []byte("CR\x02\x00"), many, many)} {
		if _, err := Decode(data); !errors.Is(err, cpar.ErrInput) {
			t.Error(err)
		}
	}
}

func FuzzRaw(f *testing.F) {
	thumb, preview := shot(f, 16, 12), shot(f, 24, 16)
	for _, data := range [][]byte{
		dngFile(thumb, preview, 6), cr2File(preview, thumb, 1), nefFile(preview, thumb, 8), arwFile(preview, 3),
		rafFile(withExif(preview, 6)), cr3File(thumb, preview, preview, 6),
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := rawOf(data)
		if r == nil {
			return
		}
		total := 0
		for _, p := range r.previews {
			total += len(p)
		}
		if len(r.previews) > 2*maxDirectories || total > len(data)*len(r.previews) {
			t.Fatalf("%d previews of %d bytes in %d", len(r.previews), total, len(data))
		}
		p, err := r.decode()
		if err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Fatalf("%v does not wrap ErrInput", err)
		}
		if err == nil && (len(p.RGB) != 3*p.Width*p.Height || image.Rect(0, 0, p.Width, p.Height).Empty()) {
			t.Fatalf("%d×%d pixels in %d bytes", p.Width, p.Height, len(p.RGB))
		}
	})
}
