package network

import (
	"errors"
	"math"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/onnxtest"
)

func TestSidecar(t *testing.T) {
	imagenet, err := Preset("imagenet", 224)
	if err != nil || imagenet.Shorter != 256 || imagenet.Resize != ResizeCrop {
		t.Fatalf("%+v, %v", imagenet, err)
	}
	read := func(s string) Preprocessing {
		t.Helper()
		p, err := ReadPreprocessing(strings.NewReader(s), 224, 224)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := read(`{"preset": "imagenet"}`); got != imagenet {
		t.Errorf("%+v", got)
	}
	want := imagenet
	want.Color, want.Shorter, want.Mean = BGR, 300, [3]float64{0.5, 0.5, 0.5}
	if got := read(`{"preset": "imagenet", "size": [224, 224], "color": "bgr", "shorter": 300, "mean": 0.5}`); got != want {
		t.Errorf("%+v", got)
	}
	plain := Preprocessing{Width: 224, Height: 224, Scale: 1.0 / 255, Std: [3]float64{1, 1, 1}, Color: RGB, Resize: ResizeWhole}
	if got := read(`{}`); got != plain {
		t.Errorf("%+v", got)
	}
	for _, name := range Presets() {
		if _, err := Preset(name, 224); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		``, `[]`, `{"preset": "ghost"}`, `{"surprise": 1}`, `{"size": 225}`, `{"size": [224]}`, `{"mean": [1, 2]}`, `{"std": 0}`,
		`{"std": [1, 0, 1]}`, `{"scale": 0}`, `{"color": "GRB"}`, `{"resize": "stretch"}`, `{"resize": "crop", "shorter": 100}`,
		`{"scale": 1e300}`, `{} {}`, `{"mean": 1e999}`, strings.Repeat(" ", maxSidecar) + `{}`,
	} {
		if _, err := ReadPreprocessing(strings.NewReader(bad), 224, 224); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
}

// TestMetadata: preprocessing from the file itself, (v − mean) / scale.
func TestMetadata(t *testing.T) {
	load := func(f *onnxtest.File) *Model {
		m, err := Load(f.Bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	p, ok, err := load(smallFile()).Preprocessing()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	x, err := p.Tensor(make([]byte, 3*6*6), 6, 6)
	if err != nil || x[0] != -1 || len(x) != 3*6*6 {
		t.Errorf("%v, %v", x, err)
	}
	if _, ok, err := load(smallFileWithoutMetadata()).Preprocessing(); ok || err != nil {
		t.Error(ok, err)
	}
	if _, _, err := load(smallFile().Meta("input_mean", "a, b, c")).Preprocessing(); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

// naiveSample is one value of a picture resized to fullW×fullH: every pixel weighted by
// the triangle around the sample's centre.
func naiveSample(rgb []byte, w, h, fullW, fullH, x, y, c int) float64 {
	weight := func(n, full, at, k int) float64 {
		scale := float64(n) / float64(full)
		return max(0, 1-math.Abs(float64(k)-((float64(at)+0.5)*scale-0.5))/max(1, scale))
	}
	var sum, all float64
	for sy := range h {
		for sx := range w {
			f := weight(w, fullW, x, sx) * weight(h, fullH, y, sy)
			sum, all = sum+f*float64(rgb[3*(sy*w+sx)+c]), all+f
		}
	}
	return sum / all
}

func TestTensor(t *testing.T) {
	for _, size := range [][2]int{{20, 13}, {13, 20}, {3, 2}, {1, 1}, {61, 7}, {1, 50}} {
		w, h := size[0], size[1]
		rgb := make([]byte, 3*w*h)
		for i := range rgb {
			rgb[i] = byte(i * i * 7)
		}
		for _, resize := range []Resize{ResizeWhole, ResizeCrop} {
			p := Preprocessing{Width: 9, Height: 8, Scale: 0.5, Mean: [3]float64{1, 2, 3}, Std: [3]float64{2, 3, 4}, Color: BGR, Resize: resize}
			fullW, fullH, left, top := 9, 8, 0, 0
			if resize == ResizeCrop {
				p.Shorter = 11
				if w <= h {
					fullW, fullH = 11, 11*h/w
				} else {
					fullW, fullH = 11*w/h, 11
				}
				left, top = (fullW-9)/2, (fullH-8)/2
			}
			got, err := p.Tensor(rgb, w, h)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				c, y, x := i/72, i/9%8, i%9
				want := (naiveSample(rgb, w, h, fullW, fullH, x+left, y+top, 2-c)*0.5 - p.Mean[c]) / p.Std[c]
				if math.Abs(float64(v)-want) > 1e-4 {
					t.Fatalf("%v %s: channel %d row %d column %d is %g, want %g", size, resize, c, y, x, v, want)
				}
			}
		}
	}
	p, _ := Preset("tensorflow", 2)
	x, err := p.Tensor([]byte{0, 255, 0, 255, 0, 255, 0, 0, 0, 255, 255, 255}, 2, 2)
	if err != nil || x[0] != -1 || x[1] != 1 || x[4] != 1 || x[5] != -1 {
		t.Errorf("%v, %v", x, err)
	}
	for _, bad := range [][3]int{{0, 0, 0}, {11, 2, 2}, {12, 2, -2}, {12, math.MaxInt, 4}} {
		if _, err := p.Tensor(make([]byte, bad[0]), bad[1], bad[2]); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := (Preprocessing{}).Tensor(make([]byte, 12), 2, 2); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func FuzzSidecar(f *testing.F) {
	f.Add(`{"preset": "clip", "size": 3, "mean": [1, 2, 3], "std": 2, "scale": 1, "color": "BGR", "resize": "whole"}`)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ReadPreprocessing(strings.NewReader(s), 3, 3)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) {
				t.Error(err)
			}
			return
		}
		x, err := p.Tensor(make([]byte, 3*5*4), 5, 4)
		if err != nil || !finite(x) {
			t.Errorf("%s: %v, %v", s, x, err)
		}
	})
}

func BenchmarkTensor(b *testing.B) {
	p, err := Preset("imagenet", 224)
	if err != nil {
		b.Fatal(err)
	}
	rgb := make([]byte, 3*1024*768)
	for b.Loop() {
		if _, err := p.Tensor(rgb, 1024, 768); err != nil {
			b.Fatal(err)
		}
	}
}
