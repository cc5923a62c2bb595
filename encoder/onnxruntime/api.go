//go:build !static && !android && (linux || darwin || windows) && (amd64 || arm64)

package onnxruntime

import (
	"errors"
	"fmt"
	"unsafe"

	"cpar/internal/sanitize"

	"github.com/ebitengine/purego"
)

// Indices of OrtApi's functions, in the order of struct OrtApi in
// onnxruntime_c_api.h (counted in the header of 1.22). Releases only append to
// it.
const (
	getErrorMessage                = 2
	createEnv                      = 3
	disableTelemetryEvents         = 6
	createSessionFromArray         = 8
	run                            = 9
	createSessionOptions           = 10
	setSessionExecutionMode        = 13
	setSessionLogSeverityLevel     = 22
	setIntraOpNumThreads           = 24
	setInterOpNumThreads           = 25
	createTensorWithDataAsOrtValue = 49
	isTensor                       = 50
	getTensorMutableData           = 51
	getTensorElementType           = 60
	getDimensionsCount             = 61
	getDimensions                  = 62
	getTensorShapeElementCount     = 64
	getTensorTypeAndShape          = 65
	createCPUMemoryInfo            = 69
	releaseEnv                     = 92
	releaseStatus                  = 93
	releaseSession                 = 95
	releaseValue                   = 96
	releaseTensorTypeAndShapeInfo  = 99
	releaseSessionOptions          = 100
	addSessionConfigEntry          = 130
	tableLength                    = 131 // length of the part that is read
)

// Values of the header's enumerations.
const (
	logFatal        = 4 // OrtLoggingLevel
	sequential      = 0 // ExecutionMode
	arenaAllocator  = 1 // OrtAllocatorType
	memoryDefault   = 0 // OrtMemType
	maxMessageBytes = 1 << 12
)

type functionTable [tableLength]uintptr

func start(name string, handle uintptr) (*Library, error) {
	entry, err := symbol(handle, "OrtGetApiBase")
	if err != nil || entry == 0 {
		return nil, errors.New("it is not ONNX Runtime: it has no function OrtGetApiBase")
	}
	//	struct OrtApiBase { OrtApi *GetApi(uint32_t version); char *GetVersionString(); }
	base, _, _ := purego.SyscallN(entry)
	if base == 0 {
		return nil, errors.New("OrtGetApiBase gives nothing")
	}
	functions := (*[2]uintptr)(foreign(base))
	version, _, _ := purego.SyscallN(functions[1])
	l := &Library{path: name, version: sanitize.Text(text(version))}
	if err := checkVersion(l.version); err != nil {
		return nil, err
	}
	table, _, _ := purego.SyscallN(functions[0], apiVersion)
	if table == 0 {
		return nil, fmt.Errorf("it is ONNX Runtime %s and does not offer version %d of its interface", l.version, apiVersion)
	}
	l.table = (*functionTable)(foreign(table))

	// Suppress logging to stderr, because a status returns errors.
	id := []byte("cpar\x00")
	if err := l.call(createEnv, logFatal, uintptr(unsafe.Pointer(&id[0])), uintptr(unsafe.Pointer(&l.env))); err != nil {
		return nil, fmt.Errorf("making its environment: %w", err)
	}
	// Windows builds report to the system which models run.
	err = l.call(disableTelemetryEvents, l.env)
	if err == nil {
		err = l.call(createCPUMemoryInfo, arenaAllocator, memoryDefault, uintptr(unsafe.Pointer(&l.cpu)))
	}
	if err != nil {
		l.release(releaseEnv, l.env)
		return nil, fmt.Errorf("making its environment: %w", err)
	}
	return l, nil
}

// call calls a function that returns an OrtStatus. An argument is a word, a
// handle, or the address of a Go variable, converted in the call itself: the
// directive keeps such variables alive and in place until it returns.
//
//go:uintptrescapes
func (l *Library) call(function int, args ...uintptr) error {
	status, _, _ := purego.SyscallN(l.table[function], args...)
	if status == 0 {
		return nil
	}
	message, _, _ := purego.SyscallN(l.table[getErrorMessage], status)
	err := errors.New(sanitize.Text(text(message)))
	l.release(releaseStatus, status)
	return err
}

func (l *Library) release(function int, handle uintptr) {
	if handle != 0 {
		purego.SyscallN(l.table[function], handle)
	}
}

// foreign converts an address outside Go's memory, where nothing moves.
func foreign(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// text copies a C string.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	start := (*byte)(foreign(address))
	n := 0
	for n < maxMessageBytes && *(*byte)(unsafe.Add(unsafe.Pointer(start), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(start, n))
}
