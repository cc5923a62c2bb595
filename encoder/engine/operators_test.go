package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cpar/encoder/onnx"
	"cpar/internal/testing/onnxtest"
)

func randomFloats(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func compiled(t *testing.T, f *onnxtest.File, wanted ...string) *Program {
	t.Helper()
	m, err := onnx.Read(f.Bytes(), onnx.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(m, Options{Choose: choosing(wanted)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func choosing(wanted []string) func(func(string) ([]int, bool)) ([]string, error) {
	if len(wanted) == 0 {
		return nil
	}
	return func(func(string) ([]int, bool)) ([]string, error) { return wanted, nil }
}

func ran(t *testing.T, p *Program, image []float32) map[string][]float32 {
	t.Helper()
	outputs, err := p.Run(map[string][]float32{"image": image})
	if err != nil {
		t.Fatal(err)
	}
	return outputs
}

func runs(t *testing.T, f *onnxtest.File, image []float32) []float32 {
	t.Helper()
	return ran(t, compiled(t, f, "y"), image)["y"]
}

func near(t *testing.T, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i])-want[i]) < 1e-4*(1+math.Abs(want[i]))) {
			t.Fatalf("value %d is %g, want %g", i, got[i], want[i])
		}
	}
}

func naiveConv(x, w, bias []float32, inC, h, wd, outC, groups, kh, kw, sh, sw int, pads [4]int) []float64 {
	oh, ow := (h+pads[0]+pads[2]-kh)/sh+1, (wd+pads[1]+pads[3]-kw)/sw+1
	var out []float64
	per := inC / groups
	for o := range outC {
		for y := range oh {
			for xx := range ow {
				sum := float64(bias[o])
				for c := range per {
					for dy := range kh {
						for dx := range kw {
							iy, ix := y*sh+dy-pads[0], xx*sw+dx-pads[1]
							if iy < 0 || ix < 0 || iy >= h || ix >= wd {
								continue
							}
							ch := o/(outC/groups)*per + c
							sum += float64(x[(ch*h+iy)*wd+ix]) * float64(w[((o*per+c)*kh+dy)*kw+dx])
						}
					}
				}
				out = append(out, sum)
			}
		}
	}
	return out
}

func TestConv(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		h, w, outC, groups, kh, kw, sh, sw int
		pads                               [4]int
	}{
		{9, 11, 5, 1, 1, 1, 1, 1, [4]int{}},             // plain
		{3, 2, 40, 1, 1, 1, 1, 1, [4]int{}},             // plain, many channels
		{9, 11, 6, 3, 1, 1, 1, 1, [4]int{}},             // plain, groups
		{9, 11, 4, 1, 3, 3, 2, 2, [4]int{0, 0, 1, 1}},   // windows
		{9, 11, 4, 1, 1, 1, 2, 2, [4]int{}},             // stride alone
		{4, 5, 60, 1, 3, 2, 1, 2, [4]int{1, 0, 2, 1}},   // windows, many channels
		{4, 5, 60, 3, 3, 2, 1, 2, [4]int{1, 0, 2, 1}},   // windows, many channels, groups
		{40, 60, 70, 1, 5, 5, 1, 1, [4]int{2, 2, 2, 2}}, // more than one block
		{40, 60, 4, 1, 3, 3, 1, 1, [4]int{1, 1, 1, 1}},  // the same, by additions
		{17, 14, 6, 3, 7, 7, 2, 1, [4]int{3, 3, 2, 3}},  // scalar products, groups
		{9, 11, 3, 3, 3, 3, 1, 1, [4]int{1, 1, 1, 1}},   // depthwise
		{9, 11, 3, 3, 3, 3, 2, 2, [4]int{0, 0, 1, 1}},
		{9, 11, 3, 3, 3, 3, 2, 2, [4]int{1, 1, 1, 1}},
		{8, 7, 3, 3, 5, 3, 3, 2, [4]int{4, 3, 0, 2}},
		{8, 7, 3, 3, 1, 2, 5, 4, [4]int{3, 7, 0, 0}},
		{1, 1, 3, 3, 3, 3, 1, 1, [4]int{1, 1, 1, 1}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x := randomFloats(rng, 3*c.h*c.w)
			w := randomFloats(rng, c.outC*3/c.groups*c.kh*c.kw)
			bias := randomFloats(rng, c.outC)
			f := onnxtest.New(13, c.h, c.w).
				Floats("w", w, int64(c.outC), int64(3/c.groups), int64(c.kh), int64(c.kw)).Floats("b", bias, int64(c.outC)).
				Node("Conv", []string{"image", "w", "b"}, "y", onnxtest.Attributes{"group": c.groups,
					"strides": []int64{int64(c.sh), int64(c.sw)}, "dilations": []int64{1, 1},
					"pads": []int64{int64(c.pads[0]), int64(c.pads[1]), int64(c.pads[2]), int64(c.pads[3])}}).
				Output("y")
			want := naiveConv(x, w, bias, 3, c.h, c.w, c.outC, c.groups, c.kh, c.kw, c.sh, c.sw, c.pads)
			near(t, runs(t, f, x), want)
		})
	}
}

