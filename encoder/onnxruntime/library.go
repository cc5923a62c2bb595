// Package onnxruntime calls ONNX Runtime's shared library without cgo.
//
//	libonnxruntime ─▶ Open ─▶ Library ─┐
//	model.onnx, in memory ─────▶ Load ─┴▶ Session ─▶ Run ─▶ one tensor
//
// purego loads the library at run time. The C interface is declared in
// include/onnxruntime/core/session/onnxruntime_c_api.h of
// github.com/microsoft/onnxruntime. Other packages use the library through
// package encoder, which limits the files that it runs. A memory fault in this
// large C++ program ends the whole process.
//
// Only builds for Linux, macOS and Windows on amd64 and arm64 can load the
// library. Builds with tag `static` cannot, because purego would depend on
// Linux's dynamic linker and C library.
package onnxruntime

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// Variable names the environment variable that holds the library's path if the
// caller of Open gives none.
const Variable = "CPAR_ONNXRUNTIME"

// ErrNotFound is wrapped by the error of Open if the user names no library and
// none is installed under a usual name.
var ErrNotFound = errors.New("ONNX Runtime is not installed")

const (
	// apiVersion is from release 1.17. Later releases also offer this version.
	apiVersion = 17

	adviceInstall = "install ONNX Runtime 1.17 or newer, or name its library file in " + Variable
)

// A Library is a loaded ONNX Runtime, with its own threads and memory. It stays
// loaded until the program ends. It is safe for concurrent use.
type Library struct {
	path    string
	version string
	table   *functionTable
	env     uintptr // OrtEnv
	cpu     uintptr // OrtMemoryInfo of main memory
}

// opened holds loaded libraries, because a process has only one environment.
var opened = struct {
	sync.Mutex
	byName map[string]*Library // by the name or path passed to the loader
}{byName: map[string]*Library{}}

// Open loads the library at `path`. If `path` is empty, it loads the library
// that CPAR_ONNXRUNTIME names, or otherwise one with a usual name. Opening a
// file again returns the same Library. Errors wrap cpar.ErrInput.
func Open(path string) (*Library, error) {
	named := cmp.Or(path, os.Getenv(Variable))
	l, err := find(named)
	if err != nil {
		return nil, fmt.Errorf("opening ONNX Runtime: %w: %w", cpar.ErrInput, err)
	}
	return l, nil
}

func find(named string) (*Library, error) {
	if named == "" {
		return findUsual(usualNames())
	}
	file, err := filepath.Abs(named)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", file)
	}
	if err != nil {
		return nil, hint.Add(err, adviceInstall)
	}
	handle, err := loadLibrary(file)
	if err != nil {
		return nil, hint.Add(errors.New(sanitize.Text(err.Error())), "it is not a library for this system; "+adviceInstall)
	}
	return open(file, handle)
}

func findUsual(names []string) (*Library, error) {
	var reasons []string
	for _, name := range names {
		handle, err := loadLibrary(name)
		if err == nil {
			return open(name, handle)
		}
		reasons = append(reasons, sanitize.Text(err.Error()))
	}
	return nil, hint.Add(fmt.Errorf("%w (%s)", ErrNotFound, strings.Join(reasons, "; ")), adviceInstall)
}

// open returns the Library for a loaded handle. It closes the handle if the
// library is already open or does not start.
func open(name string, handle uintptr) (*Library, error) {
	opened.Lock()
	defer opened.Unlock()
	if l := opened.byName[name]; l != nil {
		closeLibrary(handle) // the first handle stays open
		return l, nil
	}
	l, err := start(name, handle)
	if err != nil {
		closeLibrary(handle)
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	opened.byName[name] = l
	return l, nil
}

func checkVersion(version string) error {
	parts := strings.Split(version, ".")
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && (major > 1 || major == 1 && minor >= apiVersion) {
			return nil
		}
	}
	return hint.Add(fmt.Errorf("it is ONNX Runtime %.40q; 1.%d or newer is needed", version, apiVersion), adviceInstall)
}

func (l *Library) String() string { return "ONNX Runtime " + l.version + " (" + l.path + ")" }
