//go:build !unix

package metadata

import "io/fs"

// chown does nothing on systems without Unix owners.
func chown(string, fs.FileInfo) {}