func TestAutoPad(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, w := randomFloats(rng, 3*6*6), randomFloats(rng, 2*3*3*3)
	for auto, pads := range map[string][4]int{"SAME_UPPER": {0, 0, 1, 1}, "SAME_LOWER": {1, 1, 0, 0}, "VALID": {}} {
		f := onnxtest.New(13, 6, 6).Floats("w", w, 2, 3, 3, 3).Output("y").
			Node("Conv", []string{"image", "w"}, "y", onnxtest.Attributes{"strides": []int64{2, 2}, "auto_pad": auto})
		near(t, runs(t, f, x), naiveConv(x, w, make([]float32, 2), 3, 6, 6, 2, 1, 3, 3, 2, 2, pads))
	}
}

// TestFolded covers plain, many-channel and depthwise convolutions, and tensors
// with other readers.
func TestFolded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, outC := range []int64{3, 30} {
		for _, groups := range []int{1, 3} {
			x, w := randomFloats(rng, 3*4*4), randomFloats(rng, int(outC)*3/groups)
			bias := make([]float32, outC)
			scale, plus, mean, variance := randomFloats(rng, int(outC)), randomFloats(rng, int(outC)), randomFloats(rng, int(outC)), make([]float32, outC)
			for i := range variance {
				variance[i] = 0.5 + rng.Float32()
			}
			f := onnxtest.New(13, 4, 4).Floats("w", w, outC, int64(3/groups), 1, 1).
				Floats("s", scale, outC).Floats("b", plus, outC).Floats("m", mean, outC).Floats("v", variance, outC).
				Floats("lo", []float32{-0.25}).Floats("hi", []float32{0.5}).
				Node("Conv", []string{"image", "w"}, "c", onnxtest.Attributes{"group": groups}).
				Node("BatchNormalization", []string{"c", "s", "b", "m", "v"}, "n", onnxtest.Attributes{"epsilon": float32(0.01)}).
				Node("Clip", []string{"n", "lo", "hi"}, "l", nil).
				Node("Relu", []string{"l"}, "y", nil).Output("y")
			want := naiveConv(x, w, bias, 3, 4, 4, int(outC), groups, 1, 1, 1, 1, [4]int{})
			normed := make([]float64, len(want))
			for i, v := range want {
				c := i / 16
				normed[i] = (v-float64(mean[c]))/math.Sqrt(float64(variance[c])+0.01)*float64(scale[c]) + float64(plus[c])
				want[i] = min(max(normed[i], 0), 0.5)
			}
			if p := compiled(t, f); len(p.plan.steps) > 1 {
				t.Errorf("%d steps, nothing was folded", len(p.plan.steps))
			}
			near(t, runs(t, f, x), want)
			// If the normalised values are wanted too, the clip must be
			// separate.
			p := compiled(t, f, "y", "n", "c")
			outputs := ran(t, p, x)
			near(t, outputs["y"], want)
			near(t, outputs["n"], normed)
			near(t, outputs["c"], naiveConv(x, w, bias, 3, 4, 4, int(outC), groups, 1, 1, 1, 1, [4]int{}))
		}
	}
}

