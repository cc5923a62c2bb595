package encoder

import "crypto/sha256"

// A network without preprocessing, for those who prepare images themselves: tests,
// measurements and other programs. The commands of this project use Open.

// OpenWith opens a model file, and those beside it that it names, to run in the requested
// runtime: Auto, Go or ONNXRuntime. Errors wrap cpar.ErrInput.
func OpenWith(runtime, path string, options Options) (e Embedder, err error) {
	err = withModel(path, OpenOptions{Options: options, Runtime: runtime}, func(s *parsedModel, runtime string) (err error) {
		e, err = s.start(runtime, options, options.Side)
		return err
	})
	return e, err
}

// LoadWith reads an ONNX file's bytes, which it does not keep, to run in the requested
// runtime. The file must not name others. Errors wrap cpar.ErrInput.
func LoadWith(runtime string, data []byte, options Options) (Embedder, error) {
	runtime, err := resolve(runtime, options.Library)
	if err != nil {
		return nil, errLoading(err)
	}
	s, err := read(data, runtime, options, nil)
	if err != nil {
		return nil, errLoading(err)
	}
	s.digest = sha256.Sum256(data)
	e, err := s.start(runtime, options, options.Side)
	if err != nil {
		return nil, errLoading(err)
	}
	return e, nil
}
