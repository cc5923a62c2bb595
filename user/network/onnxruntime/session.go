package onnxruntime

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"cpar"
)

// A Session is a model ready to run, from one input tensor to one output tensor, both
// float32. It is safe for concurrent use; each run takes one core.
type Session struct {
	library *Library
	input   []byte // name, ending in 0
	output  []byte
	shape   []int64 // shape of the input
	cleanup runtime.Cleanup

	mu     sync.RWMutex // held for reading by a run, for writing by Close
	handle uintptr      // OrtSession; 0 once it is closed
}

// Load creates a session from an ONNX file's bytes, which it does not keep. input and
// output name tensors of the graph; shape is that of the input, fixed here if the file
// leaves it open. The caller must ensure that data names no other file: ONNX Runtime
// would read it. Errors wrap cpar.ErrInput.
func (l *Library) Load(data []byte, input string, shape []int64, output string) (*Session, error) {
	handle, err := l.newSession(data, input, shape, output)
	if err != nil {
		return nil, fmt.Errorf("making a session of ONNX Runtime %s: %w: %w", l.version, cpar.ErrInput, err)
	}
	s := &Session{
		library: l, handle: handle, shape: slices.Clone(shape),
		input: append([]byte(input), 0), output: append([]byte(output), 0),
	}
	// For a session dropped without Close.
	s.cleanup = runtime.AddCleanup(s, l.free, handle)
	return s, nil
}

func (l *Library) newSession(data []byte, input string, shape []int64, output string) (uintptr, error) {
	if len(data) == 0 {
		return 0, errors.New("the file is empty")
	}
	for _, name := range []string{input, output} {
		if name == "" || strings.ContainsRune(name, 0) {
			return 0, fmt.Errorf("a tensor cannot be named %.80q", name)
		}
	}
	for _, n := range shape {
		if n < 1 {
			return 0, fmt.Errorf("an input of shape %v", shape)
		}
	}
	return l.load(data)
}

// Run computes the output for an input, in row-major order. The caller owns the result,
// whatever its length. Errors wrap cpar.ErrInput.
func (s *Session) Run(input []float32) ([]float32, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	output, err := s.checked(input)
	if err != nil {
		return nil, fmt.Errorf("running ONNX Runtime %s: %w: %w", s.library.version, cpar.ErrInput, err)
	}
	return output, nil
}

func (s *Session) checked(input []float32) ([]float32, error) {
	if s.handle == 0 {
		return nil, errors.New("the session is closed")
	}
	n := int64(1)
	for _, d := range s.shape {
		n *= d
	}
	if int64(len(input)) != n {
		return nil, fmt.Errorf("an input of %d values, its shape is %v", len(input), s.shape)
	}
	return s.run(input)
}

// Close frees the session when running calls have ended. Later calls of Run fail. Closing
// again does nothing.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != 0 {
		s.cleanup.Stop()
		s.library.free(s.handle)
		s.handle = 0
	}
	return nil
}
