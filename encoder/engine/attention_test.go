package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"cpar/internal/testing/onnxtest"
)

func TestAttention(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	x := randomFloats(rng, 3*4*8)
	const positions, size, heads = 12, 8, 2
	base := func(opset int64) *onnxtest.File {
		return onnxtest.New(opset, 4, 8).Ints("to", 1, positions, size).Node("Reshape", []string{"image", "to"}, "x", nil).
			Floats("wq", randomFloats(rand.New(rand.NewPCG(1, 1)), size*size), size, size).
			Floats("wk", randomFloats(rand.New(rand.NewPCG(1, 2)), size*size), size, size).
			Floats("wv", randomFloats(rand.New(rand.NewPCG(1, 3)), size*size), size, size).
			Node("MatMul", []string{"x", "wq"}, "q", nil).Node("MatMul", []string{"x", "wk"}, "k", nil).Node("MatMul", []string{"x", "wv"}, "v", nil)
	}
	mask := randomFloats(rng, positions*positions)
	causal := make([]float32, positions*positions)
	var allowed []byte
	for i := range causal {
		if i%positions > i/positions {
			causal[i] = float32(math.Inf(-1))
		}
		allowed = append(allowed, map[bool]byte{true: 1}[causal[i] == 0])
	}
	plain := func(scale float32, added []float32) []float32 {
		f := base(17).Ints("split", 1, positions, heads, size/heads).Ints("back", 1, positions, size).Floats("scale", []float32{scale}).
			Floats("mask", added, positions, positions)
		for _, name := range []string{"q", "k", "v"} {
			perm := []int64{0, 2, 1, 3}
			if name == "k" {
				perm = []int64{0, 2, 3, 1}
			}
			f.Node("Reshape", []string{name, "split"}, name+"1", nil).Node("Transpose", []string{name + "1"}, name+"2", onnxtest.Attributes{"perm": perm})
		}
		f.Node("Mul", []string{"q2", "scale"}, "q3", nil).Node("MatMul", []string{"q3", "k2"}, "s", nil).Node("Add", []string{"s", "mask"}, "m", nil).
			Node("Softmax", []string{"m"}, "p", nil).Node("MatMul", []string{"p", "v2"}, "o", nil).
			Node("Transpose", []string{"o"}, "o2", onnxtest.Attributes{"perm": []int64{0, 2, 1, 3}}).Node("Reshape", []string{"o2", "back"}, "y", nil)
		return runs(t, f.Output("y"), x)
	}
	none, half := make([]float32, len(mask)), float32(1/math.Sqrt(size/heads))
	three := onnxtest.Attributes{"q_num_heads": heads, "kv_num_heads": heads}
	with := func(more onnxtest.Attributes) onnxtest.Attributes {
		all := onnxtest.Attributes{}
		for _, a := range []onnxtest.Attributes{three, more} {
			for k, v := range a {
				all[k] = v
			}
		}
		return all
	}
	attention := func(more onnxtest.Attributes, in ...string) []float32 {
		f := base(23).Floats("mask", mask, positions, positions)
		f.Tensors = append(f.Tensors, onnxtest.Tensor("allowed", onnxtest.Bool, allowed, positions, positions))
		return runs(t, f.Node("Attention", append([]string{"q", "k", "v"}, in...), "y", with(more)).Output("y"), x)
	}
	close(t, "three axes", attention(nil), plain(half, none))
	close(t, "a scale", attention(onnxtest.Attributes{"scale": float32(0.3)}), plain(0.3, none))
	close(t, "a mask", attention(nil, "mask"), plain(half, mask))
	close(t, "a mask of booleans", attention(nil, "allowed"), plain(half, causal))
	close(t, "causal", attention(onnxtest.Attributes{"is_causal": 1}), plain(half, causal))

	four := base(23).Ints("split", 1, positions, heads, size/heads)
	for _, name := range []string{"q", "k", "v"} {
		four.Node("Reshape", []string{name, "split"}, name+"1", nil).Node("Transpose", []string{name + "1"}, name+"2", onnxtest.Attributes{"perm": []int64{0, 2, 1, 3}})
	}
	four.Node("Attention", []string{"q2", "k2", "v2"}, "o", nil).Node("Transpose", []string{"o"}, "y", onnxtest.Attributes{"perm": []int64{0, 2, 1, 3}})
	close(t, "four axes", runs(t, four.Output("y"), x), plain(half, none))

	// Sharing keys and values equals duplicating them.
	shared := base(23).Ints("a", 0).Ints("b", size/heads).Ints("axis", 2)
	twice := base(23).Ints("a", 0).Ints("b", size/heads).Ints("axis", 2)
	for _, name := range []string{"k", "v"} {
		shared.Node("Slice", []string{name, "a", "b", "axis"}, name+"1", nil)
		twice.Node("Slice", []string{name, "a", "b", "axis"}, name+"0", nil).Node("Concat", []string{name + "0", name + "0"}, name+"1", onnxtest.Attributes{"axis": 2})
	}
	shared.Node("Attention", []string{"q", "k1", "v1"}, "y", onnxtest.Attributes{"q_num_heads": heads, "kv_num_heads": 1})
	twice.Node("Attention", []string{"q", "k1", "v1"}, "y", three)
	close(t, "shared keys", runs(t, shared.Output("y"), x), runs(t, twice.Output("y"), x))
}

func close(t *testing.T, what string, got, want []float32) {
	t.Helper()
	t.Log(what)
	wide := make([]float64, len(want))
	for i, v := range want {
		wide[i] = float64(v)
	}
	near(t, got, wide)
}

// TestRMSNormalization uses the definition, because ONNX Runtime 1.22 lacks the
// operator.
func TestRMSNormalization(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	x, scale := randomFloats(rng, 3*2*5), randomFloats(rng, 5)
	want := make([]float64, len(x))
	for r := 0; r < len(x); r += 5 {
		sum := 0.0
		for _, v := range x[r : r+5] {
			sum += float64(v) * float64(v)
		}
		for i := range 5 {
			want[r+i] = float64(x[r+i]) / math.Sqrt(sum/5+0.25) * float64(scale[i])
		}
	}
	f := onnxtest.New(23, 2, 5).Floats("scale", scale, 5).Node("RMSNormalization", []string{"image", "scale"}, "y", onnxtest.Attributes{"epsilon": float32(0.25)}).Output("y")
	near(t, runs(t, f, x), want)
}
