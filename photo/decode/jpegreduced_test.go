package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
)

var (
	grey   = [][2]int{{1, 1}}
	yuv444 = [][2]int{{1, 1}, {1, 1}, {1, 1}}
	yuv422 = [][2]int{{2, 1}, {1, 1}, {1, 1}}
	yuv420 = [][2]int{{2, 2}, {1, 1}, {1, 1}}
	yuv440 = [][2]int{{1, 2}, {1, 1}, {1, 1}}
	yuv411 = [][2]int{{4, 1}, {1, 1}, {1, 1}}
	yuv410 = [][2]int{{4, 2}, {1, 1}, {1, 1}}
)

func checkCells(t *testing.T, name string, data []byte) {
	t.Helper()
	full, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	w, h := full.Bounds().Dx(), full.Bounds().Dy()
	for _, cell := range []int{1, 2, 4, 8} {
		reduced, err := decodeReduced(data, w, h, cell)
		if err != nil {
			t.Errorf("%s in cells of %d: %v", name, cell, err)
			continue
		}
		want := image.Rect(0, 0, ceilDiv(w, cell), ceilDiv(h, cell))
		if reduced.Bounds() != want {
			t.Errorf("%s in cells of %d: %v, want %v", name, cell, reduced.Bounds(), want)
		}
		plane := func(what string, f, r []byte, fStride, rStride, side, w, h int) {
			sideX, sideY := fStride/rStride, len(f)/fStride*rStride/len(r)
			if sideX > side || sideY > side {
				t.Errorf("%s, %s: cells of %d×%d samples for cells of %d pixels", name, what, sideX, sideY, side)
			}
			sum, worst, n := 0.0, 0.0, 0
			for y := range h / sideY {
				for x := range w / sideX {
					mean := 0
					for k := range sideX * sideY {
						mean += int(f[(y*sideY+k/sideX)*fStride+x*sideX+k%sideX])
					}
					d := math.Abs(float64(mean)/float64(sideX*sideY) - float64(r[y*rStride+x]))
					worst = max(worst, d)
					sum += d
					n++
				}
			}
			if worst > 1.05 || n > 100 && sum/float64(n) > 0.4 {
				t.Errorf("%s in cells of %d, %s: off by %.2f on average and %.2f at most", name, cell, what, sum/float64(n), worst)
			}
		}
		switch m := full.(type) {
		case *image.Gray:
			r := reduced.(*image.Gray)
			plane("grey", m.Pix, r.Pix, m.Stride, r.Stride, cell, w, h)
		case *image.YCbCr:
			r := reduced.(*image.YCbCr)
			u := newUpsampler(m)
			plane("luma", m.Y, r.Y, m.YStride, r.YStride, cell, w, h)
			plane("cb", m.Cb, r.Cb, m.CStride, r.CStride, cell, u.cw, u.ch)
			plane("cr", m.Cr, r.Cr, m.CStride, r.CStride, cell, u.cw, u.ch)
		}
	}
}

func TestCellsAgainstMeans(t *testing.T) {
	for name, sampling := range map[string][][2]int{
		"grey": grey, "4:4:4": yuv444, "4:2:2": yuv422, "4:2:0": yuv420, "4:4:0": yuv440, "4:1:1": yuv411, "4:1:0": yuv410,
	} {
		for _, j := range []jpegRecipe{
			{}, {separate: true}, {interval: 3}, {progressive: true},
		} {
			j.w, j.h, j.step, j.sampling, j.sample = 205, 91, 2, sampling, scenery(3)
			checkCells(t, fmt.Sprintf("%s, progressive %v, separate %v, interval %d", name, j.progressive, j.separate, j.interval), j.encode())
		}
	}
	j := jpegRecipe{w: 205, h: 91, step: 2, sampling: yuv444, sample: scenery(3), progressive: true, interval: 5}
	checkCells(t, "progressive 4:4:4 with restarts", j.encode())
}

func TestCellsOfForeignFiles(t *testing.T) {
	for _, name := range []string{"progressive", "ycbcr411", "ycbcr420", "ycbcr422", "ycbcr440", "ycbcr444"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".jpg"))
		if err != nil {
			t.Fatal(err)
		}
		unclipped(t, data)
		checkCells(t, name, data)
	}
	m := image.NewYCbCr(image.Rect(0, 0, 333, 217), image.YCbCrSubsampleRatio420)
	for i, p := range [][]byte{m.Y, m.Cb, m.Cr} {
		sample := scenery(uint64(i))
		for k := range p {
			p[k] = byte(min(max(sample(0, k%333, k/333), 30), 225))
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 97}); err != nil {
		t.Fatal(err)
	}
	checkCells(t, "image/jpeg", b.Bytes())
}

