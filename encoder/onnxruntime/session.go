package onnxruntime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"cpar"
	"cpar/encoder/onnx"
)

// An Input describes the input tensor of a session.
type Input struct {
	Name    string
	Element onnx.Type // float32, uint8 or float16
	Shape   []int64
}

// A Session is a loaded model with one input and one output tensor. It is safe
// for concurrent use. Each run occupies one core.
type Session struct {
	library *Library
	input   []byte    // name of the input, ending in a zero byte
	output  []byte    // name of the output, ending in a zero byte
	element onnx.Type // element type of the input
	shape   []int64   // shape of the input
	cleanup runtime.Cleanup

	mu     sync.RWMutex // read-locked by a run, write-locked by Close
	handle uintptr      // OrtSession, 0 once closed
}

// Load creates a session from the bytes of an ONNX file and does not retain
// them. `input` and `output` name tensors of the graph, and input.Shape fixes
// open dimensions. The file must not name other files, because ONNX Runtime
// would read them. Errors wrap cpar.ErrInput.
func (l *Library) Load(data []byte, input Input, output string) (*Session, error) {
	handle, err := l.newSession(data, input, output)
	if err != nil {
		return nil, fmt.Errorf("making a session of ONNX Runtime %s: %w: %w", l.version, cpar.ErrInput, err)
	}
	s := &Session{
		library: l, handle: handle, element: input.Element, shape: slices.Clone(input.Shape),
		input: append([]byte(input.Name), 0), output: append([]byte(output), 0),
	}
	// Free the session if the caller drops it without Close.
	s.cleanup = runtime.AddCleanup(s, l.free, handle)
	return s, nil
}

func (l *Library) newSession(data []byte, input Input, output string) (uintptr, error) {
	if len(data) == 0 {
		return 0, errors.New("the file is empty")
	}
	if input.Element != onnx.Float && input.Element != onnx.Uint8 && input.Element != onnx.Float16 {
		return 0, fmt.Errorf("an input of type %d is not supported", input.Element)
	}
	for _, name := range []string{input.Name, output} {
		if name == "" || strings.ContainsRune(name, 0) {
			return 0, fmt.Errorf("a tensor cannot be named %.80q", name)
		}
	}
	for _, n := range input.Shape {
		if n < 1 {
			return 0, fmt.Errorf("the input shape %v is not positive", input.Shape)
		}
	}
	return l.load(data)
}

// Run computes the output, in row-major order, and its shape. It rounds the
// input to the session's element type and widens a float16 output. The caller
// owns the results. Errors wrap cpar.ErrInput.
func (s *Session) Run(input []float32) (output []float32, shape []int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	output, shape, err = s.checked(input)
	if err != nil {
		return nil, nil, fmt.Errorf("running ONNX Runtime %s: %w: %w", s.library.version, cpar.ErrInput, err)
	}
	return output, shape, nil
}

func (s *Session) checked(input []float32) ([]float32, []int, error) {
	if s.handle == 0 {
		return nil, nil, errors.New("the session is closed")
	}
	n := int64(1)
	for _, d := range s.shape {
		n *= d
	}
	if int64(len(input)) != n {
		return nil, nil, fmt.Errorf("an input of %d values does not fit the shape %v", len(input), s.shape)
	}
	return s.run(packed(input, s.element))
}

// Close waits for running calls and frees the session. Later calls of Run fail.
// Close is idempotent.
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

// packed converts values to a tensor's bytes. It rounds to the nearest value of
// the element type, and ties to even.
func packed(values []float32, element onnx.Type) []byte {
	le := binary.LittleEndian // the byte order of all supported processors
	switch element {
	case onnx.Uint8:
		out := make([]byte, len(values))
		for i, v := range values {
			out[i] = byte(min(255, max(0, math.RoundToEven(float64(v)))))
		}
		return out
	case onnx.Float16:
		out := make([]byte, 0, 2*len(values))
		for _, v := range values {
			out = le.AppendUint16(out, narrowed(v))
		}
		return out
	}
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = le.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// narrowed rounds to float16 (IEEE 754 binary16). Overflow gives infinity.
func narrowed(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	x := math.Abs(float64(v))
	switch {
	case x != x:
		return sign | 0x7e00
	case x >= 65520:
		return sign | 0x7c00
	case x < 0x1p-14: // subnormal, a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(x*0x1p24))
	}
	fraction, exponent := math.Frexp(x)                      // from ½ to 1
	steps := uint16(math.RoundToEven(fraction * 2048))       // from 1024 to 2048
	return sign | (uint16(exponent+14)<<10 + (steps - 1024)) // a carry increments the exponent
}

// widened converts float16 to float32 exactly.
func widened(halves []uint16) []float32 {
	out, values := make([]float32, len(halves)), onnx.Halves()
	for i, h := range halves {
		out[i] = values[h]
	}
	return out
}
