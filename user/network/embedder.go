package network

import (
	"crypto/sha256"
	"fmt"

	"cpar/user/network/onnxruntime"
	"cpar/user/network/prepare"
)

// The runtimes that LoadWith accepts.
const (
	Auto        = "auto"        // ONNX Runtime if installed, for files that plain Go accepts; else plain Go
	Go          = "go"          // plain Go
	ONNXRuntime = "onnxruntime" // ONNX Runtime, or an error
)

// An Embedder is a network ready to run in either runtime. It is safe for concurrent use;
// each image takes one core.
type Embedder interface {
	// Embed computes the embedding of one image, 3·H·W values in the order channel, row,
	// column. The caller owns the result.
	Embed(image []float32) ([]float32, error)
	// Embedding returns the name and length of what Embed returns.
	Embedding() (name string, dim int)
	// Size returns the height and width of the image.
	Size() (height, width int)
	// Digest returns the SHA-256 of the model file.
	Digest() [sha256.Size]byte
	// Metadata returns a copy of the file's metadata.
	Metadata() map[string]string
	// Preprocessing returns the preprocessing stored in the metadata, if there is any.
	Preprocessing() (p prepare.Preprocessing, ok bool, err error)
	// Runtime returns Go or ONNXRuntime.
	Runtime() string
	// Close frees the network. It waits for running calls; whether later ones fail
	// depends on the runtime.
	Close() error
}

var (
	_ Embedder = (*Model)(nil)
	_ Embedder = (*Session)(nil)
)

// OpenWith reads a model file. See LoadWith.
func OpenWith(runtime, path string, options Options) (e Embedder, fallback, err error) {
	data, err := readFile(path, options.Limits)
	if err != nil {
		return nil, nil, err
	}
	e, fallback, err = LoadWith(runtime, data, options)
	if err != nil {
		return nil, fallback, fmt.Errorf("%s: %w", path, err)
	}
	return e, fallback, nil
}

// LoadWith reads an ONNX file's bytes, which it does not keep, to run in the requested
// runtime: Auto, Go or ONNXRuntime. Errors wrap cpar.ErrInput.
//
// With Auto, plain Go first reads the file with all its shapes and sizes, and whatever it
// refuses is refused: ONNX Runtime is C++ code that a damaged file can crash (package
// onnxruntime). fallback then says why ONNX Runtime does not run the file. It is nil if
// it does; onnxruntime.ErrNotFound if it is not installed, which is no cause for concern;
// else a fault of the library, or its objection to the file. With other runtimes fallback
// is nil.
func LoadWith(runtime string, data []byte, options Options) (e Embedder, fallback, err error) {
	var m *Model
	switch runtime {
	case Go, Auto:
		if m, err = Load(data, options); err != nil {
			return nil, nil, err // not a nil *Model, which would be an Embedder
		}
		if runtime == Go {
			return m, nil, nil
		}
	case ONNXRuntime:
	default:
		return nil, nil, errLoading(fmt.Errorf("no runtime %.40q; there are %s, %s and %s", runtime, Auto, Go, ONNXRuntime))
	}
	s, err := loadSession(data, options)
	switch {
	case err == nil:
		return s, nil, nil
	case runtime == ONNXRuntime:
		return nil, nil, errLoading(err)
	}
	return m, err, nil
}

func loadSession(data []byte, options Options) (*Session, error) {
	o, err := readOutline(data, options)
	if err != nil {
		return nil, err
	}
	library, err := onnxruntime.Open(options.Library)
	if err != nil {
		return nil, err
	}
	return newSession(library, o, data, options)
}
