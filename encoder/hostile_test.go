package encoder

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/testing/onnxtest"
)

func smallFile() *onnxtest.File {
	return onnxtest.New(11, 6, 6).
		Floats("w", make([]float32, 3*3*3*3), 3, 3, 3, 3).Floats("b", []float32{1, 2, 3}, 3).
		Floats("lo", []float32{0}).Floats("hi", []float32{6}).
		Floats("dense", make([]float32, 6), 3, 2).Floats("bias", []float32{1, 2}, 2).Ints("to", 1, -1).
		Node("Conv", []string{"image", "w", "b"}, "c", onnxtest.Attributes{"pads": []int64{1, 1, 1, 1}, "kernel_shape": []int64{3, 3}}).
		Node("Clip", []string{"c", "lo", "hi"}, "r", nil).
		Node("Add", []string{"r", "image"}, "sum", nil).
		Node("GlobalAveragePool", []string{"sum"}, "g", nil).
		Node("Reshape", []string{"g", "to"}, "f", nil).
		Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).
		Output("y", 1, 2).Meta("input_mean", "127.5").Meta("input_scale", "127.5")
}

func refused(t *testing.T, data []byte, options Options, why string) {
	t.Helper()
	_, err := loadGo(data, options)
	if err == nil {
		t.Errorf("accepted, though: %s", why)
		return
	}
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %q, want bad input and %q", err, why)
	}
}

func TestSmallFileRuns(t *testing.T) {
	m, err := loadGo(smallFile().Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Choice(); c.Name != "f" || c.Size != 3 {
		t.Errorf("embedding %v, want what the classifier sees", c)
	}
	embedding, err := m.Embed(make([]float32, 3*6*6))
	if err != nil || fmt.Sprint(embedding) != "[1 2 3]" {
		t.Errorf("%v, %v", embedding, err)
	}
	for _, image := range [][]float32{nil, make([]float32, 5), append(make([]float32, 3*6*6-1), float32(math.NaN()))} {
		if _, err := m.Embed(image); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("an image of %d values: %v", len(image), err)
		}
	}
}

func TestLoadRefusesTruncatedFiles(t *testing.T) {
	data := smallFile().Bytes()
	whole := len(smallFileWithoutMetadata().Bytes())
	for n := range data {
		_, err := loadGo(data[:n], Options{})
		if err == nil && n < whole {
			t.Errorf("%d of %d bytes accepted", n, len(data))
		}
		if err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func smallFileWithoutMetadata() *onnxtest.File {
	f := smallFile()
	f.Metadata = nil
	return f
}

func TestLoadSurvivesFlippedBits(t *testing.T) {
	data := smallFile().Bytes()
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			tryFile(t, data)
			data[i] ^= 1 << bit
		}
	}
}

var smallLimits = Limits{FileBytes: 1 << 20, Nodes: 100, Elements: 1 << 16, Memory: 1 << 20, Work: 1 << 22}

func tryFile(t *testing.T, data []byte) {
	t.Helper()
	options := Options{Limits: smallLimits}
	m, err := loadGo(data, options)
	o, errOutline := readOutline(data, options)
	if err != nil {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("not called bad input: %v", err)
		}
		return
	}
	// An outline accepts everything that plain Go accepts, and chooses the same
	// embedding if the file declares enough.
	if errOutline != nil {
		t.Fatalf("accepted, but not its outline: %v", errOutline)
	}
	if c := m.Choice(); o.choice.Size > 0 && c.Name != o.choice.Name || fmt.Sprint(m.Size()) != fmt.Sprint(o.Size()) {
		t.Fatalf("embedding %v of %v, %v of %v in the outline", c, m, o.choice, o)
	}
	h, w := m.Size()
	image := make([]float32, 3*h*w)
	for i := range image {
		image[i] = float32(i%7) - 3
	}
	embedding, err := m.Embed(image)
	if err != nil {
		return
	}
	if size := m.Choice().Size; len(embedding) != size {
		t.Errorf("embedding of %d, not %d", len(embedding), size)
	}
}

