package encoder

import (
	"cmp"
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"

	"cpar/internal/testing/onnxtest"
)

// branching has an If on a constant, with these TensorProto fields in one
// branch.
func branching(data onnxtest.Proto) *onnxtest.File {
	tensor := append(onnxtest.Proto{}.Varint(1, 1).Varint(2, onnxtest.Float), data...)
	constant := onnxtest.Proto{}.Text(2, "k").Text(4, "Constant").Bytes(5, onnxtest.Proto{}.Text(1, "value").Varint(20, onnxtest.KindTensor).Bytes(5, tensor))
	sum := onnxtest.Proto{}.Text(1, "image").Text(1, "k").Text(2, "s").Text(4, "Add")
	branch := onnxtest.Proto{}.Bytes(1, constant).Bytes(1, sum).Text(2, "branch").Bytes(12, onnxtest.Proto{}.Text(1, "s"))
	const kindGraph = 5
	choice := onnxtest.Proto{}.Text(1, "yes").Text(2, "y").Text(4, "If")
	for _, name := range []string{"then_branch", "else_branch"} {
		choice = choice.Bytes(5, onnxtest.Proto{}.Text(1, name).Varint(20, kindGraph).Bytes(6, branch))
	}
	f := onnxtest.New(13, 2, 2).Output("y")
	f.Tensors = append(f.Tensors, onnxtest.Proto{}.Varint(2, 9).Text(8, "yes").Bytes(9, []byte{1})) // bool
	f.Nodes = append(f.Nodes, choice)
	return f
}

func outside() onnxtest.Proto {
	return onnxtest.Proto{}.Bytes(13, onnxtest.Proto{}.Text(1, "location").Text(2, "weights.bin")).Varint(14, 1)
}

