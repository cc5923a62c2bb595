package network

import (
	"fmt"

	"cpar"
	"cpar/user/network/onnx"
	"cpar/user/network/onnxruntime"
)

// An outline describes a file that ONNX Runtime is to run.
type outline struct {
	fileInfo
	shape     []int // of the image
	embedding string
	isOutput  bool // whether the embedding is already an output of the graph
}

func readOutline(data []byte, options Options) (*outline, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	file, err := onnx.ReadOutline(data, options.Limits, nil)
	if err != nil {
		return nil, err
	}
	input, shape, err := findImage(file.Graph, options.Side)
	if err != nil {
		return nil, err
	}
	nodes, err := sorted(file.Graph)
	if err != nil {
		return nil, err
	}
	name, err := chooseEmbedding(options.Embedding, input, nodes, file.Graph)
	if err != nil {
		return nil, err
	}
	o := &outline{fileInfo: newInfo(data, file, input, shape), shape: shape, embedding: name}
	for _, out := range file.Graph.Outputs {
		o.isOutput = o.isOutput || out.Name == name
	}
	return o, nil
}

// A Session is a network ready to run in ONNX Runtime.
type Session struct {
	fileInfo
	session *onnxruntime.Session
	library *onnxruntime.Library
	name    string // name of the embedding
	dim     int
}

func newSession(library *onnxruntime.Library, o *outline, data []byte, options Options) (*Session, error) {
	if !o.isOutput {
		data = onnx.WithOutput(data, o.embedding)
	}
	shape := make([]int64, len(o.shape))
	for i, d := range o.shape {
		shape[i] = int64(d)
	}
	session, err := library.Load(data, o.input, shape, o.embedding)
	if err != nil {
		return nil, err
	}
	s := &Session{fileInfo: o.fileInfo, session: session, library: library, name: o.embedding}
	// The length may depend on open sizes and unknown operators: run it once on an image of zeros.
	embedding, err := session.Run(make([]float32, 3*s.height*s.width))
	if s.dim = len(embedding); err == nil && (s.dim == 0 || s.dim > options.Limits.OrDefault().Elements) {
		err = fmt.Errorf("its embedding %.80q has %d elements; 1 to %d are accepted", s.name, s.dim, options.Limits.OrDefault().Elements)
	}
	if err != nil {
		session.Close()
		return nil, fmt.Errorf("trying it on an image of zeros: %w", err)
	}
	return s, nil
}

// Embed computes the embedding of one image (see Embedder).
func (s *Session) Embed(image []float32) ([]float32, error) {
	if err := s.checkImage(image); err != nil {
		return nil, err
	}
	embedding, err := s.session.Run(image)
	switch {
	case err != nil:
	case len(embedding) != s.dim:
		err = fmt.Errorf("%w: the embedding has %d values, before it had %d", cpar.ErrInput, len(embedding), s.dim)
	case !finite(embedding):
		err = fmt.Errorf("%w: %w", cpar.ErrInput, errNotFinite)
	default:
		return embedding, nil
	}
	return nil, fmt.Errorf("running network: %w", err)
}

// Embedding returns the name and length of what Embed returns.
func (s *Session) Embedding() (name string, dim int) { return s.name, s.dim }

// Runtime returns ONNXRuntime.
func (s *Session) Runtime() string { return ONNXRuntime }

// String names the model by its digest, and the library.
func (s *Session) String() string { return s.fileInfo.String() + " in " + s.library.String() }

// Close frees the network after running calls. Later ones fail.
func (s *Session) Close() error { return s.session.Close() }
