package onnx

import (
	"errors"
	"testing"

	"cpar/internal/testing/onnxtest"
)

var fuzzLimits = Limits{FileBytes: 1 << 20, Nodes: 100, Elements: 1 << 16, Memory: 1 << 20}

// FuzzRead reads a file with one that tensors may name. It expects an error or
// consistent constants, and Extract's output must be readable.
func FuzzRead(f *testing.F) {
	weights := append(make([]byte, 8), fourFloats...)
	f.Add(adding(onnxtest.FloatTensor("k", []float32{1, 2, 3, 4}, 4)).Bytes(), weights)
	f.Add(adding(outside("k", "weights.bin", "offset", "8", "length", "16")).Bytes(), weights)
	f.Add(adding(outside("k", "../weights.bin"), outside("k2", "weights.bin"), outside("k3", "weights.bin")).Bytes(), fourFloats)
	halves := packedInts(onnxtest.Proto{}.Varint(1, 4).Varint(2, onnxtest.Float16).Text(8, "k"), 5, 1, 2, 0x3c00, 0xfc00)
	f.Add(adding(halves).Bytes(), []byte{})
	branch := onnxtest.Empty(13).Node("Identity", []string{"image"}, "b", nil).Output("b")
	f.Add(adding().Node("If", []string{"c"}, "k", onnxtest.Attributes{"then_branch": branch, "else_branch": branch}).Bytes(), []byte{})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, data, weights []byte) {
		external := func(name string) ([]byte, error) {
			if err := checkLocation(name); err != nil {
				return nil, err
			}
			if name != "weights.bin" {
				return nil, errors.New("there is none")
			}
			return weights, nil
		}
		if m, err := Read(data, fuzzLimits, external); err == nil {
			for _, k := range m.Graph.Constants {
				floats, err := k.Floats()
				if err == nil && len(floats) != k.Count() {
					t.Fatalf("%d values of %d", len(floats), k.Count())
				}
				ints, err := k.Ints()
				if err == nil && len(ints) != k.Count() {
					t.Fatalf("%d integers of %d", len(ints), k.Count())
				}
			}
		}
		m, err := ReadOutline(data, fuzzLimits, external)
		if err != nil {
			return
		}
		nodes, err := Sort(m.Graph.Nodes, func(string) bool { return false })
		if err != nil {
			nodes = m.Graph.Nodes
		}
		if len(nodes) == 0 || len(nodes[0].Out) == 0 {
			return
		}
		input := ValueInfo{Name: "image", Type: Float, Dims: []int{1, 3, 2, 2}}
		output := nodes[len(nodes)-1].Out
		if len(output) == 0 {
			return
		}
		again, err := Extract(m, nodes, input, output[0])
		if err != nil {
			t.Fatal(err)
		}
		limits := fuzzLimits
		limits.FileBytes *= 2
		if _, err := ReadOutline(again, limits, nil); err != nil {
			t.Fatalf("what was extracted cannot be read: %v", err)
		}
	})
}

func TestExtract(t *testing.T) {
	f := adding(outside("k", "all.bin"), onnxtest.FloatTensor("other", []float32{5}, 1)).
		Input("text", onnxtest.Int64, -1, -1).Node("Mul", []string{"y", "other"}, "z", nil).Node("Cast", []string{"text"}, "t", nil).Output("z").Output("t")
	m, err := ReadOutline(f.Bytes(), Limits{}, func(string) ([]byte, error) { return fourFloats, nil })
	if err != nil {
		t.Fatal(err)
	}
	data, err := Extract(m, m.Graph.Nodes, ValueInfo{"image", Float, []int{4}, true}, "y")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data, Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := got.Graph
	if len(g.Nodes) != 1 || len(g.Constants) != 1 || len(g.Inputs) != 1 || len(g.Outputs) != 1 || g.Outputs[0].Name != "y" || g.Inputs[0].Dims[0] != 4 || got.Opset != 13 {
		t.Errorf("%+v", g)
	}
	if values, err := g.Constants[0].Floats(); err != nil || len(values) != 4 || values[3] != 4 {
		t.Error(values, err)
	}
}
