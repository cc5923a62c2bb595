package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/encoder/onnx"
	"cpar/internal/testing/onnxtest"
)

// TestFused also checks that patterns which are only similar, or have other
// readers, are kept.
func TestFused(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	x := randomFloats(rng, 3*4*8)
	base := func() *onnxtest.File {
		return onnxtest.New(13, 4, 8).Floats("half", []float32{0.5}).Floats("one", []float32{1}).Floats("two", []float32{2}).
			Floats("root", []float32{math.Sqrt2}).Floats("inverse", []float32{math.Sqrt2 / 2}).Floats("eps", []float32{0.01}).
			Floats("w", randomFloats(rand.New(rand.NewPCG(1, 1)), 40), 8, 5).Floats("bias", []float32{1, -2, 3, 0, 5}, 5).
			Floats("column", []float32{1, 2, 3, 4}, 4, 1)
	}
	erf := func(f *onnxtest.File, scaled string) *onnxtest.File {
		return f.Node("Erf", []string{scaled}, "e", nil).Node("Add", []string{"e", "one"}, "p", nil)
	}
	tanh := func(f *onnxtest.File, cube, of string) *onnxtest.File {
		return f.Floats("c", []float32{0.044715}).Floats("scale", []float32{0.7978845834732056}).Node("Mul", []string{"c", cube}, "b", nil).
			Node("Add", []string{of, "b"}, "u", nil).Node("Mul", []string{"scale", "u"}, "a", nil).Node("Tanh", []string{"a"}, "e", nil).
			Node("Add", []string{"one", "e"}, "p", nil)
	}
	norm := func(f *onnxtest.File, axis int64) *onnxtest.File {
		a := onnxtest.Attributes{"axes": []int64{axis}}
		return f.Node("ReduceMean", []string{"image"}, "m", a).Node("Sub", []string{"image", "m"}, "d", nil).Node("Sub", []string{"image", "m"}, "d2", nil).
			Node("Pow", []string{"d2", "two"}, "q", nil).Node("ReduceMean", []string{"q"}, "v", a).Node("Add", []string{"v", "eps"}, "s", nil).
			Node("Sqrt", []string{"s"}, "r", nil).Node("Div", []string{"d", "r"}, "y", nil)
	}
	for name, c := range map[string]struct {
		f     *onnxtest.File
		steps int
	}{
		"gelu": {erf(base().Node("Div", []string{"image", "root"}, "a", nil), "a").
			Node("Mul", []string{"image", "p"}, "m", nil).Node("Mul", []string{"m", "half"}, "y", nil), 1},
		"gelu, halved first": {erf(base().Node("Mul", []string{"inverse", "image"}, "a", nil), "a").
			Node("Mul", []string{"half", "image"}, "m", nil).Node("Mul", []string{"p", "m"}, "y", nil), 1},
		"gelu of something else": {erf(base().Node("Div", []string{"image", "two"}, "a", nil), "a").
			Node("Mul", []string{"image", "p"}, "m", nil).Node("Mul", []string{"m", "half"}, "y", nil), 5},
		"gelu that is read between": {erf(base().Node("Div", []string{"image", "root"}, "a", nil), "a").
			Node("Mul", []string{"image", "p"}, "m", nil).Node("Mul", []string{"m", "half"}, "g", nil).Node("Add", []string{"g", "e"}, "y", nil), 4},
		"gelu by tanh": {tanh(base().Node("Mul", []string{"image", "image"}, "q", nil).Node("Mul", []string{"image", "q"}, "k", nil), "k", "image").
			Node("Mul", []string{"image", "p"}, "m", nil).Node("Mul", []string{"half", "m"}, "y", nil), 1},
		"gelu by tanh and a power": {tanh(base().Floats("three", []float32{3}).Node("Pow", []string{"image", "three"}, "k", nil), "k", "image").
			Node("Mul", []string{"image", "half"}, "m", nil).Node("Mul", []string{"m", "p"}, "y", nil), 1},
		"gelu by tanh of a square": {tanh(base().Node("Mul", []string{"image", "image"}, "q", nil), "q", "image").
			Node("Mul", []string{"image", "p"}, "m", nil).Node("Mul", []string{"half", "m"}, "y", nil), 8},
		"swish": {base().Node("Sigmoid", []string{"image"}, "a", nil).Node("Mul", []string{"a", "image"}, "y", nil), 1},
		"sigmoid of something else": {base().Node("Relu", []string{"image"}, "z", nil).Node("Sigmoid", []string{"z"}, "a", nil).
			Node("Mul", []string{"image", "a"}, "y", nil), 3},
		"concatenations": {base().Node("ReduceMean", []string{"image"}, "a", onnxtest.Attributes{"axes": []int64{1}}).Node("Sigmoid", []string{"a"}, "b", nil).
			Node("Concat", []string{"a", "b"}, "ab", onnxtest.Attributes{"axis": 1}).Node("Tanh", []string{"ab"}, "c", nil).
			Node("Concat", []string{"a", "b", "c", "image", "a"}, "all", onnxtest.Attributes{"axis": 1}).
			Node("Add", []string{"all", "a"}, "y", nil), 6},
		"padded means": {base().Ints("pads", 0, 0, 1, 0, 0, 0, 1, 1).Node("Pad", []string{"image", "pads"}, "p", nil).
			Node("AveragePool", []string{"p"}, "y", onnxtest.Attributes{"kernel_shape": []int64{3, 3}}), 1},
		"cropped means": {base().Ints("pads", 0, 0, 1, -1, 0, 0, 1, -1).Node("Pad", []string{"image", "pads"}, "p", nil).
			Node("AveragePool", []string{"p"}, "y", onnxtest.Attributes{"kernel_shape": []int64{3, 3}}), 2},
		"means padded twice": {base().Ints("pads", 0, 0, 1, 1, 0, 0, 1, 1).Node("Pad", []string{"image", "pads"}, "p", nil).
			Node("AveragePool", []string{"p"}, "y", onnxtest.Attributes{"kernel_shape": []int64{3, 3}, "pads": []int64{1, 1, 1, 1}}), 2},
		"padded maxima": {base().Ints("pads", 0, 0, 1, 0, 0, 0, 1, 1).Node("Pad", []string{"image", "pads"}, "p", nil).
			Node("MaxPool", []string{"p"}, "y", onnxtest.Attributes{"kernel_shape": []int64{3, 3}}), 2},
		"layer normalisation":    {norm(base(), -1), 1},
		"of another axis":        {norm(base(), 2), 8},
		"linear layer":           {base().Node("MatMul", []string{"image", "w"}, "l", nil).Node("Add", []string{"bias", "l"}, "z", nil).Node("Relu", []string{"z"}, "y", nil), 1},
		"bias of another shape":  {base().Node("MatMul", []string{"image", "w"}, "l", nil).Node("Add", []string{"l", "column"}, "y", nil), 2},
		"bounds before the bias": {base().Node("MatMul", []string{"image", "w"}, "l", nil).Node("Relu", []string{"l"}, "z", nil).Node("Add", []string{"z", "bias"}, "y", nil), 2},
		"bounds by two operators": {base().Node("MatMul", []string{"image", "w"}, "l", nil).Node("Max", []string{"half", "l"}, "z", nil).
			Node("Min", []string{"z", "two"}, "y", nil), 2},
		"two readers": {base().Node("MatMul", []string{"image", "w"}, "l", nil).Node("Add", []string{"l", "bias"}, "z", nil).
			Node("Mul", []string{"z", "l"}, "y", nil), 3},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := onnx.Read(c.f.Output("y").Bytes(), onnx.Limits{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			written, err := Compile(m, Options{noFusion: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.plan.steps) != c.steps {
				t.Errorf("%d steps, want %d", len(p.plan.steps), c.steps)
			}
			close(t, name, ran(t, p, x)["y"], ran(t, written, x)["y"])
		})
	}
}

// An input of a concatenation that the caller wants must not be overwritten
// after its last reader.
func TestConcatKeepsWantedInputs(t *testing.T) {
	x := randomFloats(rand.New(rand.NewPCG(45, 46)), 3*4*8)
	f := onnxtest.New(13, 4, 8).Node("Tanh", []string{"image"}, "a", nil).Node("Sigmoid", []string{"image"}, "b", nil).
		Node("Concat", []string{"a", "b"}, "ab", onnxtest.Attributes{"axis": 1}).Node("Neg", []string{"ab"}, "y", nil)
	p := compiled(t, f, "a", "y")
	if !slices.ContainsFunc(p.plan.steps, func(s *step) bool { return s.out.whole != nil }) {
		t.Error("no step writes into the concatenation")
	}
	close(t, "a", ran(t, p, x)["a"], runs(t, onnxtest.New(13, 4, 8).Node("Tanh", []string{"image"}, "y", nil).Output("y"), x))
}