func TestRefusals(t *testing.T) {
	conv := func(w []float32, dims []int64, a onnxtest.Attributes) []byte {
		return onnxtest.New(13, 6, 6).Floats("w", w, dims...).Node("Conv", []string{"image", "w"}, "y", a).Output("y").Bytes()
	}
	kernel := make([]float32, 27)
	cube := []int64{1, 3, 3, 3}
	one := func(opset int64, op string, in []string, a onnxtest.Attributes) []byte {
		return onnxtest.New(opset, 6, 6).Floats("k", []float32{1}).Floats("three", make([]float32, 3), 3).Ints("to", 1, 1<<40).Ints("five", 5, 5).
			Floats("matrix", make([]float32, 10), 5, 2).Node(op, in, "y", a).Output("y").Bytes()
	}
	nan := float32(math.NaN())
	for why, data := range map[string][]byte{
		"no graph":     {},
		"truncated":    []byte("not an onnx file at all"),
		"is it an ONN": onnxtest.Proto{}.Varint(1, 7),
		// A parser that keeps 32 bits of a tag would see field 7, a graph.
		"field number": append(onnxtest.Proto{0xba, 0x80, 0x80, 0x80, 0x10, 0x00}, smallFile().Bytes()...),
		"not supported by the built-in runtime: Nonsense (1 node)": one(13, "Nonsense", []string{"image"}, nil),
		"com.acme.Conv (1 node)": func() []byte {
			f := onnxtest.New(13, 6, 6).Node("Conv", []string{"image"}, "y", nil).Output("y")
			f.Nodes[0] = f.Nodes[0].Text(7, "com.acme")
			return f.Bytes()
		}(),
		"has a cycle": onnxtest.New(13, 6, 6).Node("Add", []string{"image", "b"}, "a", nil).Node("Relu", []string{"a"}, "b", nil).Output("b").Bytes(),
		`node "node of y" (Add): its input "ghost" is produced by no node`: one(13, "Add", []string{"image", "ghost"}, nil),
		"produced twice":                onnxtest.New(13, 6, 6).Node("Relu", []string{"image"}, "y", nil).Node("Tanh", []string{"image"}, "y", nil).Output("y").Bytes(),
		"its output \"z\"":              onnxtest.New(13, 6, 6).Node("Relu", []string{"image"}, "y", nil).Output("z").Bytes(),
		"it has no output":              onnxtest.New(13, 6, 6).Node("Relu", []string{"image"}, "y", nil).Bytes(),
		"opset 6":                       one(6, "Relu", []string{"image"}, nil),
		"opset 99":                      one(99, "Relu", []string{"image"}, nil),
		"where the file says 1×3×6×7":   onnxtest.New(13, 6, 6).Node("Relu", []string{"image"}, "y", nil).Output("y", 1, 3, 6, 7).Bytes(),
		"with sides up to 4096":         onnxtest.New(13, 1<<30, 1<<30).Node("Relu", []string{"image"}, "y", nil).Output("y").Bytes(),
		"bytes of data where its shape": conv(kernel[:26], cube, nil),
		"more than the 65536 elements":  conv(kernel, []int64{1 << 15, 1 << 15, 1 << 15, 1 << 15}, nil),
		"a dimension of":                conv(kernel, []int64{-1, 3, 3, 3}, nil),
		"do not fit 3 channels":         conv(kernel[:18], []int64{1, 2, 3, 3}, nil),
		"attribute strides holds 0":     conv(kernel, cube, onnxtest.Attributes{"strides": []int64{0, 1}}),
		"attribute pads holds -1":       conv(kernel, cube, onnxtest.Attributes{"pads": []int64{-1, 0, 0, 0}}),
		"attribute pads has 2 entries":  conv(kernel, cube, onnxtest.Attributes{"pads": []int64{1, 1}}),
		"attribute dilations holds 0":   conv(kernel, cube, onnxtest.Attributes{"dilations": []int64{0, 2}}),
		"a kernel of [5 5]":             conv(kernel, cube, onnxtest.Attributes{"kernel_shape": []int64{5, 5}}),
		"does not fit into an image":    conv(make([]float32, 3*9*9), []int64{1, 3, 9, 9}, nil),
		"auto_pad \"WRONG\"":            conv(kernel, cube, onnxtest.Attributes{"auto_pad": "WRONG"}),
		"attribute \"surprise\" is not": conv(kernel, cube, onnxtest.Attributes{"surprise": 1}),
		"in 1000000 groups":             conv(kernel, cube, onnxtest.Attributes{"group": 1000000}),
		"is of kind 1":                  conv(kernel, cube, onnxtest.Attributes{"group": float32(1)}),
		"not a finite number":           conv(append([]float32{nan}, kernel[1:]...), cube, nil),
		"input 1 is missing":            one(13, "Conv", []string{"image"}, nil),
		"input 1 is not a constant":     one(13, "Conv", []string{"image", "image"}, nil),
		"which opset 10 does not know":  one(10, "Clip", []string{"image", "k"}, nil),
		"\"min\" is not supported":      one(11, "Clip", []string{"image"}, onnxtest.Attributes{"min": float32(0)}),
		"input 1 is not a constant num": one(11, "Clip", []string{"image", "three"}, nil),
		"bounds 1 and -1":               one(10, "Clip", []string{"image"}, onnxtest.Attributes{"min": float32(1), "max": float32(-1)}),
		"do not fit":                    one(13, "Add", []string{"image", "matrix"}, nil),
		"it has 3 inputs":               one(13, "Add", []string{"image", "image", "image"}, nil),
		"which are not matrices":        one(13, "Gemm", []string{"image", "matrix"}, nil),
		"the target shape":              one(13, "Reshape", []string{"image", "to"}, nil),
		"cannot take the shape":         one(13, "Reshape", []string{"image", "five"}, nil),
		"hold floats and integers":      one(13, "Add", []string{"image", "to"}, nil),
		"padding as large as":           one(13, "MaxPool", []string{"image"}, onnxtest.Attributes{"kernel_shape": []int64{1, 1}, "pads": []int64{1, 1, 1, 1}}),
		"axis 9":                        one(13, "Flatten", []string{"image"}, onnxtest.Attributes{"axis": 9}),
		"names no axis":                 one(13, "Concat", []string{"image"}, nil),
	} {
		t.Run(why, func(t *testing.T) { refused(t, data, Options{Limits: smallLimits}, why) })
	}
}

