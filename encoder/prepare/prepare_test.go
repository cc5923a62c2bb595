package prepare

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func read(t *testing.T, s string, height, width int) Preprocessing {
	t.Helper()
	p, _, err := ReadConfig([]byte(s), height, width)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSidecar(t *testing.T) {
	imagenet, err := Preset("imagenet", 224)
	if err != nil || imagenet.Shorter != 256 || imagenet.Resize != ResizeCrop {
		t.Fatalf("%+v, %v", imagenet, err)
	}
	if got := read(t, `{"preset": "imagenet"}`, 224, 224); got != imagenet {
		t.Errorf("%+v", got)
	}
	want := imagenet
	want.Color, want.Shorter, want.Mean, want.Offset = BGR, 300, halves, OffsetFloor
	if got := read(t, `{"preset": "imagenet", "size": [224, 224], "color": "bgr", "shorter": 300, "mean": 0.5, "offset": "floor"}`, 224, 224); got != want {
		t.Errorf("%+v", got)
	}
	if got := read(t, `{}`, 224, 224); got != plain(224, 224) {
		t.Errorf("%+v", got)
	}
	// A network that accepts any size takes the file's size.
	for s, side := range map[string]int{`{"size": 256}`: 256, `{"size": [256, 256], "preset": "clip"}`: 256, `{}`: 224} {
		if got := read(t, s, 0, 0); got.Width != side || got.Height != side || got.Resize == ResizeCrop && got.Shorter != side {
			t.Errorf("%s: %+v", s, got)
		}
	}
	want = plain(224, 224)
	want.Resize, want.Fill, want.Interpolation = ResizePad, [3]uint8{1, 2, 3}, Lanczos
	if got := read(t, `{"resize": "pad", "fill": [1, 2, 3], "interpolation": "lanczos"}`, 224, 224); got != want {
		t.Errorf("%+v", got)
	}
	want = plain(224, 224)
	want.Views = 1
	if got := read(t, `{"views": 1}`, 224, 224); got != want {
		t.Errorf("%+v", got)
	}
	for _, name := range Presets() {
		if _, err := Preset(name, 224); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		``, `[]`, `null`, `{"preset": "ghost"}`, `{"surprise": 1}`, `{"size": 225}`, `{"size": [224]}`, `{"mean": [1, 2]}`, `{"std": 0}`,
		`{"std": [1, 0, 1]}`, `{"scale": 0}`, `{"color": "GRB"}`, `{"resize": "stretch"}`, `{"resize": "crop", "shorter": 100}`,
		`{"scale": 1e300}`, `{} {}`, `{"mean": 1e999}`, `{"mean": [1, null, 2]}`, `{"offset": "up"}`, `{"views": 3}`, `{"views": -1}`, `{"preset": "clip", "interpolation": "nearest"}`,
		`{"fill": 3}`, `{"resize": "pad", "fill": 256}`, strings.Repeat(" ", maxConfig) + `{}`,
	} {
		if p, _, err := ReadConfig([]byte(bad), 224, 224); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%.40s: %+v, %v", bad, p, err)
		}
	}
	if _, _, err := ReadConfig([]byte(`{}`), 0, 3); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

// TestEncodingOfOldValues pins the JSON whose digest indexes store.
func TestEncodingOfOldValues(t *testing.T) {
	for name, want := range map[string]string{
		"imagenet":      `{"Width":224,"Height":224,"Scale":0.00392156862745098,"Mean":[0.485,0.456,0.406],"Std":[0.229,0.224,0.225],"Color":"RGB","Resize":"crop","Shorter":256}`,
		"tensorflow":    `{"Width":224,"Height":224,"Scale":0.00784313725490196,"Mean":[1,1,1],"Std":[1,1,1],"Color":"RGB","Resize":"whole","Shorter":0}`,
		"clip-bilinear": `{"Width":224,"Height":224,"Scale":0.00392156862745098,"Mean":[0.48145466,0.4578275,0.40821073],"Std":[0.26862954,0.26130258,0.27577711],"Color":"RGB","Resize":"crop","Shorter":224}`,
	} {
		p, err := Preset(name, 224)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s, %v", name, got, want, err)
		}
	}
	for _, name := range Presets() {
		p, _ := Preset(name, 300)
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, string(data), 0, 0); got != p {
			t.Errorf("%s: %+v", data, got)
		}
	}
	p := read(t, `{"resize": "pad", "fill": [0, 1, 2], "interpolation": "bicubic", "preset": "imagenet", "offset": "floor"}`, 9, 9)
	if got, err := json.Marshal(p); err != nil || !strings.HasSuffix(string(got), `"Resize":"pad","Shorter":0,"Interpolation":"bicubic","Offset":"floor","Fill":[0,1,2]}`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestMetadata(t *testing.T) {
	p, ok, err := FromMetadata(map[string]string{"input_mean": "127.5", "input_scale": "127.5", "input_color": "bgr"}, 6, 6)
	if err != nil || !ok || p.Color != BGR {
		t.Fatal(p, ok, err)
	}
	x, err := p.Tensor(make([]byte, 3*6*6), 6, 6)
	if err != nil || x[0] != -1 || len(x) != 3*6*6 {
		t.Errorf("%v, %v", x, err)
	}
	if _, ok, err := FromMetadata(map[string]string{"author": "nobody"}, 6, 6); ok || err != nil {
		t.Error(ok, err)
	}
	p, ok, err = FromMetadata(map[string]string{"Image.NominalPixelRange": "Normalized_1_1", "image.bitmappixelformat": "BGR8", "Image.ColorSpaceGamma": "SRGB"}, 6, 6)
	if want, _ := preset("tensorflow", 6); err != nil || !ok || p.Color != BGR || p.Scale != want.Scale || p.Mean != want.Mean {
		t.Error(p, ok, err)
	}
	for k, v := range map[string]string{"input_mean": "a, b, c", "input_scale": "0", "Image.NominalPixelRange": "NominalRange_16_235"} {
		if _, _, err := FromMetadata(map[string]string{k: v}, 6, 6); !errors.Is(err, cpar.ErrInput) {
			t.Error(k, err)
		}
	}
	for _, k := range []string{"Image.BitmapPixelFormat", "Image.ColorSpaceGamma"} {
		if _, _, err := FromMetadata(map[string]string{"Image.NominalPixelRange": "Normalized_0_1", k: "Linear"}, 6, 6); !errors.Is(err, cpar.ErrInput) {
			t.Error(k, err)
		}
	}
}

func TestTensor(t *testing.T) {
	p, _ := Preset("tensorflow", 2)
	x, err := p.Tensor([]byte{0, 255, 0, 255, 0, 255, 0, 0, 0, 255, 255, 255}, 2, 2)
	if err != nil || x[0] != -1 || x[1] != 1 || x[4] != 1 || x[5] != -1 {
		t.Errorf("%v, %v", x, err)
	}
	p = Preprocessing{Width: 1, Height: 1, Scale: 0.5, Mean: [3]float64{1, 2, 3}, Std: [3]float64{2, 4, 8}, Color: BGR, Resize: ResizeWhole}
	x, err = p.Tensor([]byte{10, 20, 30}, 1, 1)
	if err != nil || x[0] != 7 || x[1] != 2 || x[2] != 0.25 {
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

func benchmarkTensor(b *testing.B, preset string, width, height int) {
	p, err := Preset(preset, 224)
	if err != nil {
		b.Fatal(err)
	}
	rgb := make([]byte, 3*width*height)
	for b.Loop() {
		if _, err := p.Tensor(rgb, width, height); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTensor(b *testing.B) {
	for _, preset := range []string{"imagenet", "clip", "tensorflow"} {
		b.Run(preset+"/640x480", func(b *testing.B) { benchmarkTensor(b, preset, 640, 480) })
		b.Run(preset+"/6000x4000", func(b *testing.B) { benchmarkTensor(b, preset, 6000, 4000) })
	}
}

// TestTensors checks both views of an image of eight pixels by hand. The centre
// has seven of them, mirrored.
func TestTensors(t *testing.T) {
	p := plain(1, 4)
	p.Scale = 1
	red := func(values ...byte) (rgb []byte) {
		for _, v := range values {
			rgb = append(rgb, v, 0, 0)
		}
		return rgb
	}
	picture := red(slices.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 8)...)
	middle := red(slices.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 7)...)
	whole, err1 := p.Tensor(picture, 8, 8)
	inner, err2 := p.Tensor(middle, 7, 7)
	if err1 != nil || err2 != nil || slices.Equal(whole, inner) {
		t.Fatal(err1, err2, whole, inner)
	}
	backwards := func(x []float32) []float32 {
		return slices.Concat([]float32{x[3], x[2], x[1], x[0]}, x[4:]) // green and blue are 0
	}
	for views, want := range map[Views][][]float32{0: {whole}, 1: {whole}, 2: {whole, backwards(inner)}} {
		p.Views = views
		got, err := p.Tensors(picture, 8, 8)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%d views: %v, want %v (%v)", views, got, want, err)
		}
	}
	p.Views = 2
	if got, err := p.Tensors(red(9), 1, 1); err != nil || !slices.Equal(got[0], got[1]) {
		t.Errorf("a pixel: %v, %v", got, err)
	}
	p.Views = 3
	if _, err := p.Tensors(picture, 8, 8); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("3 views: %v", err)
	}
	p.Views = 2
	if _, err := p.Tensors(picture, 8, 9); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("another size: %v", err)
	}
}