func TestOutlineReadsBranches(t *testing.T) {
	f := branching(onnxtest.Proto{}.Bytes(9, binary.LittleEndian.AppendUint32(nil, math.Float32bits(5))))
	m, err := loadGo(f.Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Embed(make([]float32, 12)); err != nil || len(got) == 0 || got[0] != 5 {
		t.Errorf("plain Go: %v, %v", got, err)
	}
	if o, err := readOutline(f.Bytes(), Options{}); err != nil || !o.nodes[0].HasGraph {
		t.Fatal(o, err)
	}
	got, err := session(t, f, Options{}).Embed(make([]float32, 12))
	if err != nil || len(got) != 3 || got[0] != 5 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNoOtherFile: every runtime refuses an external file anywhere in the
// graph, even if it exists.
func TestNoOtherFile(t *testing.T) {
	path := os.Getenv("CPAR_ONNXRUNTIME")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("weights.bin", make([]byte, 4096), 0o666); err != nil {
		t.Fatal(err)
	}
	tensor := func(more onnxtest.Proto) onnxtest.Proto {
		return append(onnxtest.Proto{}.Varint(1, 1).Varint(2, onnxtest.Float).Text(8, "k"), more...)
	}
	node := func() *onnxtest.File {
		return onnxtest.New(13, 2, 2).Node("Add", []string{"image", "k"}, "y", nil).Output("y")
	}
	initializer, located, named, sparse, list, segment := node(), node(), node(), node(), node(), node()
	initializer.Tensors = append(initializer.Tensors, tensor(outside()))
	located.Tensors = append(located.Tensors, tensor(onnxtest.Proto{}.Bytes(9, make([]byte, 4)).Varint(14, 1)))
	named.Tensors = append(named.Tensors, tensor(outside()[:len(outside())-2]))
	segment.Tensors = append(segment.Tensors, tensor(onnxtest.Proto{}.Bytes(3, onnxtest.Proto{}.Varint(1, 0))))
	list.Floats("k", []float32{1})
	list.Nodes[0] = list.Nodes[0].Bytes(5, onnxtest.Proto{}.Text(1, "more").Varint(20, 9).Bytes(10, tensor(outside())))
	sparse.Floats("k", []float32{1})
	sparse.Nodes[0] = sparse.Nodes[0].Bytes(5, onnxtest.Proto{}.Text(1, "more").Varint(20, 11).Bytes(22, onnxtest.Proto{}.Bytes(2, tensor(outside()))))
	files := map[string][]byte{
		"initializer": initializer.Bytes(), "a location alone": located.Bytes(), "a name alone": named.Bytes(),
		"a segment": segment.Bytes(), "tensors of an attribute": list.Bytes(), "a sparse attribute": sparse.Bytes(),
		"a branch": branching(outside()).Bytes(),
		// Repeated messages are merged.
		"a tensor in two parts": func() []byte {
			f := node()
			f.Nodes[0] = f.Nodes[0].Bytes(5, onnxtest.Proto{}.Text(1, "value").Varint(20, onnxtest.KindTensor).
				Bytes(5, tensor(onnxtest.Proto{}.Bytes(9, make([]byte, 4)))).Bytes(5, outside()))
			return f.Floats("k", []float32{1}).Bytes()
		}(),
		"a function": func() []byte {
			body := onnxtest.Proto{}.Text(2, "k").Text(4, "Constant").Bytes(5, onnxtest.Proto{}.Text(1, "value").Varint(20, onnxtest.KindTensor).Bytes(5, tensor(outside())))
			return onnxtest.Proto(node().Floats("k", []float32{1}).Bytes()).Bytes(25, onnxtest.Proto{}.Text(1, "F").Bytes(7, body))
		}(),
		"a default of a function": func() []byte {
			value := onnxtest.Proto{}.Text(1, "value").Varint(20, onnxtest.KindTensor).Bytes(5, tensor(outside()))
			return onnxtest.Proto(node().Floats("k", []float32{1}).Bytes()).Bytes(25, onnxtest.Proto{}.Text(1, "F").Bytes(11, value))
		}(),
	}
	graph := onnxtest.Proto{}.Bytes(15, onnxtest.Proto{}.Bytes(1, tensor(outside())))
	files["a sparse initializer"] = onnxtest.Proto(onnxtest.Proto{}.Varint(1, 7)).Bytes(7, append(graph, node().Bytes()[5:]...))
	for name, data := range files {
		for _, runtime := range []string{Go, ONNXRuntime, Auto} {
			e, err := loadWith(runtime, data, Options{Library: path})
			if e != nil || err == nil {
				t.Errorf("%s, %s: accepted", name, runtime)
				continue
			}
			why := map[string]string{"a sparse initializer": "sparse tensors", "a sparse attribute": "sparse tensors", "a segment": "in several segments"}
			if runtime == ONNXRuntime && !strings.Contains(err.Error(), cmp.Or(why[name], "in another file")) {
				t.Errorf("%s, %s: %v", name, runtime, err)
			}
		}
	}
}

// TestEmptyConstants refuses a constant that crashes ONNX Runtime 1.22 but
// accepts those of real files.
func TestEmptyConstants(t *testing.T) {
	empty := onnxtest.Proto{}.Varint(1, 0).Varint(2, onnxtest.Float)
	clip := func() *onnxtest.File {
		return onnxtest.New(13, 6, 6).Floats("w", make([]float32, 27), 1, 3, 3, 3).Node("Conv", []string{"image", "w"}, "c", nil).
			Node("Clip", []string{"c", "lo"}, "y", nil).Output("y")
	}
	initializer, constant := clip(), clip()
	initializer.Tensors = append(initializer.Tensors, empty.Text(8, "lo"))
	constant.Nodes = append(constant.Nodes, onnxtest.Proto{}.Text(2, "lo").Text(4, "Constant").Bytes(5, onnxtest.Proto{}.Text(1, "value").Varint(20, onnxtest.KindTensor).Bytes(5, empty)))
	for _, f := range []*onnxtest.File{initializer, constant} {
		if _, err := readOutline(f.Bytes(), Options{}); err == nil || !strings.Contains(err.Error(), `(Clip): its input "lo" is empty`) {
			t.Error(err)
		}
	}
	resize := onnxtest.New(13, 2, 2).Floats("scales", []float32{1, 1, 2, 2}, 4).Node("Resize", []string{"image", "roi", "scales"}, "y", nil).Output("y")
	resize.Tensors = append(resize.Tensors, empty.Text(8, "roi"))
	if c := session(t, resize, Options{}).Choice(); c.Size != 3 || c.Shape[3] != 4 {
		t.Errorf("an embedding %v", c)
	}
}

// TestZeroAttributes: ONNX Runtime 1.22 would divide by them.
func TestZeroAttributes(t *testing.T) {
	for name, value := range map[string]any{"strides": []int64{1, 0}, "group": 0, "dilations": []int64{-1, 1}, "kernel_shape": []int64{0, 3}} {
		f := onnxtest.New(13, 6, 6).Floats("w", make([]float32, 27), 1, 3, 3, 3).Node("Conv", []string{"image", "w"}, "y", onnxtest.Attributes{name: value}).Output("y")
		if _, err := readOutline(f.Bytes(), Options{}); err == nil || !strings.Contains(err.Error(), name+" holds ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Omitted means 0.
	f := onnxtest.New(13, 6, 6).Floats("w", make([]float32, 27), 1, 3, 3, 3).Node("Conv", []string{"image", "w"}, "y", nil).Output("y")
	f.Nodes[0] = f.Nodes[0].Bytes(5, onnxtest.Proto{}.Text(1, "group").Varint(20, 2))
	if _, err := readOutline(f.Bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "group holds 0") {
		t.Error(err)
	}
}

func TestDeepGraphs(t *testing.T) {
	inner := onnxtest.Proto{}
	for range 200 {
		inner = onnxtest.Proto{}.Bytes(1, onnxtest.Proto{}.Text(4, "If").Bytes(5, onnxtest.Proto{}.Text(1, "then_branch").Bytes(6, inner)))
	}
	_, err := readOutline(onnxtest.Proto{}.Bytes(7, inner), Options{})
	if err == nil || !strings.Contains(err.Error(), "graphs are nested") {
		t.Error(err)
	}
}

func TestOutlineLimits(t *testing.T) {
	data := smallFile().Bytes()
	for why, options := range map[string]Options{
		"more than the 100 bytes accepted": {Limits: Limits{FileBytes: 100}},
		"more than the 5 nodes accepted":   {Limits: Limits{Nodes: 5}},
		"the weights take more than":       {Limits: Limits{Memory: 300}},
		"a side of -1":                     {Side: -1},
		`no tensor "ghost"`:                {Embedding: "ghost"},
		`no tensor "dense"`:                {Embedding: "dense"},
	} {
		if _, err := readOutline(data, options); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want %q", err, why)
		}
	}
}
