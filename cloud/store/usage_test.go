package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

// hasty syncs nothing, so that ten thousand uploads take seconds.
type hasty struct{ durable.FS }

func (h hasty) Create(path string, perm fs.FileMode) (durable.File, error) {
	f, err := h.FS.Create(path, perm)
	return hastyFile{f}, err
}
func (hasty) SyncDir(string) error { return nil }

type hastyFile struct{ durable.File }

func (hastyFile) Sync() error { return nil }

// Uploads under invented ids hold no file open, leave few folders, and do not
// block other tenants' pushes, before and after a restart.
func TestTenThousandInventedIDs(t *testing.T) {
	data := t.TempDir()
	const most = 50
	opt := store.Options{FS: hasty{durable.OS}, MaxPending: most}
	s := open(t, data, opt)
	opened := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not count open files")
		}
		return len(entries)
	}
	before := opened()
	one := []byte{1}
	for i := range 10_000 {
		var id cpar.IndexID
		binary.BigEndian.PutUint32(id[:], uint32(i))
		if err := s.PutSegment(t.Context(), store.IndexRef{Index: id}, sha256.Sum256(one), 1, bytes.NewReader(one)); err != nil {
			t.Fatalf("upload %d: %v", i, err)
		}
	}
	if n := opened(); n > before+5 {
		t.Errorf("%d open files; there were %d", n, before)
	}
	folders, err := os.ReadDir(filepath.Join(data, "indexes"))
	if err != nil || len(folders) > most {
		t.Errorf("%d folders, %v", len(folders), err)
	}
	if u, err := s.Usage(t.Context(), ""); err != nil || u.Uploads != most || u.Pending != most {
		t.Errorf("%+v, %v", u, err)
	}
	for range 2 {
		a := built(t, 1, 1)
		if err := a.push(s); err != nil || !a.has(t, s) {
			t.Fatalf("a push beside them: %v", err)
		}
		if err := s.Delete(t.Context(), a.key()); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = open(t, data, opt)
	}
	if u, err := s.Usage(t.Context(), ""); err != nil || u.Uploads != most-1 || u.Indexes != 0 {
		t.Errorf("after a restart %+v, %v", u, err)
	}
}

