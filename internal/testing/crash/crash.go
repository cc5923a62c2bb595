// Package crash stops a program after any of its file operations, for tests.
//
// An FS passes operations on to the real file system below a root folder. After
// a given number of operations, all further ones fail, as if the process had
// ended. Settle then brings the folder into the state that the next process
// finds:
//
//	Killed    all operations so far took effect, and a cut write left half its bytes
//	PowerLoss only synced data survive: bytes by Sync of the file, names
//	          by SyncDir of the folder, and unsynced files are empty
//
// The state of a real disk is between the two. Code that survives both at every
// step orders its syncs and renames correctly.
//
// A Full simulates a disk with a given number of free bytes.
package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cpar/internal/durable"
)

var ErrCrash = errors.New("the process is gone")

type Mode int

const (
	Killed Mode = iota
	PowerLoss
)

func (m Mode) String() string { return [...]string{"killed", "power loss"}[m] }

type FS struct {
	mu    sync.Mutex
	root  string
	mode  Mode
	left  int // operations until the cut
	steps int
	cut   bool
	top   *node
}

// A node is a file or folder. It holds the state that programs see and the
// state that is durable.
type node struct {
	dir          bool
	synced       []byte           // a file's durable bytes
	now, durable map[string]*node // a folder's names
}

// New returns an FS below folder `root`, whose contents count as durable.
// Operation number `steps`, counted from 0, is the first that fails.
func New(root string, mode Mode, steps int) (*FS, error) {
	top, err := load(root)
	return &FS{root: root, mode: mode, left: steps, top: top}, err
}

func load(path string) (*node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		b, err := os.ReadFile(path)
		return &node{synced: b}, err
	}
	n := &node{dir: true, now: map[string]*node{}, durable: map[string]*node{}}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		child, err := load(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		n.now[e.Name()], n.durable[e.Name()] = child, child
	}
	return n, err
}

func (f *FS) Steps() int { return f.steps }

func (f *FS) Crashed() bool { return f.cut }

func (f *FS) step() error {
	if f.cut || f.left == 0 {
		f.cut = true
		return ErrCrash
	}
	f.left--
	f.steps++
	return nil
}

// find returns the folder that holds `path`, and the name of `path` in this
// folder. A folder created outside the FS counts as durable.
func (f *FS) find(path string) (*node, string) {
	rel, err := filepath.Rel(f.root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		panic("crash: " + path + " is outside of " + f.root)
	}
	n, at := f.top, f.root
	parts := strings.Split(rel, string(filepath.Separator))
	for _, part := range parts[:len(parts)-1] {
		at = filepath.Join(at, part)
		if n.now[part] == nil {
			child, err := load(at)
			if err != nil {
				panic(err)
			}
			n.now[part], n.durable[part] = child, child
		}
		n = n.now[part]
	}
	return n, parts[len(parts)-1]
}

// do counts an operation, performs it, and records its effect.
func (f *FS) do(operation func() error, effect func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.step()
	if err == nil {
		err = operation()
	}
	if err == nil {
		effect()
	}
	return err
}

// link gives node n the name `path`, or removes this name if n is nil.
func (f *FS) link(path string, n *node) {
	if parent, name := f.find(path); n != nil {
		parent.now[name] = n
	} else {
		delete(parent.now, name)
	}
}

func (f *FS) Create(path string, perm fs.FileMode) (durable.File, error) {
	w := &file{fs: f, node: &node{}}
	err := f.do(func() (err error) { w.File, err = durable.OS.Create(path, perm); return err },
		func() { f.link(path, w.node) })
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (f *FS) Rename(from, to string) error { return f.rename(from, to, durable.OS.Rename) }

func (f *FS) RenameNew(from, to string) error { return f.rename(from, to, durable.OS.RenameNew) }

func (f *FS) rename(from, to string, rename func(from, to string) error) error {
	return f.do(func() error { return rename(from, to) }, func() {
		parent, name := f.find(from)
		n := parent.now[name]
		f.link(from, nil)
		f.link(to, n)
	})
}

func (f *FS) Remove(path string) error {
	return f.do(func() error { return durable.OS.Remove(path) }, func() { f.link(path, nil) })
}

func (f *FS) Mkdir(path string, perm fs.FileMode) error {
	return f.do(func() error { return durable.OS.Mkdir(path, perm) }, func() {
		f.link(path, &node{dir: true, now: map[string]*node{}, durable: map[string]*node{}})
	})
}

func nothing() error { return nil }

func (f *FS) SyncDir(path string) error {
	return f.do(nothing, func() {
		n, _ := f.find(filepath.Join(path, "x"))
		n.durable = maps.Clone(n.now)
	})
}

type file struct {
	durable.File
	fs    *FS
	node  *node
	bytes []byte
}

func (w *file) Write(p []byte) (int, error) {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.fs.cut {
		return 0, ErrCrash
	}
	if err := w.fs.step(); err != nil {
		n, _ := w.File.Write(p[:len(p)/2])
		return n, err
	}
	w.bytes = append(w.bytes, p...)
	return w.File.Write(p)
}

func (w *file) Sync() error {
	return w.fs.do(nothing, func() { w.node.synced = w.bytes })
}

func (w *file) Close() error {
	w.File.Close() // a killed process holds no file open
	return w.fs.do(nothing, func() {})
}

func (f *FS) Settle() error {
	if f.mode == Killed {
		return nil
	}
	entries, err := os.ReadDir(f.root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(f.root, e.Name())); err != nil {
			return err
		}
	}
	return f.top.write(f.root)
}

func (n *node) write(path string) error {
	if !n.dir {
		return os.WriteFile(path, n.synced, 0o600)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for name, child := range n.durable {
		if err := child.write(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// Each calls `run` with an FS that stops at step 0, 1, 2 and so on, until `run`
// completes, in both modes. It calls `check` after each run. `done` reports
// whether the run completed. `run` must close its files even on failure.
func Each(t *testing.T, prepare func(root string), run func(fsys durable.FS, root string) error, check func(t *testing.T, root string, done bool)) {
	t.Helper()
	for _, mode := range []Mode{Killed, PowerLoss} {
		for step := 0; ; step++ {
			root := t.TempDir()
			prepare(root)
			fsys, err := New(root, mode, step)
			if err != nil {
				t.Fatal(err)
			}
			err = run(fsys, root)
			if !fsys.Crashed() && err != nil {
				t.Fatalf("%v, not cut: %v", mode, err)
			}
			if err := fsys.Settle(); err != nil {
				t.Fatal(err)
			}
			ok := t.Run(fmt.Sprintf("%v at step %d", mode, step), func(t *testing.T) { check(t, root, err == nil) })
			if !ok || !fsys.Crashed() {
				break
			}
			if step > 10000 {
				t.Fatal("the program does not come to an end")
			}
		}
	}
}

// A Full simulates a disk with room for Left bytes. Further writes fail with
// ENOSPC after writing the bytes that fit.
type Full struct {
	durable.FS
	mu   sync.Mutex
	Left int
}

func (f *Full) Create(path string, perm fs.FileMode) (durable.File, error) {
	real, err := f.FS.Create(path, perm)
	if err != nil {
		return nil, err
	}
	return &fullFile{real, f, path}, nil
}

type fullFile struct {
	durable.File
	disk *Full
	path string
}

func (w *fullFile) Write(p []byte) (int, error) {
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	fits := min(len(p), w.disk.Left)
	n, err := w.File.Write(p[:fits])
	w.disk.Left -= n
	if err == nil && fits < len(p) {
		err = &fs.PathError{Op: "write", Path: w.path, Err: syscall.ENOSPC}
	}
	return n, err
}
