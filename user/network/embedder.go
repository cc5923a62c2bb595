package network

import (
	"crypto/sha256"
	"fmt"

	"cpar/user/network/onnxruntime"
)

// The runtimes that LoadWith takes.
const (
	Auto        = "auto"        // ONNX Runtime where it is installed, for what plain Go accepts; else plain Go
	Go          = "go"          // plain Go
	ONNXRuntime = "onnxruntime" // ONNX Runtime, or an error
)

// An Embedder is a network ready to run, in whatever runtime. Many goroutines
// may use it; each image takes one core.
type Embedder interface {
	// Embed computes the embedding of one image, 3·H·W values in the order of
	// channel, row, column. The caller owns what it gets.
	Embed(image []float32) ([]float32, error)
	// Embedding returns the name and length of what Embed returns.
	Embedding() (name string, dim int)
	// Size returns the height and width of the image.
	Size() (height, width int)
	// Digest is the SHA-256 of the model file.
	Digest() [sha256.Size]byte
	// Metadata returns a copy of the file's metadata.
	Metadata() map[string]string
	// Preprocessing returns what the metadata say of it, if they do.
	Preprocessing() (p Preprocessing, ok bool, err error)
	// Runtime returns Go or ONNXRuntime.
	Runtime() string
	// Close frees the network. It waits for runs under way; later ones fail,
	// or not, as the runtime likes.
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

// LoadWith reads an ONNX file's bytes, of which it keeps none, to run in the
// runtime asked for: Auto, Go or ONNXRuntime.
//
// With Auto plain Go reads the file first, all shapes and sizes of it, and what it
// refuses is refused: ONNX Runtime is code in C++ that a damaged file can end
// (package onnxruntime). fallback then says why ONNX Runtime does not run the file,
// and is nil if it does: onnxruntime.ErrNotFound where it is not installed, which is
// nothing to worry about, or else what is wrong with the library, or what it
// has against the file. With another runtime fallback is nil.
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
