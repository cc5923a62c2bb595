package encoder

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

// Limits bound the resources that a model file may use. Zero fields take the
// values of DefaultLimits.
type Limits = onnx.Limits

// DefaultLimits admit common image networks up to the size of CLIP ViT-L.
var DefaultLimits = onnx.DefaultLimits

type Options struct {
	Limits Limits
	// Embedding names the tensor that Embed returns. It need not be an output.
	// If it is empty, cpar chooses a tensor by the graph's names and structure.
	Embedding string
	// Pool is the pooling of tokens: PoolClass or PoolMean. If it is empty, the
	// embedding is the class token if there is one, otherwise the mean of all
	// tokens.
	Pool string
	// Side is the input's side in pixels if the model leaves it open.
	Side int
	// Library is the path of ONNX Runtime's library. The documentation of
	// onnxruntime.Open describes the default.
	Library string
}

// A fileInfo holds the facts about a file that all runtimes share.
type fileInfo struct {
	digest   [sha256.Size]byte
	metadata map[string]string
	input    imageInput
	choice   Choice
	pooling  pooling
}

// Digest returns the SHA-256 of the model file. If the model names other files,
// their digests are included (onnx.File.Digest).
func (a *fileInfo) Digest() [sha256.Size]byte { return a.digest }

func (a *fileInfo) Size() (height, width int) { return a.input.height, a.input.width }

func (a *fileInfo) Choice() Choice { return a.choice }

// A parsedModel is a model that has not been loaded into a runtime.
type parsedModel struct {
	fileInfo
	model  *onnx.Model
	nodes  []*onnx.Node // sorted by dependency
	limits Limits
}

// read parses a model's structure. The weights are decoded later, when a
// runtime starts.
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
	known := map[string]bool{}
	for _, in := range s.model.Graph.Inputs {
		known[in.Name] = true
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
			return nil, fmt.Errorf("its output %.80q is produced by no node", o.Name)
		}
	}
	return s, nil
}

// start loads the model into a runtime. `side` is the image's side if the file
// leaves it open.
func (s *parsedModel) start(runtime string, options Options, side int) (Embedder, error) {
	if s.input.isOpen() {
		if side == 0 {
			return nil, hint.Add(errors.New("it leaves the size of its images open, and no configuration states it"),
				"pass --side N, in pixels (usually 224), or put the configuration file that came with the model beside it, or name that file with --preprocessing")
		}
		s.input = s.input.sized(side, side)
	}
	// Recognise the network before compiling its operators, because its purpose
	// is a better reason for refusal than a missing operator.
	if options.Embedding == "" {
		if err := s.chooser(nil).otherPurpose(s.declared); err != nil {
			return nil, err
		}
	}
	var e Embedder
	var err error
	if runtime == Go {
		e, err = startGo(s, options)
	} else {
		e, err = startSession(s, options)
	}
	if err != nil {
		return nil, s.advise(err) // avoids a nil *Model in a non-nil Embedder
	}
	return e, nil
}

func (s *parsedModel) advise(err error) error {
	unsupported := (*onnx.UnsupportedError)(nil)
	if !errors.As(err, &unsupported) || !slices.ContainsFunc(s.nodes, func(n *onnx.Node) bool {
		return strings.Contains(n.Op, "QuantizeLinear") || strings.Contains(n.Op, "QLinear") || strings.HasSuffix(n.Op, "Integer")
	}) {
		return err
	}
	return hint.Add(err, "the network computes with 8-bit integers, which ONNX Runtime supports (C++ in this process; select the runtime %s if you trust the file); or use the network in single or half precision", ONNXRuntime)
}

// chooser returns a chooser for the model. `shape` is a function that returns
// the shape of a tensor for one image.
func (s *parsedModel) chooser(shape func(name string) ([]int, error)) *chooser {
	c := newChooser(s.nodes, s.model.Graph.Outputs, s.input.name, s.input.others)
	c.height, c.width, c.shape = s.input.height, s.input.width, shape
	return c
}

func (s *parsedModel) choose(c *chooser, options Options) error {
	choice, err := c.choose(options.Embedding, options.Pool)
	if err != nil {
		return err
	}
	p, err := poolingOf(choice.Shape, choice.Name, choice.Pool, s.input.height, s.input.width)
	s.choice, s.pooling = choice, p
	return err
}

// declared returns the shape that the file declares for an output, or nil. An
// open batch size becomes 1, and other open dimensions are −1.
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

func (s *parsedModel) agrees(name string, shape []int) error {
	declared := s.declared(name)
	if !(onnx.ValueInfo{Dims: declared, HasShape: len(declared) > 0}).Fits(shape) {
		return fmt.Errorf("its output %.80q has shape %s where the file says %s", name, formatDims(shape), formatDims(declared))
	}
	return nil
}
