package decode

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"cpar"
)

func off(p, whole *Image) float64 {
	sum := 0.0
	for i, v := range p.RGB {
		sum += math.Abs(float64(v) - float64(whole.RGB[i]))
	}
	return sum / float64(len(p.RGB))
}

// A sequential file yields exact rows, and a progressive one less detail.
func TestTruncationAnywhereYieldsFirstRows(t *testing.T) {
	for name, j := range map[string]jpegRecipe{
		"4:2:0":       {sampling: yuv420},
		"grey":        {sampling: grey},
		"restarts":    {sampling: yuv422, interval: 2},
		"separate":    {sampling: yuv444, separate: true},
		"progressive": {sampling: yuv420, progressive: true},
	} {
		j.w, j.h, j.step, j.sample = 70, 90, 4, scenery(1)
		data := j.encode()
		whole := decode(t, data)
		if whole.Truncated {
			t.Fatalf("%s: the whole file counts as cut", name)
		}
		scan := bytes.Index(data, []byte{0xff, 0xda})
		last, taken := 0, 0
		for cut := range data {
			p, err := Decode(data[:cut])
			if err != nil {
				if !errors.Is(err, cpar.ErrInput) || last > 0 {
					t.Fatalf("%s, cut at %d of %d: %v, after %d rows were taken", name, cut, len(data), err, last)
				}
				continue
			}
			taken++
			switch {
			case cut < scan || p.Width != j.w || 2*p.Height < j.h || p.Height < last:
				t.Fatalf("%s, cut at %d of %d: %d×%d, after %d rows", name, cut, len(data), p.Width, p.Height, last)
			case !p.Truncated && (cut < len(data)-2 && !j.progressive || p.Height < j.h):
				t.Fatalf("%s, cut at %d of %d: whole", name, cut, len(data))
			case off(p, whole) > 1.2 && !j.progressive || off(p, whole) > 14:
				t.Fatalf("%s, cut at %d of %d: off by %.2f", name, cut, len(data), off(p, whole))
			}
			last = p.Height
		}
		if taken < (len(data)-scan)/15 || last != j.h {
			t.Errorf("%s: taken at %d of %d cuts, %d rows at the last", name, taken, len(data), last)
		}
	}
}

func TestLargeTruncatedFilesAreReduced(t *testing.T) {
	for _, progressive := range []bool{false, true} {
		data := jpegRecipe{w: 1536, h: 768, step: 20, sampling: yuv420, sample: scenery(1), progressive: progressive}.encode()
		whole := decode(t, data)
		cut := data[:len(data)*9/10] // after the progressive file's first scan
		p := decode(t, cut)
		wantRows := map[bool][2]int{false: {192, 383}, true: {384, 384}}[progressive]
		if p.Width != 768 || p.Height < wantRows[0] || p.Height > wantRows[1] || !p.Truncated || off(p, whole) > 8 {
			t.Errorf("progressive %v: %d×%d, truncated %v, off by %.1f", progressive, p.Width, p.Height, p.Truncated, off(p, whole))
		}
		if q := decode(t, withExif(cut, 6)); q.Width != p.Height || q.Height != p.Width || !q.Truncated {
			t.Errorf("turned: %d×%d", q.Width, q.Height)
		}
	}
}

func TestBytesAfterBreakDoNotMatter(t *testing.T) {
	data := jpegRecipe{w: 200, h: 160, step: 4, sampling: yuv420, sample: scenery(1)}.encode()
	whole := decode(t, data)
	cut := data[:len(data)*3/4]
	for name, tail := range map[string][]byte{
		"zeros":      make([]byte, 4096),
		"ones":       bytes.Repeat([]byte{0xff}, 4096),
		"end marker": {0xff, 0xd9},
		"text":       []byte(fmt.Sprint("\xff\x00\xff\xd3 no photo any more ", data)),
	} {
		p := decode(t, slices.Concat(cut, tail))
		if !p.Truncated || p.Height < 80 || p.Height > 160 || name != "text" && off(p, whole) > 1 {
			t.Errorf("%s: %d rows, truncated %v, off by %.2f", name, p.Height, p.Truncated, off(p, whole))
		}
	}
}

func TestTruncatedFindsMissingEnd(t *testing.T) {
	for _, name := range []string{"ycbcr420.jpg", "progressive.jpg", "cmyk-adobe.jpg"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		preview := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 8, 'E', 'x', 0xff, 0xd8, 0xff, 0xd9}, b[2:]...)
		for _, data := range [][]byte{b, append(append([]byte{}, b...), "a film behind it"...), preview} {
			if Truncated(data) {
				t.Errorf("%s: %d bytes are whole", name, len(data))
			}
		}
		for _, data := range [][]byte{b[:len(b)-2], b[:len(b)/2], preview[:len(preview)-20], append(append([]byte{}, b[:len(b)-9]...), make([]byte, 500)...)} {
			if !Truncated(data) {
				t.Errorf("%s: %d bytes are cut short", name, len(data))
			}
		}
	}
	if Truncated([]byte("\x89PNG\r\n\x1a\n")) || Truncated(nil) {
		t.Error("it is not a JPEG")
	}
}
