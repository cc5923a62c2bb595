package encoder

import (
	"errors"
	"fmt"

	"cpar"
	"cpar/encoder/engine"
)

// A Model is a network ready to run in plain Go. It is safe for concurrent use.
type Model struct {
	fileInfo
	program *engine.Program
}

// errUnknownShape reports a tensor of unknown shape.
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
			return []string{unknown.name}, nil // Compile reports why
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

// Close does nothing, because there is nothing to free.
func (m *Model) Close() error { return nil }

var errNotFinite = errors.New("the network computed a value that is not a finite number; check its preprocessing, or the file")

// Embed computes the embedding of one image: 3·H·W values in the order channel,
// row, column. The caller owns the result. Errors wrap cpar.ErrInput.
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

func (a *fileInfo) finish(values []float32) ([]float32, error) {
	embedding, err := a.pooling.apply(values)
	if err == nil && !finite(embedding) {
		err = errNotFinite
	}
	return embedding, err
}

// finite reports whether all values are finite.
func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}
