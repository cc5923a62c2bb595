package encoder

import "crypto/sha256"

// OpenWith and LoadWith open networks without preprocessing, for tests and
// measurements that prepare their own input. The commands use Open.

// OpenWith opens a model file and the files it names, to run in the requested
// runtime: Auto, Go or ONNXRuntime. Errors wrap cpar.ErrInput.
func OpenWith(runtime, path string, options Options) (e Embedder, err error) {
	err = withModel(path, OpenOptions{Options: options, Runtime: runtime}, func(s *parsedModel, runtime string) (err error) {
		e, err = s.start(runtime, options, options.Side)
		return err
	})
	return e, err
}

// LoadWith reads the bytes of an ONNX file, which it does not keep, to run in
// the requested runtime. The file must not name others. Errors wrap
// cpar.ErrInput.
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
