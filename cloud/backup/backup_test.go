package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"cpar"
	"cpar/cloud/backup"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

const anna = "00000000000000aa"

func load(*cpar.Manifest, shard.Range, [][]byte) (struct{}, error) { return struct{}{}, nil }

func open(t *testing.T, data string) *store.Store[struct{}] {
	t.Helper()
	s, err := store.Open(data, load, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

type owner struct {
	folder string
	m      *cpar.Manifest
}

func built(t *testing.T, id, seed uint64) owner {
	t.Helper()
	folder := t.TempDir()
	m, err := indexsample.Build(folder, id, seed)
	if err != nil {
		t.Fatal(err)
	}
	return owner{folder, m}
}

func (o owner) push(s *store.Store[struct{}], tenant string) error {
	k := store.IndexRef{Tenant: tenant, Index: o.m.ID}
	for _, seg := range o.m.Segments {
		b, err := os.ReadFile(indexdir.SegmentPath(o.folder, seg.Digest))
		if err != nil {
			return err
		}
		if err := s.PutSegment(context.Background(), k, seg.Digest, int64(len(b)), bytes.NewReader(b)); err != nil {
			return err
		}
	}
	b, err := o.m.MarshalBinary()
	if err != nil {
		return err
	}
	return s.PutManifest(context.Background(), k, b)
}

func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" || d.Name() == "gate" {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		all[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, what, a, b string) {
	t.Helper()
	x, y := files(t, a), files(t, b)
	if len(x) != len(y) {
		t.Errorf("%s: %d files and %d", what, len(x), len(y))
	}
	for name := range x {
		if x[name] != y[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

const registry = `{"format": "cpard tenants", "version": 1, "tenants": []}`

func backUp(ctx context.Context, data, to string, o store.CopyOptions) (store.Copied, error) {
	from, err := store.OpenBeside(data)
	if err != nil {
		return store.Copied{}, err
	}
	return backup.Backup(ctx, from, data, to, o)
}

func TestBackupKeepsTheRegistry(t *testing.T) {
	data, copy := t.TempDir(), filepath.Join(t.TempDir(), "c")
	s := open(t, data)
	if err := built(t, 1, 1).push(s, anna); err != nil {
		t.Fatal(err)
	}
	source, kept := filepath.Join(data, "tenants.json"), filepath.Join(copy, "tenants.json")
	if err := os.WriteFile(source, []byte(registry), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want error) {
		t.Helper()
		if _, err := backUp(t.Context(), data, copy, store.CopyOptions{Prune: true}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		if b, err := os.ReadFile(kept); err != nil || string(b) != registry {
			t.Errorf("%s: the backup has %q, %v", what, b, err)
		}
	}
	check("whole", nil)
	if err := os.WriteFile(source, []byte(registry[:9]), 0o600); err != nil {
		t.Fatal(err)
	}
	check("cut short", cpar.ErrCorrupt)
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	check("gone", nil)
}

func TestBackupAndRestore(t *testing.T) {
	data, copy := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "c")
	s := open(t, data)
	mine, theirs, next := built(t, 1, 1), built(t, 1, 2), built(t, 1, 3)
	if err := errors.Join(mine.push(s, ""), theirs.push(s, anna)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "tenants.json"), []byte(registry), 0o600); err != nil {
		t.Fatal(err)
	}
	n := int64(mine.m.Bytes())
	do := func(what string, f func(context.Context, string, string, store.CopyOptions) (store.Copied, error), from, to string, o store.CopyOptions, want store.Copied) {
		t.Helper()
		got, err := f(t.Context(), from, to, o)
		if err != nil || got.Indexes != want.Indexes || got.Bytes != want.Bytes || got.Kept != want.Kept || got.Pruned != want.Pruned || len(got.Damaged) != len(want.Damaged) {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
	do("dry", backUp, data, copy, store.CopyOptions{DryRun: true}, store.Copied{Indexes: 2, Bytes: 2 * n})
	if _, err := os.Stat(copy); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dry run wrote: %v", err)
	}
	do("first", backUp, data, copy, store.CopyOptions{}, store.Copied{Indexes: 2, Bytes: 2 * n})
	same(t, "first", data, copy)
	if err := next.push(s, ""); err != nil {
		t.Fatal(err)
	}
	do("an update", backUp, data, copy, store.CopyOptions{}, store.Copied{Indexes: 2, Bytes: n, Kept: n})
	same(t, "an update", data, copy)
	if err := s.Delete(t.Context(), store.IndexRef{Tenant: anna, Index: theirs.m.ID}); err != nil {
		t.Fatal(err)
	}
	do("deleted", backUp, data, copy, store.CopyOptions{}, store.Copied{Indexes: 1, Kept: n})
	do("dry prune", backUp, data, copy, store.CopyOptions{Prune: true, DryRun: true}, store.Copied{Indexes: 1, Kept: n, Pruned: 1})
	back := filepath.Join(t.TempDir(), "b")
	do("restored", backup.Restore, copy, back, store.CopyOptions{}, store.Copied{Indexes: 2, Bytes: 2 * n})
	same(t, "restored", copy, back)
	do("prune", backUp, data, copy, store.CopyOptions{Prune: true}, store.Copied{Indexes: 1, Kept: n, Pruned: 1})
	same(t, "prune", data, copy)

	first := indexdir.SegmentPath(filepath.Join(data, "indexes", next.m.ID.String()), next.m.Segments[0].Digest)
	if err := os.WriteFile(first, make([]byte, next.m.Segments[0].Bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	do("damaged", backUp, data, filepath.Join(t.TempDir(), "x"), store.CopyOptions{}, store.Copied{Damaged: make([]store.Info, 1)})
	do("not read again", backUp, data, copy, store.CopyOptions{}, store.Copied{Indexes: 1, Kept: n})
	inCopy := indexdir.SegmentPath(filepath.Join(copy, "indexes", next.m.ID.String()), next.m.Segments[0].Digest)
	if err := os.WriteFile(inCopy, make([]byte, next.m.Segments[0].Bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "y")
	do("a damaged backup", backup.Restore, copy, bad, store.CopyOptions{}, store.Copied{Damaged: make([]store.Info, 1)})
	if _, err := store.Open(bad, load, store.Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a restore that lacks an index is served: %v", err)
	}
}

// brokenDisk cannot read a segment of one tenant.
type brokenDisk struct{ store.Backend }

func (b brokenDisk) Read(ctx context.Context, k store.IndexRef, d cpar.Digest) (io.ReadCloser, int64, error) {
	r, size, err := b.Backend.Read(ctx, k, d)
	if err == nil && k.Tenant == anna {
		r.Close()
		r = io.NopCloser(iotest.ErrReader(syscall.EIO))
	}
	return r, size, err
}

func TestBackupOfAnUnreadableSector(t *testing.T) {
	data := t.TempDir()
	s := open(t, data)
	if err := errors.Join(built(t, 1, 1).push(s, anna), built(t, 2, 2).push(s, "00000000000000bb")); err != nil {
		t.Fatal(err)
	}
	from, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	done, err := backup.Backup(t.Context(), brokenDisk{from}, data, filepath.Join(t.TempDir(), "backup"), store.CopyOptions{})
	if err != nil || done.Indexes != 1 || len(done.Damaged) != 1 || done.Damaged[0].Tenant != anna || !errors.Is(done.Damaged[0].Err, syscall.EIO) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestRestoreToAddsMissingIndexes(t *testing.T) {
	data, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	s := open(t, data)
	old, next, theirs := built(t, 1, 1), built(t, 1, 3), built(t, 2, 2)
	there, err := store.OpenFolder(to, durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	restore := func(folder string, indexes int, bytes uint64) {
		t.Helper()
		if got, err := backup.RestoreTo(t.Context(), data, there, folder, store.CopyOptions{}); err != nil || got.Indexes != indexes || uint64(got.Bytes) != bytes {
			t.Errorf("%+v, %v; want %d indexes, %d bytes", got, err, indexes, bytes)
		}
	}
	if err := errors.Join(next.push(s, ""), os.WriteFile(filepath.Join(data, "tenants.json"), []byte(registry), 0o600)); err != nil {
		t.Fatal(err)
	}
	restore("", 1, next.m.Bytes())
	if err := errors.Join(old.push(s, ""), theirs.push(s, anna)); err != nil {
		t.Fatal(err)
	}
	tenants := filepath.Join(t.TempDir(), "tenants")
	restore(tenants, 2, theirs.m.Bytes())
	got, err1 := there.Manifest(t.Context(), store.IndexRef{Index: next.m.ID})
	want, err2 := next.m.MarshalBinary()
	if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Errorf("the storage went back to an older state: %v, %v", err1, err2)
	}
	if b, err := os.ReadFile(filepath.Join(tenants, "tenants.json")); err != nil || string(b) != registry {
		t.Errorf("the registry: %q, %v", b, err)
	}
	if err := os.WriteFile(filepath.Join(data, "tenants.json"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	restore(tenants, 2, 0)
	if b, err := os.ReadFile(filepath.Join(tenants, "tenants.json")); err != nil || string(b) != registry {
		t.Errorf("the registry was replaced: %q, %v", b, err)
	}
}

func TestRestoreResumes(t *testing.T) {
	copy, data := t.TempDir(), t.TempDir()
	s := open(t, copy)
	o := built(t, 1, 1)
	if err := o.push(s, anna); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := backup.Restore(t.Context(), copy, data, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(data, "tenants", anna, "indexes", o.m.ID.String())
	err := errors.Join(
		os.WriteFile(filepath.Join(data, store.RestoringName), nil, 0o600),
		os.Remove(filepath.Join(folder, "manifest")),
		os.Remove(indexdir.SegmentPath(folder, o.m.Segments[0].Digest)),
		os.WriteFile(indexdir.SegmentPath(folder, o.m.Segments[1].Digest), make([]byte, o.m.Segments[1].Bytes), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(data, load, store.Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("half restored, and served: %v", err)
	}
	done, err := backup.Restore(t.Context(), copy, data, store.CopyOptions{})
	if err != nil || done.Segments != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	same(t, "gone on", copy, data)
	if _, err := backUp(t.Context(), data, data, store.CopyOptions{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("onto itself: %v", err)
	}
}

// A restore that was killed between the removal of its marker and its end is
// complete. Any difference from the backup is refused.
func TestRestoreRecognisesItsOwnWork(t *testing.T) {
	copy := filepath.Join(t.TempDir(), "c")
	s := open(t, copy)
	mine, next, theirs := built(t, 1, 1), built(t, 1, 3), built(t, 2, 2)
	if err := errors.Join(mine.push(s, ""), os.WriteFile(filepath.Join(copy, "tenants.json"), []byte(registry), 0o600)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join("indexes", mine.m.ID.String(), "manifest")
	segment := indexdir.SegmentPath(filepath.Join("indexes", mine.m.ID.String()), mine.m.Segments[0].Digest)
	push := func(o owner) func(string) error {
		return func(data string) error {
			s := open(t, data)
			defer s.Close()
			return o.push(s, "")
		}
	}
	write := func(name, content string) func(string) error {
		return func(data string) error { return os.WriteFile(filepath.Join(data, name), []byte(content), 0o600) }
	}
	remove := func(name string) func(string) error {
		return func(data string) error { return os.Remove(filepath.Join(data, name)) }
	}
	for what, change := range map[string]func(data string) error{
		"": func(string) error { return nil }, "served since": func(data string) error { return open(t, data).Close() },
		"another generation": push(next), "one more index": push(theirs), "no manifest": remove(manifest),
		"a damaged segment": write(segment, "damaged"), "other tenants": write("tenants.json", registry+" "), "no tenants": remove("tenants.json"),
	} {
		data := filepath.Join(t.TempDir(), "d")
		if _, err := backup.Restore(t.Context(), copy, data, store.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := change(data); err != nil {
			t.Fatal(err)
		}
		done, err := backup.Restore(t.Context(), copy, data, store.CopyOptions{})
		if what == "" || what == "served since" {
			if err != nil || done.Indexes != 1 || done.Segments != 0 || done.Kept != int64(mine.m.Bytes()) {
				t.Errorf("%s: %+v, %v", what, done, err)
			}
		} else if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %+v, %v", what, done, err)
		}
	}
}

// A restore that was killed while it wrote its marker leaves a temporary file.
func TestRestoreResumesBeforeItsMarker(t *testing.T) {
	copy, data := filepath.Join(t.TempDir(), "c"), t.TempDir()
	if err := built(t, 1, 1).push(open(t, copy), ""); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(data, store.RestoringName+"-ABCDEFGHIJKL.tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := backup.Restore(t.Context(), copy, data, store.CopyOptions{}); err != nil || done.Indexes != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
}

func TestBackupWhileServing(t *testing.T) {
	data := t.TempDir()
	s := open(t, data)
	states := []owner{built(t, 1, 1), built(t, 1, 2), built(t, 1, 3)}
	if err := states[0].push(s, ""); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := states[i%3].push(s, ""); err != nil {
				t.Errorf("pushing: %v", err)
			}
		}
	})
	for range 20 {
		to := t.TempDir()
		done, err := backUp(t.Context(), data, to, store.CopyOptions{})
		if err != nil || done.Indexes != 1 || len(done.Damaged) > 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		f, err := store.OpenBeside(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.CheckIndex(t.Context(), f, store.IndexRef{Index: states[0].m.ID}, nil); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// Interrupted after any file operation, a backup leaves each index in its old
// or new generation, and the next one completes it.
func TestBackupIsWholeAfterEveryStep(t *testing.T) {
	data := t.TempDir()
	s := open(t, data)
	old, next := built(t, 1, 1), built(t, 1, 2)
	if err := old.push(s, anna); err != nil {
		t.Fatal(err)
	}
	first := t.TempDir()
	if _, err := backUp(t.Context(), data, first, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := next.push(s, anna); err != nil {
		t.Fatal(err)
	}
	from, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; ; step++ {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		dst, err := store.OpenFolder(to, &stopping{FS: durable.OS, left: step})
		if err != nil {
			t.Fatal(err)
		}
		_, stopped := store.Copy(t.Context(), from, dst, store.CopyOptions{})
		dst.Close()
		beside, err := store.OpenBeside(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.CheckIndex(t.Context(), beside, store.IndexRef{Tenant: anna, Index: old.m.ID}, nil); err != nil {
			t.Errorf("stopped at step %d: %v", step, err)
		}
		if stopped == nil {
			return
		}
		if _, err := backUp(t.Context(), data, to, store.CopyOptions{}); err != nil {
			t.Errorf("again after step %d: %v", step, err)
		}
		if step > 500 {
			t.Fatal("it does not come to an end")
		}
	}
}

type stopping struct {
	durable.FS
	left int
}

var errStopped = errors.New("stopped")

func (s *stopping) step() error {
	if s.left--; s.left < 0 {
		return errStopped
	}
	return nil
}

func (s *stopping) Create(path string, perm fs.FileMode) (durable.File, error) {
	if err := s.step(); err != nil {
		return nil, err
	}
	return s.FS.Create(path, perm)
}

func (s *stopping) Rename(from, to string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.FS.Rename(from, to)
}

func (s *stopping) SyncDir(path string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.FS.SyncDir(path)
}