func TestElementwise(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := randomFloats(rng, 3*4*5)
	x[0], x[1], x[2] = 0, 6, -6
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for _, c := range []struct {
		op    string
		opset int64
		in    []string
		a     onnxtest.Attributes
		want  func(float64) float64
	}{
		{"Relu", 13, nil, nil, func(v float64) float64 { return max(v, 0) }},
		{"Clip", 10, nil, onnxtest.Attributes{"min": float32(-0.5), "max": float32(0.25)}, func(v float64) float64 { return min(max(v, -0.5), 0.25) }},
		{"Clip", 10, nil, onnxtest.Attributes{"max": float32(0.25)}, func(v float64) float64 { return min(v, 0.25) }},
		{"Clip", 11, []string{"zero", "six"}, nil, func(v float64) float64 { return min(max(v, 0), 6) }},
		{"Clip", 11, []string{"", "six"}, nil, func(v float64) float64 { return min(v, 6) }},
		{"LeakyRelu", 13, nil, onnxtest.Attributes{"alpha": float32(0.1)}, func(v float64) float64 { return max(v, 0) + 0.1*min(v, 0) }},
		{"Sigmoid", 13, nil, nil, sigmoid},
		{"Tanh", 13, nil, nil, math.Tanh},
		{"HardSigmoid", 13, nil, onnxtest.Attributes{"alpha": float32(0.3)}, func(v float64) float64 { return max(0, min(1, 0.3*v+0.5)) }},
		{"HardSwish", 14, nil, nil, func(v float64) float64 { return v * max(0, min(1, v/6+0.5)) }},
		{"Identity", 13, nil, nil, func(v float64) float64 { return v }},
		{"Dropout", 10, nil, onnxtest.Attributes{"ratio": float32(0.5)}, func(v float64) float64 { return v }},
	} {
		f := onnxtest.New(c.opset, 4, 5).Floats("zero", []float32{0}).Floats("six", []float32{6}).
			Node(c.op, append([]string{"image"}, c.in...), "y", c.a).Output("y", 1, 3, 4, 5)
		want := make([]float64, len(x))
		for i, v := range x {
			want[i] = c.want(float64(v))
		}
		t.Run(fmt.Sprint(c.op, c.opset, c.in), func(t *testing.T) { near(t, runs(t, f, x), want) })
	}
}

func TestBinaryBroadcasts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	x := randomFloats(rng, 3*4*5)
	ops := map[string]func(a, b float64) float64{
		"Add": func(a, b float64) float64 { return a + b }, "Sub": func(a, b float64) float64 { return a - b },
		"Mul": func(a, b float64) float64 { return a * b }, "Div": func(a, b float64) float64 { return a / b },
	}
	for op, f64 := range ops {
		for _, dims := range [][]int64{{1, 3, 4, 5}, {3, 1, 1}, {5}, {1}, {}, {4, 1}, {1, 3, 1, 5}} {
			n := 1
			for _, d := range dims {
				n *= int(d)
			}
			b := randomFloats(rng, n)
			at := func(i int) float64 {
				index := [4]int{0, i / 20, i / 5 % 4, i % 5}
				k := 0
				for j, d := range dims {
					k = k*int(d) + index[4-len(dims)+j]%int(d)
				}
				return float64(b[k])
			}
			for _, swapped := range []bool{false, true} {
				in := []string{"image", "b"}
				if swapped {
					in = []string{"b", "image"}
				}
				want := make([]float64, len(x))
				for i, v := range x {
					want[i] = f64(float64(v), at(i))
					if swapped {
						want[i] = f64(at(i), float64(v))
					}
				}
				near(t, runs(t, onnxtest.New(13, 4, 5).Floats("b", b, dims...).Node(op, in, "y", nil).Output("y"), x), want)
			}
		}
	}
}

