package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/photo/decode"
)

func TestExtractRefuses(t *testing.T) {
	for name, p := range map[string]*decode.Image{
		"nothing": nil, "no pixels": {}, "too few bytes": {Width: 2, Height: 2, RGB: make([]byte, 9)},
	} {
		if _, err := NewExtractor().Extract(p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExtractorKeepsNoState(t *testing.T) {
	e := NewExtractor()
	for _, size := range [][2]int{{60, 40}, {300, 200}, {60, 40}, {60, 40}, {300, 200}, {300, 200}} {
		p := synthetic(size[0], size[1])
		if got, err := e.Extract(p); err != nil || !reflect.DeepEqual(got, extract(t, p)) {
			t.Fatalf("%v: other vectors in a used workspace, %v", size, err)
		}
	}
}

func TestReducerAgainstSum(t *testing.T) {
	for _, c := range [][4]int{{192, 128, 128, 128}, {301, 417, 64, 64}, {50, 300, 128, 128}, {7, 5, 64, 64}, {256, 256, 128, 128}} {
		w, h, dw, dh := c[0], c[1], c[2], c[3]
		tg := newTarget(w, h, dw, dh, 3)
		r := newReducer(w, h, []*target{tg, newTarget(w, h, 31, 17, 1)})
		p := synthetic(w, h)
		want := make([]float64, 3*dw*dh)
		for y := range h {
			r.add(y, p.Row(y))
			for x := range w {
				for _, a := range tg.xTaps[x] {
					for _, b := range tg.yTaps[y] {
						for k := range 3 {
							want[3*(b.dst*dw+a.dst)+k] += a.w * b.w * float64(p.Row(y)[3*x+k])
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

// The sides are not whole cells, and repeated tables force image/jpeg.
func TestReducedJPEGsKeepFeatures(t *testing.T) {
	large := &decode.Image{Width: 1571, Height: 781}
	rng := rand.New(rand.NewPCG(1, 7))
	for y := range large.Height {
		for x := range large.Width {
			for c := range 3 {
				fx, fy, fc := float64(x), float64(y), float64(c)
				v := 128 + 50*math.Sin(fx/90+fc)*math.Cos(fy/70-fc) + 20*math.Sin(fx/23+fy/37+fc) + 8*rng.NormFloat64()
				large.RGB = append(large.RGB, byte(v))
			}
		}
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, large.RGBA(), &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	b := data.Bytes()
	tables := b[bytes.Index(b, []byte{0xff, 0xdb}):][:2+2+2*65]
	decode := func(data []byte, width int) *Vectors {
		p, err := decode.Decode(data)
		if err != nil || p.Width != width {
			t.Fatalf("%+v, %v, want %d pixels in a row", p, err, width)
		}
		return extract(t, p)
	}
	got, want := decode(b, 786), decode(slices.Concat(b[:len(b)-2], tables, b[len(b)-2:]), 1571)
	a := compare(got, want)
	t.Log(a)
	if !a.within(0.01, 0.03) || a["gaborq"] < 0.97 || a["haarq"] < 0.97 {
		t.Errorf("too far from the features of the whole picture: %v", a)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	v := extract(t, synthetic(60, 40))
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back Vectors
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	for _, block := range Blocks() {
		got := block.Of(&back)
		if len(got) != block.Len {
			t.Fatalf("%s: %d values", block.Name, len(got))
		}
		for j, x := range block.Of(v) {
			if math.Abs(float64(x-got[j])) > 1e-7*max(1, float64(x)) {
				t.Fatalf("%s, element %d: %g became %g", block.Name, j, x, got[j])
			}
		}
	}
	v.RGB[3] = float32(math.NaN())
	if _, err := json.Marshal(v); err == nil {
		t.Error("a NaN was written")
	}
	if b, err := json.Marshal(new(Vectors)); err != nil || !json.Valid(b) {
		t.Errorf("no vectors: %s, %v", b, err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(uint16(20), synthetic(20, 30).RGB)
	f.Add(uint16(1), []byte{255, 0, 1})
	f.Add(uint16(300), synthetic(300, 2).RGB)
	e := NewExtractor()
	f.Fuzz(func(t *testing.T, width uint16, rgb []byte) {
		w := max(1, int(width))
		h := len(rgb) / 3 / w
		if h == 0 {
			return
		}
		v, err := e.Extract(&decode.Image{Width: w, Height: h, RGB: rgb[:3*w*h]})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range Blocks() {
			sum := 0.0
			for _, x := range b.Of(v) {
				if b.Kind == Quantised && (x < -1 || x > 7) || b.Kind != Quantised && x < 0 {
					t.Fatalf("%s holds %g", b.Name, x)
				}
				sum += float64(x)
			}
			if b.Kind == Histogram && math.Abs(sum-1) > 1e-5 || sum-sum != 0 {
				t.Fatalf("%s sums to %g", b.Name, sum)
			}
		}
	})
}
