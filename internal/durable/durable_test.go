package durable_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/testing/crash"
)

var oldBytes, newBytes = []byte("the old bytes"), bytes.Repeat([]byte("new "), 1000)

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range [][]byte{oldBytes, newBytes, {}} {
		if err := durable.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v", info.Mode())
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestCutAtEveryStep(t *testing.T) {
	crash.Each(t,
		func(root string) { os.WriteFile(filepath.Join(root, "f"), oldBytes, 0o600) },
		func(fsys durable.FS, root string) error {
			return durable.WriteFileFS(fsys, filepath.Join(root, "f"), newBytes, 0o600)
		},
		func(t *testing.T, root string, done bool) {
			got, err := os.ReadFile(filepath.Join(root, "f"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, newBytes) && (done || !bytes.Equal(got, oldBytes)) {
				t.Errorf("done %v, and the file has %d bytes: %.20q", done, len(got), got)
			}
			if err := durable.RemoveTemps(durable.OS, root, 0, "f"); err != nil {
				t.Fatal(err)
			}
			if got := names(t, root); len(got) != 1 {
				t.Errorf("left behind: %v", got)
			}
		})
}

func TestNewCutAtEveryStep(t *testing.T) {
	crash.Each(t, func(string) {},
		func(fsys durable.FS, root string) error {
			return durable.WriteNew(fsys, filepath.Join(root, "f"), newBytes, 0o600)
		},
		func(t *testing.T, root string, done bool) {
			got, err := os.ReadFile(filepath.Join(root, "f"))
			if !bytes.Equal(got, newBytes) && (done || !errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("done %v: %v, and the file has %d bytes: %.20q", done, err, len(got), got)
			}
		})
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, oldBytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteNew(durable.OS, path, newBytes, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another's: %v", err)
	}
	if got, err := os.ReadFile(path); !bytes.Equal(got, oldBytes) || len(names(t, filepath.Dir(path))) != 1 {
		t.Errorf("it holds %.20q, %v, beside %v", got, err, names(t, filepath.Dir(path)))
	}
}

// unsynced skips the fsync of files. Package crash must notice, or the tests
// prove nothing.
type unsynced struct{ durable.FS }

func (u unsynced) Create(path string, perm fs.FileMode) (durable.File, error) {
	f, err := u.FS.Create(path, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

type unsyncedDir struct{ durable.FS }

func (unsyncedDir) SyncDir(string) error { return nil }

func TestPowerLossShowsForgottenSyncs(t *testing.T) {
	for name, wrap := range map[string]func(durable.FS) durable.FS{
		"file":   func(f durable.FS) durable.FS { return unsynced{f} },
		"folder": func(f durable.FS) durable.FS { return unsyncedDir{f} },
	} {
		root := t.TempDir()
		fsys, err := crash.New(root, crash.PowerLoss, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := durable.WriteFileFS(wrap(fsys), filepath.Join(root, "f"), newBytes, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := fsys.Settle(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(root, "f")); err == nil && bytes.Equal(got, newBytes) {
			t.Errorf("no sync of the %s, and the file survived", name)
		}
	}
}

func TestMkdirAllCutAtEveryStep(t *testing.T) {
	crash.Each(t, func(string) {},
		func(fsys durable.FS, root string) error {
			return durable.MkdirAll(fsys, filepath.Join(root, "a", "b", "c"), 0o700)
		},
		func(t *testing.T, root string, done bool) {
			info, err := os.Stat(filepath.Join(root, "a", "b", "c"))
			if done && (err != nil || !info.IsDir()) {
				t.Errorf("done, and the folder is missing: %v", err)
			}
		})
	file := filepath.Join(t.TempDir(), "f")
	os.WriteFile(file, nil, 0o600)
	if err := durable.MkdirAll(durable.OS, file, 0o700); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a file in the folder's place: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	for left := 0; left < len(newBytes); left += 399 {
		path := filepath.Join(t.TempDir(), "f")
		os.WriteFile(path, oldBytes, 0o600)
		err := durable.WriteFileFS(&crash.Full{FS: durable.OS, Left: left}, path, newBytes, 0o600)
		if !errors.Is(err, cpar.ErrStorage) || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("%d bytes left: %v", left, err)
		}
		if h := hint.Of(err); !strings.Contains(h, "needed") || !strings.Contains(h, "free in "+filepath.Dir(path)) {
			t.Errorf("hint %q", h)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, oldBytes) {
			t.Errorf("%d bytes left: the old file is gone", left)
		}
		if got := names(t, filepath.Dir(path)); len(got) != 1 {
			t.Errorf("left behind: %v", got)
		}
	}
}

func TestErrors(t *testing.T) {
	if err := durable.WriteFile(filepath.Join(t.TempDir(), "no", "f"), nil, 0o600); !errors.Is(err, cpar.ErrStorage) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	folder := t.TempDir()
	w, err := durable.Create(durable.OS, folder, "f", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	if _, err := w.Write([]byte("x")); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("writing after Abort: %v", err)
	}
	if err := w.Commit("f"); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("committing after Abort: %v", err)
	}
	if got := names(t, folder); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

// Running out of file descriptors is not a full disk.
func TestTooManyFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the error has another number on this system")
	}
	for _, cause := range []error{syscall.EMFILE, syscall.ENFILE} {
		err := durable.StorageError("opening", "/x/y", 0, &fs.PathError{Op: "open", Path: "/x/y", Err: cause})
		if !errors.Is(err, durable.ErrTooManyFiles) || !errors.Is(err, cpar.ErrStorage) || !strings.Contains(hint.Of(err), "ulimit") {
			t.Errorf("%v: %v (%s)", cause, err, hint.Of(err))
		}
	}
	if err := durable.StorageError("opening", "/x/y", 0, syscall.ENOSPC); errors.Is(err, durable.ErrTooManyFiles) {
		t.Errorf("a full disk: %v", err)
	}
}

func TestRemoveTempsSparesTheYoungAndOthers(t *testing.T) {
	folder := t.TempDir()
	old := time.Now().Add(-time.Hour)
	spared := []string{
		"f", "f-ABCDEFGHIJK1.tmp", "f-ABCDEFGHIJKL", "f-ABCDEFGHIJKL.tmp.jpg", "f-ABCDEFGHIJKLM.tmp", "f-abcdefghijkl.tmp",
		"f.tmp", "fABCDEFGHIJKL.tmp", "g-ABCDEFGHIJKL.tmp", "my f-ABCDEFGHIJKL.tmp", "thesis.tmp",
	}
	for _, name := range append(spared, "f-ABCDEFGHIJKL.tmp", "e-MNOPQRSTUVWX.tmp") {
		path := filepath.Join(folder, name)
		os.WriteFile(path, nil, 0o600)
		os.Chtimes(path, old, old)
	}
	os.WriteFile(filepath.Join(folder, "f-YZ2345676543.tmp"), nil, 0o600)
	os.Mkdir(filepath.Join(folder, "f-AAAAAAAAAAAA.tmp"), 0o700)
	spared = append(spared, "f-YZ2345676543.tmp", "f-AAAAAAAAAAAA.tmp")
	if err := durable.RemoveTemps(durable.OS, folder, time.Minute, "f", "e"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(spared)
	if got := names(t, folder); !slices.Equal(got, spared) {
		t.Errorf("left: %q\nwant: %q", got, spared)
	}
	if err := durable.RemoveTemps(durable.OS, filepath.Join(folder, "none"), 0, "f"); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestTempsAreKnown(t *testing.T) {
	folder := t.TempDir()
	w, err := durable.Create(durable.OS, folder, "manifest", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	name := names(t, folder)[0]
	if !durable.IsTemp(name, "vectors", "manifest") || durable.IsTemp(name, "vectors") || durable.IsTemp(name) {
		t.Errorf("%q is taken for another kind", name)
	}
}

func BenchmarkWriteFile4K(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	for b.Loop() {
		if err := durable.WriteFile(path, newBytes, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
