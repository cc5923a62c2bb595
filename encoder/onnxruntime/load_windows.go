//go:build !static && (amd64 || arm64)

package onnxruntime

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// usualNames returns the name to try by default. Windows searches the program's
// folder and then the system's folder, which may contain Microsoft's own
// release.
func usualNames() []string { return []string{"onnxruntime.dll"} }

// loadLibrary loads a library. It never searches the working directory, which
// is untrusted. For a full path, it also searches the library's folder for
// dependencies.
func loadLibrary(name string) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if filepath.IsAbs(name) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	handle, err := windows.LoadLibraryEx(name, 0, flags)
	return uintptr(handle), err
}

func symbol(handle uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), name)
}

func closeLibrary(handle uintptr) { _ = windows.FreeLibrary(windows.Handle(handle)) }
