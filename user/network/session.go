package network

import (
	"fmt"

	"cpar"
	"cpar/user/network/onnxruntime"
)

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
		data = withOutput(data, o.embedding)
	}
	shape := make([]int64, len(o.image.shape))
	for i, d := range o.image.shape {
		shape[i] = int64(d)
	}
	session, err := library.Load(data, o.image.name, shape, o.embedding)
	if err != nil {
		return nil, err
	}
	s := &Session{fileInfo: o.fileInfo, session: session, library: library, name: o.embedding}
	// The length may depend on open sizes and unknown operators: run it once on an image of zeros.
	embedding, err := session.Run(make([]float32, 3*s.height*s.width))
	if s.dim = len(embedding); err == nil && (s.dim == 0 || s.dim > options.Limits.orDefault().Elements) {
		err = fmt.Errorf("its embedding %.80q has %d elements; 1 to %d are accepted", s.name, s.dim, options.Limits.orDefault().Elements)
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
