package encoder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
