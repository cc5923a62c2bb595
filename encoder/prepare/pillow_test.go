package prepare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// pillowScript follows the libraries that prepare images with Pillow. It reads
// a line of JSON and pixels and writes pixels until the input ends.
const pillowScript = `
import json, sys
from PIL import Image

def shorter(im, side, filter):                      # torchvision, Resize; transformers, get_resize_output_image_size
    w, h = im.size
    short, long = (w, h) if w <= h else (h, w)
    short, long = side, int(side * long / short)
    return im.resize((short, long) if w <= h else (long, short), filter)

def centre(im, w, h, offset):
    if offset == "even":                            # torchvision, CenterCrop
        top, left = int(round((im.height - h) / 2.0)), int(round((im.width - w) / 2.0))
    else:                                           # transformers, center_crop
        top, left = (im.height - h) // 2, (im.width - w) // 2
    return im.crop((left, top, left + w, top + h))

def longest(im, w, h, filter, fill):                # open_clip, ResizeKeepRatio and CenterCropOrPad
    ratio = max(im.width / w, im.height / h)
    im = im.resize((round(im.width / ratio), round(im.height / ratio)), filter)
    out = Image.new("RGB", (w, h), tuple(fill))
    out.paste(im, ((w - im.width) // 2, (h - im.height) // 2))
    return out

while True:
    line = sys.stdin.buffer.readline()
    if not line:
        break
    c = json.loads(line)
    im = Image.frombytes("RGB", (c["width"], c["height"]), sys.stdin.buffer.read(3 * c["width"] * c["height"]))
    if c["mode"] == "whole":
        im = im.resize((c["w"], c["h"]), c["filter"])
    elif c["mode"] == "crop":
        im = centre(shorter(im, c["side"], c["filter"]), c["w"], c["h"], c["offset"])
    elif c["mode"] == "squash":
        im = centre(im.resize((c["side"], c["side"]), c["filter"]), c["w"], c["h"], c["offset"])
    else:
        im = longest(im, c["w"], c["h"], c["filter"], c["fill"])
    sys.stdout.buffer.write(im.tobytes())
    sys.stdout.buffer.flush()
`

// pillow skips the test without Pillow, unless CPAR_PILLOW=required makes its
// absence a failure.
func pillow(t *testing.T) func(p Preprocessing, rgb []byte, width, height int) []byte {
	const python, env = "/usr/bin/python3", "CPAR_PILLOW"
	if out, err := exec.Command(python, "-c", "import PIL; print(PIL.__version__)").CombinedOutput(); err != nil {
		if os.Getenv(env) == "required" {
			t.Fatalf("%s=required, and %s has no Pillow: %v: %s", env, python, err, out)
		}
		t.Skipf("%s has no Pillow (Debian's python3-pil); set %s=required to make this a failure", python, env)
	} else {
		t.Logf("Pillow %s", bytes.TrimSpace(out))
	}
	c := exec.Command(python, "-c", pillowScript)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	return func(p Preprocessing, rgb []byte, width, height int) []byte {
		mode := string(p.Resize)
		if p.Resize == ResizeWhole && p.Shorter > 0 {
			mode = "squash"
		}
		offset := "even"
		if p.Offset == OffsetFloor {
			offset = "floor"
		}
		line, err := json.Marshal(map[string]any{"width": width, "height": height, "w": p.Width, "h": p.Height, "side": p.Shorter,
			"mode": mode, "offset": offset, "filter": slices.Index(resamples, p.Interpolation), "fill": []int{int(p.Fill[0]), int(p.Fill[1]), int(p.Fill[2])}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(append(line, '\n'), rgb...)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3*p.Width*p.Height)
		if _, err := io.ReadFull(out, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
}

// TestAgainstPillow compares bit for bit across filters, shapes and crop
// rounding.
func TestAgainstPillow(t *testing.T) {
	ask := pillow(t)
	for _, size := range append(slices.Clone(sizes), [2]int{640, 480}, [2]int{481, 640}, [2]int{1503, 1002}, [2]int{7, 90}, [2]int{700, 30}) {
		rgb := noise(size[0], size[1])
		for filter := range filters {
			for _, p := range []Preprocessing{
				{Width: 224, Height: 224, Resize: ResizeWhole},
				{Width: 33, Height: 50, Resize: ResizeWhole},
				{Width: 224, Height: 224, Resize: ResizeCrop, Shorter: 256},
				{Width: 224, Height: 224, Resize: ResizeCrop, Shorter: 224, Offset: OffsetFloor},
				{Width: 225, Height: 225, Resize: ResizeCrop, Shorter: 248},
				{Width: 225, Height: 225, Resize: ResizeCrop, Shorter: 248, Offset: OffsetFloor},
				{Width: 224, Height: 224, Resize: ResizeWhole, Shorter: 251},
				{Width: 224, Height: 224, Resize: ResizePad, Fill: [3]uint8{3, 2, 1}},
			} {
				p.Interpolation = filter
				got, want := p.pixels(rgb, size[0], size[1]), ask(p, rgb, size[0], size[1])
				if !bytes.Equal(got, want) {
					t.Errorf("%v, %+v: not Pillow's pixels, cosine of centred ones %.6f, the first %v, want %v", size, p, cosine(got, want), got[:6], want[:6])
				}
			}
		}
	}
	for _, filter := range resamples[1:] {
		for _, c := range [][4]int{{37, 23, 8, 8}, {9, 11, 24, 17}, {200, 150, 30, 31}} {
			want := ask(Preprocessing{Width: c[2], Height: c[3], Resize: ResizeWhole, Interpolation: filter}, noise(c[0], c[1]), c[0], c[1])
			text := fmt.Sprintf("{%q, %d, %d, %d, %d, %#x, %#v},", filter, c[0], c[1], c[2], c[3], crc32.ChecksumIEEE(want), [6]byte(want))
			t.Log(text)
		}
	}
}

// cosine subtracts the mean, because raw pixels of most image pairs have 0.9.
func cosine(a, b []byte) float64 {
	var sa, sb float64
	for i := range a {
		sa, sb = sa+float64(a[i]), sb+float64(b[i])
	}
	ma, mb := sa/float64(len(a)), sb/float64(len(b))
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i])-ma, float64(b[i])-mb
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}
