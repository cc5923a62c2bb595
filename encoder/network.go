// Package network runs an image network from an ONNX file, in plain Go or in ONNX
// Runtime.
//
//	model.onnx, files beside it ─▶ Open ─▶ Encoder ─┐
//	photo ──────────────────────────────────────────┴▶ Embed ─▶ embedding, d float32
//
// Its rooms: package onnx reads files, prepare makes the input from a picture, engine
// computes in plain Go, onnxruntime calls ONNX Runtime. What is here is the front door:
// which input is the image (input.go), which tensor the embedding (choose.go), whether it
// makes sense (trial.go), and which runtime computes it.
//
// Plain Go needs nothing installed, and is the default. Networks of which it lacks an
// operator, and those of 8-bit integers, are left to ONNX Runtime, a C++ library that the
// user may have: it runs nearly every ONNX file, and faster. Both choose the same tensor
// of a file, and their values agree within 1e-4·(1+|value|), but not bit for bit: sums are
// taken in different orders. The same holds between releases of ONNX Runtime and between
// processors. One build of one runtime on one processor gives the same bits for the same
// image each time.
//
// A model file comes from strangers. All shapes are determined during loading. Sizes,
// work and memory are checked against Limits before anything is allocated for them, and
// running what was accepted allocates no more than what was counted. Files that a model
// names are read by this program, from the model's own folder only; no runtime reads any.
//
// ONNX Runtime deserves less trust, and runs only for who asks for it: by name, or by
// naming its library in CPAR_ONNXRUNTIME. It gets what package onnx has written anew from
// the parts that the embedding needs (onnx.Extract): one graph, one input, one output, no
// other files. The file's size, nodes and weights are checked against Limits, but the
// memory and work of an image are not, since its operators are unknown here. It is C++ in
// this process. Damage that was found to crash it is refused first; of randomly damaged
// files that pass, about one in 300,000 still crashed version 1.22. Ask for it only with
// files from a source that you trust.
package encoder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cpar"
	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

// Limits bound the resources that a model file may use. Zero fields stand for those of
// DefaultLimits.
type Limits = onnx.Limits

// DefaultLimits allow the usual image networks, up to CLIP ViT-L.
var DefaultLimits = onnx.DefaultLimits

// Options say how to read a model.
type Options struct {
	Limits Limits
	// Embedding names the tensor that Embed returns: an output, or any other tensor of
	// the graph. Empty means the one that choose finds.
	Embedding string
	// Pool says how tokens become one vector: PoolClass or PoolMean. Empty means the
	// class token if there is one, else the mean.
	Pool string
	// Side is the height and width of the input if the model leaves them open.
	Side int
	// Library is ONNX Runtime's library file; see onnxruntime.Open for the default.
	Library string
}

// fileInfo is what every runtime knows about a file.
type fileInfo struct {
	digest   [sha256.Size]byte
	metadata map[string]string
	input    imageInput
	choice   Choice
	pooling  pooling
}

// Digest returns the SHA-256 of the model file (onnx.File.Digest, if there are others).
func (a *fileInfo) Digest() [sha256.Size]byte { return a.digest }

// String names the model by its digest.
func (a *fileInfo) String() string { return "network " + hex.EncodeToString(a.digest[:8]) }

// Size returns the height and width of the image that the network takes.
func (a *fileInfo) Size() (height, width int) { return a.input.height, a.input.width }

// Metadata returns a copy of the file's metadata.
func (a *fileInfo) Metadata() map[string]string { return maps.Clone(a.metadata) }

// Choice returns which tensor Embed returns.
func (a *fileInfo) Choice() Choice { return a.choice }

// A source is a model that has been read, before its runtime is started.
type parsedModel struct {
	fileInfo
	model  *onnx.Model
	nodes  []*onnx.Node // sorted
	limits Limits
}

// read reads a model's structure. Its data are read while a runtime is started.
func read(data []byte, runtime string, options Options, external func(string) ([]byte, error)) (*parsedModel, error) {
	if options.Side < 0 || options.Side > maxSide {
		return nil, fmt.Errorf("a side of %d pixels; it must lie between 1 and %d", options.Side, maxSide)
	}
	s := &parsedModel{limits: options.Limits.OrDefault()}
	var err error
	if runtime == Go {
		s.model, err = onnx.Read(data, s.limits, external)
	} else {
		s.model, err = onnx.ReadOutline(data, s.limits, external)
	}
	if err != nil {
		return nil, err
	}
	s.metadata = s.model.Metadata
	if s.input, err = findInput(s.model.Graph); err != nil {
		return nil, err
	}
	known := map[string]bool{s.input.name: true}
	for _, name := range s.input.others {
		known[name] = true
	}
	for _, t := range s.model.Graph.Constants {
		known[t.Name] = true
	}
	s.nodes, err = onnx.Sort(s.model.Graph.Nodes, func(name string) bool { return known[name] })
	if err != nil {
		return nil, err
	}
	for _, n := range s.nodes {
		for _, name := range n.Out {
			known[name] = true
		}
	}
	for _, o := range s.model.Graph.Outputs {
		if !known[o.Name] {
			return nil, fmt.Errorf("its output %.80q is made by nothing", o.Name)
		}
	}
	return s, nil
}

