//go:build !static && !android && (linux || darwin || windows) && (amd64 || arm64)

package onnxruntime

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"cpar/encoder/onnx"
	"cpar/internal/sanitize"
)

// These are indices of functions in struct OrtApi of onnxruntime_c_api.h,
// counted in release 1.22. Releases only append to the struct.
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
	tableLength                    = 131 // number of leading entries that are read
)

// These are values of enumerations in the header, except for the last.
const (
	logFatal        = 4       // OrtLoggingLevel
	sequential      = 0       // ExecutionMode
	arenaAllocator  = 1       // OrtAllocatorType
	memoryDefault   = 0       // OrtMemType
	maxMessageBytes = 1 << 12 // of a text that the library returns
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
		return nil, errors.New("OrtGetApiBase returns nothing")
	}
	functions := (*[2]uintptr)(foreign(base))
	version, _, _ := purego.SyscallN(functions[1])
	l := &Library{path: name, version: sanitize.Text(text(version))}
	if err := checkVersion(l.version); err != nil {
		return nil, err
	}
	table, _, _ := purego.SyscallN(functions[0], apiVersion)
	if table == 0 {
		return nil, fmt.Errorf("it is ONNX Runtime %s but does not offer version %d of its interface", l.version, apiVersion)
	}
	l.table = (*functionTable)(foreign(table))

	// Log only fatal errors to stderr, because calls return errors as a status.
	id := []byte("cpar\x00")
	if err := l.call(createEnv, logFatal, uintptr(unsafe.Pointer(&id[0])), uintptr(unsafe.Pointer(&l.env))); err != nil {
		return nil, fmt.Errorf("creating its environment: %w", err)
	}
	// Without this call, Windows builds report the models to the system.
	err = l.call(disableTelemetryEvents, l.env)
	if err == nil {
		err = l.call(createCPUMemoryInfo, arenaAllocator, memoryDefault, uintptr(unsafe.Pointer(&l.cpu)))
	}
	if err != nil {
		l.release(releaseEnv, l.env)
		return nil, fmt.Errorf("creating its environment: %w", err)
	}
	return l, nil
}

// call calls a function that returns an OrtStatus. An argument is a number, a
// handle, or the address of a Go variable. Convert addresses to uintptr in the
// argument list, because the directive below then keeps the variable alive and
// in place until call returns.
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

// foreign makes a pointer of an address outside Go's heap, where nothing moves.
func foreign(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

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

// sessionConfig makes the library refuse its own model format, which would
// bypass all checks of the ONNX file. The keys are in
// onnxruntime_session_options_config_keys.h.
var sessionConfig = [][2]string{{"session.load_model_format", "ONNX"}}

func (l *Library) load(data []byte) (uintptr, error) {
	var options uintptr
	if err := l.call(createSessionOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return 0, err
	}
	defer l.release(releaseSessionOptions, options)
	// Use one core per image, because the caller distributes images over cores.
	for function, value := range map[int]uintptr{
		setIntraOpNumThreads: 1, setInterOpNumThreads: 1,
		setSessionExecutionMode: sequential, setSessionLogSeverityLevel: logFatal,
	} {
		if err := l.call(function, options, value); err != nil {
			return 0, err
		}
	}
	for _, entry := range sessionConfig {
		key, value := append([]byte(entry[0]), 0), append([]byte(entry[1]), 0)
		if err := l.call(addSessionConfigEntry, options, uintptr(unsafe.Pointer(&key[0])), uintptr(unsafe.Pointer(&value[0]))); err != nil {
			return 0, err
		}
	}
	var session uintptr
	err := l.call(createSessionFromArray, l.env, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), options, uintptr(unsafe.Pointer(&session)))
	return session, err
}

func (l *Library) free(session uintptr) { l.release(releaseSession, session) }

// run runs the session. `input` must match the shape. The caller holds s.mu.
func (s *Session) run(input []byte) ([]float32, []int, error) {
	l := s.library
	// Pin the input, because the tensor refers to the input until released. Pin
	// the names, because the library reads them through addresses that the
	// compiler does not see.
	var pinned runtime.Pinner
	defer pinned.Unpin()
	pinned.Pin(&input[0])
	pinned.Pin(&s.input[0])
	pinned.Pin(&s.output[0])

	var in, out uintptr // OrtValue
	err := l.call(createTensorWithDataAsOrtValue, l.cpu, uintptr(unsafe.Pointer(&input[0])), uintptr(len(input)),
		uintptr(unsafe.Pointer(&s.shape[0])), uintptr(len(s.shape)), uintptr(s.element), uintptr(unsafe.Pointer(&in)))
	if err != nil {
		return nil, nil, err
	}
	defer l.release(releaseValue, in)

	inputName, outputName := &s.input[0], &s.output[0]
	const noOptions = 0
	err = l.call(run, s.handle, noOptions,
		uintptr(unsafe.Pointer(&inputName)), uintptr(unsafe.Pointer(&in)), 1,
		uintptr(unsafe.Pointer(&outputName)), 1, uintptr(unsafe.Pointer(&out)))
	defer func() { l.release(releaseValue, out) }()
	if err != nil {
		return nil, nil, err
	}
	return l.floats(out)
}

func (l *Library) floats(value uintptr) ([]float32, []int, error) {
	errKind := errors.New("its output is not a tensor of float or float16")
	if value == 0 {
		return nil, nil, errKind
	}
	var tensor int32
	if err := l.call(isTensor, value, uintptr(unsafe.Pointer(&tensor))); err != nil {
		return nil, nil, err
	}
	if tensor == 0 {
		return nil, nil, errKind
	}
	var info uintptr // OrtTensorTypeAndShapeInfo
	if err := l.call(getTensorTypeAndShape, value, uintptr(unsafe.Pointer(&info))); err != nil {
		return nil, nil, err
	}
	defer l.release(releaseTensorTypeAndShapeInfo, info)
	var element onnx.Type
	if err := l.call(getTensorElementType, info, uintptr(unsafe.Pointer(&element))); err != nil {
		return nil, nil, err
	}
	if element != onnx.Float && element != onnx.Float16 {
		return nil, nil, fmt.Errorf("%w: its elements are of type %d", errKind, int32(element))
	}
	shape, n, err := l.dimensions(info)
	if err != nil || n == 0 {
		return []float32{}, shape, err
	}
	var data unsafe.Pointer
	if err := l.call(getTensorMutableData, value, uintptr(unsafe.Pointer(&data))); err != nil {
		return nil, nil, err
	}
	if element == onnx.Float16 {
		return widened(unsafe.Slice((*uint16)(data), n)), shape, nil
	}
	return slices.Clone(unsafe.Slice((*float32)(data), n)), shape, nil
}

func (l *Library) dimensions(info uintptr) (shape []int, n uintptr, err error) {
	var rank uintptr
	if err := l.call(getDimensionsCount, info, uintptr(unsafe.Pointer(&rank))); err != nil {
		return nil, 0, err
	}
	const maxRank = 16
	if rank > maxRank {
		return nil, 0, fmt.Errorf("its output has %d dimensions", rank)
	}
	var dims [maxRank]int64
	if err := l.call(getDimensions, info, uintptr(unsafe.Pointer(&dims[0])), rank); err != nil {
		return nil, 0, err
	}
	shape = make([]int, rank)
	for i := range shape {
		shape[i] = int(dims[i])
	}
	err = l.call(getTensorShapeElementCount, info, uintptr(unsafe.Pointer(&n)))
	return shape, n, err
}