// unclipped sets the quantisation steps to 1. The mean of clipped pixels would
// differ from the mean of the coefficients.
func unclipped(t *testing.T, data []byte) {
	t.Helper()
	for segment := range jpegSegments(data) {
		body := segment.body
		for segment.marker == 0xdb && len(body) >= 65 {
			for i := range 64 {
				body[1+i] = 1
			}
			body = body[65:]
		}
	}
}

func TestCellSide(t *testing.T) {
	for _, c := range [][3]int{
		{192, 128, 1}, {1535, 1535, 1}, {1536, 767, 1}, {1536, 768, 2}, {768, 1536, 2},
		{4000, 3000, 4}, {4032, 3024, 4}, {6000, 4000, 4}, {8000, 6000, 8}, {8000, 600, 1}, {1, 65535, 1},
	} {
		if got := cellSide(c[0], c[1]); got != c[2] {
			t.Errorf("%d×%d: cells of %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func decodeReduced(data []byte, w, h, cell int) (image.Image, error) {
	return (&reducedJPEG{data: data, w: w, h: h, cell: cell}).decode()
}

func TestReducedRejectsDamage(t *testing.T) {
	for _, j := range []jpegRecipe{{}, {progressive: true}, {interval: 2}} {
		j.w, j.h, j.step, j.sampling, j.sample = 100, 70, 4, yuv420, scenery(1)
		data := j.encode()
		for cut := range len(data) {
			if _, err := decodeReduced(data[:cut], j.w, j.h, 4); !errors.Is(err, errIrregular) {
				t.Fatalf("cut at %d of %d: %v", cut, len(data), err)
			}
		}
		// A sequential file must be complete. A progressive one may end after
		// any scan.
		for cut := bytes.Index(data, []byte{0xff, 0xda}) + 14; cut < len(data)-3; cut += 7 {
			ended := append(slices.Clone(data[:cut]), 0xff, 0xd9)
			if _, err := decodeReduced(ended, j.w, j.h, 4); err == nil {
				if _, err := jpeg.Decode(bytes.NewReader(ended)); err != nil || !j.progressive {
					t.Fatalf("ended at %d of %d, and decoded; %v", cut, len(data), err)
				}
			}
		}
		if _, err := decodeReduced(data, j.w+1, j.h, 4); err == nil {
			t.Error("another size than claimed")
		}
	}
	j := jpegRecipe{w: 100, h: 70, step: 4, sampling: yuv444, sample: scenery(1), progressive: true}
	data := j.encode()
	scan := bytes.Index(data, []byte{0xff, 0xda})
	body := slices.Clone(data[scan : len(data)-2])
	j.progressive = false
	sequential := j.encode()
	table := sequential[bytes.Index(sequential, []byte{0xff, 0xdb}):][:69]
	again := sequential[bytes.Index(sequential, []byte{0xff, 0xda}) : len(sequential)-2]
	codes := sequential[bytes.Index(sequential, []byte{0xff, 0xc4}):][:276]
	end := []byte{0xff, 0xd9}
	// One code ends all 13×9 = 64 + 53 blocks. One block more is too many.
	blank := jpegRecipe{w: j.w, h: j.h, step: 4, sampling: grey, progressive: true, sample: func(_, _, _ int) float64 { return 128 }}.encode()
	band := []byte{0xff, 0xda, 0, 8, 1, 1, 0, 1, 5, 2, 6 << 4, 53<<2 | 3}
	if _, err := decodeReduced(blank, j.w, j.h, 4); err != nil || !bytes.Contains(blank, band) {
		t.Fatalf("blank: %v", err)
	}
	j.interval = 2
	restarts := j.encode()
	for name, data := range map[string][]byte{
		"a byte before a restart": bytes.Replace(restarts, []byte{0xff, 0xd0}, []byte{0x55, 0xff, 0xd0}, 1),
		"restarts in disorder":    bytes.Replace(restarts, []byte{0xff, 0xd0}, []byte{0xff, 0xd1}, 1),
		"the scans twice":         slices.Concat(data[:len(data)-2], body, end),
		"a sequential scan more":  slices.Concat(sequential[:len(sequential)-2], again, end),
		"new steps":               slices.Concat(sequential[:len(sequential)-2], table, end),
		"tables without end":      slices.Concat(sequential[:2], bytes.Repeat(codes, 8*maxScans), sequential[2:]),
		"nothing":                 slices.Concat(data[:2], end),
		"a band too long":         bytes.Replace(blank, band, append(band[:11:11], 54<<2|3), 1),
		"no scan":                 slices.Concat(data[:scan], end),
		"two frames":              bytes.Replace(sequential, []byte{0xff, 0xdb}, slices.Concat(sequential[bytes.Index(sequential, []byte{0xff, 0xc0}):][:19], []byte{0xff, 0xdb}), 1),
		"RGB":                     slices.Concat(sequential[:2], []byte("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"), sequential[2:]),
	} {
		if _, err := decodeReduced(data, j.w, j.h, 4); !errors.Is(err, errIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"cmyk", "cmyk-adobe", "ycck"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".jpg"))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := jpeg.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeReduced(data, cfg.Width, cfg.Height, 2); !errors.Is(err, errIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Three codes of one bit, where only two are possible.
	h := huffman{counts: [16]byte{3}, values: []byte{1, 2, 3}}
	if h.build() {
		t.Error("three codes of one bit")
	}
}

func TestDecodeRejectsLargeBadFiles(t *testing.T) {
	for _, progressive := range []bool{false, true} {
		j := jpegRecipe{w: 1536, h: 768, step: 20, sampling: yuv420, sample: scenery(1), progressive: progressive}
		data := j.encode()
		if p, err := Decode(data); err != nil || p.Width != 768 || p.Height != 384 {
			t.Fatalf("whole: %v", err)
		}
		if _, err := Decode(data[:len(data)/8]); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("cut after an eighth: %v", err)
		}
		frame := bytes.Index(data, []byte{0xff, 0xc0})
		if progressive {
			frame = bytes.Index(data, []byte{0xff, 0xc2})
		}
		huge := slices.Clone(data)
		copy(huge[frame+5:], []byte{0xff, 0xff, 0xff, 0xff})
		if _, err := Decode(huge); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "65535x65535") {
			t.Errorf("huge: %v", err)
		}
		table := data[bytes.Index(data, []byte{0xff, 0xdb}):][:69]
		p, err := Decode(slices.Concat(data[:len(data)-2], table, data[len(data)-2:]))
		if err != nil || p.Width != 1536 || p.Height != 768 {
			t.Errorf("an irregular file: %v", err)
		}
	}
}

// image/jpeg must decode the file to the same size.
func FuzzReduced(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	for _, path := range files {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data)
		}
	}
	for _, j := range []jpegRecipe{{}, {separate: true}, {interval: 1}, {progressive: true}} {
		j.w, j.h, j.step, j.sampling, j.sample = 21, 18, 9, yuv420, scenery(1)
		f.Add(j.encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := jpeg.DecodeConfig(bytes.NewReader(data))
		if err != nil || cfg.Width*cfg.Height > 1<<16 {
			return
		}
		for _, cell := range []int{2, 4, 8} {
			m, err := decodeReduced(data, cfg.Width, cfg.Height, cell)
			if err != nil {
				continue
			}
			full, err := jpeg.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("decoded in cells of %d, but: %v", cell, err)
			}
			if want := image.Rect(0, 0, ceilDiv(full.Bounds().Dx(), cell), ceilDiv(full.Bounds().Dy(), cell)); m.Bounds() != want {
				t.Fatalf("%v, want %v", m.Bounds(), want)
			}
			upright(rowsOf("jpeg", m), m.Bounds().Dx(), m.Bounds().Dy(), 1) // must not panic
		}
	})
}

