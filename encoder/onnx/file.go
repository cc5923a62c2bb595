package onnx

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/edsrzf/mmap-go"

	"cpar/internal/hint"
)

// maxFiles is the maximum number of other files that a model may name. It is
// large because some exporters give each tensor its own file.
const maxFiles = 1024

// A File is a model file and the other files it names. They are mapped into
// memory so that the operating system can reclaim their pages.
//
// The other files are opened through a handle of the model's folder, so that
// "..", absolute paths and links cannot leave it.
type File struct {
	Data   []byte // the model file's contents, valid until Close
	path   string
	limits Limits
	bytes  int64 // total size of all files
	digest [sha256.Size]byte
	folder *os.Root               // the model's folder, once another file was opened
	others map[string]*mappedFile // other files by name
	memory bool                   // Data is not mapped
}

type mappedFile struct {
	data   mmap.MMap
	digest [sha256.Size]byte
}

// Open maps a model file.
func Open(path string, limits Limits) (*File, error) {
	x := &File{path: path, limits: limits.OrDefault(), others: map[string]*mappedFile{}}
	// Without O_NONBLOCK, opening a pipe waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := x.mapFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x.Data, x.digest = m.data, m.digest
	return x, nil
}

// InMemory returns a model from memory. It may not name other files.
func InMemory(data []byte, limits Limits) *File {
	return &File{Data: data, limits: limits.OrDefault(), digest: sha256.Sum256(data), memory: true}
}

func (x *File) mapFile(f *os.File) (*mappedFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > x.limits.FileBytes-x.bytes {
		return nil, hint.Add(fmt.Errorf("the model has more than the %d bytes accepted", x.limits.FileBytes), "if you trust it, pass --limit-file")
	}
	// Hashing by reading, not through the mapping, detects a failing disk early
	// and keeps unused pages out of the process's memory.
	h := sha256.New()
	if n, err := io.CopyBuffer(h, f, make([]byte, 1<<20)); err != nil || n != info.Size() {
		return nil, cmp.Or(err, errors.New("it changed while it was read"))
	}
	m := &mappedFile{digest: [sha256.Size]byte(h.Sum(nil))}
	if info.Size() > 0 { // mmap refuses an empty file
		if m.data, err = mmap.MapRegion(f, int(info.Size()), mmap.RDONLY, 0, 0); err != nil {
			return nil, err
		}
	}
	x.bytes += info.Size()
	return m, nil
}

// External returns the bytes of another file in the model's folder, valid until
// Close. It can be passed to Read as parameter external.
func (x *File) External(name string) ([]byte, error) {
	if m := x.others[name]; m != nil {
		return m.data, nil
	}
	if err := checkLocation(name); err != nil {
		return nil, err
	}
	if x.memory {
		return nil, fmt.Errorf("it names the file %.80q, but was not read from a folder", name)
	}
	if len(x.others) >= maxFiles {
		return nil, fmt.Errorf("it names more than %d other files", maxFiles)
	}
	if x.folder == nil {
		folder, err := os.OpenRoot(filepath.Dir(x.path))
		if err != nil {
			return nil, err
		}
		x.folder = folder
	}
	f, err := x.folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, hint.Add(fmt.Errorf("there is no file %.80q beside it", name), "keep the files of a model together in one folder")
		}
		return nil, hint.Add(fmt.Errorf("file %.80q beside it: %w", name, err), "copy it into the model's folder: links that lead out are not followed")
	}
	defer f.Close()
	m, err := x.mapFile(f)
	if err != nil {
		return nil, fmt.Errorf("file %.80q beside it: %w", name, err)
	}
	x.others[name] = m
	return m.data, nil
}

// checkLocation accepts names of files in the model's folder or below. It
// refuses backslashes, because only some systems treat them as separators.
func checkLocation(name string) error {
	if name == "" || !filepath.IsLocal(name) || filepath.Clean(name) == "." || strings.ContainsAny(name, "\\\x00") || strings.Contains(name, ":") {
		return fmt.Errorf("its data are in %.80q, which is not in the model's folder", name)
	}
	return nil
}

// Digest returns the SHA-256 of the model file, or a hash over the digests of
// all files read so far if there are others.
func (x *File) Digest() [sha256.Size]byte {
	if len(x.others) == 0 {
		return x.digest
	}
	h := sha256.New()
	fmt.Fprintf(h, "cpar/v1/external data %x", x.digest)
	for _, name := range slices.Sorted(maps.Keys(x.others)) {
		fmt.Fprintf(h, " %q %x", name, x.others[name].digest)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Close unmaps the files and invalidates all pointers into them.
func (x *File) Close() error {
	var errs []error
	unmap := func(m mmap.MMap) {
		if len(m) > 0 {
			errs = append(errs, m.Unmap())
		}
	}
	if !x.memory {
		unmap(x.Data)
	}
	for _, m := range x.others {
		unmap(m.data)
	}
	if x.folder != nil {
		errs = append(errs, x.folder.Close())
	}
	*x = File{}
	return errors.Join(errs...)
}

// Guard calls f, which must read mapped files on the calling goroutine only. It
// turns the memory fault of a shrinking file or a failing disk into an error.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		err = fmt.Errorf("the file became shorter while it was read, or its disk failed (at %#x)", fault.Addr())
	}()
	return f()
}

// A location is the place of a tensor's data in another file.
type location struct {
	file           string
	offset, length int64 // in bytes
	hasLength      bool  // whether the model states the length
}

const maxEntries = 16 // maximum number of external_data entries of a tensor

func (l *location) entry(b []byte) error {
	key, value, err := textPair(b)
	if err != nil {
		return err
	}
	switch key {
	case "location":
		l.file = value
	case "offset":
		l.offset, err = number(key, value)
	case "length":
		l.length, err = number(key, value)
		l.hasLength = true
	}
	return err // "checksum" is ignored
}

func number(key, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("its %s in another file is %.40q, want a non-negative integer", key, value)
	}
	return n, nil
}

var errExternalData = errors.New("its data are in another file")

// find returns `size` bytes from the location. If `size` is negative, the
// stated length or the rest of the file applies.
func (l *location) find(size int64, external func(name string) ([]byte, error)) ([]byte, error) {
	if external == nil {
		return nil, hint.Add(errExternalData, "save the model as one file")
	}
	if l.file == "" {
		return nil, fmt.Errorf("%w, but that file is not named", errExternalData)
	}
	data, err := external(l.file)
	if err != nil {
		return nil, err
	}
	rest := int64(len(data)) - l.offset
	if rest < 0 {
		return nil, fmt.Errorf("its data begin at byte %d of %.80q, which has %d", l.offset, l.file, len(data))
	}
	if !l.hasLength {
		l.length = rest
		if size >= 0 {
			l.length = min(size, rest)
		}
	}
	if l.length > rest {
		return nil, fmt.Errorf("its data end at byte %d+%d of %.80q, which has %d", l.offset, l.length, l.file, len(data))
	}
	if size >= 0 && l.length != size {
		return nil, fmt.Errorf("%d bytes of data in %.80q where its shape asks for %d", l.length, l.file, size)
	}
	return data[l.offset:][:l.length], nil
}
