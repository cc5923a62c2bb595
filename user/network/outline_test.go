package network

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"

	"cpar/internal/hint"
)

// branching is a file with an If on a constant; a constant in one branch has the given
// data: fields of TensorProto.
func branching(data proto) *file {
	tensor := append(proto{}.varint(1, 1).varint(2, elemFloat), data...)
	constant := proto{}.text(2, "k").text(4, "Constant").bytes(5, proto{}.text(1, "value").varint(20, kindTensor).bytes(5, tensor))
	sum := proto{}.text(1, "image").text(1, "k").text(2, "s").text(4, "Add")
	branch := proto{}.bytes(1, constant).bytes(1, sum).text(2, "branch").bytes(12, proto{}.text(1, "s"))
	const kindGraph = 5
	choice := proto{}.text(1, "yes").text(2, "y").text(4, "If")
	for _, name := range []string{"then_branch", "else_branch"} {
		choice = choice.bytes(5, proto{}.text(1, name).varint(20, kindGraph).bytes(6, branch))
	}
	f := newFile(13, 2, 2).output("y")
	f.tensors = append(f.tensors, proto{}.varint(2, 9).text(8, "yes").bytes(9, []byte{1})) // bool
	f.nodes = append(f.nodes, choice)
	return f
}

// outside says that a tensor's data are in the file weights.bin.
func outside() proto {
	return proto{}.bytes(13, proto{}.text(1, "location").text(2, "weights.bin")).varint(14, 1)
}

// TestBranches: nested graphs are read by an outline, and run.
func TestBranches(t *testing.T) {
	f := branching(proto{}.bytes(9, binary.LittleEndian.AppendUint32(nil, math.Float32bits(5))))
	if _, err := Load(f.bytes(), Options{}); err == nil || !strings.Contains(hint.Of(err), "ONNX Runtime") {
		t.Errorf("plain Go: %v (%s)", err, hint.Of(err))
	}
	if o, err := readOutline(f.bytes(), Options{}); err != nil || o.embedding != "y" {
		t.Fatal(o, err)
	}
	got, err := session(t, f, Options{}).Embed(make([]float32, 12))
	if err != nil || len(got) != 12 || got[0] != 5 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNoOtherFile: a model that names another file is refused for every runtime, wherever
// the name appears, even if the file exists.
func TestNoOtherFile(t *testing.T) {
	path := os.Getenv("CPAR_ONNXRUNTIME")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("weights.bin", make([]byte, 4096), 0o666); err != nil {
		t.Fatal(err)
	}
	tensor := func(more proto) proto { return append(proto{}.varint(1, 1).varint(2, elemFloat).text(8, "k"), more...) }
	node := func() *file {
		return newFile(13, 2, 2).node("Add", []string{"image", "k"}, "y", nil).output("y")
	}
	initializer, located, named, sparse, list, segment := node(), node(), node(), node(), node(), node()
	initializer.tensors = append(initializer.tensors, tensor(outside()))
	located.tensors = append(located.tensors, tensor(proto{}.bytes(9, make([]byte, 4)).varint(14, 1)))
	named.tensors = append(named.tensors, tensor(outside()[:len(outside())-2]))
	segment.tensors = append(segment.tensors, tensor(proto{}.bytes(3, proto{}.varint(1, 0))))
	list.floats("k", []float32{1})
	list.nodes[0] = list.nodes[0].bytes(5, proto{}.text(1, "more").varint(20, 9).bytes(10, tensor(outside())))
	sparse.floats("k", []float32{1})
	sparse.nodes[0] = sparse.nodes[0].bytes(5, proto{}.text(1, "more").varint(20, 11).bytes(22, proto{}.bytes(2, tensor(outside()))))
	files := map[string][]byte{
		"initializer": initializer.bytes(), "a location alone": located.bytes(), "a name alone": named.bytes(),
		"a segment": segment.bytes(), "tensors of an attribute": list.bytes(), "a sparse attribute": sparse.bytes(),
		"a branch": branching(outside()).bytes(),
		// Repeated messages are merged.
		"a tensor in two parts": func() []byte {
			f := node()
			f.nodes[0] = f.nodes[0].bytes(5, proto{}.text(1, "value").varint(20, kindTensor).
				bytes(5, tensor(proto{}.bytes(9, make([]byte, 4)))).bytes(5, outside()))
			return f.floats("k", []float32{1}).bytes()
		}(),
		"a function": func() []byte {
			body := proto{}.text(2, "k").text(4, "Constant").bytes(5, proto{}.text(1, "value").varint(20, kindTensor).bytes(5, tensor(outside())))
			return proto(node().floats("k", []float32{1}).bytes()).bytes(25, proto{}.text(1, "F").bytes(7, body))
		}(),
		"a default of a function": func() []byte {
			value := proto{}.text(1, "value").varint(20, kindTensor).bytes(5, tensor(outside()))
			return proto(node().floats("k", []float32{1}).bytes()).bytes(25, proto{}.text(1, "F").bytes(11, value))
		}(),
	}
	graph := proto{}.bytes(15, proto{}.bytes(1, tensor(outside())))
	files["a sparse initializer"] = proto(proto{}.varint(1, 7)).bytes(7, append(graph, node().bytes()[5:]...))
	for name, data := range files {
		for _, runtime := range []string{Go, ONNXRuntime, Auto} {
			e, _, err := LoadWith(runtime, data, Options{Library: path})
			if e != nil || err == nil {
				t.Errorf("%s, %s: accepted", name, runtime)
				continue
			}
			if runtime == ONNXRuntime && !strings.Contains(err.Error(), "in another file") {
				t.Errorf("%s, %s: %v", name, runtime, err)
			}
		}
	}
}

// TestEmptyConstants: an empty constant that crashes ONNX Runtime 1.22 is refused; one
// that real files use is not.
func TestEmptyConstants(t *testing.T) {
	empty := proto{}.varint(1, 0).varint(2, elemFloat)
	clip := func() *file {
		return newFile(13, 6, 6).floats("w", make([]float32, 27), 1, 3, 3, 3).node("Conv", []string{"image", "w"}, "c", nil).
			node("Clip", []string{"c", "lo"}, "y", nil).output("y")
	}
	initializer, constant := clip(), clip()
	initializer.tensors = append(initializer.tensors, empty.text(8, "lo"))
	constant.nodes = append(constant.nodes, proto{}.text(2, "lo").text(4, "Constant").bytes(5, proto{}.text(1, "value").varint(20, kindTensor).bytes(5, empty)))
	for _, f := range []*file{initializer, constant} {
		if _, err := readOutline(f.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), `(Clip): its input "lo" is empty`) {
			t.Error(err)
		}
	}
	resize := newFile(13, 2, 2).floats("scales", []float32{1, 1, 2, 2}, 4).node("Resize", []string{"image", "roi", "scales"}, "y", nil).output("y")
	resize.tensors = append(resize.tensors, empty.text(8, "roi"))
	if _, dim := session(t, resize, Options{}).Embedding(); dim != 48 {
		t.Errorf("an embedding of %d", dim)
	}
}

