// Package network runs an image network from an ONNX file, in plain Go or in
// ONNX Runtime.
//
//	model.onnx ─▶ LoadWith ─▶ Embedder ─┐
//	photo ─▶ prepare.Preprocessing ─────┴▶ Embed ─▶ embedding, d float32
//	          1×3×H×W float32
//
// There are two runtimes, and LoadWith chooses one. Plain Go (Load, Model) needs nothing
// installed. It covers the operators of the usual convolutional networks (MobileNet,
// ResNet, EfficientNet: see operators in package engine) on one image at a time, in float32.
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
// first (checkEmpty, mustBePositive in package onnx); of randomly damaged files that pass,
// about one in 300,000 still crashed version 1.22. With Auto it only gets what plain Go
// has read and accepted; request it by name only for files from a trusted source.
package network

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/network/engine"
	"cpar/user/network/onnx"
	"cpar/user/network/onnxruntime"
	"cpar/user/network/prepare"
)

const (
	maxSide        = 4096 // of an image
	usualEmbedding = "embedding"
)

// Limits bound the resources that a model file may use. Zero fields stand for those of
// DefaultLimits.
type Limits = onnx.Limits

// DefaultLimits allow the largest common convolutional networks, with at most a few
// seconds per image.
var DefaultLimits = onnx.DefaultLimits

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

// fileInfo is what every runtime knows about a file.
type fileInfo struct {
	digest        [sha256.Size]byte
	metadata      map[string]string
	input         string // name
	height, width int
}

func newInfo(data []byte, m *onnx.Model, input string, shape []int) fileInfo {
	return fileInfo{sha256.Sum256(data), m.Metadata, input, shape[2], shape[3]}
}

// A Model is a network ready to run in plain Go. It is safe for concurrent use.
type Model struct {
	fileInfo
	program   *engine.Program
	outputs   []string
	embedding string
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
	data, err := io.ReadAll(io.LimitReader(f, limits.OrDefault().FileBytes+1))
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
	if unsupported := (*onnx.UnsupportedError)(nil); errors.As(err, &unsupported) {
		err = hint.Add(err, "if you trust the file, ONNX Runtime may be able to run it: install that or name its library in %s, and ask for the runtime %s", onnxruntime.Variable, ONNXRuntime)
	}
	if errors.Is(err, cpar.ErrInput) { // such as those of package onnxruntime
		return fmt.Errorf("loading network: %w", err)
	}
	return fmt.Errorf("loading network: %w: %w", cpar.ErrInput, err)
}

// check checks the options.
func (o Options) check() error {
	if o.Side < 0 || o.Side > maxSide {
		return fmt.Errorf("a side of %d pixels; it must lie between 1 and %d", o.Side, maxSide)
	}
	return nil
}

func load(data []byte, options Options) (*Model, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	file, err := onnx.Read(data, options.Limits, nil)
	if err != nil {
		return nil, err
	}
	input, shape, err := findImage(file.Graph, options.Side)
	if err != nil {
		return nil, err
	}
	m := &Model{fileInfo: newInfo(data, file, input, shape)}
	for _, o := range file.Graph.Outputs {
		m.outputs = append(m.outputs, o.Name)
	}
	m.program, err = engine.Compile(file, engine.Options{
		Limits: options.Limits, Inputs: map[string][]int{input: shape}, Wanted: m.outputs,
		Choose: func(func(string) ([]int, bool)) ([]string, error) {
			nodes, err := sorted(file.Graph)
			if err == nil {
				m.embedding, err = chooseEmbedding(options.Embedding, input, nodes, file.Graph)
			}
			return []string{m.embedding}, err
		},
	})
	if err != nil {
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

// Preprocessing returns the preprocessing in the file's metadata, if there is any.
func (a *fileInfo) Preprocessing() (p prepare.Preprocessing, ok bool, err error) {
	return prepare.FromMetadata(a.metadata, a.height, a.width)
}

// Runtime returns Go.
func (m *Model) Runtime() string { return Go }

// Close does nothing: there is nothing to free.
func (m *Model) Close() error { return nil }

// Embedding returns the name and length of what Embed returns.
func (m *Model) Embedding() (name string, dim int) {
	shape, _ := m.program.Shape(m.embedding)
	dim = 1
	for _, d := range shape {
		dim *= d
	}
	return m.embedding, dim
}

// Outputs returns the names of the network's outputs with their shapes.
func (m *Model) Outputs() map[string][]int {
	shapes := map[string][]int{}
	for _, name := range m.outputs {
		shapes[name], _ = m.program.Shape(name)
	}
	return shapes
}

// Run computes every output for one image, 3·H·W values in the order channel, row,
// column. The caller owns the results. Errors wrap cpar.ErrInput.
func (m *Model) Run(image []float32) (map[string][]float32, error) {
	return m.run(image, m.outputs)
}

// Embed computes only the embedding of one image (see Run).
func (m *Model) Embed(image []float32) ([]float32, error) {
	results, err := m.run(image, []string{m.embedding})
	if err != nil {
		return nil, err
	}
	return results[m.embedding], nil
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

func (m *Model) run(image []float32, wanted []string) (map[string][]float32, error) {
	if err := m.checkImage(image); err != nil {
		return nil, err
	}
	results, err := m.program.Run(map[string][]float32{m.input: image}, wanted)
	if err != nil {
		return nil, fmt.Errorf("running network: %w: %w", cpar.ErrInput, err)
	}
	for _, result := range results {
		if !finite(result) {
			return nil, fmt.Errorf("running network: %w: %w", cpar.ErrInput, errNotFinite)
		}
	}
	return results, nil
}

// finite reports whether no value is infinite or NaN.
func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}