func TestPools(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	x := randomFloats(rng, 3*7*6)
	pool := func(kh, kw, s int, pads [4]int, isMax, counting bool) []float64 {
		var out []float64
		for c := range 3 {
			for y := range (7+pads[0]+pads[2]-kh)/s + 1 {
				for xx := range (6+pads[1]+pads[3]-kw)/s + 1 {
					top, sum, n := math.Inf(-1), 0.0, 0
					for dy := range kh {
						for dx := range kw {
							iy, ix := y*s+dy-pads[0], xx*s+dx-pads[1]
							if iy >= 0 && ix >= 0 && iy < 7 && ix < 6 {
								v := float64(x[(c*7+iy)*6+ix])
								top, sum, n = max(top, v), sum+v, n+1
							}
						}
					}
					if counting {
						n = kh * kw
					}
					if isMax {
						sum, n = top, 1
					}
					out = append(out, sum/float64(n))
				}
			}
		}
		return out
	}
	window := func(extra onnxtest.Attributes) onnxtest.Attributes {
		a := onnxtest.Attributes{"kernel_shape": []int64{3, 2}, "strides": []int64{2, 2}, "pads": []int64{1, 0, 2, 1}}
		for k, v := range extra {
			a[k] = v
		}
		return a
	}
	pads := [4]int{1, 0, 2, 1}
	file := func(op string, a onnxtest.Attributes) *onnxtest.File {
		return onnxtest.New(13, 7, 6).Node(op, []string{"image"}, "y", a).Output("y")
	}
	near(t, runs(t, file("MaxPool", window(nil)), x), pool(3, 2, 2, pads, true, false))
	near(t, runs(t, file("AveragePool", window(nil)), x), pool(3, 2, 2, pads, false, false))
	near(t, runs(t, file("AveragePool", window(onnxtest.Attributes{"count_include_pad": 1})), x), pool(3, 2, 2, pads, false, true))
	near(t, runs(t, file("GlobalAveragePool", nil), x), pool(7, 6, 1, [4]int{}, false, false))
	near(t, runs(t, file("ReduceMean", onnxtest.Attributes{"axes": []int64{2, -1}, "keepdims": 0}), x), pool(7, 6, 1, [4]int{}, false, false))
	near(t, runs(t, onnxtest.New(18, 7, 6).Ints("axes", -1, -2).Node("ReduceMean", []string{"image", "axes"}, "y", nil).Output("y"), x),
		pool(7, 6, 1, [4]int{}, false, false))
}

func TestDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	x, w, bias := randomFloats(rng, 12), randomFloats(rng, 12*5), randomFloats(rng, 5)
	product := func(alpha, beta float64, transposed bool) []float64 {
		out := make([]float64, 5)
		for j := range out {
			for i, v := range x {
				k := i*5 + j
				if transposed {
					k = j*12 + i
				}
				out[j] += alpha * float64(v) * float64(w[k])
			}
			out[j] += beta * float64(bias[j])
		}
		return out
	}
	dense := func(op string, rows, columns int64, a onnxtest.Attributes, more ...string) *onnxtest.File {
		return onnxtest.New(13, 2, 2).Floats("w", w, rows, columns).Floats("b", bias, 5).Floats("row", bias, 1, 5).Floats("one", bias[:1]).
			Node("Flatten", []string{"image"}, "f", nil).
			Node(op, append([]string{"f", "w"}, more...), "y", a).Output("y", 1, 5)
	}
	near(t, runs(t, dense("Gemm", 12, 5, onnxtest.Attributes{"alpha": float32(0.5), "beta": float32(2)}, "b"), x), product(0.5, 2, false))
	near(t, runs(t, dense("Gemm", 5, 12, onnxtest.Attributes{"transB": 1}, "row"), x), product(1, 1, true))
	near(t, runs(t, dense("Gemm", 12, 5, nil), x), product(1, 0, false))
	near(t, runs(t, dense("MatMul", 12, 5, nil), x), product(1, 0, false))
	one := product(1, 0, false)
	for i := range one {
		one[i] += float64(bias[0])
	}
	near(t, runs(t, dense("Gemm", 12, 5, nil, "one"), x), one)
}

