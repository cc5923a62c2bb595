//go:build !static && !android && (linux || darwin) && (amd64 || arm64)

package onnxruntime

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// usualNames returns the names to try by default. On macOS these are full
// paths, because its loader omits Homebrew's folders and would search the
// untrusted working directory.
func usualNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/opt/homebrew/lib/libonnxruntime.dylib", "/usr/local/lib/libonnxruntime.dylib"}
	}
	return []string{"libonnxruntime.so.1", "libonnxruntime.so"}
}

func loadLibrary(name string) (uintptr, error) {
	// Stay on one thread, because the loader's error message is per thread.
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
