// Package network runs an image network from an ONNX file, in plain Go or in
// ONNX Runtime.
//
//	model.onnx ─▶ LoadWith ─▶ Embedder ─┐
//	photo ─▶ Preprocessing.Tensor ──────┴▶ Embed ─▶ embedding, d float32
//	          1×3×H×W float32
//
// There are two runtimes, and LoadWith chooses one. Plain Go (Load, Model) needs nothing
// installed. It covers the operators of the usual convolutional networks (MobileNet,
// ResNet, EfficientNet: see operators in compile.go) on one image at a time, in float32.
// It refuses every other operator, and every unknown attribute, by name: a network
// computed almost correctly would give plausible but wrong vectors. Operators have the
// meaning of the ONNX operator specification, opsets 7 to 25 (github.com/onnx/onnx,
// docs/Operators.md). ONNX Runtime (Session, package onnxruntime) is loaded if the user
// has its library; it runs nearly every ONNX file with one image input, several times
// faster.
//
// Both choose the same tensor of a file as the embedding, and their values agree within
// 1e-4·(1+|value|), but not bit for bit: sums are taken in different orders. The same
// holds between releases of ONNX Runtime and between processors. One build of one runtime
// on one processor gives the same bits for the same image each time.
//
// A model file comes from strangers. All shapes are determined during loading. Sizes,
// work and memory are checked against Limits before anything is allocated for them, and
// running what Load accepts allocates no more than the scratch memory that was counted.
// No runtime reads further files that a model names.
//
// ONNX Runtime deserves less trust. The file's size, nodes and weights are checked
// against Limits, but the memory and work of an image are not, since its operators are
// unknown here. It is C++ in this process. Damage that was found to crash it is detected
// first (checkEmpty, mustBePositive in outline.go); of randomly damaged files that pass,
// about one in 300,000 still crashed version 1.22. With Auto it only gets what plain Go
// has read and accepted; request it by name only for files from a trusted source.
//
// Why plain Go is fast: a convolution is a matrix product, computed by dot products over
// channels or, if there are few channels, by row additions over pixels (BLAS's dot and
// axpy). A depthwise 3×3 convolution is nine row additions per channel. Batch
// normalisation and clipping are folded into the preceding convolution. One image uses
// one core; several goroutines may share a Model.
package network

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/network/onnxruntime"
)

// Limits bound the resources that a model file may use. Zero fields stand for those of
// DefaultLimits.
type Limits struct {
	FileBytes int64 // size of the file
	Nodes     int   // operators in the graph
	Elements  int   // elements of one tensor
	Memory    int64 // bytes: of the weights, and separately of the scratch for one image
	Work      int64 // multiply-adds per image
}

// DefaultLimits allow the largest common convolutional networks, with at most a few
// seconds per image.
var DefaultLimits = Limits{FileBytes: 1 << 29, Nodes: 10_000, Elements: 1 << 27, Memory: 1 << 30, Work: 1 << 35}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	if l.FileBytes > 0 {
		d.FileBytes = l.FileBytes
	}
	if l.Nodes > 0 {
		d.Nodes = l.Nodes
	}
	if l.Elements > 0 {
		d.Elements = l.Elements
	}
	if l.Memory > 0 {
		d.Memory = l.Memory
	}
	if l.Work > 0 {
		d.Work = l.Work
	}
	return d
}

// Options say how to read a model.
type Options struct {
	Limits Limits
	// Embedding names the tensor that Embed returns: an output, or any other tensor of
	// the graph. Empty means "embedding" if there is one, else the input of the last Gemm
	// or MatMul (what the classifier sees), else the only output.
	Embedding string
	// Side is the height and width of the input if the model leaves them open; 0 means 224.
	Side int
	// Library is ONNX Runtime's library file; see onnxruntime.Open for the default. Only
	// LoadWith uses it.
	Library string
}

// fileInfo is what every runtime knows fileInfo a file.
type fileInfo struct {
	digest        [sha256.Size]byte
	metadata      map[string]string
	height, width int
}

func newAbout(data []byte, proto *modelProto, image *value) fileInfo {
	return fileInfo{sha256.Sum256(data), proto.metadata, image.shape[2], image.shape[3]}
}

// A Model is a network ready to run in plain Go. It is safe for concurrent use.
type Model struct {
	fileInfo
	plan      *plan
	outputs   []*value
	embedding *value
	scratch   sync.Pool
}

func readFile(path string, limits Limits) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading network: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading network %s: %w: not a regular file", path, cpar.ErrInput)
	}
	// Read one byte beyond the limit, for check to notice.
	data, err := io.ReadAll(io.LimitReader(f, limits.orDefault().FileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading network: %w: %w", cpar.ErrInput, err)
	}
	return data, nil
}

// Load reads an ONNX file's bytes, which it does not keep, to run in plain Go. Errors
// wrap cpar.ErrInput.
func Load(data []byte, options Options) (*Model, error) {
	m, err := load(data, options)
	if err != nil {
		return nil, errLoading(err)
	}
	return m, nil
}

