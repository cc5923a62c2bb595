//go:build !static && (amd64 || arm64)

package onnxruntime

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// usualNames returns the name to try by default. Windows searches beside the
// program, then in the system's folder, which has its own release.
func usualNames() []string { return []string{"onnxruntime.dll"} }

// loadLibrary never searches the working directory, which is untrusted. A named
// file may have its dependencies beside it.
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