// start makes the runtime, for images of a side if the file leaves it open.
func (s *parsedModel) start(runtime string, options Options, side int) (Embedder, error) {
	if s.input.isOpen() {
		if side == 0 {
			return nil, hint.Add(errors.New("it leaves the size of its pictures open, and nothing says which it was trained for"),
				"pass --side N, in pixels (224 is the most usual), or put the configuration file that came with it beside it, or name that with --preprocessing")
		}
		s.input = s.input.sized(side, side)
	}
	var e Embedder
	var err error
	if runtime == Go {
		e, err = startGo(s, options)
	} else {
		e, err = startSession(s, options)
	}
	if err != nil {
		return nil, s.advise(err) // not a nil *Model, which would be an Embedder
	}
	return e, nil
}

// advise says of a network of 8-bit integers what runs it.
func (s *parsedModel) advise(err error) error {
	unsupported := (*onnx.UnsupportedError)(nil)
	if !errors.As(err, &unsupported) || !slices.ContainsFunc(s.nodes, func(n *onnx.Node) bool { return isQuantised(n.Op) }) {
		return err
	}
	return hint.Add(err, "it is a network of 8-bit integers, which ONNX Runtime runs (C++ in this process; ask for the runtime %s if you trust the file); or take the one in single or half precision", ONNXRuntime)
}

// isQuantised reports whether an operator computes with 8-bit integers.
func isQuantised(op string) bool {
	return strings.Contains(op, "QuantizeLinear") || strings.Contains(op, "QLinear") || strings.HasSuffix(op, "Integer")
}

// chooser returns what determines the embedding. shape tells the shapes of tensors that
// the file does not declare.
func (s *parsedModel) chooser(shape func(name string) ([]int, error)) *chooser {
	c := newChooser(s.nodes, s.model.Graph.Outputs, s.input.name, s.input.others)
	c.height, c.width, c.shape = s.input.height, s.input.width, shape
	return c
}

// choose determines the embedding and how it is pooled.
func (s *parsedModel) choose(c *chooser, options Options) error {
	choice, err := c.choose(options.Embedding, options.Pool)
	if err != nil {
		return err
	}
	p, err := poolingOf(choice.Shape, choice.Name, choice.Pool, s.input.height, s.input.width)
	s.choice, s.pooling = choice, p
	return err
}

// declared returns the shape of an output for one image as far as the file tells; −1 where
// it does not.
func (s *parsedModel) declared(name string) []int {
	for _, o := range s.model.Graph.Outputs {
		if o.Name == name && o.HasShape {
			dims := append([]int(nil), o.Dims...)
			if len(dims) > 0 && dims[0] == -1 {
				dims[0] = 1
			}
			return dims
		}
	}
	return nil
}

// agrees compares the shape of a tensor with what the file says of an output of that name.
func (s *parsedModel) agrees(name string, shape []int) error {
	declared := s.declared(name)
	agrees := len(declared) == 0 || len(declared) == len(shape)
	for i := 0; agrees && i < len(declared); i++ {
		agrees = declared[i] == -1 || declared[i] == shape[i]
	}
	if !agrees {
		return fmt.Errorf("its output %.80q has shape %s where the file says %s", name, formatShape(shape), formatDims(declared))
	}
	return nil
}

// A Model is a network ready to run in plain Go. It is safe for concurrent use.
type Model struct {
	fileInfo
	program *engine.Program
}

// errUnknownShape is a tensor whose shape is not known.
type errUnknownShape struct{ name string }

func (e errUnknownShape) Error() string {
	return fmt.Sprintf("the shape of %.80q is not known", e.name)
}

func startGo(s *parsedModel, options Options) (*Model, error) {
	choose := func(shape func(string) ([]int, bool)) ([]string, error) {
		c := s.chooser(func(name string) ([]int, error) {
			if dims, ok := shape(name); ok {
				return dims, s.agrees(name, dims)
			}
			return nil, errUnknownShape{name}
		})
		err := s.choose(c, options)
		if unknown := (errUnknownShape{}); errors.As(err, &unknown) {
			return []string{unknown.name}, nil // Compile says why
		}
		return []string{s.choice.Name}, err
	}
	program, err := engine.Compile(s.model, engine.Options{Limits: s.limits, Inputs: map[string][]int{s.input.name: s.input.shape()}, Choose: choose})
	if err != nil {
		return nil, err
	}
	return &Model{s.fileInfo, program}, nil
}

// Runtime returns Go.
func (m *Model) Runtime() string { return Go }

// Close does nothing: there is nothing to free.
func (m *Model) Close() error { return nil }

var errNotFinite = errors.New("the network computed a value that is not a finite number; check its preprocessing, or the file")

// Embed computes the embedding of one image, 3·H·W values in the order channel, row,
// column. The caller owns the result. Errors wrap cpar.ErrInput.
func (m *Model) Embed(image []float32) ([]float32, error) {
	embedding, err := m.embed(image)
	if err != nil {
		return nil, fmt.Errorf("running network: %w: %w", cpar.ErrInput, err)
	}
	return embedding, nil
}

func (m *Model) embed(image []float32) ([]float32, error) {
	if err := m.input.check(image); err != nil {
		return nil, err
	}
	results, err := m.program.Run(map[string][]float32{m.input.name: m.input.arranged(image)}, []string{m.choice.Name})
	if err != nil {
		return nil, err
	}
	return m.finish(results[m.choice.Name])
}

// finish pools the values of the chosen tensor and checks them.
func (a *fileInfo) finish(values []float32) ([]float32, error) {
	embedding, err := a.pooling.apply(values)
	if err == nil && !finite(embedding) {
		err = errNotFinite
	}
	return embedding, err
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
