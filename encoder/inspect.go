package encoder

import (
	"cmp"
	"fmt"
	"slices"

	"cpar/encoder/engine"
	"cpar/encoder/onnx"
	"cpar/encoder/prepare"
)

// A Report is what can be told of a model file without running it.
type Report struct {
	Embedding        Choice
	Input            string                // type and shape, in words
	Preprocessing    prepare.Preprocessing // of no meaning if Unprepared is set
	From             string                // where the preprocessing was found
	PreprocessingErr error                 // why there is no preprocessing
	// Missing are the operators that plain Go lacks for the embedding, sorted; if the
	// embedding cannot be told without them, those of the whole file.
	Missing []string
	// Refused is why plain Go does not run the file; nil if it does.
	GoErr error
	// Unchosen is why nothing in it can be told to be the embedding; nil if something can.
	EmbeddingErr error
}

// Inspect reads a model file for plain Go, whatever opt.Runtime is. It is an error only if
// the file cannot be read. Errors wrap cpar.ErrInput.
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
		r.Input = fmt.Sprintf("%s, %s", formatShape(s.input.shape()), s.input.elements)
		if !s.input.isOpen() {
			r.Preprocessing, r.From, r.PreprocessingErr = how.forSize(s.input.height, s.input.width)
		}
		return err
	})
	return r, err
}

// missing lists the operators that plain Go does not have.
func missing(m *onnx.Model) []string {
	names := []string{}
	for name := range engine.Missing(m) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// chooseDeclared determines the embedding by the shapes that the file declares. Where that
// is not enough, the error is the one that made it necessary.
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
