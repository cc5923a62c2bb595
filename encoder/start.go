package encoder

import (
	"errors"
	"fmt"
	"slices"

	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/encoder/onnxruntime"
)

// startSession loads the part of the graph that the embedding needs into ONNX
// Runtime. It measures undeclared shapes by a run on an image of zeros.
func startSession(s *parsedModel, options Options) (_ *Model, err error) {
	library, err := onnxruntime.Open(options.Library)
	if err != nil {
		return nil, err
	}
	t := &shapeProber{parsedModel: s, library: library}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if err := s.choose(s.chooser(t.shape), options); err != nil {
		return nil, err
	}
	// Measure the shape, because the declared one may be wrong.
	shape, err := t.probe(s.choice.Name)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(shape, s.choice.Shape) {
		return nil, fmt.Errorf("its tensor %.80q has shape %s where the file says %s", s.choice.Name, formatDims(shape), formatDims(s.choice.Shape))
	}
	run := func(image []float32) ([]float32, error) {
		values, _, err := t.session.Run(image)
		return values, err
	}
	return &Model{s.fileInfo, ONNXRuntime, library.String(), run, t.session.Close}, nil
}

// A shapeProber measures the shapes of a graph's tensors with ONNX Runtime. It
// keeps its last session, because that session nearly always computes the
// chosen tensor.
type shapeProber struct {
	*parsedModel
	library *onnxruntime.Library
	session *onnxruntime.Session
	name    string           // the tensor that the session computes
	known   map[string][]int // measured shapes by tensor
}

func (t *shapeProber) close() {
	if t.session != nil {
		_ = t.session.Close()
		t.session = nil
	}
}

func (t *shapeProber) shape(name string) ([]int, error) {
	if dims := t.declared(name); dims != nil && !slices.Contains(dims, -1) {
		return dims, nil
	}
	return t.probe(name)
}

func (t *shapeProber) probe(name string) ([]int, error) {
	if shape := t.known[name]; shape != nil && (t.name == name || name != t.choice.Name) {
		return shape, nil
	}
	t.close()
	model, err := onnx.Extract(t.model, t.nodes, onnx.ValueInfo{Name: t.input.name, Type: t.input.elements, Dims: t.input.shape()}, name)
	if err != nil {
		return nil, err
	}
	input := onnxruntime.Input{Name: t.input.name, Element: t.input.elements}
	for _, d := range t.input.shape() {
		input.Shape = append(input.Shape, int64(d))
	}
	if t.session, err = t.library.Load(model, input, name); err != nil {
		return nil, err
	}
	_, shape, err := t.session.Run(make([]float32, 3*t.input.height*t.input.width))
	if err == nil && slices.Contains(shape, 0) {
		err = fmt.Errorf("its tensor %.80q is empty, of shape %s", name, formatDims(shape))
	}
	if err != nil {
		return nil, fmt.Errorf("trying it on an image of zeros: %w", err)
	}
	if t.known == nil {
		t.known = map[string][]int{}
	}
	t.name, t.known[name] = name, shape
	return shape, nil
}

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
			return []string{unknown.name}, nil // Compile reports why the shape is unknown
		}
		return []string{s.choice.Name}, err
	}
	program, err := engine.Compile(s.model, engine.Options{Limits: s.limits, Inputs: map[string][]int{s.input.name: s.input.shape()}, Choose: choose})
	if err != nil {
		return nil, err
	}
	input, output := s.input.name, s.choice.Name
	run := func(image []float32) ([]float32, error) {
		results, err := program.Run(map[string][]float32{input: image})
		return results[output], err
	}
	return &Model{s.fileInfo, Go, "plain Go", run, func() error { return nil }}, nil
}

// OpenWith opens a model file, and the files it names, in a runtime (Auto, Go
// or ONNXRuntime) without preprocessing. It is for tests that prepare their own
// input. The commands use Open. Errors wrap cpar.ErrInput.
func OpenWith(runtime, path string, options Options) (e Embedder, err error) {
	err = withModel(path, OpenOptions{Options: options, Runtime: runtime}, func(s *parsedModel, runtime string) (err error) {
		e, err = s.start(runtime, options, options.Side)
		return err
	})
	return e, err
}
