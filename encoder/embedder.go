package encoder

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"cpar"
	"cpar/encoder/onnx"
	"cpar/encoder/onnxruntime"
	"cpar/internal/hint"
)

// The runtimes.
const (
	Auto        = "auto"        // what CPAR_RUNTIME says; else ONNX Runtime if its library was named, else plain Go
	Go          = "go"          // plain Go
	ONNXRuntime = "onnxruntime" // ONNX Runtime
)

// Variable is the environment variable that names the runtime where the caller does not.
const Variable = "CPAR_RUNTIME"

// An Embedder is a network ready to run in either runtime. It is safe for concurrent use;
// each image takes one core.
type Embedder interface {
	// Embed computes the embedding of one image, 3·H·W values in the order channel, row,
	// column, whatever the order that the network takes. The caller owns the result.
	Embed(image []float32) ([]float32, error)
	// Choice says which tensor that is.
	Choice() Choice
	// Size returns the height and width of the image.
	Size() (height, width int)
	// Digest identifies the model file and those that it names.
	Digest() [sha256.Size]byte
	// Metadata returns a copy of the file's metadata.
	Metadata() map[string]string
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

// resolve says which runtime Auto is. ONNX Runtime is never taken because it happens to be
// installed: it is C++ in the process that holds the key, and that is for its owner to
// choose.
func resolve(runtime, library string) (string, error) {
	if runtime == Auto || runtime == "" {
		if named := os.Getenv(Variable); named != "" {
			runtime = named
		}
	}
	switch runtime {
	case Go, ONNXRuntime:
		return runtime, nil
	case Auto, "":
		if library != "" || os.Getenv(onnxruntime.Variable) != "" {
			return ONNXRuntime, nil
		}
		return Go, nil
	}
	return "", fmt.Errorf("no runtime %.40q; there are %s, %s and %s", runtime, Auto, Go, ONNXRuntime)
}

// errLoading wraps what went wrong. Of what plain Go does not support, ONNX Runtime may be
// able to run more.
func errLoading(err error) error {
	if unsupported := (*onnx.UnsupportedError)(nil); errors.As(err, &unsupported) {
		err = hint.Add(err, "ONNX Runtime may be able to run it. It is C++ in this process; if you trust the file, install it, or name its library in %s, and ask for the runtime %s", onnxruntime.Variable, ONNXRuntime)
	}
	if errors.Is(err, cpar.ErrInput) { // such as those of package onnxruntime
		return fmt.Errorf("loading network: %w", err)
	}
	return fmt.Errorf("loading network: %w: %w", cpar.ErrInput, err)
}
