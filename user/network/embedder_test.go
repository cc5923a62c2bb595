package network

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/onnxtest"
	"cpar/user/network/onnxruntime"
)

// TestLoadWith: the errors when ONNX Runtime does not run a file.
func TestLoadWith(t *testing.T) {
	data := smallFile().Bytes()
	broken := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := os.WriteFile(broken, []byte("not a library"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv(onnxruntime.Variable, "")
	for _, path := range []string{broken, filepath.Join(t.TempDir(), "missing.so")} {
		options := Options{Library: path}
		e, fallback, err := LoadWith(Auto, data, options)
		if err != nil || e.Runtime() != Go {
			t.Fatal(e, err)
		}
		if !errors.Is(fallback, cpar.ErrInput) || !strings.Contains(fallback.Error(), filepath.Base(path)) || errors.Is(fallback, onnxruntime.ErrNotFound) {
			t.Errorf("the reason is %v", fallback)
		}
		if embedding, err := e.Embed(make([]float32, 3*6*6)); err != nil || len(embedding) != 3 {
			t.Error(embedding, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		e, fallback, err = LoadWith(ONNXRuntime, data, options)
		if e != nil || fallback != nil || !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), onnxruntime.Variable) {
			t.Errorf("%v, %v, %v (%s)", e, fallback, err, hint.Of(err))
		}
		// What plain Go refuses never reaches the library.
		e, fallback, err = LoadWith(Auto, onnxtest.New(13, 2, 2).Node("Erf", []string{"image"}, "y", nil).Output("y").Bytes(), options)
		if e != nil || fallback != nil || !errors.Is(err, cpar.ErrInput) ||
			!strings.Contains(err.Error(), "(Erf)") || strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%v, %v, %v", e, fallback, err)
		}
	}

	// Whether or not a library is installed here, the result is one of the two.
	e, fallback, err := LoadWith(Auto, data, Options{})
	if err != nil || (fallback == nil) != (e.Runtime() == ONNXRuntime) {
		t.Errorf("%v, %v, %v", e, fallback, err)
	}
	e, fallback, err = LoadWith(Go, data, Options{Library: broken})
	if err != nil || fallback != nil || e.Runtime() != Go {
		t.Errorf("%v, %v, %v", e, fallback, err)
	}
	for _, runtime := range []string{Auto, Go, ONNXRuntime, "", "tensorflow"} {
		e, _, err := LoadWith(runtime, data[:20], Options{Library: broken})
		if e != nil || !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v, %v", runtime, e, err)
		}
	}
	if _, _, err := LoadWith("tensorflow", data, Options{}); err == nil || !strings.Contains(err.Error(), "auto, go and onnxruntime") {
		t.Error(err)
	}
	if _, _, err := OpenWith(Auto, t.TempDir(), Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

// TestFallbackOfFile: a file that the library refuses and plain Go runs.
func TestFallbackOfFile(t *testing.T) {
	options := withLibrary(t)
	// Two declarations of a tensor's type disagree; plain Go infers it.
	f := onnxtest.New(13, 2, 2).Node("Relu", []string{"image"}, "y", nil)
	f.Outputs = append(f.Outputs, onnxtest.Proto{}.Text(1, "y").Bytes(2, onnxtest.Proto{}.Bytes(1, onnxtest.Proto{}.Varint(1, onnxtest.Int64))))
	e, fallback, err := LoadWith(Auto, f.Bytes(), options)
	if err != nil || e.Runtime() != Go || !errors.Is(fallback, cpar.ErrInput) || !strings.Contains(fallback.Error(), "making a session") {
		t.Errorf("%v, %v, %v", e, fallback, err)
	}
}
