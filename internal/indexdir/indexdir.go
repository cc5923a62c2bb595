// Package indexdir stores one encrypted index in a folder. The owner's computer
// and the cloud use the same layout.
//
//	folder/manifest            canonical bytes of the active cpar.Manifest
//	folder/segments/<digest>   immutable files named by their SHA-256, 64 hex digits
//	folder/lock                held by the owner's process while it writes
//
//	Create ─▶ AddSegment, Write…, Close ─▶ … ─▶ Activate(manifest)
//	Open   ─▶ Manifest, Segments (memory maps, or copies: Memory) ─▶ Release
//
// The diagram shows the owner's process. A cloud instead holds one lock for its
// whole data folder and calls Attach for each index.
//
// Activate renames the manifest into place when all segments that it names are
// on disk. A process killed at any instant therefore leaves either the old or
// the new index complete. Activate then removes segments that the new manifest
// does not name. Readers that have mapped such segments keep them until
// Release.
//
// A reader takes no lock. Opening an index checks the size and SHA-256 of every
// segment. Mapped bytes stay valid as long as no other program writes to the
// folder.
package indexdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

const (
	manifestName = "manifest"
	segmentsName = "segments"
	lockName     = "lock"

	folderMode = 0o700
	fileMode   = 0o600

	uploadLabel   = "upload"
	manifestMagic = "CPARM"

	// maxManifest bounds the bytes read before the manifest can be checked. The
	// largest manifest lists 65,536 segments in 41 bytes each.
	maxManifest = 4 << 20
)

// Each of these errors is a fault of a segment. It is returned wrapped with
// cpar.ErrCorrupt and the segment's name.
var (
	ErrMissing = errors.New("it is missing")
	ErrNotFile = errors.New("it is not a regular file")
	ErrSize    = errors.New("its size does not fit")
	ErrDigest  = errors.New("its content does not match its digest")
)

// ErrNoIndex reports a folder without a manifest. It is wrapped with
// cpar.ErrInput.
var ErrNoIndex = errors.New("no index here")

// ErrLocked reports that another process writes to the folder. It is wrapped
// with cpar.ErrStorage.
var ErrLocked = errors.New("in use by another process")

const rebuild = "build or push the index again"

func SegmentsFolder(folder string) string { return filepath.Join(folder, segmentsName) }

func SegmentPath(folder string, d cpar.Digest) string {
	return filepath.Join(folder, segmentsName, d.String())
}

func OpenSegment(folder string, d cpar.Digest) (*os.File, int64, error) {
	return openFile(folder, d, func(err error) error { return fmt.Errorf("segment %v: %w: %w", d, cpar.ErrCorrupt, err) })
}

// openFile opens a segment and returns its size. It passes faults of the
// segment through function `fault`.
func openFile(folder string, d cpar.Digest, fault func(error) error) (*os.File, int64, error) {
	path := SegmentPath(folder, d)
	f, info, err := openRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fault(ErrMissing)
	case errors.Is(err, ErrNotFile):
		return nil, 0, fault(err)
	case err != nil:
		return nil, 0, durable.StorageError("opening", path, 0, err)
	}
	return f, info.Size(), nil
}

// withFolder adds the folder to an error that does not name the folder. A cloud
// does not call it, because clients must not learn the cloud's folders.
func withFolder(folder string, err error) error {
	if err == nil || errors.Is(err, cpar.ErrStorage) {
		return err // package durable names the path
	}
	return fmt.Errorf("index %s: %w", folder, err)
}

func ReadManifest(folder string) (*cpar.Manifest, error) {
	b, err := ReadManifestBytes(folder)
	if err != nil {
		return nil, withFolder(folder, err)
	}
	m, err := decodeManifest(b)
	return m, withFolder(folder, err)
}

func decodeManifest(b []byte) (*cpar.Manifest, error) {
	m, err := cpar.DecodeManifest(b)
	if errors.Is(err, cpar.ErrCorrupt) {
		err = hint.Add(err, rebuild)
	}
	return m, err
}

// ReadManifestBytes reads the active manifest without checking it. Its errors
// name the folder only if they wrap cpar.ErrStorage.
func ReadManifestBytes(folder string) ([]byte, error) {
	f, info, err := openRegular(filepath.Join(folder, manifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, ErrNoIndex)
	case errors.Is(err, ErrNotFile):
		return nil, hint.Add(fmt.Errorf("manifest: %w: %w", cpar.ErrCorrupt, err), rebuild)
	case err != nil:
		return nil, durable.StorageError("reading", filepath.Join(folder, manifestName), 0, err)
	}
	defer f.Close()
	if info.Size() > maxManifest {
		return nil, hint.Add(fmt.Errorf("manifest: %w: it has %d bytes", cpar.ErrCorrupt, info.Size()), rebuild)
	}
	b := make([]byte, info.Size())
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, durable.StorageError("reading", f.Name(), 0, err)
	}
	return b, nil
}

// openRegular opens a regular file for reading. It refuses folders, links, which
// could point outside the index, and pipes, which could block.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	for attempt := 0; ; attempt++ {
		f, info, err := openOnce(path)
		// A newer manifest may be renamed into place between two system calls.
		if !errors.Is(err, errExchanged) || attempt == 10 {
			return f, info, err
		}
	}
}

var errExchanged = fmt.Errorf("%w: it was replaced while being opened", ErrNotFile)

func openOnce(path string) (*os.File, fs.FileInfo, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w (%s)", ErrNotFile, describe(before.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errExchanged
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func describe(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a device or pipe"
}

// Lock locks an existing folder. Closing it or ending the process unlocks it.
func Lock(folder string) (*flock.Flock, error) {
	l := flock.New(filepath.Join(folder, lockName), flock.SetPermissions(fileMode))
	ok, err := l.TryLock()
	if err != nil {
		return nil, durable.StorageError("locking", folder, 0, err)
	}
	if !ok {
		return nil, hint.Add(fmt.Errorf("locking %s: %w: %w", folder, cpar.ErrStorage, ErrLocked), "wait for the other process, or stop it")
	}
	return l, nil
}
