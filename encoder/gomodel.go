package encoder

import (
	"errors"
	"fmt"

	"cpar/encoder/engine"
)

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
	input, output := s.input.name, s.choice.Name
	run := func(image []float32) ([]float32, error) {
		results, err := program.Run(map[string][]float32{input: image})
		return results[output], err
	}
	return &Model{s.fileInfo, Go, "plain Go", run, func() error { return nil }}, nil
}