func TestLimits(t *testing.T) {
	data := smallFile().Bytes()
	for why, limits := range map[string]Limits{
		"more than the 100 bytes accepted":   {FileBytes: 100},
		"more than the 5 nodes accepted":     {Nodes: 5},
		"more than the 50 elements accepted": {Elements: 50},
		"bytes accepted":                     {Memory: 600},
		"more than the 1000 multiply-adds":   {Work: 1000},
	} {
		refused(t, data, Options{Limits: limits}, why)
	}
	refused(t, data, Options{Side: -1}, "a side of -1")
	refused(t, data, Options{Embedding: "ghost"}, `no tensor "ghost"`)
	refused(t, data, Options{Embedding: "dense"}, `no tensor "dense"`)

	// 3000 channels from one shared constant, repeatedly.
	f := onnxtest.New(13, 100, 100).Floats("w", make([]float32, 9000), 3000, 3, 1, 1)
	for i := range 50 {
		f.Node("Conv", []string{"image", "w"}, fmt.Sprint("c", i), nil).Output(fmt.Sprint("c", i))
	}
	f.Node("Identity", []string{"c1"}, "embedding", nil)
	if _, err := loadGo(f.Bytes(), Options{Limits: Limits{Memory: 400 << 20}}); err != nil {
		t.Errorf("what nothing needs was counted: %v", err)
	}
}

// TestOpenSizes: an open batch is one, and the caller sets open sides.
func TestOpenSizes(t *testing.T) {
	f := onnxtest.New(13, -1, -1).Node("GlobalAveragePool", []string{"image"}, "y", nil).Output("y", -1, 3, 1, 1)
	refused(t, f.Bytes(), Options{}, "leaves the size of its images open")
	for _, side := range []int{96, 224} {
		m, err := loadGo(f.Bytes(), Options{Side: side})
		if err != nil {
			t.Fatal(err)
		}
		if h, w := m.Size(); h != side || w != side {
			t.Errorf("%d×%d, want %d", h, w, side)
		}
	}
}

func TestOverflow(t *testing.T) {
	m, err := loadGo(onnxtest.New(13, 1, 1).Floats("k", []float32{3e38}).Node("Mul", []string{"image", "k"}, "y", nil).Output("y").Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed([]float32{1, 1, 9}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("%v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(smallFile().Bytes())
	f.Add(onnxtest.New(13, 4, 4).Floats("w", make([]float32, 9), 3, 1, 1, 3).
		Node("Conv", []string{"image", "w"}, "c", onnxtest.Attributes{"group": 3, "strides": []int64{2, 2}, "auto_pad": "SAME_UPPER"}).
		Node("HardSwish", []string{"c"}, "h", nil).
		Node("MaxPool", []string{"h"}, "p", onnxtest.Attributes{"kernel_shape": []int64{2, 1}}).
		Node("Concat", []string{"p", "p"}, "k", onnxtest.Attributes{"axis": 1}).
		Node("Softmax", []string{"k"}, "y", nil).Output("y").Bytes())
	f.Add([]byte{})
	f.Add(branching(onnxtest.Proto{}.Bytes(9, []byte{0, 0, 0, 0})).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) { tryFile(t, data) })
}
