// Package blobtest provides stores of an album for tests: in memory, in a
// folder that several processes share, and a hostile one.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cpar/internal/durable"
	"cpar/user/album/blobs"
)

type entry struct {
	bytes    []byte
	modified time.Time
}

// A Memory keeps blobs in memory and counts the bytes that pass.
type Memory struct {
	mu             sync.Mutex
	blobs          map[string]entry
	Sent, Received int64
	Calls          int
	Now            func() time.Time
}

func NewMemory() *Memory { return &Memory{blobs: map[string]entry{}, Now: time.Now} }

func (m *Memory) lock() func() {
	m.mu.Lock()
	m.Calls++
	return m.mu.Unlock
}

func (m *Memory) Put(_ context.Context, name string, b []byte) error {
	defer m.lock()()
	if old, ok := m.blobs[name]; ok {
		if bytes.Equal(old.bytes, b) {
			return nil
		}
		return blobs.ErrExists
	}
	m.Sent += int64(len(b))
	m.blobs[name] = entry{bytes.Clone(b), m.Now()}
	return nil
}

func (m *Memory) Replace(_ context.Context, name string, b []byte, old [32]byte) error {
	defer m.lock()()
	if now, ok := m.blobs[name]; !ok || sha256.Sum256(now.bytes) != old {
		return blobs.ErrChanged
	}
	m.Sent += int64(len(b))
	m.blobs[name] = entry{bytes.Clone(b), m.Now()}
	return nil
}

func (m *Memory) Get(_ context.Context, name string, offset, length int64) ([]byte, error) {
	defer m.lock()()
	b, err := part(m.blobs, name, offset, length)
	m.Received += int64(len(b))
	return b, err
}

func part(all map[string]entry, name string, offset, length int64) ([]byte, error) {
	e, ok := all[name]
	if !ok {
		return nil, blobs.ErrNotFound
	}
	b := e.bytes[min(offset, int64(len(e.bytes))):]
	if length >= 0 {
		b = b[:min(length, int64(len(b)))]
	}
	return bytes.Clone(b), nil
}

func (m *Memory) Stat(_ context.Context, name string) (blobs.Blob, error) {
	defer m.lock()()
	e, ok := m.blobs[name]
	if !ok {
		return blobs.Blob{}, blobs.ErrNotFound
	}
	return e.blob(name), nil
}

func (e entry) blob(name string) blobs.Blob {
	return blobs.Blob{Name: name, Size: int64(len(e.bytes)), Digest: sha256.Sum256(e.bytes), Modified: e.modified}
}

func (m *Memory) List(_ context.Context, prefix string, yield func(blobs.Blob) error) error {
	unlock := m.lock()
	all := maps.Clone(m.blobs)
	unlock()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if err := yield(all[name].blob(name)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) Delete(_ context.Context, name string) error {
	defer m.lock()()
	delete(m.blobs, name)
	return nil
}

// Snapshot returns a copy of all blobs, for Restore.
func (m *Memory) Snapshot() any {
	defer m.lock()()
	return maps.Clone(m.blobs)
}

// Restore puts the blobs of a snapshot back, as a server that rolls back does.
func (m *Memory) Restore(s any) {
	defer m.lock()()
	m.blobs = maps.Clone(s.(map[string]entry))
}

// Alter replaces a blob's bytes, as a hostile server can, or removes the blob
// if `change` returns nil.
func (m *Memory) Alter(name string, change func([]byte) []byte) {
	defer m.lock()()
	e := m.blobs[name]
	if e.bytes = change(bytes.Clone(e.bytes)); e.bytes == nil {
		delete(m.blobs, name)
		return
	}
	m.blobs[name] = e
}

func (m *Memory) Names(prefix string) (names []string) {
	defer m.lock()()
	for name := range m.blobs {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A Folder keeps each blob as a file, atomically, for several processes that may
// be killed. It refuses to overwrite.
type Folder string

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

func (f Folder) Put(ctx context.Context, name string, b []byte) error {
	err := durable.WriteNew(durable.OS, f.path(name), b, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if old, err := os.ReadFile(f.path(name)); err == nil && bytes.Equal(old, b) {
			return nil
		}
		return blobs.ErrExists
	}
	return err
}

func (f Folder) Replace(_ context.Context, name string, b []byte, old [32]byte) error {
	now, err := os.ReadFile(f.path(name))
	if err != nil || sha256.Sum256(now) != old {
		return blobs.ErrChanged
	}
	return durable.WriteFile(f.path(name), b, 0o600)
}

func (f Folder) Get(_ context.Context, name string, offset, length int64) ([]byte, error) {
	e, err := f.entry(name)
	if err != nil {
		return nil, err
	}
	return part(map[string]entry{name: e}, name, offset, length)
}

func (f Folder) entry(name string) (e entry, err error) {
	info, err := os.Stat(f.path(name))
	if err == nil {
		e.modified = info.ModTime()
		e.bytes, err = os.ReadFile(f.path(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = blobs.ErrNotFound
	}
	return e, err
}

func (f Folder) Stat(_ context.Context, name string) (blobs.Blob, error) {
	e, err := f.entry(name)
	return e.blob(name), err
}

func (f Folder) List(_ context.Context, prefix string, yield func(blobs.Blob) error) error {
	files, err := os.ReadDir(string(f))
	if err != nil {
		return err
	}
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), prefix) || strings.HasSuffix(file.Name(), ".tmp") {
			continue
		}
		e, err := f.entry(file.Name())
		if errors.Is(err, blobs.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err == nil {
			err = yield(e.blob(file.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f Folder) Delete(_ context.Context, name string) error {
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
