package encoder

import (
	"cmp"
	"fmt"
	"slices"

	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/encoder/prepare"
)

// A Report describes a model file that has not been run.
type Report struct {
	Embedding        Choice
	Input            string                // type and shape
	Preprocessing    prepare.Preprocessing // undefined if PreprocessingErr is set
	From             string                // where the preprocessing was found
	PreprocessingErr error                 // why there is no preprocessing
	// Missing lists the operators, sorted, that plain Go lacks for the
	// embedding, or for the whole file if the embedding cannot be determined
	// without them.
	Missing []string
	// GoErr is the reason why plain Go cannot run the file, or nil.
	GoErr error
	// EmbeddingErr is the reason why no tensor was chosen, or nil.
	EmbeddingErr error
}

// Inspect reads a model file for plain Go and ignores opt.Runtime. It fails
// only if the file cannot be read. Errors wrap cpar.ErrInput.
func Inspect(path string, opt OpenOptions) (Report, error) {
	var r Report
	opt.Runtime = Go
	err := withModel(path, opt, func(s *parsedModel, _ string) error {
		how, err := s.preparation(path, opt)
		if err != nil {
			return err
		}
		r.Missing = missing(s.model)
		e, err := s.start(Go, opt.Options, cmp.Or(opt.Side, how.side()))
		if err == nil {
			r.Embedding, r.Missing = e.Choice(), []string{}
			err = e.Close()
		} else {
			r.GoErr = errLoading(err)
			if err = s.chooseDeclared(opt.Options, err); err != nil {
				r.EmbeddingErr = errLoading(err)
			}
			r.Embedding, err = s.choice, nil
		}
		r.Input = fmt.Sprintf("%s, %s", formatDims(s.input.shape()), s.input.elements)
		if !s.input.isOpen() {
			r.Preprocessing, r.From, r.PreprocessingErr = how.forSize(s.input.height, s.input.width)
		}
		return err
	})
	return r, err
}

func missing(m *onnx.Model) []string {
	names := []string{}
	for name := range engine.Missing(m) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// chooseDeclared determines the embedding from the shapes that the file
// declares. If these do not suffice, it returns because.
func (s *parsedModel) chooseDeclared(options Options, because error) error {
	c := s.chooser(func(name string) ([]int, error) {
		if dims := s.declared(name); dims != nil && !slices.Contains(dims, -1) {
			return dims, nil
		}
		return nil, errUnknownShape{name}
	})
	c.lenient = true
	choice, err := c.choose(options.Embedding, options.Pool)
	s.choice = choice
	if err != nil && c.skipped {
		return because
	}
	return err
}
