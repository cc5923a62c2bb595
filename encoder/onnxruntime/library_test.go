package onnxruntime

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/encoder/onnx"
	"cpar/internal/hint"
	"cpar/internal/testing/oracle"
)

func TestCheckVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"1.17.0": true, "1.22.0": true, "1.22.0-dev": true, "2.0.0": true, "1.100": true,
		"1.16.3": false, "1.9.0": false, "0.99.1": false, "": false, "1": false, "new": false, "1.x.2": false,
	} {
		err := checkVersion(version)
		if (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
		if err != nil && (!strings.Contains(err.Error(), `"`+version+`"`) || hint.Of(err) == "") {
			t.Errorf("%q: %v (%s)", version, err, hint.Of(err))
		}
	}
}

func refused(t *testing.T, err error, why string) {
	t.Helper()
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), why) || !strings.Contains(hint.Of(err), Variable) {
		t.Errorf("got %v (%s), want bad input and %q", err, hint.Of(err), why)
	}
}

func TestOpenReportsMissingLibrary(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "libonnxruntime.so")
	if err := os.WriteFile(garbage, []byte("not a library"), 0o666); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.so")
	for path, why := range map[string]string{missing: "missing.so", dir: "not a regular file", garbage: "libonnxruntime.so"} {
		t.Setenv(Variable, "")
		_, err := Open(path)
		refused(t, err, why)
		t.Setenv(Variable, path)
		_, err = Open("")
		refused(t, err, why)
		if errors.Is(err, ErrNotFound) {
			t.Errorf("%s was named, and is said not to be installed: %v", path, err)
		}
	}
	_, err := findUsual([]string{"libno-such-library.so.7", "libnor-this.so"})
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "libnor-this") || hint.Of(err) == "" {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
}

func TestOpenRefusesOtherLibraries(t *testing.T) {
	name := map[string]string{"linux": "libc.so.6", "darwin": "/usr/lib/libSystem.B.dylib", "windows": "kernel32.dll"}[runtime.GOOS]
	handle, err := loadLibrary(name)
	if err != nil {
		t.Skipf("no library to try: %v", err)
	}
	if _, err := open(name, handle); err == nil || !strings.Contains(err.Error(), "it is not ONNX Runtime") {
		t.Errorf("%v", err)
	}
}

func TestOpen(t *testing.T) {
	path := oracle.Named(t, "CPAR_ONNXRUNTIME")
	var all [4]*Library
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = Open([]string{path, ""}[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, l := range all {
		if l == nil || l != all[0] || checkVersion(l.version) != nil || !strings.Contains(l.String(), l.version) || !filepath.IsAbs(l.path) {
			t.Fatalf("%v, want %v", l, all[0])
		}
	}
}

func TestLoadRefusesDamagedModels(t *testing.T) {
	l, err := Open(oracle.Named(t, "CPAR_ONNXRUNTIME"))
	if err != nil {
		t.Fatal(err)
	}
	input := Input{"image", onnx.Float, []int64{1, 3, 2, 2}}
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("not a model"), "zeros": make([]byte, 1000),
		"ones":               bytes.Repeat([]byte{0xff}, 1000),
		"another format":     append([]byte("\x20\x00\x00\x00ORTM"), make([]byte, 100)...),
		"an empty graph":     {0x3a, 0x00},
		"a graph cut short":  {0x3a, 0x7f, 0x0a},
		"groups in groups":   bytes.Repeat([]byte{0x0b}, 10000),
		"messages, deep":     bytes.Repeat([]byte{0x3a, 0x7f}, 1000),
		"an operator, alone": {0x08, 0x07, 0x3a, 0x08, 0x0a, 0x06, 0x12, 0x01, 'y', 0x22, 0x01, 'X', 0x42, 0x02, 0x10, 0x0d},
	} {
		if s, err := l.Load(data, input, "y"); err == nil {
			// An empty graph is a valid session without anything to run.
			if _, _, err = s.Run(make([]float32, 12)); err == nil {
				t.Errorf("%s: accepted", name)
			}
			s.Close()
		} else if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "making a session of ONNX Runtime "+l.version) {
			t.Errorf("%s: %v", name, err)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "y\x00"} {
		if _, err := l.Load([]byte{0x3a, 0x00}, input, name); err == nil || !strings.Contains(err.Error(), "cannot be named") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := l.Load([]byte{0x3a, 0x00}, Input{"image", onnx.Float, []int64{1, 0}}, "y"); err == nil {
		t.Error("an empty input accepted")
	}
}

func TestFloat16RoundTrips(t *testing.T) {
	for h := range 1 << 16 {
		v := widened([]uint16{uint16(h)})[0]
		if v != v {
			if narrowed(v)&0x7fff != 0x7e00 {
				t.Fatalf("%#x: a NaN becomes %#x", h, narrowed(v))
			}
			continue
		}
		if got := narrowed(v); got != uint16(h) {
			t.Fatalf("%#x is %g and becomes %#x", h, v, got)
		}
		if h&0x7fff >= 0x7bff {
			continue
		}
		next := widened([]uint16{uint16(h + 1)})[0]
		even := uint16(h + h&1)
		if got := narrowed((v + next) / 2); got != even {
			t.Fatalf("between %#x and the next: %#x", h, got)
		}
	}
	if narrowed(65519) != 0x7bff || narrowed(65520) != 0x7c00 || narrowed(-1e9) != 0xfc00 {
		t.Error("large values")
	}
}
