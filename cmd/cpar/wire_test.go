package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/photo/dataset"
)

// paintedPhotos writes n painted photos with keywords into a new folder.
func paintedPhotos(t *testing.T, folder string, n int) {
	t.Helper()
	var items []dataset.Photo
	err := os.Mkdir(folder, 0o700)
	for i := range n {
		jpg, words, e := paintOnce(i)
		if err == nil {
			err = e
		}
		name := string(rune('a'+i)) + ".jpg"
		items = append(items, dataset.Photo{Name: name, Keywords: words})
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), jpg, 0o600)
		}
	}
	if err == nil {
		err = dataset.WriteManifestFile(folder, items)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A search with --photos fetches what it needs to name them before the request, so
// the cloud does not see whether its reply was accepted.
func TestSearchLocatesPhotosBeforeRequest(t *testing.T) {
	w, url, run := wired(t)
	paintedPhotos(t, "photos", 24)
	for _, args := range [][]string{{"init", "--key", "k", "--no-passphrase"}, {"build", "photos", "--key", "k", "--out", "index", "--profile", "learned"}, {"push", "index", "--cloud", url}} {
		if _, err := run(t, args...); err != nil {
			t.Fatal(args, err)
		}
	}
	search := func(photos bool) (asked []string, err error) {
		args := []string{"search", "sea", "--key", "k", "--cloud", url, "--more"}
		if photos {
			args = append(args, "--photos", "photos")
		}
		w.sent = nil
		_, err = run(t, args...)
		for _, s := range w.sent {
			line, _, _ := strings.Cut(s, "\n")
			asked = append(asked, line)
		}
		return asked, err
	}
	if _, err := search(true); err != nil { // fills the caches
		t.Fatal(err)
	}
	plain, err := search(false)
	if err != nil {
		t.Fatal(err)
	}
	honest, err := search(true)
	if err != nil || len(honest) <= len(plain) {
		t.Fatalf("with --photos it asks %q, without %q; %v", honest, plain, err)
	}
	isRequest := func(line string) bool { return strings.Contains(line, "/annotate") }
	if at, of := slices.IndexFunc(honest, isRequest), slices.IndexFunc(plain, isRequest); at-of != len(honest)-len(plain) {
		t.Errorf("not all downloads precede the request: %q", honest)
	}
	w.alter = func(r *http.Request, reply []byte) {
		if isRequest(r.URL.Path) {
			reply[len(reply)-9] ^= 0x10
		}
	}
	if lied, err := search(true); err == nil || !slices.Equal(lied, honest) {
		t.Errorf("after a rejected reply (%v) it asks %q, after an accepted one %q", err, lied, honest)
	}
}

// verify --json reports damage on the standard output, too.
func TestVerifyPrintsDamageAsJSON(t *testing.T) {
	_, url, run := wired(t)
	paintedPhotos(t, "photos", 3)
	for _, args := range [][]string{{"init", "--key", "k", "--no-passphrase"}, {"album", "add", "photos", "--key", "k", "--cloud", url}} {
		if _, err := run(t, args...); err != nil {
			t.Fatal(args, err)
		}
	}
	verify := func() (report map[string]any, err error) {
		out, err := run(t, "album", "verify", "--key", "k", "--cloud", url, "--json")
		if e := json.Unmarshal([]byte(out), &report); e != nil {
			t.Fatalf("%q: %v, %v", out, e, err)
		}
		return report, err
	}
	whole, err := verify()
	if err != nil || len(whole["damaged_blobs"].(map[string]any)) != 0 {
		t.Errorf("%v, %v", whole, err)
	}
	c, err := cparhttp.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	albums, err := c.Albums(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	packs, _, err := c.ListBlobs(t.Context(), albums[0].Album, "p", "")
	if err == nil {
		err = c.DeleteBlob(t.Context(), albums[0].Album, packs[0].Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify()
	if exitcode.Of(err) != exitcode.Cloud || report["damaged_blobs"].(map[string]any)[packs[0].Name] != "is missing" || len(report["affected"].([]any)) != 3 || report["photos"] != 3.0 {
		t.Errorf("%v, %v", report, err)
	}
}
