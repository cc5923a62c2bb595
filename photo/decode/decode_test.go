package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

func synthetic(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{
				R: byte(x*5 + y*3 + x*y/7),
				G: byte(x*x/11 + y*9),
				B: 255 - byte(x*2+y*y/5),
				A: 255,
			})
		}
	}
	return m
}

func encodePNG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t testing.TB, data []byte) *Image {
	t.Helper()
	p, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encodeJPEG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngHeader(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, w)
	b = binary.BigEndian.AppendUint32(b, h)
	b = append(b, 8, 2, 0, 0, 0)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[12:]))
}

func webpLossless(w, h uint32) []byte {
	body := binary.LittleEndian.AppendUint32([]byte{0x2f}, (w-1)|(h-1)<<14)
	body = append(body, 0, 0, 0)
	chunk := binary.LittleEndian.AppendUint32([]byte("VP8L"), uint32(len(body)))
	chunk = append(chunk, body...)
	riff := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(chunk)))
	return append(append(riff, "WEBP"...), chunk...)
}

func webpExtended(w, h uint32) []byte {
	inner := webpLossless(w, h)[12:]
	vp8x := []byte("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	riff := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(vp8x)+len(inner)))
	return append(append(append(riff, "WEBP"...), vp8x...), inner...)
}

func TestDecodeRejectsBadFiles(t *testing.T) {
	photo := encodeJPEG(t, synthetic(64, 48))
	scans := slices.Concat(photo[:len(photo)-2], bytes.Repeat([]byte{0xff, 0xda}, maxScans+1))
	gifBomb := slices.Concat([]byte("GIF89a\xff\xff\xff\xff\x80\x00\x00"), make([]byte, 6), []byte{0x2c, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 2, 0})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "empty"},
		"text":            {[]byte("not an image at all"), "not a JPEG"},
		"heic of nothing": {[]byte("\x00\x00\x00\x18ftypheic"), "claims no size"},
		"avif":            {[]byte("\x00\x00\x00\x14ftypavif\x00\x00\x00\x00mif1"), "convert it"},
		"video":           {[]byte("\x00\x00\x00\x14ftypisom\x00\x00\x00\x00mp41"), "a video"},
		"short jpeg":      {photo[:len(photo)*2/5], "cut short"},
		"jpeg magic only": {[]byte("\xff\xd8\xff"), "jpeg"},
		"huge png":        {pngHeader(30000, 30000), "30000x30000"},
		"large png":       {append(pngHeader(12000, 9000), make([]byte, 1<<16)...), "416 MB of memory"},
		"long png":        {pngHeader(100_000_000, 1), "on a side"},
		"png of nothing":  {pngHeader(9000, 9000), "exhaust memory"},
		"overflowing png": {pngHeader(1<<31-1, 1<<31-1), "overflow"},
		"webp bomb":       {webpLossless(16384, 16384), "16384x16384"},
		"hidden webp":     {webpExtended(16384, 4096), "exhaust memory"},
		"gif bomb":        {gifBomb, "65535x65535"},
		"scan bomb":       {scans, "scans"},
	} {
		_, err := Decode(c.data)
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want one that says %q", name, err, c.want)
		}
	}
}

func TestGuardRecovers(t *testing.T) {
	_, err := guard(func() (int, error) { panic("index out of range") })
	if err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Error(err)
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "absent.jpg")
	for path, want := range map[string]string{absent: "reading image: unusable input: no such file", dir: "not a regular file"} {
		if _, err := ReadFile(path); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFormatsAgree(t *testing.T) {
	m := synthetic(33, 21)
	want := decode(t, encodePNG(t, m)).RGB
	rgba := image.NewRGBA(m.Rect)
	deep, deepRGBA := image.NewNRGBA64(m.Rect), image.NewRGBA64(m.Rect)
	for y := range 21 {
		for x := range 33 {
			rgba.Set(x, y, m.At(x, y))
			deep.Set(x, y, m.At(x, y))
			deepRGBA.Set(x, y, m.At(x, y))
		}
	}
	var asTIFF, asBMP bytes.Buffer
	if err := tiff.Encode(&asTIFF, m, &tiff.Options{Compression: tiff.Deflate}); err != nil {
		t.Fatal(err)
	}
	if err := bmp.Encode(&asBMP, m); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"rgba": encodePNG(t, rgba), "16 bits": encodePNG(t, deep), "16 bits opaque": encodePNG(t, deepRGBA),
		"tiff": asTIFF.Bytes(), "bmp": asBMP.Bytes(),
	} {
		if got := decode(t, data).RGB; !bytes.Equal(got, want) {
			t.Errorf("%s: other pixels", name)
		}
	}
	back := decode(t, encodePNG(t, decode(t, encodePNG(t, m)).RGBA()))
	if back.Width != 33 || back.Height != 21 || !bytes.Equal(back.RGB, want) {
		t.Error("Image: other pixels")
	}
}

