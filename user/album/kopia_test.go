package album

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpar/internal/testing/oracle"
)

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
	copied, err := a.Export(t.Context(), export, nil)
	must(t, err)
	again, err := a.Export(t.Context(), export, nil)
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
