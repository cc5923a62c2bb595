//go:build !static && !android && (linux || darwin) && (amd64 || arm64)

package onnxruntime

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// usualNames are what is tried where nobody names a file. On Linux the loader
// looks in the system's folders and those of LD_LIBRARY_PATH. That of macOS
// would look in the working directory too, where anything may lie, and not in
// Homebrew's folders: there they are named.
func usualNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/opt/homebrew/lib/libonnxruntime.dylib", "/usr/local/lib/libonnxruntime.dylib"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so"}
}

func loadLibrary(name string) (uintptr, error) {
	// The reason of a failure is kept by thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

func closeLibrary(handle uintptr) { _ = purego.Dlclose(handle) }
