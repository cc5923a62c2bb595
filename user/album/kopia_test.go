package album

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kopiafs "github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob/filesystem"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/snapshotfs"

	"cpar/internal/exitcode"
	"cpar/internal/testing/oracle"
)

// A dry run of the export or of maintenance changes nothing at the server, and
// no folder.
func TestDryRunsChangeNothing(t *testing.T) {
	w := newWorld(t)
	a, export := w.open("one"), filepath.Join(w.root, "export")
	w.add(a, w.photos("photos", 10, 1))
	must(t, a.Maintain(t.Context(), false))
	sent, names := w.store.Sent, w.store.Names("")
	unchanged := func(what string) {
		t.Helper()
		if w.store.Sent != sent || !slices.Equal(names, w.store.Names("")) {
			t.Errorf("%s sent %d bytes, and left %d blobs of %d", what, w.store.Sent-sent, len(w.store.Names("")), len(names))
		}
	}
	would, err := a.Export(t.Context(), export, true, nil)
	must(t, err)
	if _, err := os.Stat(export); would == 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it would copy %d bytes, and the folder: %v", would, err)
	}
	unchanged("a dry export")
	must(t, a.MayMaintain(t.Context(), false))
	b := w.open("two")
	if err := b.MayMaintain(t.Context(), false); exitcode.Of(err) != exitcode.Input {
		t.Errorf("a second device: %v", err)
	}
	must(t, b.MayMaintain(t.Context(), true))
	if err := b.MayMaintain(t.Context(), false); err == nil {
		t.Error("a dry run moved the maintenance")
	}
	unchanged("a dry maintenance")
	copied, err := a.Export(t.Context(), export, false, nil)
	must(t, err)
	if copied != would { // the trees were written by the maintenance
		t.Errorf("it copied %d bytes, and had said %d", copied, would)
	}
	must(t, os.WriteFile(filepath.Join(export, "foreign.f"), nil, 0o600))
	before := tree(t, export)
	again, err := a.Export(t.Context(), export, true, nil)
	must(t, err)
	if again > copied/10 || !maps.Equal(before, tree(t, export)) {
		t.Errorf("a second time it would copy %d bytes, and changed the folder", again)
	}
	must(t, os.Mkdir(filepath.Join(w.root, "empty"), 0o700))
	_, err = a.Export(t.Context(), filepath.Join(w.root, "empty"), true, nil)
	must(t, err)
	if left := tree(t, filepath.Join(w.root, "empty")); len(left) > 0 {
		t.Errorf("it wrote %d files", len(left))
	}
}

// restored exports the album and returns the files of a tree that kopia's library
// reads from the export, by path.
func (w *world) restored(a *Album, tree string) map[string]string {
	w.t.Helper()
	ctx := w.t.Context()
	folder, config := filepath.Join(w.root, "export"), filepath.Join(w.t.TempDir(), "config")
	_, err := a.Export(ctx, folder, false, nil)
	must(w.t, err)
	s, err := filesystem.New(ctx, &filesystem.Options{Path: folder}, false)
	must(w.t, err)
	must(w.t, repo.Connect(ctx, config, s, a.KopiaPassword(), &repo.ConnectOptions{}))
	r, err := repo.Open(ctx, config, a.KopiaPassword(), &repo.Options{})
	must(w.t, err)
	defer r.Close(ctx)
	list, err := snapshot.ListSnapshots(ctx, r, snapshot.SourceInfo{Host: "album", UserName: "cpar", Path: tree})
	must(w.t, err)
	if len(list) != 1 {
		w.t.Fatalf("the export has %d snapshots of %s", len(list), tree)
	}
	root, err := snapshotfs.SnapshotRoot(r, list[0])
	must(w.t, err)
	files := map[string]string{}
	var walk func(string, kopiafs.Directory)
	walk = func(at string, d kopiafs.Directory) {
		must(w.t, kopiafs.IterateEntries(ctx, d, func(_ context.Context, e kopiafs.Entry) error {
			switch e := e.(type) {
			case kopiafs.Directory:
				walk(path.Join(at, e.Name()), e)
			case kopiafs.File:
				f, err := e.Open(ctx)
				if err != nil {
					return err
				}
				defer f.Close()
				b, err := io.ReadAll(f)
				files[path.Join(at, e.Name())] = string(b)
				return err
			}
			return nil
		}))
	}
	walk("", root.(kopiafs.Directory))
	return files
}

// A stock kopia opens an export, verifies it, and restores every byte.
func TestStockKopiaRestoresExport(t *testing.T) {
	program := oracle.Named(t, "CPAR_KOPIA")
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 40, 1)
	w.add(a, dir)
	_, err := a.Remove(t.Context(), parse(t, "folder:photos/2021"))
	must(t, err)
	export, home := filepath.Join(w.root, "export"), filepath.Join(w.root, "home")
	must(t, os.Mkdir(home, 0o700))
	copied, err := a.Export(t.Context(), export, false, nil)
	must(t, err)
	again, err := a.Export(t.Context(), export, false, nil)
	must(t, err)
	if again > copied/10 {
		t.Errorf("a second export copied %d bytes of %d", again, copied)
	}
	kopia := func(args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), program, args...)
		c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KOPIA_CHECK_FOR_UPDATES=false", "KOPIA_PASSWORD=" + a.KopiaPassword()}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("kopia %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	kopia("repository", "connect", "filesystem", "--path", export)
	kopia("snapshot", "verify", "--verify-files-percent=100")
	restored := filepath.Join(w.root, "restored")
	for _, tree := range []string{"photos", "trash"} {
		kopia("snapshot", "restore", "cpar@album:/"+tree, filepath.Join(restored, tree))
	}
	got := tree(t, filepath.Join(restored, "photos", "photos"))
	for path, b := range tree(t, filepath.Join(restored, "trash")) {
		_, path, _ = strings.Cut(path, "/") // the time of the removal
		got[strings.TrimPrefix(path, "photos/")] = b
	}
	if want := tree(t, dir); !maps.Equal(want, got) {
		t.Errorf("kopia restored %d files, want %d with equal bytes", len(got), len(want))
	}
	exiftool, err := exec.LookPath("exiftool")
	if err != nil && os.Getenv("CPAR_EXIFTOOL") == "required" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("the sidecars are not read: ", err)
	}
	out, err := exec.Command(exiftool, "-s3", "-Subject", filepath.Join(restored, "photos", "photos", "2020", "IMG_0000.jpg.xmp")).Output()
	if err != nil || strings.TrimSpace(string(out)) != "dog, all" {
		t.Errorf("exiftool reads %q from a restored sidecar: %v", out, err)
	}
}
