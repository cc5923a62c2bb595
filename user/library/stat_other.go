//go:build !unix

package library

import "io/fs"

// inode returns 0, so that only size and time identify a file version.
func inode(fs.FileInfo) uint64 { return 0 }
