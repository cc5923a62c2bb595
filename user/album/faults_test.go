package album

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/photo/metadata"
	"cpar/user/album/blobs"
)

// A limited store has a quota.
type limited struct {
	blobs.Store
	left *int
}

func (s limited) Put(ctx context.Context, name string, b []byte) error {
	if *s.left -= len(b); *s.left < 0 {
		return hint.Add(fmt.Errorf("storing blob %s: %w: the quota is used up", name, cpar.ErrStorage), "ask for a larger quota")
	}
	return s.Store.Put(ctx, name, b)
}

// At the quota, Add stops, reports how much is missing, and keeps complete photos.
func TestFullQuotaKeepsWhatIsWhole(t *testing.T) {
	w := newWorld(t)
	one, two := w.photos("one", 6, 1), w.photos("two", 20, 2)
	left := 120_000
	a := w.over("one", limited{w.store, &left})
	w.add(a, one)
	_, err := a.Add(t.Context(), []string{two}, AddOptions{})
	if exitcode.Of(err) != exitcode.Storage || !strings.Contains(err.Error(), "20 photos of ") || hint.Of(err) != "ask for a larger quota" {
		t.Errorf("at the quota: %v, hint %q", err, hint.Of(err))
	}
	w.same(w.open("one"), one)
	left = 1 << 30
	w.add(a, two)
	w.same(w.open("one"), two)
}

func TestUnreachableServerEndsCommands(t *testing.T) {
	w := newWorld(t)
	w.add(w.open("one"), w.photos("one", 2, 1))
	broken := fmt.Errorf("%w: connection refused", cpar.ErrCloud)
	a := w.over("one", failing{w.store, broken})
	if _, err := a.Get(t.Context(), a.Find(parse(t, ""), false), t.TempDir(), nil); !errors.Is(err, broken) {
		t.Errorf("get: %v", err)
	}
	if err := a.Maintain(t.Context(), false); !errors.Is(err, broken) {
		t.Errorf("maintain: %v", err)
	}
}

// Verify does not report a failure of the server as a damaged photo.
func TestUnreachableServerDamagesNoPhoto(t *testing.T) {
	w := newWorld(t)
	w.add(w.open("one"), w.photos("one", 3, 1))
	broken := fmt.Errorf("%w: connection refused", cpar.ErrCloud)
	a := w.over("one", gated{w.store, func(context.Context) error { return broken }})
	v, err := a.Verify(t.Context(), 100, nil)
	if !errors.Is(err, broken) || len(v.Affected) > 0 {
		t.Errorf("verify: %v, %d photos affected", err, len(v.Affected))
	}
}

// A failing store lists nothing.
type failing struct {
	blobs.Store
	err error
}

func (f failing) List(context.Context, string, func(blobs.Blob) error) error { return f.err }

func TestUnreadablePhotosAreLeftOut(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 4, 1)
	must(t, os.WriteFile(filepath.Join(dir, "empty.jpg"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "broken.jpg")))
	a := w.open("one")
	sum := w.add(a, dir)
	if sum.Photos != 4 || len(sum.LeftOut) == 0 || filepath.Base(sum.LeftOut[len(sum.LeftOut)-1].Path) != "empty.jpg" {
		t.Errorf("added %+v", sum)
	}
	for _, l := range sum.LeftOut {
		if exitcode.Of(l.Err) != exitcode.Input || l.Why == "" {
			t.Errorf("%s: %v", l.Path, l.Err)
		}
	}
}

// Add leaves out only the photo whose name is not UTF-8.
func TestNamesThatAreNotUTF8AreLeftOut(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 4, 1)
	odd := filepath.Join(dir, "caf\xe9")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Skip("this file system refuses names that are not UTF-8: ", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "2021", "IMG_0001.jpg"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(odd, "a.jpg"), b, 0o600))
	sum := w.add(w.open("one"), dir)
	if sum.Photos != 4 || len(sum.LeftOut) != 1 || !strings.Contains(sum.LeftOut[0].Why, "UTF-8") {
		t.Errorf("added %+v", sum)
	}
	must(t, os.RemoveAll(odd))
	two := w.open("two")
	must(t, two.Sync(t.Context()))
	w.same(two, dir)
}

