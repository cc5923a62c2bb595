package feature

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"cpar"
)

func encodeJPEG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pngHeader is a PNG that claims w×h pixels and holds none.
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

// webpExtended claims a small canvas around a large frame.
func webpExtended(w, h uint32) []byte {
	inner := webpLossless(w, h)[12:]
	vp8x := []byte("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	riff := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(vp8x)+len(inner)))
	return append(append(append(riff, "WEBP"...), vp8x...), inner...)
}

func TestRefused(t *testing.T) {
	photo := encodeJPEG(t, synthetic(64, 48))
	scans := slices.Concat(photo[:len(photo)-2], bytes.Repeat([]byte{0xff, 0xda}, maxScans+1))
	gifBomb := slices.Concat([]byte("GIF89a\xff\xff\xff\xff\x80\x00\x00"), make([]byte, 6), []byte{0x2c, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 2, 0})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "empty"},
		"text":            {[]byte("not an image at all"), "not a JPEG"},
		"heic":            {[]byte("\x00\x00\x00\x18ftypheic"), "convert it"},
		"short jpeg":      {photo[:len(photo)/2], "cut short"},
		"jpeg magic only": {[]byte("\xff\xd8\xff"), "jpeg"},
		"huge png":        {pngHeader(30000, 30000), "30000x30000"},
		"long png":        {pngHeader(100_000_000, 1), "on a side"},
		"png of nothing":  {pngHeader(9000, 9000), "exhaust memory"},
		"overflowing png": {pngHeader(1<<31-1, 1<<31-1), "overflow"},
		"webp bomb":       {webpLossless(16384, 16384), "16384x16384"},
		"hidden webp":     {webpExtended(16384, 4096), "exhaust memory"},
		"gif bomb":        {gifBomb, "65535x65535"},
		"scan bomb":       {scans, "scans"},
	} {
		_, err := FromBytes(c.data)
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want one that says %q", name, err, c.want)
		}
	}
	if _, err := Extract(nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no picture: %v", err)
	}
	if _, err := Extract(&Picture{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("empty picture: %v", err)
	}
}

func TestGuardRecovers(t *testing.T) {
	_, err := guard(func() (int, error) { panic("index out of range") })
	if err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Error(err)
	}
}

func TestFromFileRefused(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "absent.jpg"), dir} {
		if _, err := FromFile(path); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The content decides, not the extension; and the error names the file.
	path := filepath.Join(dir, "photo.tiff")
	os.WriteFile(path, encodePNG(t, synthetic(20, 10)), 0o600)
	if _, err := FromFile(path); err != nil {
		t.Error(err)
	}
	os.WriteFile(path, []byte("II*\x00"), 0o600)
	if _, err := FromFile(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// Every lossless way to store one picture gives the same pixels.
func TestFormatsAgree(t *testing.T) {
	m := synthetic(33, 21)
	want, _ := pixels(t, encodePNG(t, m))
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
		if got, _ := pixels(t, data); !bytes.Equal(got, want) {
			t.Errorf("%s: other pixels", name)
		}
	}
	// Any other type goes through At; opaque CMYK has a path of its own.
	read := openRows("", opaqueOnly{m})()
	row := make([]byte, 33*3)
	read(5, row)
	if !bytes.Equal(row, want[5*33*3:][:33*3]) {
		t.Error("generic rows: other pixels")
	}
}

type opaqueOnly struct{ image.Image }

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
	a, _ := pixels(t, encodePNG(t, grey))
	b, _ := pixels(t, encodePNG(t, grey16))
	if !bytes.Equal(a, b) || a[3*7] != 84 || a[3*7+2] != 84 {
		t.Error("grey: other pixels")
	}
	over := []byte{10, 20, 30, 227, 177, 127, 255, 255, 255}
	for name, m := range map[string]image.Image{"palette": pal, "alpha": alpha} {
		if got, _ := pixels(t, encodePNG(t, m)); !bytes.Equal(got[:9], over) {
			t.Errorf("%s over white: %v, want %v", name, got[:9], over)
		}
	}
	var asGIF bytes.Buffer
	second := image.NewPaletted(rect, pal.Palette)
	pal.Palette[1] = color.NRGBA{200, 100, 0, 255}
	if err := gif.EncodeAll(&asGIF, &gif.GIF{Image: []*image.Paletted{pal, second}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	if got, p := pixels(t, asGIF.Bytes()); p.Format() != "gif" || !bytes.Equal(got[:6], []byte{10, 20, 30, 200, 100, 0}) {
		t.Errorf("gif: %v", got[:6])
	}
}

// withExif puts an orientation before the picture, as a camera does.
func withExif(jpg []byte, o byte) []byte {
	body := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x02"+
		"\x01\x0f\x00\x02\x00\x00\x00\x02a\x00\x00\x00"+
		"\x01\x12\x00\x03\x00\x00\x00\x01\x00"), o, 0, 0, 0, 0, 0, 0)
	seg := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2))
	return slices.Concat(jpg[:2], seg, body, jpg[2:])
}

// stored is how a camera held that way stores an upright picture.
func stored(m *image.NRGBA, o int) *image.NRGBA {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	sw, sh := w, h
	if o >= 5 {
		sw, sh = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, sw, sh))
	for y := range sh {
		for x := range sw {
			ux, uy := x, y
			switch o {
			case 2:
				ux = w - 1 - x
			case 3:
				ux, uy = w-1-x, h-1-y
			case 4:
				uy = h - 1 - y
			case 5:
				ux, uy = y, x
			case 6: // to be turned clockwise: the stored top is the upright right
				ux, uy = w-1-y, x
			case 7:
				ux, uy = w-1-y, h-1-x
			case 8:
				ux, uy = y, h-1-x
			}
			out.SetNRGBA(x, y, m.NRGBAAt(ux, uy))
		}
	}
	return out
}

