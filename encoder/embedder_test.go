package encoder

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/encoder/onnxruntime"
	"cpar/encoder/prepare"
	"cpar/internal/hint"
)

func TestRuntimeIsResolved(t *testing.T) {
	data := smallFile().Bytes()
	broken := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := os.WriteFile(broken, []byte("not a library"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv(onnxruntime.Variable, "")
	for _, path := range []string{broken, filepath.Join(t.TempDir(), "missing.so")} {
		// Auto takes a named library and fails if it is broken.
		for _, runtime := range []string{ONNXRuntime, Auto, ""} {
			for _, options := range []Options{{Library: path}, {}} {
				t.Setenv(onnxruntime.Variable, path)
				e, err := loadWith(runtime, data, options)
				if e != nil || !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), onnxruntime.Variable) || !strings.Contains(err.Error(), filepath.Base(path)) {
					t.Errorf("%q: %v, %v (%s)", runtime, e, err, hint.Of(err))
				}
			}
		}
		e, err := loadWith(Go, data, Options{Library: path})
		if err != nil || e.Runtime() != Go {
			t.Errorf("%v, %v", e, err)
		}
		t.Setenv(onnxruntime.Variable, "")
		if e, err := loadWith(Auto, data, Options{}); err != nil || e.Runtime() != Go {
			t.Errorf("%v, %v", e, err)
		}
		t.Setenv(Variable, ONNXRuntime)
		if _, err := loadWith(Auto, data, Options{Library: path}); err == nil {
			t.Error("a runtime was asked for by environment, and another taken")
		}
		t.Setenv(Variable, Go)
		if e, err := loadWith(Auto, data, Options{Library: path}); err != nil || e.Runtime() != Go {
			t.Errorf("%v, %v", e, err)
		}
		t.Setenv(Variable, "")
	}
	for _, runtime := range []string{Auto, Go, ONNXRuntime, "", "tensorflow"} {
		e, err := loadWith(runtime, data[:20], Options{Library: broken})
		if e != nil || !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v, %v", runtime, e, err)
		}
	}
	if _, err := loadWith("tensorflow", data, Options{}); err == nil || !strings.Contains(err.Error(), "auto, go and onnxruntime") {
		t.Error(err)
	}
	if _, err := OpenWith(Auto, t.TempDir(), Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

// loadWith starts the bytes of an ONNX file, which must not name others.
func loadWith(runtime string, data []byte, options Options) (e Embedder, err error) {
	s := (*parsedModel)(nil)
	if runtime, err = resolve(runtime, options.Library); err == nil {
		s, err = read(data, runtime, options, nil)
	}
	if err == nil {
		s.digest = sha256.Sum256(data)
		e, err = s.start(runtime, options, options.Side)
	}
	if err != nil {
		return nil, errLoading(err)
	}
	return e, nil
}

func loadGo(data []byte, options Options) (*Model, error) {
	e, err := loadWith(Go, data, options)
	if err != nil {
		return nil, err
	}
	return e.(*Model), nil
}

func readOutline(data []byte, options Options) (*parsedModel, error) {
	s, err := read(data, ONNXRuntime, options, nil)
	if err != nil {
		return nil, err
	}
	s.input = s.input.sized(224, 224)
	return s, s.chooseDeclared(options, nil)
}

func ofMetadata(t testing.TB, e Embedder) prepare.Preprocessing {
	t.Helper()
	height, width := e.Size()
	p, ok, err := prepare.FromMetadata(e.(*Model).metadata, height, width)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return p
}
