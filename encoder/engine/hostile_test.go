package engine

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"cpar/encoder/onnx"
	"cpar/internal/testing/onnxtest"
)

var tight = onnx.Limits{FileBytes: 1 << 20, Nodes: 300, Elements: 1 << 18, Memory: 1 << 23, Work: 1 << 24}

func scalar(f *onnxtest.File, name string, v int64) {
	f.Tensors = append(f.Tensors, onnxtest.IntTensor(name, []int64{v}))
}

func TestCompileRefusesHostileFiles(t *testing.T) {
	const huge = 1 << 40
	base := func() *onnxtest.File {
		f := onnxtest.New(18, 4, 4).Ints("big", huge, huge).Ints("large", 1<<9, 1<<9, 1<<9).Ints("long", 1<<17).Ints("minus", -5, 3).
			Ints("wraps", 1<<32, 1<<32).Ints("pads", 0, 0, 0, huge, 0, 0, 0, 0).Ints("lots", 1, 1, 1<<20, 1<<20).
			Ints("sizes", 1, 3, 1<<12, 1<<12).Floats("scales", []float32{1, 1, 1e9, 1e9}, 4).Floats("tiny", []float32{1, 1, 1e-9, 1}, 4).
			Ints("lowest", math.MinInt64).Ints("highest", math.MaxInt64).Ints("nought", 0).Ints("three", 3).Ints("nine", 9).Ints("all", 0, 1, 2, 3, 4).Ints("twice", 1, -5)
		scalar(f, "zero", 0)
		scalar(f, "one", 1)
		scalar(f, "far", huge)
		scalar(f, "end", math.MaxInt64)
		scalar(f, "start", math.MinInt64)
		return f
	}
	one := func(op string, a onnxtest.Attributes, in ...string) *onnxtest.File {
		return base().Node(op, in, "y", a).Output("y")
	}
	doubled := func(op string, a onnxtest.Attributes, pairs int) *onnxtest.File { // each node doubles the size
		f := base().Floats("d0", make([]float32, 64), 64)
		for i := range pairs {
			f.Node(op, []string{fmt.Sprint("d", i), fmt.Sprint("d", i)}, fmt.Sprint("d", i+1), a)
		}
		return f.Output(fmt.Sprint("d", pairs))
	}
	many := func(make func(f *onnxtest.File, i int)) *onnxtest.File {
		f := base()
		for i := range 200 {
			make(f, i)
		}
		return f.Output("t199")
	}
	for why, f := range map[string]*onnxtest.File{
		"the shape [1099511627776":                 one("Expand", nil, "image", "big"),
		"has more than the 262144 elements":        one("Expand", nil, "zero", "large"),
		"the shape [4294967296":                    one("Expand", nil, "zero", "wraps"),
		"the shape [-5 3]":                         one("ConstantOfShape", nil, "minus"),
		"[512 512 512] has more":                   one("ConstantOfShape", nil, "large"),
		"the shape [1 1 1048576":                   one("Tile", nil, "image", "lots"),
		"a range of more":                          one("Range", nil, "zero", "far", "one"),
		"a range of more than the 262144 elements": one("Range", nil, "start", "end", "one"),
		"a step of 0":                              one("Range", nil, "zero", "far", "zero"),
		"a step of -9223372036854775808":           one("Range", nil, "zero", "far", "start"),
		"pads [0 0 0 1099511627776]":               one("Pad", nil, "image", "pads"),
		"a tensor of shape [1 3 4096":              one("Resize", onnxtest.Attributes{"mode": "cubic"}, "image", "", "", "sizes"),
		"scales [1 1 1e+09":                        one("Resize", nil, "image", "", "scales"),
		"scales [1 1 1e-09":                        one("Resize", nil, "image", "", "tiny"),
		"axis -9223372036854775808 is out of range for a tensor of 4": one("ReduceSum", nil, "image", "lowest"),
		"axis 9223372036854775807 is out of range for a tensor of 4":  one("Squeeze", nil, "image", "highest"),
		"is named twice":                           one("Unsqueeze", nil, "image", "twice"),
		"a tensor of 9 dimensions":                 one("Unsqueeze", nil, "image", "all"),
		"a step of 0 ":                             one("Slice", nil, "image", "nought", "three", "three", "nought"),
		"index -":                                  one("Gather", onnxtest.Attributes{"axis": 0}, "nine", "minus"),
		"axis 9 is":                                one("Gather", nil, "image", "nine"),
		"a division by zero":                       one("Div", nil, "nine", "nought"),
		"a division by zero ":                      one("Mod", nil, "nine", "nought"),
		"a negative exponent":                      base().Ints("less", -1).Node("Pow", []string{"nine", "less"}, "y", nil).Output("y"),
		"the target shape [1099511627776":          one("Reshape", nil, "image", "big"),
		"the target shape [4294967296":             one("Reshape", nil, "image", "wraps"),
		"parts of [9]":                             one("Split", nil, "image", "nine"),
		"elements accepted":                        doubled("Concat", onnxtest.Attributes{"axis": 0}, 40),
		"the constants take more than the 8388608": many(func(f *onnxtest.File, i int) { f.Node("ConstantOfShape", []string{"long"}, fmt.Sprint("t", i), nil) }),
		"computing constants takes more than": many(func(f *onnxtest.File, i int) {
			if i == 0 {
				f.Floats("m", make([]float32, 1<<14), 1<<7, 1<<7).Node("MatMul", []string{"m", "m"}, "t0", nil)
				return
			}
			f.Node("MatMul", []string{fmt.Sprint("t", i-1), "m"}, fmt.Sprint("t", i), nil)
		}),
	} {
		t.Run(why, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := try(f.Bytes(), tight)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(why)) {
				t.Errorf("got %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(tight.Memory) {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

// Wide windows must not need memory that no limit counts.
func TestWideWindowsNeedLittleMemory(t *testing.T) {
	f := onnxtest.Empty(13).Input("image", onnxtest.Float, 1, 1, 1, 3950).Floats("w", make([]float32, 16*64), 16, 1, 1, 64)
	for i := range 200 {
		f.Node("Conv", []string{"image", "w"}, fmt.Sprint("y", i),
			onnxtest.Attributes{"pads": []int64{64, 64, 0, 64}, "strides": []int64{64, 1}, "dilations": []int64{1, 64}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := try(f.Output("y0").Bytes(), tight)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(tight.Memory) {
		t.Errorf("%d bytes were allocated (%v)", used, err)
	}
}

func TestCompileLimitsBranchesAndFunctions(t *testing.T) {
	yes := onnxtest.Tensor("yes", onnxtest.Bool, []byte{1})
	leaf := onnxtest.Empty(18).Node("Identity", []string{"image"}, "out", nil).Output("out")
	for range 12 { // each contains the previous one twice
		next := onnxtest.Empty(18)
		for _, name := range []string{"a", "b"} {
			next.Node("If", []string{"yes"}, name, onnxtest.Attributes{"then_branch": leaf, "else_branch": leaf})
		}
		leaf = next.Node("Add", []string{"a", "b"}, "out", nil).Output("out")
		if len(leaf.Graph()) > 1<<17 {
			break
		}
	}
	f := onnxtest.New(18, 2, 2).Node("If", []string{"yes"}, "y", onnxtest.Attributes{"then_branch": leaf, "else_branch": leaf}).Output("y")
	f.Tensors = append(f.Tensors, yes)
	if err := try(f.Bytes(), onnx.Limits{Nodes: 300}); err == nil || !strings.Contains(err.Error(), "300 nodes accepted") {
		t.Error(err)
	}
	// Function i calls function i+1 twice, and the last one calls itself.
	model := onnxtest.New(18, 2, 2)
	call := func(op, in, out string) onnxtest.Proto {
		return onnxtest.Proto{}.Text(1, in).Text(2, out).Text(4, op).Text(7, "own")
	}
	model.Nodes = append(model.Nodes, call("F0", "image", "y"))
	data := onnxtest.Proto(model.Output("y").Bytes())
	for i := range 30 {
		next := fmt.Sprint("F", min(i+1, 29))
		data = data.Bytes(25, onnxtest.Proto{}.Text(1, fmt.Sprint("F", i)).Text(4, "x").Text(5, "z").
			Bytes(7, call(next, "x", "m")).Bytes(7, call(next, "m", "z")).Text(10, "own"))
	}
	if err := try(data, onnx.Limits{}); err == nil || !strings.Contains(err.Error(), "accepted") && !strings.Contains(err.Error(), "more than 32 deep") {
		t.Error(err)
	}
}

// Reading functions per call would visit 64 billion nodes.
func TestMissingInFunctions(t *testing.T) {
	const many = 4000
	call := func(domain, op string, times int) (calls []onnxtest.Proto) {
		for i := range times {
			calls = append(calls, onnxtest.Proto{}.Text(1, "x").Text(2, fmt.Sprint("y", i)).Text(4, op).Text(7, domain))
		}
		return calls
	}
	f := onnxtest.New(18, 2, 2)
	f.Nodes = call("own", "F", many)
	data := onnxtest.Proto(f.Output("y0").Bytes())
	for name, nodes := range map[string][]onnxtest.Proto{"F": call("own", "G", many), "G": call("", "Unheard", many)} {
		function := onnxtest.Proto{}.Text(1, name).Text(4, "x").Text(5, "y0").Text(10, "own")
		for _, n := range nodes {
			function = function.Bytes(7, n)
		}
		data = data.Bytes(25, function)
	}
	m, err := onnx.Read(data, onnx.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Missing(m)["Unheard"]; got != many*many*many {
		t.Errorf("%d nodes are missing, want %d", got, many*many*many)
	}
}

func TestFunction(t *testing.T) {
	f := onnxtest.New(18, 1, 2)
	scaled := onnxtest.Proto{}.Text(1, "image").Text(2, "m").Text(4, "Shaped").Text(7, "own").
		Bytes(5, onnxtest.Proto{}.Text(1, "slope").Float(2, 0.5).Varint(20, 1))
	f.Nodes = append(f.Nodes, scaled)
	data := onnxtest.Proto(f.Node("Neg", []string{"m"}, "y", nil).Output("y").Bytes())
	reference := onnxtest.Proto{}.Text(1, "alpha").Text(21, "slope").Varint(20, 1)
	other := onnxtest.Proto{}.Text(1, "alpha").Text(21, "second").Varint(20, 1)
	data = data.Bytes(25, onnxtest.Proto{}.Text(1, "Shaped").Text(4, "x").Text(4, "absent").Text(5, "out").Text(6, "slope").
		Bytes(7, onnxtest.Proto{}.Text(1, "x").Text(2, "m").Text(4, "LeakyRelu").Bytes(5, reference)).
		Bytes(7, onnxtest.Proto{}.Text(1, "m").Text(2, "n").Text(4, "Elu").Bytes(5, other)).
		Bytes(7, onnxtest.Proto{}.Text(1, "n").Text(1, "").Text(1, "absent").Text(2, "out").Text(4, "Clip")).
		Text(10, "own").Bytes(11, onnxtest.Proto{}.Text(1, "second").Float(2, 2).Varint(20, 1)))
	m, err := onnx.Read(data, onnx.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{1, -2, 3, -4, 0, 6}
	var want []float64
	for _, v := range x {
		w := float64(v)
		if w < 0 {
			w = 2 * math.Expm1(0.5*w)
		}
		want = append(want, -w)
	}
	near(t, ran(t, p, x)["y"], want)
}

func try(data []byte, limits onnx.Limits) error {
	m, err := onnx.Read(data, limits, nil)
	if err != nil {
		return err
	}
	p, err := Compile(m, Options{Limits: limits})
	if err != nil {
		return err
	}
	inputs := map[string][]float32{}
	for _, v := range p.inputs {
		x := make([]float32, count(v.shape))
		for i := range x {
			x[i] = float32(i % 2)
		}
		inputs[v.name] = x
	}
	results, err := p.Run(inputs)
	if err != nil {
		return err
	}
	for name, data := range results {
		if shape := p.wanted[name].shape; count(shape) != len(data) {
			return fmt.Errorf("%s has shape %v and %d values", name, shape, len(data))
		}
	}
	return nil
}

func FuzzCompile(f *testing.F) {
	seed := func(g *onnxtest.File) { f.Add(g.Bytes()) }
	seed(onnxtest.New(18, 4, 4).Ints("perm", 1, 3, -1).Node("Shape", []string{"image"}, "s", nil).
		Ints("i", 1).Node("Gather", []string{"s", "i"}, "n", onnxtest.Attributes{"axis": 0}).Ints("m", -1, 2).
		Node("Concat", []string{"n", "m"}, "to", onnxtest.Attributes{"axis": 0}).Node("Reshape", []string{"image", "to"}, "r", nil).
		Floats("w", make([]float32, 6), 2, 3).Node("MatMul", []string{"r", "w"}, "p", nil).
		Node("Softmax", []string{"p"}, "q", onnxtest.Attributes{"axis": 1}).Node("Transpose", []string{"q"}, "y", nil).Output("y"))
	seed(onnxtest.New(13, 4, 4).Ints("a", 0, -1).Ints("b", 9, -9).Ints("axes", 2, 3).Ints("steps", 2, -1).
		Node("Slice", []string{"image", "a", "b", "axes", "steps"}, "s", nil).Ints("pads", 0, 1, -1, 1, 0, 0, 2, 1).
		Node("Pad", []string{"s", "pads"}, "p", onnxtest.Attributes{"mode": "reflect"}).Ints("by", 1, 1, 2, 1).
		Node("Tile", []string{"p", "by"}, "y", nil).Output("y"))
	seed(onnxtest.Empty(17).Input("ids", onnxtest.Int64, 1, 5).Floats("table", make([]float32, 21), 7, 3).
		Node("Gather", []string{"table", "ids"}, "e", nil).Node("ArgMax", []string{"e"}, "k", onnxtest.Attributes{"axis": -1}).
		Node("Equal", []string{"k", "k"}, "same", nil).Node("Where", []string{"same", "k", "ids"}, "w", nil).
		Node("Cast", []string{"w"}, "y", onnxtest.Attributes{"to": 1}).Output("y"))
	seed(onnxtest.New(13, 4, 4).Floats("v", []float32{1, 1, 1.5, 0.5}, 4).Node("Resize", []string{"image", "", "v"}, "r", onnxtest.Attributes{"mode": "cubic"}).
		Node("AveragePool", []string{"r"}, "y", onnxtest.Attributes{"kernel_shape": []int64{3, 2}, "ceil_mode": 1, "strides": []int64{2, 2}}).Output("y"))
	seed(onnxtest.New(18, 2, 4).Ints("to", 1, 3, 8).Node("Reshape", []string{"image", "to"}, "x", nil).
		Node("Attention", []string{"x", "x", "x"}, "a", onnxtest.Attributes{"q_num_heads": 2, "kv_num_heads": 2, "is_causal": 1}).
		Floats("s", make([]float32, 8), 8).Node("LayerNormalization", []string{"a", "s", "s"}, "n", nil).
		Node("Einsum", []string{"n", "x"}, "y", onnxtest.Attributes{"equation": "abc,adc->bd"}).Output("y"))
	f.Fuzz(func(t *testing.T, data []byte) { _ = try(data, tight) })
}