// TestZeroAttributes: ONNX Runtime 1.22 would divide by them.
func TestZeroAttributes(t *testing.T) {
	for name, value := range map[string]any{"strides": []int64{1, 0}, "group": 0, "dilations": []int64{-1, 1}, "kernel_shape": []int64{0, 3}} {
		f := newFile(13, 6, 6).floats("w", make([]float32, 27), 1, 3, 3, 3).node("Conv", []string{"image", "w"}, "y", attributes{name: value}).output("y")
		if _, err := readOutline(f.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), name+" holds ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// If left out, it is 0.
	f := newFile(13, 6, 6).floats("w", make([]float32, 27), 1, 3, 3, 3).node("Conv", []string{"image", "w"}, "y", nil).output("y")
	f.nodes[0] = f.nodes[0].bytes(5, proto{}.text(1, "group").varint(20, kindInt))
	if _, err := readOutline(f.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "group holds 0") {
		t.Error(err)
	}
}

// TestDeepGraphs: the nesting of graphs is limited.
func TestDeepGraphs(t *testing.T) {
	inner := proto{}
	for range 200 {
		inner = proto{}.bytes(1, proto{}.text(4, "If").bytes(5, proto{}.text(1, "then_branch").bytes(6, inner)))
	}
	_, err := readOutline(proto{}.bytes(7, inner), Options{})
	if err == nil || !strings.Contains(err.Error(), "graphs within graphs") {
		t.Error(err)
	}
}

// TestOutlineLimits: whatever an outline can see is checked against the limits.
func TestOutlineLimits(t *testing.T) {
	data := smallFile().bytes()
	for why, options := range map[string]Options{
		"more than the 100 bytes accepted": {Limits: Limits{FileBytes: 100}},
		"more than the 5 nodes accepted":   {Limits: Limits{Nodes: 5}},
		"the weights take more than":       {Limits: Limits{Memory: 300}},
		"a side of -1":                     {Side: -1},
		`no tensor "ghost"`:                {Embedding: "ghost"},
		"does not depend on the image":     {Embedding: "dense"},
	} {
		if _, err := readOutline(data, options); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want %q", err, why)
		}
	}
}
