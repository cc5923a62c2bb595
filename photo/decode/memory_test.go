package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cpar"
)

// blankJPEG takes two bytes per block, or one if progressive.
func blankJPEG(w, h int, progressive bool) []byte {
	small := jpegRecipe{w: 8, h: 8, step: 4, sampling: grey, progressive: progressive, sample: func(_, _, _ int) float64 { return 128 }}.encode()
	frame := bytes.Index(small, []byte{0xff, 0xc0})
	unit := []byte{0, 0} // no change of the mean, end of the block
	if progressive {
		frame, unit = bytes.Index(small, []byte{0xff, 0xc2}), unit[:1]
	}
	scan := bytes.Index(small, []byte{0xff, 0xda}) + 10
	binary.BigEndian.PutUint16(small[frame+5:], uint16(h))
	binary.BigEndian.PutUint16(small[frame+7:], uint16(w))
	return slices.Concat(small[:scan], bytes.Repeat(unit, ceilDiv(w, 8)*ceilDiv(h, 8)), []byte{0xff, 0xd9})
}

func TestDecodeHundredsOfMegapixels(t *testing.T) {
	for _, c := range []struct {
		w, h        int
		progressive bool
	}{{12032, 9024, false}, {12032, 9024, true}, {20480, 20480, false}, {20480, 20480, true}} {
		p := decode(t, blankJPEG(c.w, c.h, c.progressive))
		if p.Width != ceilDiv(c.w, 8) || p.Height != ceilDiv(c.h, 8) || p.Truncated || p.RGB[0] != 128 || p.RGB[len(p.RGB)-1] != 128 {
			t.Errorf("%+v: %d×%d, truncated %v", c, p.Width, p.Height, p.Truncated)
		}
	}
	_, err := Decode(blankJPEG(20480, 20496, false))
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "smaller copy") {
		t.Errorf("more than is accepted: %v", err)
	}
}

func TestMemoryOfJPEG(t *testing.T) {
	const w, h = 12032, 9024 // 188×141 blocks of 64×64 pixels
	for name, c := range map[string]struct {
		marker    byte
		sampling  [][2]int
		most      int64
		megabytes int64 // in cells, and by image/jpeg
	}{
		"4:2:0":             {0xc0, yuv420, 9, 155},
		"4:2:0 progressive": {0xc2, yuv420, 67, 776},
		"4:4:4 progressive": {0xc2, yuv444, 106, 1553},
		"CMYK":              {0xc0, [][2]int{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 0, 828},
	} {
		frame := []byte{8, h >> 8, h & 255, w >> 8, w & 255, byte(len(c.sampling))}
		for i, s := range c.sampling {
			frame = append(frame, byte(i+1), byte(s[0]<<4|s[1]), 0)
		}
		data := withSegment([]byte{0xff, 0xd8, 0xff, 0xd9}, c.marker, string(frame))
		if got := reducedBytes(data, w, h, 8) >> 20; got > c.most || got < c.most-3 {
			t.Errorf("%s in cells: %d MB, want %d", name, got, c.most)
		}
		if got := jpegBytes(image.Config{Width: w, Height: h}, data) >> 20; got > c.megabytes+1 || got < c.megabytes-1 {
			t.Errorf("%s: %d MB, want %d", name, got, c.megabytes)
		}
	}
}

func TestMemoryIsShared(t *testing.T) {
	var running, most atomic.Int64
	var all sync.WaitGroup
	const share = decodeBudget / 2
	for i := range 12 {
		all.Go(func() {
			attempt{share, func() (*Image, error) {
				n := running.Add(1)
				defer running.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if i%3 == 0 {
					panic("a decoder of other people's")
				}
				return nil, nil
			}}.try()
		})
	}
	all.Wait()
	if most.Load() > 2 {
		t.Errorf("%d halves of the budget at once", most.Load())
	}
	if !decoding.TryAcquire(decodeBudget) {
		t.Fatal("the budget is not whole again")
	}
	decoding.Release(decodeBudget)
}

func TestCellsAreMeans(t *testing.T) {
	const w, h = 37, 22
	p := decode(t, encodePNG(t, synthetic(w, h)))
	for _, side := range []int{1, 2, 4, 8} {
		read, columns, rows := meansOf(func(y int, rgb []byte) { copy(rgb, p.Row(y)) }, w, h, side)
		if columns != ceilDiv(w, side) || rows != ceilDiv(h, side) {
			t.Fatalf("%d×%d cells of %d", columns, rows, side)
		}
		row := make([]byte, 3*columns)
		for y := range rows {
			read(y, row)
			for i := range row {
				sum, n := 0, 0
				for yy := y * side; yy < min((y+1)*side, h); yy++ {
					for x := i / 3 * side; x < min((i/3+1)*side, w); x++ {
						sum += int(p.Row(yy)[3*x+i%3])
						n++
					}
				}
				if want := byte((sum + n/2) / n); row[i] != want {
					t.Fatalf("cells of %d: %d at %d, %d; want %d", side, row[i], i, y, want)
				}
			}
		}
	}
}

func TestLargePNGIsReduced(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 6400, 4000))
	m.Pix[0] = 160
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	if p := decode(t, b.Bytes()); p.Width != 800 || p.Height != 500 || p.RGB[0] != 3 || p.RGB[3] != 0 {
		t.Errorf("%d×%d, starting %v", p.Width, p.Height, p.RGB[:6])
	}
}
