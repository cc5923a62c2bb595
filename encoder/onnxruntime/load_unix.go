//go:build !static && !android && (linux || darwin) && (amd64 || arm64)

package onnxruntime

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// usualNames are tried if no file is named. On Linux the loader searches the system's
// folders and those of LD_LIBRARY_PATH. On macOS it would also search the working
// directory, where anything may lie, but not Homebrew's folders: so these are named.
func usualNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/opt/homebrew/lib/libonnxruntime.dylib", "/usr/local/lib/libonnxruntime.dylib"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so"}
}

func loadLibrary(name string) (uintptr, error) {
	// The reason for a failure is kept per thread.
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