func errLoading(err error) error {
	if errors.Is(err, cpar.ErrInput) { // such as those of package onnxruntime
		return fmt.Errorf("loading network: %w", err)
	}
	return fmt.Errorf("loading network: %w: %w", cpar.ErrInput, err)
}

// unsupported is an error that concerns only plain Go.
func unsupported(format string, args ...any) error {
	return hint.Add(fmt.Errorf(format, args...), "if you trust the file, ONNX Runtime may be able to run it: install that or name its library in %s, and ask for the runtime %s", onnxruntime.Variable, ONNXRuntime)
}

// check checks a file and the options against the limits, which it returns.
func (o Options) check(data []byte) (Limits, error) {
	limits := o.Limits.orDefault()
	if int64(len(data)) > limits.FileBytes {
		return limits, fmt.Errorf("a file of more than the %d bytes accepted", limits.FileBytes)
	}
	if o.Side < 0 || o.Side > maxSide {
		return limits, fmt.Errorf("a side of %d pixels; it must lie between 1 and %d", o.Side, maxSide)
	}
	return limits, nil
}

func newBuilder(limits Limits, proto *modelProto, options Options) *builder {
	b := &builder{limits: limits, opset: proto.opset, side: options.Side}
	if b.side == 0 {
		b.side = 224
	}
	return b
}

func load(data []byte, options Options) (*Model, error) {
	limits, err := options.check(data)
	if err != nil {
		return nil, err
	}
	d := &decoder{limits: limits}
	proto, err := d.model(data)
	if err != nil {
		return nil, err
	}
	b := newBuilder(limits, proto, options)
	b.bytes = d.bytes
	if err := b.compile(proto.graph, options.Embedding); err != nil {
		return nil, err
	}
	m := &Model{fileInfo: newAbout(data, proto, b.image), outputs: b.outputs, embedding: b.embedding}
	if m.plan, err = newPlan(b); err != nil {
		return nil, err
	}
	return m, nil
}

// Digest returns the SHA-256 of the model file.
func (a *fileInfo) Digest() [sha256.Size]byte { return a.digest }

// String names the model by its digest.
func (a *fileInfo) String() string { return "network " + hex.EncodeToString(a.digest[:8]) }

// Size returns the height and width of the image that the network takes.
func (a *fileInfo) Size() (height, width int) { return a.height, a.width }

// Metadata returns a copy of the file's metadata.
func (a *fileInfo) Metadata() map[string]string { return maps.Clone(a.metadata) }

// Runtime returns Go.
func (m *Model) Runtime() string { return Go }

// Close does nothing: there is nothing to free.
func (m *Model) Close() error { return nil }

// Embedding returns the name and length of what Embed returns.
func (m *Model) Embedding() (name string, dim int) {
	return m.embedding.name, count(m.embedding.shape)
}

// Outputs returns the names of the network's outputs with their shapes.
func (m *Model) Outputs() map[string][]int {
	shapes := map[string][]int{}
	for _, v := range m.outputs {
		shapes[v.name] = slices.Clone(v.shape)
	}
	return shapes
}

// Run computes every output for one image, 3·H·W values in the order channel, row,
// column. The caller owns the results. Errors wrap cpar.ErrInput.
func (m *Model) Run(image []float32) (map[string][]float32, error) {
	results, err := m.run(image, m.outputs, false)
	if err != nil {
		return nil, err
	}
	named := map[string][]float32{}
	for i, v := range m.outputs {
		named[v.name] = results[i]
	}
	return named, nil
}

// Embed computes only the embedding of one image (see Run).
func (m *Model) Embed(image []float32) ([]float32, error) {
	results, err := m.run(image, []*value{m.embedding}, true)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

var errNotFinite = errors.New("the network computed a value that is not a finite number; check its preprocessing, or the file")

// checkImage refuses an image of the wrong size or with non-finite values.
func (a *fileInfo) checkImage(image []float32) error {
	if len(image) != 3*a.height*a.width {
		return fmt.Errorf("running network: %w: an image of %d values, the network takes 3×%d×%d", cpar.ErrInput, len(image), a.height, a.width)
	}
	if !finite(image) {
		return fmt.Errorf("running network: %w: the image holds a value that is not a finite number", cpar.ErrInput)
	}
	return nil
}

func (m *Model) run(image []float32, wanted []*value, embedding bool) ([][]float32, error) {
	if err := m.checkImage(image); err != nil {
		return nil, err
	}
	arena, _ := m.scratch.Get().(*arena)
	if arena == nil {
		arena = m.plan.newArena()
	}
	defer m.scratch.Put(arena)
	m.plan.run(arena, image, embedding)
	results := make([][]float32, len(wanted))
	for i, v := range wanted {
		results[i] = slices.Clone(arena.of(v, image))
		if !finite(results[i]) {
			return nil, fmt.Errorf("running network: %w: %w", cpar.ErrInput, errNotFinite)
		}
	}
	return results, nil
}