func TestOrientation(t *testing.T) {
	// Shrunk, grown, and too large for its colours; exact on PNG rows.
	for _, size := range [][2]int{{150, 200}, {90, 60}, {300, 131}} {
		upright := synthetic(size[0], size[1])
		want, err := FromBytes(encodePNG(t, upright))
		if err != nil {
			t.Fatal(err)
		}
		for o := 1; o <= 8; o++ {
			p, err := Decode(encodePNG(t, stored(upright, o)))
			if err != nil {
				t.Fatal(err)
			}
			p.turn = orientation(o)
			if p.Width() != size[0] || p.Height() != size[1] {
				t.Errorf("orientation %d: %dx%d", o, p.Width(), p.Height())
			}
			got, err := Extract(p)
			if err != nil {
				t.Fatal(err)
			}
			a := compare(got, want)
			if a.color > 1e-4 || a.gabor > 1e-6 || a.haar > 1e-6 || a.gaborq < 0.99 || a.haarq < 0.999 {
				t.Errorf("%v, orientation %d: %+v", size, o, a)
			}
		}
	}
}

func TestReadOrientation(t *testing.T) {
	jpg := encodeJPEG(t, synthetic(40, 30))
	for o := byte(0); o < 10; o++ {
		want := orientation(o)
		if o < 1 || o > 8 {
			want = 1
		}
		p, err := Decode(withExif(jpg, o))
		if err != nil {
			t.Fatal(err)
		}
		if p.turn != want {
			t.Errorf("jpeg: %d, want %d", p.turn, want)
		}
	}
	block := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00")
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(block)))
	chunk = append(append(chunk, "eXIf"...), block...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	plain := encodePNG(t, synthetic(40, 30))
	if p, err := Decode(slices.Concat(plain[:33], chunk, plain[33:])); err != nil || p.turn != 6 || p.Width() != 30 {
		t.Errorf("png: %v, %v", p, err)
	}
	riff := binary.LittleEndian.AppendUint32([]byte("RIFF0000WEBPEXIF"), uint32(len(block)))
	if got := readOrientation("webp", append(riff, block...)); got != 6 {
		t.Errorf("webp: %d", got)
	}
	if got := readOrientation("tiff", block); got != 6 {
		t.Errorf("tiff: %d", got)
	}
	// Cut anywhere, a block means upright or what it says.
	for n := range block {
		if got := tiffOrientation(block[:n]); got != 1 {
			t.Errorf("cut at %d: %d", n, got)
		}
	}
}

// Downsampling in runs against one weighted sum per output pixel.
func TestReducerAgainstSum(t *testing.T) {
	for _, c := range [][4]int{{192, 128, 128, 128}, {301, 417, 64, 64}, {50, 300, 128, 128}, {7, 5, 64, 64}, {256, 256, 128, 128}} {
		w, h, dw, dh := c[0], c[1], c[2], c[3]
		p := &Picture{storedW: w, storedH: h, cell: 1, turn: 1}
		tg := newTarget(p, dw, dh, 3)
		r := newReducer(w, h, []*target{tg, newTarget(p, 31, 17, 1)})
		m := synthetic(w, h)
		row := make([]byte, 3*w)
		for y := range h {
			straightRow(row, m.Pix[4*w*y:], 1)
			r.add(y, row)
		}
		area := w >= dw && h >= dh
		xs, ys := axisTaps(w, dw, area), axisTaps(h, dh, area)
		want := make([]float64, 3*dw*dh)
		for y := range h {
			for x := range w {
				for _, a := range xs[x] {
					for _, b := range ys[y] {
						for k := range 3 {
							want[3*(b.dst*dw+a.dst)+k] += a.w * b.w * float64(m.Pix[4*(w*y+x)+k])
						}
					}
				}
			}
		}
		for i := range want {
			if math.Abs(want[i]-tg.out[i]) > 1e-9 {
				t.Fatalf("%v: element %d is %g, want %g", c, i, tg.out[i], want[i])
			}
		}
	}
}

// A workspace remembers nothing of the picture before.
func TestExtractorReused(t *testing.T) {
	e := NewExtractor()
	for _, size := range [][2]int{{60, 40}, {300, 200}, {60, 40}, {60, 40}, {300, 200}, {300, 200}} {
		data := encodePNG(t, synthetic(size[0], size[1]))
		want, err := FromBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.FromBytes(data); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: other vectors in a used workspace, %v", size, err)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	v, err := FromBytes(encodePNG(t, synthetic(60, 40)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back Vectors
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	for i, f := range v.floats() {
		for j, x := range f {
			if math.Abs(float64(x-back.floats()[i][j])) > 1e-6*max(1, math.Abs(float64(x))) {
				t.Fatalf("vector %d, element %d: %g became %g", i, j, x, back.floats()[i][j])
			}
		}
	}
	if !slices.Equal(v.HaarQ, back.HaarQ) || !slices.Equal(v.GaborQ, back.GaborQ) {
		t.Error("levels changed")
	}
	v.RGB[3] = float32(math.NaN())
	if _, err := json.Marshal(v); err == nil {
		t.Error("a NaN was written")
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
		if p.Width()*p.Height() > 1<<16 {
			return // extraction is slow and the same
		}
		v, err := Extract(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range [][]float32{v.RGB, v.HSV, v.Lab} {
			if s := norm(h); math.Abs(s-1) > 1e-5 {
				t.Fatalf("a histogram sums to %g", s)
			}
		}
		if _, err := encodeEntry([32]byte{}, v); err != nil {
			t.Fatal(err)
		}
	})
}
