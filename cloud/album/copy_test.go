package album_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/backup"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/testing/buckettest"
)

// A backup of a bucket, restored into a folder and into another bucket, has
// every blob, including deleted blobs that are recoverable.
func TestBackupAndRestore(t *testing.T) {
	from := openBucket(t, (&buckettest.Memory{Page: 7}).Serve(t))
	s := album.New(from.Albums(), album.Options{})
	mustPut(t, s, "a", "b", "c")
	want := all(t, s, anna, one)
	moment := time.Now()
	time.Sleep(time.Millisecond)
	if err := s.Delete(t.Context(), ref("b")); err != nil {
		t.Fatal(err)
	}
	now := all(t, s, anna, one)
	saved, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	done, err := backup.Backup(t.Context(), from, t.TempDir(), saved, store.CopyOptions{DryRun: true})
	if err != nil || done.Blobs != 3 {
		t.Errorf("a dry run: %+v, %v", done, err)
	}
	// A backup that was interrupted after two blobs continues.
	broken := errors.New("broken")
	dst, err := store.OpenFolder(saved, durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	left := 2
	_, err = album.Copy(t.Context(), from.Albums(), &failing{dst.Albums(), &left, broken}, anna, album.CopyOptions{})
	dst.Close()
	if !errors.Is(err, broken) {
		t.Errorf("interrupted: %v", err)
	}
	for i, blobs := range []int{1, 0} {
		done, err := backup.Backup(t.Context(), from, t.TempDir(), saved, store.CopyOptions{})
		if err != nil || done.Blobs != blobs || done.States != min(blobs, 1) || len(done.Damaged) > 0 {
			t.Errorf("backup %d: %+v, %v", i, done, err)
		}
	}
	for range 2 { // the second time the folder equals the backup
		if _, err := backup.Restore(t.Context(), saved, data, store.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	to := openBucket(t, (&buckettest.Memory{Page: 7}).Serve(t))
	for range 2 {
		if _, err := backup.RestoreTo(t.Context(), saved, to, "", store.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]album.Objects{"a folder": folder.Albums(), "a bucket": to.Albums()} {
		x := album.New(o, album.Options{})
		if got := all(t, x, anna, one); !maps.Equal(got, now) {
			t.Errorf("%s has %v, want %v", name, got, now)
		}
		if _, err := x.Collect(t.Context(), anna, moment, time.Now().Add(time.Hour), false); err != nil {
			t.Error(err)
		}
		if _, err := x.Undelete(t.Context(), anna, one, moment, false); err != nil {
			t.Error(err)
		}
		if got := all(t, x, anna, one); !maps.Equal(got, want) {
			t.Errorf("%s, undeleted, has %v, want %v", name, got, want)
		}
		mustPut(t, x, "later")
	}
	// A restore leaves the existing albums of a served storage alone.
	if _, err := backup.RestoreTo(t.Context(), saved, to, "", store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := all(t, album.New(to.Albums(), album.Options{}), anna, one); got["later"] == "" {
		t.Errorf("a second restore left %v", got)
	}
	// Prune removes an album that the source has lost.
	if err := album.Discard(t.Context(), from.Albums(), anna); err != nil {
		t.Fatal(err)
	}
	done, err = backup.Backup(t.Context(), openBucket(t, (&buckettest.Memory{}).Serve(t)), t.TempDir(), saved, store.CopyOptions{Prune: true})
	if err != nil || done.PrunedBlobs != 3 {
		t.Errorf("pruned %+v, %v", done, err)
	}
}

type failing struct {
	album.Objects
	left *int
	err  error
}

func (f *failing) Put(ctx context.Context, tenant, name string, size int64, sum cpar.Digest, r io.Reader) error {
	if *f.left--; *f.left < 0 {
		return f.err
	}
	return f.Objects.Put(ctx, tenant, name, size, sum, r)
}

// A damaged blob is named and left out, and a backup keeps its whole copy.
func TestBackupOfADamagedAlbum(t *testing.T) {
	data, f := openData(t)
	s := album.New(f.Albums(), album.Options{})
	mustPut(t, s, "a", "b")
	first, second := filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2")
	if _, err := backup.Backup(t.Context(), f, data, first, store.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	flip(t, data, one+"/b.*", 0)
	if err := s.Check(t.Context(), anna, true, nil, func(album.Fault) {}); err != nil {
		t.Fatal(err)
	}
	for to, damaged := range map[string]int{first: 0, second: 1} {
		done, err := backup.Backup(t.Context(), f, data, to, store.CopyOptions{})
		if err != nil || len(done.Damaged) != damaged {
			t.Errorf("%+v, %v; want %d damaged", done, err, damaged)
		}
		saved, err := store.OpenBeside(to)
		if err != nil {
			t.Fatal(err)
		}
		b, err := get(t.Context(), album.New(saved.Albums(), album.Options{}), ref("b"), 0, -1)
		if damaged == 0 && string(b) != "bytes of b" || damaged == 1 && !errors.Is(err, album.ErrDamaged) {
			t.Errorf("the backup has %q, %v", b, err)
		}
	}
	// The check of a whole folder names the album.
	var reports []store.Info
	if err := store.Check(t.Context(), f, func(x store.Info) { reports = append(reports, x) }, nil); err != nil {
		t.Fatal(err)
	}
	if len(reports) != 1 || reports[0].Album != one || !errors.Is(reports[0].Err, cpar.ErrCorrupt) || reports[0].Records != 2 {
		t.Errorf("%+v", reports)
	}
}

// A collection at the destination that removes copied blobs before they are
// committed loses none.
func TestCopyIntoACollectedStorage(t *testing.T) {
	_, f := openData(t)
	s := album.New(f.Albums(), album.Options{})
	mustPut(t, s, "a", "b")
	to := openBucket(t, (&buckettest.Memory{}).Serve(t))
	other := album.New(to.Albums(), album.Options{})
	times := 3
	slow := &between{Objects: to.Albums()}
	slow.after = func() {
		if times--; times >= 0 {
			if _, err := other.Collect(t.Context(), anna, time.Time{}, time.Now().Add(time.Hour), false); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := album.Copy(t.Context(), f.Albums(), slow, anna, album.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := all(t, other, anna, one), all(t, s, anna, one); !maps.Equal(got, want) {
		t.Errorf("it has %v, want %v", got, want)
	}
}

// unreadable fails to read objects whose name contains bad, as from a broken
// sector.
type unreadable struct {
	album.Objects
	bad string
}

func (u unreadable) Get(ctx context.Context, tenant, name string, offset, length int64) (io.ReadCloser, error) {
	r, err := u.Objects.Get(ctx, tenant, name, offset, length)
	if err == nil && tenant == anna && strings.Contains(name, u.bad) {
		r.Close()
		return io.NopCloser(iotest.ErrReader(syscall.EIO)), nil
	}
	return r, err
}

type brokenDisk struct {
	store.Backend
	albums album.Objects
}

func (b brokenDisk) Albums() album.Objects { return b.albums }

// A sector that cannot be read is damage of its album, and the other albums are
// still checked.
func TestUnreadableSectorIsDamage(t *testing.T) {
	_, f := openData(t)
	s := album.New(f.Albums(), album.Options{})
	for _, r := range []album.Ref{{Tenant: anna, Album: one, Name: "a"}, {Tenant: anna, Album: two, Name: "b"}, {Tenant: berta, Album: one, Name: "c"}} {
		if _, err := put(t.Context(), s, r, []byte("bytes"), nil); err != nil {
			t.Fatal(err)
		}
	}
	for bad, want := range map[string]string{
		one + "/a": "00aa 111 true, 00aa 222 false, 00bb 111 false, ",
		"log/":     "00aa log true, 00bb 111 false, ",
	} {
		got := ""
		disk := brokenDisk{f, unreadable{f.Albums(), bad}}
		err := store.Check(t.Context(), disk, func(x store.Info) {
			got += fmt.Sprintf("%s %.3s %v, ", x.Tenant[12:], x.Album, errors.Is(x.Err, syscall.EIO))
		}, nil)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", bad, got, err)
		}
	}
}

// A backup names the blobs, logs and segments that the disk cannot read, and
// copies everything else. An unwritable destination still stops it.
func TestBackupOfAnUnreadableSector(t *testing.T) {
	data, f := openData(t)
	s := album.New(f.Albums(), album.Options{})
	mustPut(t, s, "a", "b")
	if _, err := put(t.Context(), s, album.Ref{Tenant: berta, Album: one, Name: "c"}, []byte("bytes"), nil); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]struct {
		blobs int
		named string
	}{
		one + "/a": {2, "blob a: "},
		"log/":     {1, "reading the log"},
	} {
		disk := brokenDisk{f, unreadable{f.Albums(), bad}}
		done, err := backup.Backup(t.Context(), disk, data, filepath.Join(t.TempDir(), "backup"), store.CopyOptions{})
		if err != nil || done.Blobs != want.blobs || len(done.Damaged) != 1 {
			t.Fatalf("%s: %+v, %v", bad, done, err)
		}
		if d := done.Damaged[0]; d.Tenant != anna || !errors.Is(d.Err, syscall.EIO) || !strings.Contains(d.Err.Error(), want.named) {
			t.Errorf("%s: %+v", bad, d)
		}
	}
	left := 1
	to := openBucket(t, (&buckettest.Memory{}).Serve(t))
	if _, err := album.Copy(t.Context(), f.Albums(), &failing{to.Albums(), &left, syscall.EIO}, anna, album.CopyOptions{}); !errors.Is(err, syscall.EIO) {
		t.Errorf("a destination that cannot be written: %v", err)
	}
}
