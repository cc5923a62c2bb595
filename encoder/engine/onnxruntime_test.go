package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/encoder/onnxruntime"
	"cpar/internal/testing/onnxtest"
	"cpar/internal/testing/oracle"
)

var (
	a = func(pairs ...any) onnxtest.Attributes {
		all := onnxtest.Attributes{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i].(string)] = pairs[i+1]
		}
		return all
	}
	l             = func(v ...int64) []int64 { return v }
	in            = func(v ...any) []any { return v }
	image         = in("image")
	checkIntegers = constant{[]int64{7, -3, 2, -8, 5, 1}, []int64{6}}
	eachFloat32   = constant{[]float32{1, 1.5, 0.5}, []int64{3}}
)

func TestAgainstONNXRuntime(t *testing.T) {
	lib, err := onnxruntime.Open(oracle.Named(t, "CPAR_ONNXRUNTIME"))
	if err != nil {
		t.Fatal(err)
	}
	pixels := floatsOf(11, 1, 3, 4, 6).values.([]float32)
	tried := map[string]bool{}
	for _, f := range forms() {
		for _, opset := range f.opsets {
			t.Run(fmt.Sprint(f.op, opset, f.in, f.a), func(t *testing.T) {
				tried[f.op] = true
				s, err := lib.Load(f.file(opset, pixels, false).Bytes(), onnxruntime.Input{Name: "image", Element: onnxtest.Float, Shape: []int64{1, 3, 4, 6}}, "y")
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				want, _, err := s.Run(pixels)
				if err != nil {
					t.Fatal(err)
				}
				for _, folded := range []bool{false, true} {
					m, err := onnx.Read(f.file(opset, pixels, folded).Bytes(), onnx.Limits{}, nil)
					if err != nil {
						t.Fatal(err)
					}
					p, err := engine.Compile(m, engine.Options{})
					if err != nil {
						t.Errorf("folded %t: %v", folded, err)
						continue
					}
					got, err := p.Run(map[string][]float32{"image": pixels})
					if err != nil {
						t.Errorf("folded %t: %v", folded, err)
						continue
					}
					same(t, got["y"], want)
				}
			})
		}
	}
}

// TestWeightOnlyQuantisation runs a convolution and a product whose weights are
// integers with scales, and whose arithmetic is in floating point.
func TestWeightOnlyQuantisation(t *testing.T) {
	lib, err := onnxruntime.Open(oracle.Named(t, "CPAR_ONNXRUNTIME"))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(41, 42))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	f := onnxtest.New(13, 4, 6)
	f.Tensors = append(f.Tensors, onnxtest.Tensor("kernel_q", onnxtest.Int8, random(5*3*3*3), 5, 3, 3, 3),
		onnxtest.Tensor("w_q", onnxtest.Uint8, random(5*7), 7, 5), onnxtest.Tensor("zero", onnxtest.Uint8, []byte{131}))
	f.Floats("kernel_s", []float32{0.01, 0.02, 0.003, 0.5, 0.25}, 5).Floats("w_s", []float32{0.07}).
		Node("DequantizeLinear", in2("kernel_q", "kernel_s"), "kernel", a("axis", 0)).
		Node("Conv", in2("image", "kernel"), "map", nil).Node("GlobalAveragePool", in2("map"), "mean", nil).Node("Flatten", in2("mean"), "row", nil).
		Node("DequantizeLinear", in2("w_q", "w_s", "zero"), "w", nil).Node("Gemm", in2("row", "w"), "y", a("transB", 1)).Output("y")
	pixels := floatsOf(11, 1, 3, 4, 6).values.([]float32)
	s, err := lib.Load(f.Bytes(), onnxruntime.Input{Name: "image", Element: onnxtest.Float, Shape: []int64{1, 3, 4, 6}}, "y")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want, _, err := s.Run(pixels)
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Read(f.Bytes(), onnx.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Compile(m, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Run(map[string][]float32{"image": pixels})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got["y"], want)
}

func same(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i])-float64(want[i])) <= 1e-5*(1+math.Abs(float64(want[i])))) && got[i] != want[i] {
			t.Fatalf("value %d is %g, want %g", i, got[i], want[i])
		}
	}
}

func TestFlippedForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	pixels := floatsOf(11, 1, 3, 4, 6).values.([]float32)
	limits := onnx.Limits{FileBytes: 1 << 20, Nodes: 100, Elements: 1 << 16, Memory: 1 << 22, Work: 1 << 22}
	for _, f := range forms() {
		for _, folded := range []bool{false, true} {
			data := f.file(f.opsets[0], pixels[:1], false).Bytes()
			if folded {
				data = f.file(f.opsets[0], pixels, true).Bytes()
			}
			for range 20 {
				at, bit := rng.IntN(len(data)), byte(1)<<rng.IntN(8)
				data[at] ^= bit
				if m, err := onnx.Read(data, limits, nil); err == nil {
					if p, err := engine.Compile(m, engine.Options{Limits: limits}); err == nil {
						_, _ = p.Run(map[string][]float32{"image": pixels})
					}
				}
				data[at] ^= bit
			}
		}
	}
}
