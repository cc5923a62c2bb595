// Package onnxruntime calls ONNX Runtime's shared library, without cgo.
//
//	libonnxruntime ─▶ Open ─▶ Library ─┐
//	model.onnx, in memory ─────▶ Load ─┴▶ Session ─▶ Run ─▶ one tensor
//
// The library is loaded while the program runs, by purego, and only where a
// user has it: nothing is linked. It is the C interface of
// github.com/microsoft/onnxruntime, include/onnxruntime/core/session/onnxruntime_c_api.h.
// Package network decides what is run and is what others use.
//
// A library is code: it may do all that this program may, and is as trusted.
// It parses the model itself. What it finds wrong it reports, and Load or Run
// returns; but it is a large program in C++, and a fault in it ends this one.
//
// Builds for other systems than Linux, macOS and Windows on amd64 and arm64
// cannot load it, nor can those with the tag `static`: purego makes a Linux
// program ask for the system's dynamic linker and C library, and the tag keeps
// it free of both.
package onnxruntime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/untrusted"
)

// Variable is the environment variable that names the library file where the
// caller of Open does not.
const Variable = "CPAR_ONNXRUNTIME"

// ErrNotFound is wrapped by the error of Open where nobody named a library and
// none is installed under a usual name.
var ErrNotFound = errors.New("ONNX Runtime is not installed")

const (
	// apiVersion is what is asked of the library: that of release 1.17. Later
	// releases offer it too.
	apiVersion = 17

	adviceInstall = "install ONNX Runtime 1.17 or newer, or name its library file in " + Variable
)

// A Library is ONNX Runtime, loaded. It stays until the program ends, as do
// threads and memory of its own. Many goroutines may use it.
type Library struct {
	path    string
	version string
	table   *functionTable
	env     uintptr // OrtEnv
	cpu     uintptr // OrtMemoryInfo of plain memory
}

// opened are the libraries by the name they were loaded by: ONNX Runtime has
// one environment in a process.
var opened = struct {
	sync.Mutex
	byName map[string]*Library
}{byName: map[string]*Library{}}

// Open loads the library file at path; if that is empty the one that the
// environment variable CPAR_ONNXRUNTIME names; if there is none, one that is
// installed under a usual name. Opening the same again returns the same.
func Open(path string) (*Library, error) {
	named := path
	if named == "" {
		named = os.Getenv(Variable)
	}
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
		return nil, hint.Add(errors.New(untrusted.Text(err.Error())), "it is not a library for this system; "+adviceInstall)
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
		reasons = append(reasons, untrusted.Text(err.Error()))
	}
	return nil, hint.Add(fmt.Errorf("%w (%s)", ErrNotFound, strings.Join(reasons, "; ")), adviceInstall)
}

// open makes a Library of what has been loaded by that name. It closes the
// handle of what is not ONNX Runtime.
func open(name string, handle uintptr) (*Library, error) {
	opened.Lock()
	defer opened.Unlock()
	if l := opened.byName[name]; l != nil {
		closeLibrary(handle) // counted by the system; ours remains
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

// checkVersion refuses a release that does not offer apiVersion.
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

// Version returns the library's release, for example "1.22.0".
func (l *Library) Version() string { return l.version }

// Path returns the file or name by which the library was loaded.
func (l *Library) Path() string { return l.path }

// String names release and file.
func (l *Library) String() string { return "ONNX Runtime " + l.version + " (" + l.path + ")" }