func TestGreyPaletteAlpha(t *testing.T) {
	rect := image.Rect(0, 0, 5, 4)
	grey, grey16 := image.NewGray(rect), image.NewGray16(rect)
	alpha := image.NewNRGBA(rect)
	pal := image.NewPaletted(rect, color.Palette{color.NRGBA{10, 20, 30, 255}, color.NRGBA{200, 100, 0, 128}, color.NRGBA{9, 9, 9, 0}})
	for i := range grey.Pix {
		grey.Pix[i] = byte(i * 12)
		grey16.Pix[2*i], grey16.Pix[2*i+1] = byte(i*12), 99
		pal.Pix[i] = byte(i % 3)
		alpha.SetNRGBA(i%5, i/5, [3]color.NRGBA{{10, 20, 30, 255}, {200, 100, 0, 128}, {9, 9, 9, 0}}[i%3])
	}
	a, b := decode(t, encodePNG(t, grey)).RGB, decode(t, encodePNG(t, grey16)).RGB
	if !bytes.Equal(a, b) || a[3*7] != 84 || a[3*7+2] != 84 {
		t.Error("grey: other pixels")
	}
	over := []byte{10, 20, 30, 227, 177, 127, 255, 255, 255}
	for name, m := range map[string]image.Image{"palette": pal, "alpha": alpha} {
		got := decode(t, encodePNG(t, m)).RGB
		for i, want := range over {
			if d := int(got[i]) - int(want); d < -1 || d > 1 {
				t.Errorf("%s over white: %v, want %v", name, got[:9], over)
				break
			}
		}
	}
	var asGIF bytes.Buffer
	second := image.NewPaletted(rect, pal.Palette)
	pal.Palette[1] = color.NRGBA{200, 100, 0, 255}
	if err := gif.EncodeAll(&asGIF, &gif.GIF{Image: []*image.Paletted{pal, second}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	if got := decode(t, asGIF.Bytes()).RGB; !bytes.Equal(got[:6], []byte{10, 20, 30, 200, 100, 0}) {
		t.Errorf("gif: %v", got[:6])
	}
	// Damaged files may exceed the palette.
	pal.Pix[1], pal.Palette = 2, pal.Palette[:2]
	row := make([]byte, 3*5)
	rowsOf("bmp", pal)(0, row)
	if !bytes.Equal(row[:6], []byte{10, 20, 30, 255, 255, 255}) {
		t.Errorf("beyond the palette: %v", row[:6])
	}
}

func withExif(jpg []byte, o byte) []byte {
	body := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x02"+
		"\x01\x0f\x00\x02\x00\x00\x00\x02a\x00\x00\x00"+
		"\x01\x12\x00\x03\x00\x00\x00\x01\x00"), o, 0, 0, 0, 0, 0, 0)
	seg := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2))
	return slices.Concat(jpg[:2], seg, body, jpg[2:])
}

