package engine

import (
	"math/rand/v2"
	"strings"
	"testing"

	"cpar/encoder/onnx"
	"cpar/internal/testing/onnxtest"
)

// quantisedWeights is a file that adds dequantised weights to its image.
func quantisedWeights(q []byte, scale, zero []byte, a onnxtest.Attributes) *onnxtest.File {
	const int8Type = 3
	f := onnxtest.New(13, 2, 2)
	f.Tensors = append(f.Tensors, onnxtest.Tensor("q", int8Type, q, 1, 3, 2, 2))
	f.Tensors = append(f.Tensors, onnxtest.Proto(scale))
	in := []string{"q", "s"}
	if zero != nil {
		f.Tensors = append(f.Tensors, onnxtest.Tensor("z", int8Type, zero, int64(len(zero))))
		in = append(in, "z")
	}
	return f.Node("DequantizeLinear", in, "w", a).Node("Add", []string{"image", "w"}, "y", nil).Output("y", 1, 3, 2, 2)
}

func TestDequantize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	image := randomFloats(rng, 12)
	q := make([]byte, 12)
	for i := range q {
		q[i] = byte(rng.IntN(256))
	}
	scales, zeros := []float32{0.5, 0.1, 3}, []byte{0, 7, 250}
	for _, c := range []struct {
		name   string
		f      *onnxtest.File
		scale  func(channel int) float32
		offset func(channel int) int8
	}{
		{"one scale for each channel", quantisedWeights(q, onnxtest.FloatTensor("s", scales, 3), zeros, onnxtest.Attributes{"axis": 1}),
			func(k int) float32 { return scales[k] }, func(k int) int8 { return int8(zeros[k]) }},
		{"axis from the end, no zero points", quantisedWeights(q, onnxtest.FloatTensor("s", scales, 3), nil, onnxtest.Attributes{"axis": -3}),
			func(k int) float32 { return scales[k] }, func(int) int8 { return 0 }},
		{"one scale for all", quantisedWeights(q, onnxtest.FloatTensor("s", scales[1:2]), nil, nil),
			func(int) float32 { return scales[1] }, func(int) int8 { return 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []float64
			for i, x := range image {
				k := i / 4
				want = append(want, float64(x)+float64(int(int8(q[i]))-int(c.offset(k)))*float64(c.scale(k)))
			}
			near(t, runs(t, c.f, image), want)
		})
	}
}

func TestDequantizeRefuses(t *testing.T) {
	q := make([]byte, 12)
	atRunTime := onnxtest.New(13, 2, 2).Floats("s", []float32{1}).
		Node("Cast", []string{"image"}, "i", onnxtest.Attributes{"to": onnxtest.Int32}).
		Node("DequantizeLinear", []string{"i", "s"}, "y", nil).Output("y")
	for name, c := range map[string]struct {
		f    *onnxtest.File
		want string
	}{
		"integers from the image": {atRunTime, "8-bit integers"},
		"two scales":              {quantisedWeights(q, onnxtest.FloatTensor("s", []float32{1, 2}, 2), nil, onnxtest.Attributes{"axis": 1}), "not a constant of 3 values"},
		"an axis out of range":    {quantisedWeights(q, onnxtest.FloatTensor("s", []float32{1, 2, 3}, 3), nil, onnxtest.Attributes{"axis": 4}), "axis 4"},
		"blocks":                  {quantisedWeights(q, onnxtest.FloatTensor("s", []float32{1, 2, 3}, 3), nil, onnxtest.Attributes{"axis": 1, "block_size": 2}), "blocks"},
		"zero points of another length": {quantisedWeights(q, onnxtest.FloatTensor("s", []float32{1, 2, 3}, 3), []byte{1, 2},
			onnxtest.Attributes{"axis": 1}), "not a constant of 3 values"},
	} {
		m, err := onnx.Read(c.f.Bytes(), onnx.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(m, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