func TestGetOverwritesNothing(t *testing.T) {
	w := newWorld(t)
	a, dir, to := w.open("one"), w.photos("photos", 2, 1), t.TempDir()
	w.add(a, dir)
	mine := filepath.Join(to, "photos", "2020", "IMG_0000.jpg")
	must(t, os.MkdirAll(filepath.Dir(mine), 0o700))
	must(t, os.WriteFile(mine, []byte("mine"), 0o600))
	_, err := a.Get(t.Context(), a.Find(parse(t, ""), false), to, nil)
	if b, _ := os.ReadFile(mine); exitcode.Of(err) != exitcode.Input || string(b) != "mine" || len(tree(t, to)) != 1 {
		t.Errorf("get: %v, and the folder has %d files", err, len(tree(t, to)))
	}
}

// An export deletes only blobs of its own album.
func TestExportSparesOtherRepository(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	to := t.TempDir()
	for _, x := range []*world{w, other} {
		x.add(x.open("one"), x.photos("photos", 3, 1))
	}
	_, err := w.open("one").Export(t.Context(), to, false, nil)
	must(t, err)
	before := tree(t, to)
	_, err = other.open("one").Export(t.Context(), to, false, nil)
	if exitcode.Of(err) != exitcode.Input || !maps.Equal(before, tree(t, to)) {
		t.Errorf("exporting into another album's folder: %v, %d files are left of %d", err, len(tree(t, to)), len(before))
	}
	_, err = w.open("one").Export(t.Context(), to, false, nil)
	must(t, err)
}

// A hooked store calls a function after it has stored a generation.
type hooked struct {
	blobs.Store
	committed func()
}

func (h hooked) Put(ctx context.Context, name string, b []byte) error {
	err := h.Store.Put(ctx, name, b)
	if err == nil && strings.HasPrefix(name, "cpar-gen-") {
		h.committed()
	}
	return err
}

// After a failure that follows the commit, nothing needs to be repeated.
func TestFailureAfterCommitIsWarning(t *testing.T) {
	w := newWorld(t)
	var a *Album
	a = w.over("one", hooked{w.store, func() {
		folder := filepath.Join(a.folder, "catalogue")
		must(t, os.RemoveAll(folder))
		must(t, os.WriteFile(folder, nil, 0o600))
	}})
	dir := w.photos("photos", 3, 1)
	if sum := w.add(a, dir); sum.Photos != 3 || len(sum.Warnings) != 1 {
		t.Errorf("added %+v", sum)
	}
	two := w.open("two")
	must(t, two.Sync(t.Context()))
	w.same(two, dir)
}

// Get does not replace a file that appears under the name while it reads. On a file
// system that ignores case, it may be another file of the album.
func TestGetOverwritesNoFileThatAppears(t *testing.T) {
	w := newWorld(t)
	dir, to := w.photos("photos", 1, 1), t.TempDir()
	w.add(w.open("one"), dir)
	mine := filepath.Join(to, "photos", "2020", "IMG_0000.jpg")
	a := w.over("one", gated{w.store, func(context.Context) error {
		return errors.Join(os.MkdirAll(filepath.Dir(mine), 0o700), os.WriteFile(mine, []byte("mine"), 0o600))
	}})
	_, err := a.Get(t.Context(), a.Find(parse(t, ""), false), to, nil)
	if b, _ := os.ReadFile(mine); exitcode.Of(err) != exitcode.Input || string(b) != "mine" {
		t.Errorf("get: %v, and the file has %d bytes", err, len(b))
	}
}

// A sidecar with two names, as a file system that ignores case shows it, is
// stored once.
func TestSidecarWithTwoNamesIsStoredOnce(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 1, 1)
	file := filepath.Join(dir, "2020", "IMG_0000.jpg")
	for _, s := range metadata.Sidecars(file) {
		if _, err := os.Stat(s); err != nil {
			must(t, os.Link(file+".xmp", s))
		}
	}
	w.add(a, dir)
	if p := a.catalogue.State().Photo("photos/2020/IMG_0000.jpg"); len(p.Files) != 2 {
		t.Errorf("stored %+v", p.Files)
	}
}

// Adding a small photo sends little more than its bytes, and reveals its size only
// to 4 KiB.
func TestOnePhotoCostsLittleMore(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("first", 1, 1))
	sent, before := w.store.Sent, map[string]bool{}
	for _, name := range w.store.Names("p") {
		before[name] = true
	}
	sum := w.add(a, w.photos("second", 1, 2))
	t.Logf("a photo of %d bytes sent %d", sum.Bytes, w.store.Sent-sent)
	if w.store.Sent-sent > sum.Bytes+128<<10 {
		t.Error("want at most 128 KiB more")
	}
	for _, name := range w.store.Names("p") {
		b, err := w.store.Stat(t.Context(), name)
		must(t, err)
		if !before[name] {
			t.Logf("its pack has %d bytes", b.Size)
		}
	}
}