func TestShapes(t *testing.T) {
	x := randomFloats(rand.New(rand.NewPCG(15, 16)), 3*2*4)
	same := make([]float64, len(x))
	for i, v := range x {
		same[i] = float64(v)
	}
	near(t, runs(t, onnxtest.New(13, 2, 4).Ints("to", 0, -1, 2).Node("Reshape", []string{"image", "to"}, "y", nil).Output("y", 1, 12, 2), x), same)
	near(t, runs(t, onnxtest.New(13, 2, 4).Node("Flatten", []string{"image"}, "y", onnxtest.Attributes{"axis": -1}).Output("y", 6, 4), x), same)
	// The channels of the second input follow those of the first.
	near(t, runs(t, onnxtest.New(13, 2, 4).Node("Concat", []string{"image", "image"}, "y", onnxtest.Attributes{"axis": 1}).Output("y", 1, 6, 2, 4), x), append(same[:24:24], same...))
	var columns []float64
	for r := range 6 {
		columns = append(append(columns, same[4*r:4*r+4]...), same[4*r:4*r+4]...)
	}
	near(t, runs(t, onnxtest.New(13, 2, 4).Node("Concat", []string{"image", "image"}, "y", onnxtest.Attributes{"axis": -1}).Output("y", 1, 3, 2, 8), x), columns)
	want := make([]float64, len(x))
	for r := range 6 {
		var sum float64
		for _, v := range same[4*r : 4*r+4] {
			sum += math.Exp(v)
		}
		for i, v := range same[4*r : 4*r+4] {
			want[4*r+i] = math.Exp(v) / sum
		}
	}
	near(t, runs(t, onnxtest.New(13, 2, 4).Node("Softmax", []string{"image"}, "y", nil).Output("y"), x), want)
}

// TestSlots checks with random graphs that live tensors do not share memory.
func TestSlots(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		x := randomFloats(rng, 3*2*2)
		f := onnxtest.New(13, 2, 2)
		values := [][]float64{make([]float64, 12)}
		for i, v := range x {
			values[0][i] = float64(v)
		}
		names := []string{"image"}
		for k := range 2 + rng.IntN(15) {
			a, b := rng.IntN(len(values)), rng.IntN(len(values))
			name := fmt.Sprint("t", k)
			next := make([]float64, 12)
			if rng.IntN(3) == 0 {
				f.Node("Relu", []string{names[a]}, name, nil)
				for i, v := range values[a] {
					next[i] = max(v, 0)
				}
			} else {
				f.Node("Sub", []string{names[a], names[b]}, name, nil)
				for i, v := range values[a] {
					next[i] = v - values[b][i]
				}
			}
			values, names = append(values, next), append(names, name)
		}
		last, some := len(names)-1, 1+rng.IntN(len(names)-1)
		f.Node("Identity", []string{names[last]}, "y", nil).Node("Identity", []string{names[some]}, "z", nil).Output("y").Output("z")
		p := compiled(t, f, "y", "z", names[some])
		outputs := ran(t, p, x)
		near(t, outputs["y"], values[last])
		near(t, outputs["z"], values[some])
		near(t, outputs[names[some]], values[some])
	}
}
