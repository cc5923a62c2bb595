package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"cpar/internal/testing/onnxtest"
)

// A form is one notation of an operator. Inputs are names, []int64 lists or
// constants. Available are "image" 1×3×4×6 and, derived from it, "rows" 1×12×6,
// "matrix" 12×6, "whole" of integers, "truth" of booleans and "positive".
type form struct {
	opsets []int64
	op     string
	in     []any
	a      onnxtest.Attributes
}

type constant struct {
	values any
	dims   []int64
}

func floatsOf(seed uint64, dims ...int64) constant {
	rng := rand.New(rand.NewPCG(seed, 5))
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	return constant{values, dims}
}

func number(v float32) constant { return constant{[]float32{v}, nil} }

func forms() []form {
	old, mid, late := []int64{11}, []int64{13, 17}, []int64{18, 21, 22}
	all := []int64{11, 13, 17, 18, 21, 22}
	rows := []form{}
	add := func(opsets []int64, op string, in []any, a onnxtest.Attributes) {
		rows = append(rows, form{opsets, op, in, a})
	}
	// Weights that are stored as integers: per tensor, and per axis from opset 13.
	signed, unsigned := constant{[]int8{-128, -7, 0, 3, 100, 127}, []int64{2, 3}}, constant{[]uint8{0, 1, 100, 128, 200, 255}, []int64{2, 3}}
	add(all, "DequantizeLinear", in(signed, number(0.05)), nil)
	add(all, "DequantizeLinear", in(unsigned, number(0.3), constant{[]uint8{128}, nil}), nil)
	for axis, n := range map[int]int64{0: 2, 1: 3, -1: 3} {
		add([]int64{13, 17, 18, 21}, "DequantizeLinear", in(signed, constant{[]float32{0.5, 0.25, 3}[:n], []int64{n}}), a("axis", axis))
		add([]int64{13, 17, 18, 21}, "DequantizeLinear", in(unsigned, constant{[]float32{0.5, 0.25, 3}[:n], []int64{n}}, constant{[]uint8{128, 1, 255}[:n], []int64{n}}), a("axis", axis))
	}
	for _, op := range []string{"Neg", "Abs", "Reciprocal", "Exp", "Floor", "Ceil", "Round", "Sin", "Cos", "Erf", "Tanh", "Sigmoid", "Softplus",
		"Softsign", "Sign", "Relu", "LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "HardSigmoid", "Identity"} {
		if op == "Celu" {
			add([]int64{13, 22}, op, image, nil)
			continue
		}
		add(all, op, image, nil)
	}
	for op, f := range map[string]onnxtest.Attributes{"LeakyRelu": a("alpha", float32(0.3)), "Elu": a("alpha", float32(0.7)),
		"Celu": a("alpha", float32(2)), "ThresholdedRelu": a("alpha", float32(0.2)), "HardSigmoid": a("alpha", float32(0.3), "beta", float32(0.1)),
		"Selu": a("alpha", float32(2), "gamma", float32(1.5))} {
		add(mid, op, image, f)
	}
	add(mid, "LeakyRelu", image, a("alpha", float32(1.5)))
	add([]int64{14, 22}, "HardSwish", image, nil)
	add([]int64{18, 22}, "Mish", image, nil)
	add([]int64{20}, "Gelu", image, nil)
	add([]int64{20}, "Gelu", image, a("approximate", "tanh"))
	add(all, "Sqrt", in("positive"), nil)
	add(all, "Log", in("positive"), nil)
	add(all, "Not", in("truth"), nil)
	add(all, "IsNaN", image, nil)
	add(all, "Neg", in("whole"), nil)
	add(all, "Abs", in("whole"), nil)
	add([]int64{10}, "Clip", image, a("min", float32(-0.5)))
	add([]int64{10}, "Clip", image, a("max", float32(0.5)))
	add(all, "Clip", in("image", number(-0.5), number(0.5)), nil)
	add(all, "Clip", in("image", "", number(0.5)), nil)
	add([]int64{12, 17}, "Clip", in("whole", constant{[]int64{-2}, nil}, constant{[]int64{1}, nil}), nil)
	add(all, "PRelu", in("image", constant{[]float32{0.1, 0.2, 0.3}, []int64{3, 1, 1}}), nil)
	for _, to := range []int{1, 6, 7, 9, 11} {
		add(mid, "Cast", image, a("to", to))
		if to != onnxtest.Bool { // ONNX Runtime 1.22 omits the integers between floats and booleans
			add(mid, "Cast", in("whole"), a("to", to))
		}
		add(mid, "Cast", in("truth"), a("to", to))
	}
	add([]int64{15, 19}, "CastLike", in("whole", "image"), nil)
	add([]int64{15, 19}, "CastLike", in("image", "whole"), nil)

	shapes := []constant{floatsOf(1, 1, 3, 4, 6), floatsOf(2, 3, 1, 1), floatsOf(3, 6), floatsOf(4), floatsOf(5, 4, 1), floatsOf(6, 2, 3, 4, 1)}
	for _, op := range []string{"Add", "Sub", "Mul", "Div", "Min", "Max", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "Sum", "Mean"} {
		for _, other := range shapes {
			opsets := mid
			add(opsets, op, in("image", other), nil)
			add(opsets, op, in(other, "image"), nil)
		}
		add(mid, op, in("image", "image"), nil)
		add(mid, op, in("image", number(0.3)), nil)
		add(mid, op, in(number(0.3), "image"), nil)
	}
	for _, op := range []string{"Add", "Sub", "Mul", "Div", "Min", "Max", "Less", "Greater", "Equal", "Mod"} {
		add(mid, op, in("whole", checkIntegers), nil)
	}
	add(mid, "Mod", in("whole", checkIntegers), a("fmod", 1))
	add(mid, "Mod", in("image", number(0.3)), a("fmod", 1))
	for _, op := range []string{"And", "Or", "Xor"} {
		add(mid, op, in("truth", constant{[]bool{true, false, true, true, false, false}, l(6)}), nil)
	}
	for _, p := range []float32{2, 3, 1, -1, 0} {
		add(mid, "Pow", in("image", number(p)), nil)
	}
	add(mid, "Pow", in("positive", number(0.5)), nil)
	add(mid, "Pow", in("positive", number(1.7)), nil)
	add(mid, "Pow", in("image", constant{[]int64{2}, nil}), nil)
	add(mid, "Sum", in("image", shapes[1], shapes[2]), nil)
	add(mid, "Mean", in("image", shapes[1], shapes[2]), nil)
	add(mid, "Max", in("image", shapes[1], shapes[2]), nil)
	add(mid, "Where", in("truth", "image", number(0)), nil)
	add(mid, "Where", in("truth", floatsOf(1, 6), floatsOf(2, 2, 1, 4, 1)), nil)
	add(mid, "Where", in("truth", "whole", checkIntegers), nil)

	for _, k := range []int{0, 1, 2, 4, -1} {
		add(all, "Flatten", image, a("axis", k))
	}
	add(all, "Flatten", image, nil)
	add(all, "Reshape", in("image", l(0, -1, 8)), nil)
	add(all, "Reshape", in("whole", l(6, 12)), nil)
	add([]int64{14, 22}, "Reshape", in("image", l(1, 12, 6)), a("allowzero", 1))
	add(old, "Squeeze", image, a("axes", l(0)))
	add(old, "Squeeze", image, nil)
	add(mid, "Squeeze", in("image", l(-4)), nil)
	add(mid, "Squeeze", image, nil)
	add(old, "Unsqueeze", image, a("axes", l(0, 3)))
	add(mid, "Unsqueeze", in("image", l(-1, 1)), nil)
	for _, p := range [][]int64{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0}, {2, 0, 3, 1}, {0, 1, 3, 2}} {
		add(mid, "Transpose", image, a("perm", p))
	}
	add(mid, "Transpose", image, nil)
	add(mid, "Transpose", in("whole"), nil)
	add(mid, "Expand", in("image", l(2, 1, 3, 1, 1)), nil)
	add(mid, "Expand", in(eachFloat32, l(2, 3)), nil)
	add(mid, "Tile", in("image", l(2, 1, 3, 2)), nil)
	add(mid, "Tile", in("whole", l(1, 2, 1, 1)), nil)
	add(mid, "Concat", in("image", floatsOf(3, 1, 2, 4, 6), "image"), a("axis", 1))
	add(mid, "Concat", in("image", "image"), a("axis", -1))
	add(mid, "Concat", in("whole", "whole"), a("axis", 0))
	for _, axis := range []int{0, 2, -1} {
		add([]int64{12}, "Split", image, a("axis", axis))
	}
	add([]int64{12}, "Split", image, a("axis", 1, "split", l(3)))
	add(mid, "Split", in("image", l(3)), a("axis", 1))
	add(late, "Split", image, a("axis", 3, "num_outputs", 1))
	for _, s := range [][4][]int64{
		{l(1), l(3), l(2), l(1)}, {l(0, 1), l(100, math.MaxInt64), l(1, 3), l(1, 2)}, {l(-1), l(-100), l(3), l(-1)}, {l(-1), l(math.MinInt64), l(-1), l(-2)},
		{l(-3), l(-1), l(-2), l(1)}, {l(3, 0), l(1, 2), l(2, 1), l(-1, 1)}, {l(2), l(0), l(2), l(-1)}, {l(100), l(0), l(3), l(-3)},
	} {
		add(mid, "Slice", in("image", s[0], s[1], s[2], s[3]), nil)
		add(mid, "Slice", in("whole", s[0], s[1], s[2], s[3]), nil)
	}
	add(mid, "Slice", in("image", l(0, 1, 1), l(1, 2, 3)), nil)
	add(mid, "Slice", in("image", l(1), l(3), l(2)), nil)
	add([]int64{9}, "Slice", image, a("starts", l(1, -3), "ends", l(3, 100), "axes", l(2, 3)))
	add([]int64{9}, "Slice", image, a("starts", l(0, 1), "ends", l(1, 2)))
	for _, mode := range []string{"constant", "reflect", "edge"} {
		add(mid, "Pad", in("image", l(0, 0, 1, 2, 0, 0, 3, 1)), a("mode", mode))
		add([]int64{10}, "Pad", image, a("mode", mode, "pads", l(0, 0, 1, 2, 0, 0, 3, 1)))
	}
	add(mid, "Pad", in("image", l(0, 0, 0, 0, 0, 0, 0, 0)), nil)
	add(mid, "Pad", in("image", l(0, 0, -1, 2, 0, 0, 1, -2), number(1.5)), nil)
	add([]int64{10}, "Pad", image, a("value", float32(2), "pads", l(0, 1, 0, 0, 0, 0, 0, 1)))
	add([]int64{19}, "Pad", in("image", l(1, 2, 0, 1), number(3), l(2, -1)), nil)
	add([]int64{19}, "Pad", in("image", l(1, 2, 3, 1), "", l(2, 3)), a("mode", "wrap"))
	add([]int64{14, 22}, "Trilu", image, nil)
	add([]int64{14, 22}, "Trilu", in("image", constant{[]int64{-1}, nil}), a("upper", 0))
	add([]int64{14, 22}, "Trilu", in("image", constant{[]int64{2}, nil}), a("upper", 1))
	add([]int64{14, 22}, "Trilu", in("image", constant{[]int64{1}, nil}), a("upper", 0))
	add(mid, "Shape", image, nil)
	add([]int64{15, 22}, "Shape", image, a("start", 1, "end", -1))
	add([]int64{15, 22}, "Shape", image, a("start", -3))
	add(mid, "Size", image, nil)
	add(mid, "ConstantOfShape", in(l(2, 3)), nil)
	add(mid, "ConstantOfShape", in(l(4)), a("value", onnxtest.IntTensor("", l(7), 1)))
	for _, r := range [][]int64{{0, 7, 2}, {5, -4, -3}, {3, 3, 1}} {
		add(mid, "Range", in(constant{r[:1], nil}, constant{r[1:2], nil}, constant{r[2:], nil}), nil)
	}
	add(mid, "Range", in(number(0), number(2.2), number(0.5)), nil)

	for _, axis := range []int{0, 2, -1} {
		add(mid, "Gather", in("image", constant{l(0, -1, 0), l(3)}), a("axis", axis))
		add(mid, "Gather", in("image", constant{l(-1), nil}), a("axis", axis))
		add(mid, "Gather", in("whole", constant{l(0, 0, -1, 0), l(2, 2)}), a("axis", axis))
	}
	add(mid, "Gather", in(floatsOf(4, 20, 5), "small"), nil)
	add(mid, "GatherND", in("image", constant{l(0, 2, 0, -1), l(2, 2)}), nil)
	add(mid, "GatherND", in("image", constant{l(1), l(1, 1)}), a("batch_dims", 1))
	add(mid, "ScatterND", in("image", constant{l(0, 1, 0, 2), l(2, 2)}, floatsOf(9, 2, 4, 6)), nil)

	for _, op := range []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"} {
		for _, axes := range [][]int64{{1}, {-1}, {2, 3}, {1, 3}, {0, 2}, {0, 1, 2, 3}} {
			if op == "ReduceSum" {
				add(mid, op, in("image", axes), nil)
				add(old, op, image, a("axes", axes, "keepdims", 0))
				continue
			}
			add([]int64{18, 20}, op, in("image", axes), a("keepdims", 0))
			add([]int64{11, 17}, op, image, a("axes", axes))
		}
		add(all, op, image, nil)
	}
	add([]int64{17}, "ReduceLogSum", in("positive"), a("axes", l(1)))
	add(mid, "ReduceMax", in("whole"), a("axes", l(1)))
	for _, axis := range []int{1, 3, -1} {
		for _, keep := range []int{0, 1} {
			add(mid, "ArgMax", image, a("axis", axis, "keepdims", keep))
			add(mid, "ArgMin", in("whole"), a("axis", axis, "keepdims", keep, "select_last_index", keep))
		}
		for _, op := range []string{"Softmax", "LogSoftmax"} {
			add(all, op, image, a("axis", axis))
		}
		add(mid, "CumSum", in("image", constant{[]int64{int64(axis)}, nil}), nil)
		add(mid, "CumSum", in("image", constant{[]int64{int64(axis)}, nil}), a("exclusive", 1, "reverse", 1))
		add([]int64{17, 22}, "LayerNormalization", in("image", floatsOf(1, []int64{1, 3, 4, 6}[(axis+4)%4:]...), floatsOf(2, []int64{1, 3, 4, 6}[(axis+4)%4:]...)), a("axis", axis))
	}
	add(all, "Softmax", image, nil)
	add(all, "LogSoftmax", image, nil)
	add([]int64{17}, "LayerNormalization", in("image", floatsOf(1, 6)), a("epsilon", float32(0.1)))
	add([]int64{17}, "LayerNormalization", in("image", floatsOf(1, 6), floatsOf(2, 6)), nil)
	add(mid, "InstanceNormalization", in("image", floatsOf(1, 3), floatsOf(2, 3)), nil)
	add([]int64{21}, "GroupNormalization", in(floatsOf(7, 2, 6, 3, 2), floatsOf(1, 6), floatsOf(2, 6)), a("num_groups", 3))
	add(mid, "BatchNormalization", in("image", eachFloat32, floatsOf(1, 3), floatsOf(2, 3), eachFloat32), nil)
	add(mid, "BatchNormalization", in("rows", floatsOf(1, 12), floatsOf(2, 12), floatsOf(3, 12), constant{make([]float32, 12), l(12)}), a("epsilon", float32(0.5)))
	add(mid, "LRN", in(floatsOf(3, 1, 7, 3, 2)), a("size", 5, "alpha", float32(0.5)))
	add(mid, "LRN", in(floatsOf(3, 1, 7, 3, 2)), a("size", 3, "alpha", float32(0.5), "beta", float32(0.6), "bias", float32(2)))
	for _, op := range []string{"GlobalAveragePool", "GlobalMaxPool"} {
		add([]int64{11, 13, 17, 18}, op, image, nil)
		add(mid, op, in("rows"), nil)
	}
	for _, op := range []string{"MaxPool", "AveragePool"} {
		windows := []onnxtest.Attributes{a("kernel_shape", l(2, 3)), a("kernel_shape", l(3, 2), "strides", l(2, 2), "pads", l(1, 0, 1, 1)),
			a("kernel_shape", l(3, 3), "strides", l(2, 1), "auto_pad", "SAME_UPPER"), a("kernel_shape", l(2, 2), "strides", l(2, 2), "auto_pad", "SAME_LOWER")}
		for _, w := range windows {
			add([]int64{11, 17, 22}, op, image, w)
		}
		add([]int64{11, 17, 22}, op, in("rows"), a("kernel_shape", l(3), "strides", l(2)))
	}
	for _, op := range []string{"MaxPool", "AveragePool"} {
		add([]int64{12, 22}, op, image, a("kernel_shape", l(3, 3), "strides", l(2, 2), "ceil_mode", 1))
		add([]int64{12, 22}, op, image, a("kernel_shape", l(3, 3), "strides", l(2, 2), "pads", l(1, 1, 1, 1), "ceil_mode", 1))
	}
	for _, op := range []string{"MaxPool", "AveragePool"} { // wider than a register
		large := in(floatsOf(5, 1, 2, 23, 41))
		add(mid, op, large, a("kernel_shape", l(3, 3), "pads", l(1, 1, 1, 1)))
		add(mid, op, large, a("kernel_shape", l(3, 5), "pads", l(2, 0, 0, 4), "strides", l(1, 3)))
		add(mid, op, large, a("kernel_shape", l(23, 41)))
	}
	add(mid, "MaxPool", image, a("kernel_shape", l(2, 2), "dilations", l(2, 3)))
	add(mid, "AveragePool", image, a("kernel_shape", l(3, 3), "pads", l(1, 1, 1, 1), "count_include_pad", 1))

	add(mid, "MatMul", in("image", floatsOf(1, 6, 5)), nil)
	add(mid, "MatMul", in("image", floatsOf(1, 1, 3, 6, 5)), nil)
	add(mid, "MatMul", in("image", floatsOf(1, 2, 1, 6, 5)), nil)
	add(mid, "MatMul", in("image", floatsOf(1, 6)), nil)
	add(mid, "MatMul", in(floatsOf(1, 4), "image"), nil)
	add(mid, "MatMul", in(floatsOf(1, 5, 4), "image"), nil)
	add(mid, "MatMul", in("matrix", "turned"), nil)
	add(mid, "MatMul", in("image", "across"), nil)
	for _, t := range []int{0, 1} {
		second, third := floatsOf(1, 6, 5), floatsOf(2, 5)
		if t == 1 {
			second = floatsOf(1, 5, 6)
		}
		add(all, "Gemm", in("matrix", second, third), a("transB", t, "alpha", float32(0.5), "beta", float32(2)))
		add(all, "Gemm", in("matrix", second), a("transB", t))
		add(all, "Gemm", in("matrix", second, number(2)), a("transB", t))
		add(all, "Gemm", in("matrix", second, floatsOf(3, 12, 1)), a("transB", t, "beta", float32(3)))
		add(all, "Gemm", in("turned", second.turned(), third), a("transA", 1, "transB", 1-t))
	}
	add(all, "Gemm", in("matrix", "matrix"), a("transB", 1, "alpha", float32(0.3)))
	add(all, "Gemm", in("matrix", "turned", floatsOf(1, 12)), a("beta", float32(2)))
	for equation, second := range map[string]constant{"nchw,nkhw->nck": floatsOf(1, 1, 2, 4, 6), "nchw,wk->nchk": floatsOf(2, 6, 5),
		"nchw,ck->nkhw": floatsOf(3, 3, 2), "abcd, abed -> acbe": floatsOf(4, 1, 3, 5, 6), "nchw,c->nchw": floatsOf(5, 3)} {
		add(mid, "Einsum", in("image", second), a("equation", equation))
	}

	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, c := range []string{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"} {
			add([]int64{11, 13, 19}, "Resize", in("image", constant{[]float32{}, l(0)}, constant{[]float32{1, 1, 1.7, 0.6}, l(4)}), a("mode", mode, "coordinate_transformation_mode", c))
			add([]int64{13, 19}, "Resize", in("image", "", "", l(1, 3, 7, 3)), a("mode", mode, "coordinate_transformation_mode", c))
		}
	}
	for _, n := range []string{"floor", "round_prefer_floor"} {
		add([]int64{13}, "Resize", in("image", "", "", l(1, 3, 8, 12)), a("nearest_mode", n, "coordinate_transformation_mode", "asymmetric"))
	}
	add([]int64{13}, "Resize", in("image", "", "", l(1, 3, 9, 9)), a("mode", "cubic", "cubic_coeff_a", float32(-0.5)))
	add([]int64{18}, "Resize", in("image", "", "", l(1, 3, 2, 3)), a("mode", "linear", "antialias", 1))
	add([]int64{18}, "Resize", in("image", "", "", l(1, 3, 3, 2)), a("mode", "cubic", "antialias", 1))
	add([]int64{18}, "Resize", in("image", "", "", l(3, 2)), a("mode", "linear", "axes", l(2, 3)))
	add([]int64{10}, "Resize", in("image", constant{[]float32{1, 1, 2, 2}, l(4)}), nil)
	add([]int64{9}, "Upsample", in("image", constant{[]float32{1, 1, 2, 3}, l(4)}), a("mode", "linear"))
	return rows
}

