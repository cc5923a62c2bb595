package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

// collecting is a file system beside a process that removes empty indexes
// whenever a folder is synced.
type collecting struct {
	durable.FS
	remove func()
}

func (c *collecting) SyncDir(path string) error {
	if c.remove != nil {
		c.remove()
	}
	return c.FS.SyncDir(path)
}

func TestUploadsKeepTheirNewFolders(t *testing.T) {
	data := t.TempDir()
	fsys := &collecting{FS: durable.OS}
	s := open(t, data, store.Options{FS: fsys})
	a := built(t, 1, 1)
	other, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	fsys.remove = func() {
		tried++
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_ = other.Remove(ctx, store.IndexRef{Index: a.m.ID})
	}
	if err := a.push(s); err != nil {
		t.Error(err)
	}
	if tried == 0 {
		t.Error("no folder was synced")
	}
}

// Another process that removes empty album folders must not remove the folder of
// an upload, however often it tries, but removes folders without blobs.
func TestUploadsKeepTheirNewAlbumFolders(t *testing.T) {
	data := t.TempDir()
	fsys := &collecting{FS: durable.OS}
	s := open(t, data, store.Options{FS: fsys})
	other, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	const tenant, one = "00000000000000aa", "11111111111111111111111111111111"
	tried := 0
	fsys.remove = func() {
		tried++
		for _, folder := range []string{one, "log"} {
			if err := other.Albums().Delete(t.Context(), tenant, folder+"/absent"); err != nil {
				t.Error(err)
			}
		}
		if _, err := other.Sweep(t.Context(), time.Time{}, false); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Albums().Put(t.Context(), album.Ref{Tenant: tenant, Album: one, Name: "a"}, 0, sha256.Sum256(nil), nil, bytes.NewReader(nil)); err != nil {
		t.Error(err)
	}
	if tried == 0 {
		t.Error("no folder was synced")
	}
	// A failed upload leaves no folder of its own process.
	_, err = s.Albums().Put(t.Context(), album.Ref{Tenant: tenant, Album: "2" + one[1:], Name: "a"}, 1, sha256.Sum256(nil), nil, bytes.NewReader(nil))
	if _, e := os.Stat(filepath.Join(data, "tenants", tenant, "albums", "2"+one[1:])); err == nil || !errors.Is(e, fs.ErrNotExist) {
		t.Errorf("after a failed upload: %v, %v", err, e)
	}
	r := album.Ref{Tenant: tenant, Album: one, Name: "a"}
	folder, invented := filepath.Join(data, "tenants", tenant, "albums", one), filepath.Join(data, "tenants", tenant, "albums", "3"+one[1:])
	later := store.Before{Deleted: time.Now().Add(time.Hour)}
	if err := errors.Join(s.Albums().Delete(t.Context(), r), os.Mkdir(invented, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Collect(t.Context(), other, later, true, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if _, err := store.Collect(t.Context(), other, later, false, nil); err != nil {
		t.Error(err)
	}
	for _, x := range []string{folder, invented} {
		if _, err := os.Stat(x); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after a collection: %v", err)
		}
	}
	tried = 0
	if _, err := s.Albums().Put(t.Context(), r, 0, sha256.Sum256(nil), nil, bytes.NewReader(nil)); err != nil || tried < 4 {
		t.Errorf("an upload into a folder that another process has removed: %v; it synced %d folders", err, tried)
	}
}

// deleting is a file system beside a process that deletes an index while the
// server syncs a folder of it or writes a file.
type deleting struct {
	durable.FS
	at     int // number of the operation before which it deletes
	delete func()
}

func (d *deleting) step() {
	if d.at--; d.at == 0 {
		d.delete()
	}
}

func (d *deleting) SyncDir(path string) error { d.step(); return d.FS.SyncDir(path) }
func (d *deleting) Create(path string, perm fs.FileMode) (durable.File, error) {
	d.step()
	return d.FS.Create(path, perm)
}
func (d *deleting) Rename(from, to string) error { d.step(); return d.FS.Rename(from, to) }
func (d *deleting) Mkdir(path string, perm fs.FileMode) error {
	d.step()
	return d.FS.Mkdir(path, perm)
}

// An activation of an index that another process deletes either succeeds or asks
// for the push to be repeated.
func TestActivationBesideADeletion(t *testing.T) {
	incomplete := 0
	for at := 1; ; at++ {
		data := t.TempDir()
		fsys := &deleting{FS: durable.OS}
		s := open(t, data, store.Options{FS: fsys})
		a := built(t, 1, 1)
		for i, seg := range a.m.Segments {
			if err := s.PutSegment(t.Context(), a.key(), seg.Digest, int64(seg.Bytes), bytes.NewReader(a.segments[i])); err != nil {
				t.Fatal(err)
			}
		}
		other, err := store.OpenBeside(data)
		if err != nil {
			t.Fatal(err)
		}
		fsys.at, fsys.delete = at, func() {
			if err := other.Delete(t.Context(), a.key()); err != nil {
				t.Error(err)
			}
		}
		err = s.PutManifest(t.Context(), a.key(), a.bytes)
		switch {
		case errors.Is(err, store.ErrIncomplete) && errors.Is(err, cpar.ErrInput) && hint.Of(err) != "":
			incomplete++
		case err != nil:
			t.Errorf("deleted before step %d: %v", at, err)
		}
		if fsys.at > 0 {
			break
		}
	}
	if incomplete < 3 {
		t.Errorf("%d activations met the deletion", incomplete)
	}
}

// A list contains the objects that stay, whatever is removed meanwhile.
func TestListOfBlobsBesideRemovals(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	const tenant, one = "00000000000000aa", "11111111111111111111111111111111"
	for _, r := range []album.Ref{{Album: one, Name: "a"}, {Album: one, Name: "b"}, {Album: one, Name: "c"}, {Album: "2" + one[1:], Name: "d"}} {
		r.Tenant = tenant
		if _, err := s.Albums().Put(t.Context(), r, 0, sha256.Sum256(nil), nil, bytes.NewReader(nil)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	folder, kept := filepath.Join(data, "tenants", tenant, "albums"), 0
	gone, err := filepath.Glob(filepath.Join(folder, one, "b.*"))
	if err != nil || len(gone) != 1 {
		t.Fatal(gone, err)
	}
	for o, err := range f.Albums().List(t.Context(), tenant, "") {
		if err != nil {
			t.Fatal(err)
		}
		if kept++; kept == 1 {
			if err := errors.Join(os.Remove(gone[0]), os.RemoveAll(filepath.Join(folder, "2"+one[1:]))); err != nil {
				t.Fatal(err)
			}
		} else if o.Name[0] == '2' || filepath.Base(gone[0]) == filepath.Base(o.Name) {
			t.Errorf("%s is listed", o.Name)
		}
	}
	if kept != 2+4 {
		t.Errorf("%d objects are listed", kept)
	}
}
