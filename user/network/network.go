// Package network runs an image network from an ONNX file, in plain Go.
//
//	model.onnx ─▶ Load ─▶ Model ─┐
//	photo ─▶ Preprocessing.Tensor ┴▶ Embed ─▶ embedding, d float32
//	          1×3×H×W float32         Run  ─▶ every output by name
//
// It is the runtime of the profile `network` that needs nothing installed. It
// covers the operators of the usual convolutional networks (MobileNet, ResNet,
// EfficientNet: see operators in compile.go) on one image at a time, in
// float32, and refuses every other operator, and every attribute it does not
// know, by name: a network computed almost rightly would give vectors that
// look like vectors. The meaning of each operator is that of the ONNX operator
// specification, opsets 7 to 25 (github.com/onnx/onnx, docs/Operators.md).
//
// A model file comes from strangers. All shapes are settled while it is
// loaded; sizes, work and memory are held against Limits before anything is
// allocated for them, and what Load accepts runs without further allocation
// than the scratch it has counted.
//
// How it is fast: a convolution is a product of matrices, made of scalar
// products over channels or, where those are few, of row additions over pixels
// (BLAS' dot and axpy); a depthwise one of 3×3 is nine row additions a channel;
// batch normalisation and clipping are folded into the convolution before them.
// One image uses one core; several goroutines may use one Model.
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
)

// Limits bound what a model file may ask of the machine. A zero field stands
// for that of DefaultLimits.
type Limits struct {
	FileBytes int64 // size of the file
	Nodes     int   // operators in the graph
	Elements  int   // of one tensor
	Memory    int64 // bytes: the weights, and apart from them the scratch of one image
	Work      int64 // multiply-adds of one image
}

// DefaultLimits has room for the largest common convolutional networks and
// takes at most a few seconds an image.
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

// Options say how a model is to be read.
type Options struct {
	Limits Limits
	// Embedding names the tensor that Embed returns: an output, or any other
	// tensor of the graph. Empty means "embedding" if there is one, else the
	// input of the last Gemm or MatMul (what the classifier sees), else the
	// only output.
	Embedding string
	// Side is the height and width of the input where the model leaves them
	// open; 0 means 224.
	Side int
}

// A Model is a network ready to run. It may be used by many goroutines.
type Model struct {
	digest        [sha256.Size]byte
	metadata      map[string]string
	height, width int
	plan          *plan
	outputs       []*value
	embedding     *value
	scratch       sync.Pool
}

// Open reads a model file.
func Open(path string, options Options) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading network: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading network %s: %w: not a regular file", path, cpar.ErrInput)
	}
	m, err := Read(f, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Read is Load on all that r gives.
func Read(r io.Reader, options Options) (*Model, error) {
	limit := options.Limits.orDefault().FileBytes
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading network: %w: %w", cpar.ErrInput, err)
	}
	return Load(data, options)
}

// Load reads an ONNX file's bytes. It keeps none of them.
func Load(data []byte, options Options) (*Model, error) {
	m, err := load(data, options)
	if err != nil {
		return nil, fmt.Errorf("loading network: %w: %w", cpar.ErrInput, err)
	}
	return m, nil
}

func load(data []byte, options Options) (*Model, error) {
	limits := options.Limits.orDefault()
	if int64(len(data)) > limits.FileBytes {
		return nil, fmt.Errorf("a file of more than the %d bytes accepted", limits.FileBytes)
	}
	if options.Side < 0 || options.Side > maxSide {
		return nil, fmt.Errorf("a side of %d pixels; it must lie between 1 and %d", options.Side, maxSide)
	}
	d := &decoder{limits: limits}
	proto, err := d.model(data)
	if err != nil {
		return nil, err
	}
	b := &builder{limits: limits, opset: proto.opset, side: options.Side, bytes: d.bytes}
	if b.side == 0 {
		b.side = 224
	}
	if err := b.compile(proto.graph, options.Embedding); err != nil {
		return nil, err
	}
	m := &Model{
		digest: sha256.Sum256(data), metadata: proto.metadata,
		height: b.image.shape[2], width: b.image.shape[3],
		outputs: b.outputs, embedding: b.embedding,
	}
	if m.plan, err = newPlan(b); err != nil {
		return nil, err
	}
	return m, nil
}

// Digest is the SHA-256 of the model file.
func (m *Model) Digest() [sha256.Size]byte { return m.digest }

// String names the model by its digest.
func (m *Model) String() string { return "network " + hex.EncodeToString(m.digest[:8]) }

// Size returns the height and width of the image that the network takes.
func (m *Model) Size() (height, width int) { return m.height, m.width }

// Metadata returns a copy of the file's metadata.
func (m *Model) Metadata() map[string]string { return maps.Clone(m.metadata) }

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

// Run computes every output for one image, 3·H·W values in the order of
// channel, row, column. The caller owns what it gets.
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

// Embed computes the embedding of one image (see Run) and nothing beyond it.
func (m *Model) Embed(image []float32) ([]float32, error) {
	results, err := m.run(image, []*value{m.embedding}, true)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

var errNotFinite = errors.New("the network gave a value that is not a finite number; check its preprocessing, or the file")

func (m *Model) run(image []float32, wanted []*value, embedding bool) ([][]float32, error) {
	if len(image) != 3*m.height*m.width {
		return nil, fmt.Errorf("running network: %w: an image of %d values, the network takes 3×%d×%d", cpar.ErrInput, len(image), m.height, m.width)
	}
	if !finite(image) {
		return nil, fmt.Errorf("running network: %w: the image holds a value that is not a finite number", cpar.ErrInput)
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
