package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/testing/blobtest"
	"cpar/user/album/blobs"
)

// openedOver returns the repository of a store with the given pins.
func openedOver(t *testing.T, s blobs.Store, pins map[string]blobs.Pin) *Repository {
	t.Helper()
	return openedWith(t, Options{Store: s, Pins: pins})
}

func openedWith(t *testing.T, o Options) *Repository {
	t.Helper()
	o.Folder, o.Secret = filepath.Join(t.TempDir(), "kopia"), seed.Secret{1}
	r, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// A blob that another device is deleting may be listed although it cannot be read.
// A pin of this blob would make the album unreadable.
func TestOnlyReadIndexBlobsArePinned(t *testing.T) {
	store := blobtest.NewMemory()
	r := openedOver(t, store, nil)
	if err := store.Put(t.Context(), "xn0_listed", []byte("index")); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "xn0_read", []byte("index")); err != nil {
		t.Fatal(err)
	}
	if err := r.storage.ListBlobs(t.Context(), "x", func(blob.Metadata) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var b output
	if err := r.storage.GetBlob(t.Context(), "xn0_read", 0, -1, &b); err != nil {
		t.Fatal(err)
	}
	added, _ := r.Changes()
	if _, has := added["xn0_listed"]; has {
		t.Error("a blob is pinned that was only listed")
	}
	if p, has := added["xn0_read"]; !has || !p.Holds([]byte("index")) {
		t.Errorf("a blob that was read is pinned as %v", p)
	}
}

// A blob of another device is deleted only after the commit, and not if that device
// has pinned it.
func TestPinnedMeanwhileIsNotDeleted(t *testing.T) {
	store := blobtest.NewMemory()
	r := openedOver(t, store, nil)
	for _, name := range []string{"xn0_theirs", "xn0_left"} {
		if err := errors.Join(store.Put(t.Context(), name, []byte(name)), r.storage.DeleteBlob(t.Context(), blob.ID(name))); err != nil {
			t.Fatal(err)
		}
	}
	pins := map[string]blobs.Pin{"xn0_theirs": blobs.PinOf([]byte("xn0_theirs"), time.Now())}
	if _, removed := r.Changes(); len(removed) > 0 {
		t.Errorf("it unpins %v", removed)
	}
	if err := r.Committed(t.Context(), pins); err != nil {
		t.Fatal(err)
	}
	if left := fmt.Sprint(store.Names("x")); left != "[xn0_theirs]" {
		t.Errorf("left is %s", left)
	}
}

// A lying store reports digests of other bytes.
type lying struct{ blobs.Store }

func (l lying) Stat(ctx context.Context, name string) (blobs.Blob, error) {
	b, err := l.Store.Stat(ctx, name)
	b.Digest[0] ^= 1
	return b, err
}

func TestPinsAreOfBytesThatWereRead(t *testing.T) {
	store := blobtest.NewMemory()
	if err := store.Put(t.Context(), "p1", []byte("pack")); err != nil {
		t.Fatal(err)
	}
	r := openedOver(t, lying{store}, nil)
	if err := r.adopt(t.Context(), "p1", time.Now()); err != nil {
		t.Fatal(err)
	}
	added, _ := r.Changes()
	for _, name := range []string{"p1", "kopia.repository", "kopia.blobcfg"} {
		b, err := store.Get(t.Context(), name, 0, -1)
		if err != nil || !added[name].Holds(b) {
			t.Errorf("the pin of %s is of other bytes: %v", name, err)
		}
	}
}

// All concurrent operations that fail because of the server report the reason.
func TestConcurrentFailuresKeepTheReason(t *testing.T) {
	r := openedOver(t, blobtest.NewMemory(), nil)
	quota := fmt.Errorf("%w: the quota is used up", cpar.ErrStorage)
	first, done := r.storage.guard(t.Context())
	second, doneToo := r.storage.guard(t.Context())
	r.storage.fail(quota)
	for _, ctx := range []context.Context{first, second} {
		if err := r.Failed("storing a file", ctx.Err()); !errors.Is(err, quota) {
			t.Errorf("got %v", err)
		}
	}
	done()
	doneToo()
	_, done = r.storage.guard(t.Context())
	defer done()
	if err := r.Failed("storing a file", cpar.ErrInput); errors.Is(err, quota) {
		t.Errorf("a later operation: %v", err)
	}
}

// storedPhoto returns a store with a photo, the photo's object, and the pins that
// the next generation needs.
func storedPhoto(t *testing.T) (store *blobtest.Memory, object string, pins map[string]blobs.Pin) {
	t.Helper()
	store = blobtest.NewMemory()
	r := openedOver(t, store, nil)
	object, _, err := r.Put(t.Context(), strings.NewReader("a photo"))
	if err == nil {
		err = r.Flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	pins, _ = r.Changes()
	return store, object, pins
}

// An index blob of an old state may refer to a pack that no generation pins. Packs
// then fails, although the server still has the pack.
func TestPacksRefusesUnpinnedPacks(t *testing.T) {
	store, id, pins := storedPhoto(t)
	for what, change := range map[string]func(name string, p blobs.Pin){
		"whole":    func(string, blobs.Pin) {},
		"cut off":  func(name string, p blobs.Pin) { p.Size = 10; pins[name] = p },
		"unpinned": func(name string, p blobs.Pin) { delete(pins, name) },
	} {
		before := maps.Clone(pins)
		for _, name := range store.Names("p") {
			change(name, pins[name])
		}
		packs, err := openedOver(t, store, pins).Packs(t.Context(), id)
		if damaged := errors.Is(err, blobs.ErrDamaged); damaged != (what != "whole") || !damaged && len(packs) != 1 {
			t.Errorf("%s: packs %v, %v", what, packs, err)
		}
		pins = before
	}
}

// Killed maintenance leaves an index that refers to new packs, which no generation
// pins. A strict repository finds objects by the indexes of its generation.
func TestStrictRepositoryIgnoresUnpinnedIndexes(t *testing.T) {
	store, id, pins := storedPhoto(t)
	killed := openedOver(t, store, pins)
	_, contents, err := killed.unpinned(t.Context())
	if err != nil || len(contents) > 0 {
		t.Fatalf("%d contents are not pinned, %v", len(contents), err)
	}
	err = killed.writer.ContentReader().IterateContents(t.Context(), content.IterateOptions{}, func(c content.Info) error {
		contents = append(contents, c)
		return nil
	})
	if err == nil {
		err = killed.replace(t.Context(), contents)
	}
	if err != nil {
		t.Fatal(err)
	}
	for strict, damaged := range map[bool]bool{true: false, false: true} {
		packs, err := openedWith(t, Options{Store: store, Pins: pins, Strict: strict}).Packs(t.Context(), id)
		if errors.Is(err, blobs.ErrDamaged) != damaged || !damaged && len(packs) != 1 {
			t.Errorf("strict %v: packs %v, %v", strict, packs, err)
		}
	}
}
