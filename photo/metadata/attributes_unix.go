//go:build linux || darwin

package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"cpar/internal/durable"
	"cpar/internal/sanitize"
)

// copyAttributes copies extended attributes, such as tags of Dolphin and Finder
// and access control lists of Linux, except those that only the system may set.
func copyAttributes(from, to string) error { return copyAttributesBy(unix.Setxattr, from, to) }

func copyAttributesBy(set func(path, name string, value []byte, flags int) error, from, to string) error {
	names, err := readGrowing(func(buf []byte) (int, error) { return unix.Listxattr(from, buf) })
	if err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		return durable.StorageError("reading extended attributes of", from, 0, err)
	}
	for b := range bytes.SplitSeq(names, []byte{0}) {
		name := string(b)
		switch name {
		case "", "security.ima", "security.evm": // the kernel's digests of the old content
			continue
		}
		value, err := readGrowing(func(buf []byte) (int, error) { return unix.Getxattr(from, name, buf) })
		if err == nil {
			err = set(to, name, value, 0)
		}
		switch {
		case err == nil:
		case !isUserAttribute(name) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported)):
		default:
			return durable.StorageError(fmt.Sprintf("keeping the extended attribute %s of", sanitize.Text(name)), from, 0, err)
		}
	}
	return nil
}

// readGrowing reads a value's length, then the value, and starts again if the
// value grew in between.
func readGrowing(read func(buf []byte) (int, error)) ([]byte, error) {
	for {
		n, err := read(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		buf := make([]byte, n)
		if n, err = read(buf); !errors.Is(err, unix.ERANGE) {
			return buf[:max(n, 0)], err
		}
	}
}

// isUserAttribute reports whether losing an attribute would lose a user's tag
// or widen access to the file.
func isUserAttribute(name string) bool {
	if runtime.GOOS == "darwin" {
		return !strings.HasPrefix(name, "com.apple.") || strings.HasPrefix(name, "com.apple.metadata:")
	}
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_")
}