func BenchmarkDecode12MP(b *testing.B) {
	sample := tiled(scenery(1))
	for name, j := range map[string]jpegRecipe{
		"4:2:0": {sampling: yuv420}, "4:4:4": {sampling: yuv444}, "progressive": {sampling: yuv420, progressive: true},
	} {
		j.w, j.h, j.step, j.sample = 4000, 3000, 5, sample
		data := j.encode()
		b.Run(name+"/cells", func(b *testing.B) {
			for b.Loop() {
				if p, err := Decode(data); err != nil || p.Width != 1000 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data))/1e6, "MB/file")
		})
		b.Run(name+"/full", func(b *testing.B) {
			for b.Loop() {
				img, err := jpegDecode(data)
				if err != nil {
					b.Fatal(err)
				}
				upright(rowsOf("jpeg", img), j.w, j.h, 1)
			}
		})
	}
}

func tiled(sample func(component, x, y int) float64) func(component, x, y int) float64 {
	const side = 1024
	rng := rand.New(rand.NewPCG(2, 5))
	var tile [3][]float64
	for c, noise := range [3]float64{5, 3, 3} {
		for i := range side * side {
			tile[c] = append(tile[c], min(max(sample(c, i%side, i/side)+noise*rng.NormFloat64(), 0), 255))
		}
	}
	return func(component, x, y int) float64 { return tile[component][y%side*side+x%side] }
}