func (c constant) String() string { return fmt.Sprint(c.dims) }

func (c constant) turned() constant {
	from, rows, columns := c.values.([]float32), c.dims[0], c.dims[1]
	to := make([]float32, len(from))
	for i := range from {
		to[int64(i)%columns*rows+int64(i)/columns] = from[i]
	}
	return constant{to, l(columns, rows)}
}

func (f form) file(opset int64, pixels []float32, folded bool) *onnxtest.File {
	g := onnxtest.New(opset, 4, 6)
	if folded {
		g = onnxtest.Empty(opset).Floats("image", pixels, 1, 3, 4, 6).Input("unused", onnxtest.Float, 1)
	}
	// Inputs of forms. Unused ones are not computed.
	used := map[any]bool{}
	for _, x := range f.in {
		if name, ok := x.(string); ok {
			used[name] = true
		}
	}
	given := func(name string, add func()) {
		if used[name] {
			add()
		}
	}
	given("rows", func() { g.Ints("rows shape", 1, 12, 6).Node("Reshape", in2("image", "rows shape"), "rows", nil) })
	given("matrix", func() { g.Ints("matrix shape", 12, 6).Node("Reshape", in2("image", "matrix shape"), "matrix", nil) })
	given("turned", func() {
		g.Ints("turned shape", 12, 6).Node("Reshape", in2("image", "turned shape"), "upright", nil).Node("Transpose", in2("upright"), "turned", nil)
	})
	given("across", func() { g.Node("Transpose", in2("image"), "across", onnxtest.Attributes{"perm": l(0, 1, 3, 2)}) })
	given("positive", func() {
		g.Node("Abs", in2("image"), "absolute", nil).Floats("less", []float32{0.1}).Node("Add", in2("absolute", "less"), "positive", nil)
	})
	given("truth", func() { g.Floats("nought", []float32{0}).Node("Greater", in2("image", "nought"), "truth", nil) })
	given("whole", func() {
		g.Floats("three", []float32{3}).Node("Mul", in2("image", "three"), "tripled", nil).Node("Cast", in2("tripled"), "whole", onnxtest.Attributes{"to": 7})
	})
	given("small", func() {
		g.Node("Relu", in2("image"), "bounded", nil).Node("Cast", in2("bounded"), "small", onnxtest.Attributes{"to": 7})
	})
	var names []string
	for i, x := range f.in {
		name := fmt.Sprint("k", i)
		switch x := x.(type) {
		case string:
			name = x
		case []int64:
			g.Ints(name, x...)
		case constant:
			g.Tensors = append(g.Tensors, x.tensor(name))
		}
		names = append(names, name)
	}
	return g.Node(f.op, names, "made", f.a).Node("Cast", in2("made"), "y", onnxtest.Attributes{"to": onnxtest.Float}).Output("y")
}

func in2(names ...string) []string { return names }

func (c constant) tensor(name string) onnxtest.Proto {
	switch v := c.values.(type) {
	case []float32:
		return onnxtest.FloatTensor(name, v, c.dims...)
	case []int64:
		return onnxtest.IntTensor(name, v, c.dims...)
	case []int8:
		var raw []byte
		for _, b := range v {
			raw = append(raw, byte(b))
		}
		return onnxtest.Tensor(name, onnxtest.Int8, raw, c.dims...)
	case []uint8:
		return onnxtest.Tensor(name, onnxtest.Uint8, v, c.dims...)
	case []bool:
		var raw []byte
		for _, b := range v {
			raw = append(raw, map[bool]byte{true: 1}[b])
		}
		return onnxtest.Tensor(name, onnxtest.Bool, raw, c.dims...)
	}
	panic("a constant of another type")
}