func TestReadOrientation(t *testing.T) {
	jpg := encodeJPEG(t, synthetic(40, 30))
	for o := byte(0); o < 10; o++ {
		want := orientation(o)
		if o < 1 || o > 8 {
			want = 1
		}
		if got := readOrientation("jpeg", withExif(jpg, o)); got != want {
			t.Errorf("jpeg: %d, want %d", got, want)
		}
	}
	block := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00")
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(block)))
	chunk = append(append(chunk, "eXIf"...), block...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	plain := encodePNG(t, synthetic(40, 30))
	if p := decode(t, slices.Concat(plain[:33], chunk, plain[33:])); p.Width != 30 || p.Height != 40 {
		t.Errorf("png: %d×%d", p.Width, p.Height)
	}
	riff := binary.LittleEndian.AppendUint32([]byte("RIFF0000WEBPEXIF"), uint32(len(block)))
	if got := readOrientation("webp", append(riff, block...)); got != 6 {
		t.Errorf("webp: %d", got)
	}
	if got := readOrientation("tiff", block); got != 6 {
		t.Errorf("tiff: %d", got)
	}
	for n := range block {
		if got := tiffOrientation(block[:n]); got != 1 {
			t.Errorf("cut at %d: %d", n, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*.*p*g"))
	webps, _ := filepath.Glob(filepath.Join("testdata", "*.webp"))
	for _, path := range append(files, webps...) {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data)
		}
	}
	f.Add(withExif(encodeJPEG(f, synthetic(9, 7)), 6))
	f.Add(encodeJPEG(f, synthetic(40, 30))[:900])
	f.Add(pngHeader(30000, 30000))
	f.Add(webpExtended(16384, 4096))
	var asTIFF, asBMP, asGIF bytes.Buffer
	tiff.Encode(&asTIFF, synthetic(9, 7), nil)
	bmp.Encode(&asBMP, synthetic(9, 7))
	gif.Encode(&asGIF, synthetic(9, 7), nil)
	f.Add(asTIFF.Bytes())
	f.Add(asBMP.Bytes())
	f.Add(asGIF.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) {
				t.Fatalf("%v does not wrap ErrInput", err)
			}
			return
		}
		if p.Width < 1 || p.Height < 1 || len(p.RGB) != 3*p.Width*p.Height {
			t.Fatalf("%d×%d pixels in %d bytes", p.Width, p.Height, len(p.RGB))
		}
	})
}

// The pixels 012 345 as stored, and their upright positions by definition.
func TestUprightAppliesOrientation(t *testing.T) {
	stored := func(y int, rgb []byte) {
		for x := range 3 {
			rgb[3*x] = byte(3*y + x)
		}
	}
	for o, want := range map[orientation]string{
		1: "012 345", 2: "210 543", 3: "543 210", 4: "345 012",
		5: "03 14 25", 6: "30 41 52", 7: "52 41 30", 8: "25 14 03",
	} {
		p := upright(stored, 3, 2, o)
		var rows []string
		for y := range p.Height {
			row := ""
			for x := range p.Width {
				row += string('0' + rune(p.Row(y)[3*x]))
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("orientation %d: %s, want %s", o, got, want)
		}
	}
}

// OpenCV decoded testdata to the PNGs of the same names. The limits are mean
// differences in levels of 256, because decoders round differently.
func TestPixelsAgainstOpenCV(t *testing.T) {
	for pattern, limit := range map[string]float64{
		"ycbcr*.jpg": 0.4, "progressive.jpg": 0.1, "cmyk*.jpg": 1.2, "ycck.jpg": 1.2,
		"lossy.webp": 0.25, "lossless.webp": 0,
	} {
		files, _ := filepath.Glob(filepath.Join("testdata", pattern))
		if len(files) == 0 {
			t.Fatalf("no %s", pattern)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := os.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".png")
			if err != nil {
				t.Fatal(err)
			}
			got, want := decode(t, data), decode(t, decoded)
			if got.Width != want.Width || got.Height != want.Height {
				t.Fatalf("%s: %d×%d, want %d×%d", path, got.Width, got.Height, want.Width, want.Height)
			}
			sum, worst := 0, 0
			for i := range got.RGB {
				d := max(int(got.RGB[i])-int(want.RGB[i]), int(want.RGB[i])-int(got.RGB[i]))
				sum += d
				worst = max(worst, d)
			}
			mean := float64(sum) / float64(len(got.RGB))
			t.Logf("%s: mean difference %.3f, largest %d", path, mean, worst)
			if mean > limit || worst > 4 {
				t.Errorf("%s: pixels differ from OpenCV's by %.3f on average, %d at most", path, mean, worst)
			}
		}
	}
}
