package encoder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"

	"cpar"
	"cpar/encoder/onnx"
	"cpar/encoder/onnxruntime"
	"cpar/internal/hint"
)

const (
	// Auto selects the runtime named in the environment variable Variable,
	// otherwise ONNX Runtime if the user names its library, otherwise Go.
	Auto        = "auto"
	Go          = "go"
	ONNXRuntime = "onnxruntime"
)

// Variable is the name of the environment variable that selects the runtime if
// the caller does not.
const Variable = "CPAR_RUNTIME"

// An Embedder is a network that is ready to run. It is safe for concurrent use.
// In plain Go, a call uses all cores unless other calls run. In ONNX Runtime,
// it uses one core.
type Embedder interface {
	// Embed computes the embedding of an image, 3·H·W values in the order
	// channel, row, column for every network. The caller owns the result.
	Embed(image []float32) ([]float32, error)
	// Choice describes the tensor that serves as the embedding.
	Choice() Choice
	// Size returns the height and width of the image.
	Size() (height, width int)
	// Digest identifies the model file and the files it names.
	Digest() [sha256.Size]byte
	// Runtime returns Go or ONNXRuntime.
	Runtime() string
	// Close waits for running calls and frees the network. Not every runtime
	// reports later calls as errors.
	Close() error
}

// A Model is an Embedder for one of the runtimes.
type Model struct {
	fileInfo
	runtime string
	name    string // name of the runtime, for display
	run     func(arranged []float32) ([]float32, error)
	close   func() error
}

var _ Embedder = (*Model)(nil)

// Embed computes an embedding (see Embedder). Errors wrap cpar.ErrInput.
func (m *Model) Embed(image []float32) ([]float32, error) {
	err := m.input.check(image)
	var values []float32
	if err == nil {
		values, err = m.run(m.input.arranged(image))
	}
	if err == nil {
		values, err = m.pooling.apply(values)
	}
	if err == nil && !finite(values) {
		err = errNotFinite
	}
	if err != nil {
		return nil, fmt.Errorf("running network: %w: %w", cpar.ErrInput, err)
	}
	return values, nil
}

var errNotFinite = errors.New("the network computed a value that is not a finite number; check its preprocessing, or the file")

func finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}

func (m *Model) Runtime() string { return m.runtime }

func (m *Model) String() string {
	return "network " + hex.EncodeToString(m.digest[:8]) + " in " + m.name
}

func (m *Model) Close() error { return m.close() }

// resolve returns the given runtime, or the runtime that Auto stands for. It
// never selects ONNX Runtime merely because it is installed: the user must
// choose to run C++ code in the process that holds the key.
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

// errLoading wraps an error of loading a model. If plain Go lacks an operator,
// the error suggests ONNX Runtime.
func errLoading(err error) error {
	if unsupported := (*onnx.UnsupportedError)(nil); errors.As(err, &unsupported) {
		err = hint.Add(err, "ONNX Runtime may be able to run the file, as C++ in this process. If you trust the file, install ONNX Runtime or name its library in %s, and select the runtime %s", onnxruntime.Variable, ONNXRuntime)
	}
	if errors.Is(err, cpar.ErrInput) { // for example from package onnxruntime
		return fmt.Errorf("loading network: %w", err)
	}
	return fmt.Errorf("loading network: %w: %w", cpar.ErrInput, err)
}
