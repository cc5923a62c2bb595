package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cpar/encoder/onnx"
	"cpar/internal/testing/onnxtest"
)

type spread struct {
	batch, inC, h, w, outC, groups int
	kernel, stride, dilation       [2]int
	pads                           [4]int
}

func (s spread) naive(x, weights, bias []float32) (out []float64) {
	oh := (s.h+s.pads[0]+s.pads[2]-(s.kernel[0]-1)*s.dilation[0]-1)/s.stride[0] + 1
	ow := (s.w+s.pads[1]+s.pads[3]-(s.kernel[1]-1)*s.dilation[1]-1)/s.stride[1] + 1
	per := s.inC / s.groups
	for n := range s.batch {
		for o := range s.outC {
			for y := range oh {
				for xx := range ow {
					sum := float64(bias[o])
					for c := range per {
						for dy := range s.kernel[0] {
							for dx := range s.kernel[1] {
								iy, ix := y*s.stride[0]+dy*s.dilation[0]-s.pads[0], xx*s.stride[1]+dx*s.dilation[1]-s.pads[1]
								if iy < 0 || ix < 0 || iy >= s.h || ix >= s.w {
									continue
								}
								ch := o/(s.outC/s.groups)*per + c
								sum += float64(x[((n*s.inC+ch)*s.h+iy)*s.w+ix]) * float64(weights[((o*per+c)*s.kernel[0]+dy)*s.kernel[1]+dx])
							}
						}
					}
					out = append(out, sum)
				}
			}
		}
	}
	return out
}

func TestConvolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	one := [2]int{1, 1}
	for _, s := range []spread{
		{1, 3, 9, 11, 5, 1, [2]int{3, 3}, one, [2]int{2, 2}, [4]int{2, 2, 2, 2}},
		{1, 3, 9, 11, 5, 1, [2]int{3, 2}, [2]int{2, 3}, [2]int{2, 4}, [4]int{1, 3, 2, 0}},
		{2, 4, 9, 11, 6, 2, [2]int{3, 3}, one, one, [4]int{1, 1, 1, 1}},
		{2, 4, 8, 8, 6, 1, one, one, one, [4]int{}},
		{1, 4, 8, 9, 6, 1, one, [2]int{2, 2}, one, [4]int{}},
		{1, 4, 8, 9, 4, 4, one, [2]int{2, 2}, one, [4]int{}},
		{1, 4, 8, 9, 4, 4, [2]int{3, 3}, one, one, [4]int{}},
		{3, 5, 6, 7, 9, 1, [2]int{6, 7}, one, one, [4]int{}},
		{1, 5, 6, 7, 9, 1, [2]int{8, 7}, one, one, [4]int{1, 0, 1, 0}},
		{1, 6, 1, 1, 8, 1, [2]int{3, 3}, one, one, [4]int{1, 1, 1, 1}},
		{1, 6, 12, 1, 8, 2, [2]int{3, 3}, one, one, [4]int{1, 1, 1, 1}},
		{1, 6, 1, 30, 8, 2, [2]int{1, 5}, one, one, [4]int{0, 0, 0, 4}},
		{1, 3, 40, 33, 10, 1, [2]int{7, 7}, [2]int{2, 2}, one, [4]int{3, 3, 3, 3}},
		{1, 3, 64, 64, 20, 1, [2]int{16, 16}, [2]int{16, 16}, one, [4]int{}},
		{1, 40, 30, 29, 30, 1, [2]int{3, 3}, one, one, [4]int{1, 1, 1, 1}},
		{1, 30, 7, 7, 30, 30, [2]int{7, 7}, one, one, [4]int{3, 3, 3, 3}},
		{1, 30, 15, 14, 30, 30, [2]int{5, 5}, [2]int{2, 2}, one, [4]int{2, 2, 2, 2}},
		{2, 3, 15, 14, 3, 3, [2]int{3, 3}, [2]int{2, 2}, [2]int{3, 2}, [4]int{0, 3, 5, 1}},
		{1, 2, 5, 5, 4, 2, [2]int{3, 3}, [2]int{3, 3}, one, [4]int{0, 0, 9, 9}},
		{1, 1, 5, 5, 1, 1, [2]int{2, 2}, one, one, [4]int{20, 21, 0, 3}},
		{1, 1, 5, 5, 2, 1, [2]int{2, 2}, one, one, [4]int{0, 3, 20, 21}},
	} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			x := randomFloats(rng, s.batch*s.inC*s.h*s.w)
			weights := randomFloats(rng, s.outC*s.inC/s.groups*s.kernel[0]*s.kernel[1])
			bias := randomFloats(rng, s.outC)
			want := s.naive(x, weights, bias)
			near(t, s.run(t, x, weights, bias, false), want)
			if s.h == 1 && s.kernel[0] == 1 {
				near(t, s.run(t, x, weights, bias, true), want)
			}
		})
	}
}

// run makes a graph of one node. If flat is set, its input is a row instead of
// an image.
func (s spread) run(t *testing.T, x, weights, bias []float32, flat bool) []float32 {
	t.Helper()
	list := func(x ...int) (out []int64) {
		if flat {
			x = map[int][]int{2: x[1:], 4: {x[1], x[len(x)-1]}}[len(x)]
		}
		for _, v := range x {
			out = append(out, int64(v))
		}
		return out
	}
	dims := func(a, b, h, w int) []int {
		if flat {
			return []int{a, b, w}
		}
		return []int{a, b, h, w}
	}
	m := &onnx.Model{Opset: 13, Graph: &onnx.Graph{
		Inputs:  []onnx.ValueInfo{{Name: "x", Type: onnx.Float, HasShape: true, Dims: dims(s.batch, s.inC, s.h, s.w)}},
		Outputs: []onnx.ValueInfo{{Name: "y"}},
		Constants: []*onnx.Tensor{
			named("w", weights, dims(s.outC, s.inC/s.groups, s.kernel[0], s.kernel[1])), named("b", bias, []int{s.outC}),
		},
		Nodes: []*onnx.Node{{Op: "Conv", In: []string{"x", "w", "b"}, Out: []string{"y"}, Attributes: []*onnx.Attribute{
			{Name: "group", Kind: onnx.KindInt, I: int64(s.groups)},
			{Name: "strides", Kind: onnx.KindInts, Ints: list(s.stride[:]...)},
			{Name: "dilations", Kind: onnx.KindInts, Ints: list(s.dilation[:]...)},
			{Name: "pads", Kind: onnx.KindInts, Ints: list(s.pads[:]...)},
		}}},
	}}
	p, err := Compile(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Run(map[string][]float32{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	return out["y"]
}

func named(name string, values []float32, dims []int) *onnx.Tensor {
	f := onnxtest.New(13, 1, 1)
	f.Floats(name, values, int64(len(values)))
	m, err := onnx.Read(f.Bytes(), onnx.Limits{}, nil)
	if err != nil {
		panic(err)
	}
	t := m.Graph.Constants[0]
	t.Dims = dims
	return t
}