// An empty segment still costs a file and two folders.
func TestInventedIDsOfEmptySegments(t *testing.T) {
	data := t.TempDir()
	const most = 5
	s := open(t, data, store.Options{FS: hasty{durable.OS}, MaxPending: most})
	for i := range 3 * most {
		if err := s.PutSegment(t.Context(), store.IndexRef{Index: cpar.IndexID{byte(i)}}, sha256.Sum256(nil), 0, bytes.NewReader(nil)); err != nil {
			t.Fatalf("upload %d: %v", i, err)
		}
	}
	if folders, err := os.ReadDir(filepath.Join(data, "indexes")); err != nil || len(folders) > most {
		t.Errorf("%d folders, %v", len(folders), err)
	}
	if u, err := s.Usage(t.Context(), ""); err != nil || u.Uploads != most {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestUploadsInProgressStay(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{MaxPending: 2})
	put := func(i byte, r io.Reader) error {
		b := []byte{i}
		return s.PutSegment(context.Background(), store.IndexRef{Index: cpar.IndexID{i}}, sha256.Sum256(b), 1, r)
	}
	var uploads sync.WaitGroup
	var send []*io.PipeWriter
	for i := range byte(2) {
		r, w := io.Pipe()
		send = append(send, w)
		begun := make(chan bool)
		uploads.Go(func() {
			if err := put(i, &told{r, begun}); err != nil {
				t.Errorf("upload %d: %v", i, err)
			}
		})
		<-begun
	}
	if err := put(2, bytes.NewReader([]byte{2})); !errors.Is(err, store.ErrQuota) {
		t.Errorf("a third: %v", err)
	}
	send[0].Write([]byte{0})
	send[0].Close()
	for {
		if u, err := s.Usage(t.Context(), ""); err != nil {
			t.Fatal(err)
		} else if u.Reserved == 1 {
			break
		}
	}
	if err := put(3, bytes.NewReader([]byte{3})); err != nil {
		t.Errorf("a third when one has ended: %v", err)
	}
	send[1].Write([]byte{1})
	send[1].Close()
	uploads.Wait()
	if _, ok, _ := s.HasSegment(t.Context(), store.IndexRef{Index: cpar.IndexID{0}}, sha256.Sum256([]byte{0})); ok {
		t.Error("the upload that had ended was not removed")
	}
}

type told struct {
	io.Reader
	begun chan bool
}

func (r *told) Read(p []byte) (int, error) {
	if r.begun != nil {
		close(r.begun)
		r.begun = nil
	}
	return r.Reader.Read(p)
}

func TestQuota(t *testing.T) {
	data := t.TempDir()
	a, a2, b := built(t, 1, 1), built(t, 1, 2), built(t, 2, 3)
	one := int64(a.m.Bytes())
	quota := one + 4096*int64(len(a.m.Segments))
	limits := map[string]int64{"00000000000000aa": 2 * quota, "00000000000000bb": quota - 1}
	opt := store.Options{Quota: func(tenant string) int64 { return limits[tenant] }}
	s := open(t, data, opt)
	push := func(tenant string, o owner) error {
		k := store.IndexRef{Tenant: tenant, Index: o.m.ID}
		for i, seg := range o.m.Segments {
			if err := s.PutSegment(t.Context(), k, seg.Digest, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
				return err
			}
		}
		return s.PutManifest(t.Context(), k, o.bytes)
	}
	const rich, poor = "00000000000000aa", "00000000000000bb"
	check := func(tenant string, want store.Usage) {
		t.Helper()
		want.Limit = limits[tenant]
		if got, err := s.Usage(t.Context(), tenant); err != nil || got != want {
			t.Errorf("tenant %s: %+v, %v; want %+v", tenant, got, err, want)
		}
	}
	if err := push(rich, a); err != nil {
		t.Fatal(err)
	}
	check(rich, store.Usage{Indexes: 1, Active: one})
	if err := push(rich, a2); err != nil { // an update needs space for both
		t.Fatal(err)
	}
	check(rich, store.Usage{Indexes: 1, Active: one})
	if err := push(rich, b); err != nil {
		t.Fatal(err)
	}
	if err := push(rich, a); !errors.Is(err, store.ErrQuota) || !errors.Is(err, cpar.ErrInput) {
		t.Errorf("over the quota: %v", err)
	}
	if err := push(poor, a); !errors.Is(err, store.ErrQuota) {
		t.Errorf("a byte too much: %v", err)
	}
	pending := one - int64(a.m.Segments[len(a.m.Segments)-1].Bytes)
	check(poor, store.Usage{Uploads: 1, Pending: pending})
	if err := s.PutSegment(t.Context(), store.IndexRef{Tenant: poor, Index: cpar.IndexID{5}}, cpar.Digest{}, -1, bytes.NewReader(nil)); !errors.Is(err, store.ErrQuota) {
		t.Errorf("of unknown length: %v", err)
	}
	if err := s.PutSegment(t.Context(), store.IndexRef{Tenant: poor, Index: cpar.IndexID{5}}, cpar.Digest{}, 9, bytes.NewReader(make([]byte, 9))); !errors.Is(err, cpar.ErrCorrupt) {
		t.Error(err)
	}
	check(poor, store.Usage{Uploads: 1, Pending: pending})
	if err := push(poor, a); !errors.Is(err, store.ErrQuota) {
		t.Error(err)
	}
	check(poor, store.Usage{Uploads: 1, Pending: pending})
	limits[poor]++
	if err := push(poor, a); err != nil {
		t.Errorf("just enough: %v", err)
	}
	check(poor, store.Usage{Indexes: 1, Active: one})
	if err := s.Delete(t.Context(), store.IndexRef{Tenant: rich, Index: b.m.ID}); err != nil {
		t.Fatal(err)
	}
	check(rich, store.Usage{Indexes: 1, Active: one})
	flip(t, indexdir.SegmentPath(filepath.Join(data, "tenants", poor, "indexes", a.m.ID.String()), a.m.Segments[0].Digest))
	if err := push(poor, a); err != nil {
		t.Fatal(err)
	}
	check(poor, store.Usage{Indexes: 1, Active: one})
	s.Close()
	s = open(t, data, opt)
	check(poor, store.Usage{Indexes: 1, Active: one})
	check(rich, store.Usage{Indexes: 1, Active: one})
	if st := s.Stats(); st.Tenants[rich].Active != one {
		t.Errorf("%+v", st)
	}
}

// One-byte files use up the disk's files long before its bytes.
func TestQuotaCountsFiles(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{Quota: func(string) int64 { return 100 * 4096 }})
	const tenant = "00000000000000aa"
	files := 0
	for i := range 200 {
		body := []byte{byte(i)}
		k := store.IndexRef{Tenant: tenant, Index: cpar.IndexID{byte(i % 3)}}
		switch err := s.PutSegment(t.Context(), k, sha256.Sum256(body), 1, bytes.NewReader(body)); {
		case err == nil:
			files++
		case !errors.Is(err, store.ErrQuota):
			t.Fatal(err)
		}
	}
	if files != 99 {
		t.Errorf("%d files", files)
	}
}

func TestMissingReadsFolderOnce(t *testing.T) {
	m := &cpar.Manifest{Segments: make([]cpar.Segment, 65_532)}
	for i := range m.Segments {
		binary.BigEndian.PutUint32(m.Segments[i].Digest[:], uint32(i))
	}
	f := &counting{}
	s := store.New[*loaded](f, loader, store.Options{})
	got, err := s.Missing(t.Context(), store.IndexRef{}, m)
	if err != nil || len(got) != len(m.Segments) || f.calls != 1 {
		t.Errorf("%d missing, %v, %d looks", len(got), err, f.calls)
	}
}

type counting struct {
	store.Backend
	calls int
}

func (c *counting) Albums() album.Objects { return nil }

func (c *counting) Segments(context.Context, store.IndexRef) ([]store.Stored, error) {
	c.calls++
	return nil, nil
}

func (c *counting) Read(context.Context, store.IndexRef, cpar.Digest) (io.ReadCloser, int64, error) {
	c.calls++
	return nil, 0, fmt.Errorf("%w", store.ErrNotFound)
}

func TestEndlessUploadIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	r := &endless{}
	if err := s.PutSegment(t.Context(), store.IndexRef{}, cpar.Digest{1}, -1, r); !errors.Is(err, store.ErrTooLarge) {
		t.Error(err)
	}
	if r.n > 2<<20 {
		t.Errorf("%d bytes were read", r.n)
	}
	r.n = 0
	if err := s.PutSegment(t.Context(), store.IndexRef{}, cpar.Digest{1}, 1<<20, r); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("more than announced: %v", err)
	}
	if r.n > 2<<20 {
		t.Errorf("%d bytes were read of 1 MiB", r.n)
	}
}

type endless struct{ n int }

func (r *endless) Read(p []byte) (int, error) { r.n += len(p); return len(p), nil }
