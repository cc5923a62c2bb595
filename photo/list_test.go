package photo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func found(l *Listing, dir string) (taken, left []string) {
	below := func(file string) string {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return file
		}
		return filepath.ToSlash(rel)
	}
	for _, p := range l.Photos {
		line := below(p.Path)
		for _, also := range p.Also {
			line += "+" + below(also)
		}
		taken = append(taken, line)
	}
	for _, s := range l.Skipped {
		left = append(left, string(s.Reason)+" "+below(s.Path))
	}
	return taken, left
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func TestListGivesReasonForEachFile(t *testing.T) {
	dir := tree(t, "a.jpg", "b.PNG", "c.heic", "d.CR2", "e.rw2", "f.orf", "notes.txt", "film.MP4", "a.jpg.xmp", "a.xmp",
		".hidden.jpg", ".thumbs/a.jpg", ".cache/a.jpg", "@eaDir/a.jpg/SYNOPHOTO_THUMB_XL.jpg", ".Trash-1000/files/old.jpg", ".Trash/old.jpg",
		"$RECYCLE.BIN/x.jpg", ".dtrash/x.jpg", "#recycle/x.jpg", "Lost+found/x.jpg", "._a.jpg", ".DS_Store", "Thumbs.db",
		"sub/deep/g.webp", "sub/no-ending", "named.jpg/inside.tif")
	l, err := List(t.Context(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken, left := found(l, dir)
	equal(t, "photos", taken, []string{"a.jpg", "b.PNG", "c.heic", "d.CR2", "named.jpg/inside.tif", "sub/deep/g.webp"})
	equal(t, "skipped", left, []string{"trash #recycle", "trash $RECYCLE.BIN", "system .DS_Store", "trash .Trash", "trash .Trash-1000",
		"system ._a.jpg", "hidden .cache", "trash .dtrash", "hidden .hidden.jpg", "thumbnails .thumbs", "thumbnails @eaDir", "trash Lost+found",
		"system Thumbs.db", "sidecar a.jpg.xmp", "sidecar a.xmp", "not readable e.rw2", "not readable f.orf", "video film.MP4",
		"not a photo notes.txt", "not a photo sub/no-ending"})
	equal(t, "summary", strings.Split(l.Summary(), "\n"), []string{
		"left out: 2 photos of a kind that is not read: .orf, .rw2",
		"left out: 1 video: " + filepath.Join(dir, "film.MP4"),
		"left out: 2 files that are not photos",
		"left out: 2 hidden files or folders",
		"left out: 6 trash folders",
		"left out: 2 folders of thumbnails",
	})
	if (&Listing{Skipped: []Skipped{{Path: "a.xmp", Reason: Sidecar}}}).Summary() != "" {
		t.Error("the summary mentions a sidecar")
	}
}

func TestListMergesShots(t *testing.T) {
	dir := tree(t, "1.JPG", "1.CR2", "2.dng", "2.cr3", "3.heic", "3.jpg", "3.dng", "4.jpg", "4.png", "5.nef", "5.tif", "other/1.CR2", "6.jpg.dng", "6.jpg")
	l, err := List(t.Context(), []string{dir, filepath.Join(dir, "1.JPG"), dir + "/./4.jpg"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken, _ := found(l, dir)
	equal(t, "photos", taken, []string{"1.JPG+1.CR2", "2.dng+2.cr3", "3.jpg+3.dng", "3.heic", "4.jpg", "4.png", "5.tif+5.nef", "6.jpg", "6.jpg.dng", "other/1.CR2"})
}

func TestListTakesNamedFiles(t *testing.T) {
	dir := tree(t, "odd", ".hidden.jpg", "below/a.jpg")
	l, err := List(t.Context(), []string{filepath.Join(dir, "odd"), filepath.Join(dir, ".hidden.jpg"), filepath.Join(dir, "below")}, Options{Exclude: []string{"odd"}})
	if err != nil {
		t.Fatal(err)
	}
	taken, left := found(l, dir)
	equal(t, "photos", taken, []string{"odd", ".hidden.jpg", "below/a.jpg"})
	equal(t, "skipped", left, nil)
}

// Following links to folders could recurse without end.
func TestListFollowsLinksToFilesOnly(t *testing.T) {
	outside := tree(t, "far.jpg")
	dir := tree(t, "a.jpg", "sub/b.jpg", "notes.txt")
	for link, target := range map[string]string{
		"sub/loop": "..", "self": "self", "twice.jpg": "a.jpg", "far.jpg": filepath.Join(outside, "far.jpg"),
		"gone.jpg": "nowhere.jpg", "outside": outside, "words": "notes.txt",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	l, err := List(t.Context(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken, left := found(l, dir)
	equal(t, "photos", taken, []string{"a.jpg", "far.jpg", "sub/b.jpg"})
	equal(t, "skipped", left, []string{"unreadable gone.jpg", "not a photo notes.txt", "link outside", "unreadable self", "link sub/loop", "not a photo words", "link to a photo twice.jpg"})
	if s := l.Summary(); !strings.Contains(s, "2 links to folders") || !strings.Contains(s, "gone.jpg (a broken link: no such file or directory)") {
		t.Error(s)
	}
	if l, err = List(t.Context(), []string{filepath.Join(dir, "twice.jpg"), filepath.Join(dir, "a.jpg")}, Options{}); err != nil || len(l.Photos) != 2 {
		t.Errorf("a named link: %v, %v", l, err)
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	if l, err = List(t.Context(), []string{linked}, Options{}); err != nil || len(l.Photos) != 1 {
		t.Errorf("%v, %v", l, err)
	}
}

func TestExclude(t *testing.T) {
	dir := tree(t, "a.jpg", "2019/b.jpg", "2020/raw/c.jpg", "2020/d-small.jpg", "2020/e.jpg")
	for pattern, want := range map[string][]string{
		"2019":       {"2020/d-small.jpg", "2020/e.jpg", "2020/raw/c.jpg", "a.jpg"},
		"2020/raw/":  {"2019/b.jpg", "2020/d-small.jpg", "2020/e.jpg", "a.jpg"},
		"*-small.*":  {"2019/b.jpg", "2020/e.jpg", "2020/raw/c.jpg", "a.jpg"},
		"20??/*.jpg": {"2020/raw/c.jpg", "a.jpg"},
	} {
		l, err := List(t.Context(), []string{dir}, Options{Exclude: []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		taken, left := found(l, dir)
		equal(t, pattern, taken, want)
		for _, s := range left {
			if !strings.HasPrefix(s, "excluded ") {
				t.Errorf("%s: %s", pattern, s)
			}
		}
	}
	if _, err := List(t.Context(), []string{dir}, Options{Exclude: []string{"[a"}}); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("a damaged pattern: %v", err)
	}
}

func TestListRefuses(t *testing.T) {
	empty := tree(t, "notes.txt", ".hidden/a.jpg")
	l, err := List(t.Context(), []string{empty}, Options{})
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "no photos in") || !strings.Contains(hint.Of(err), ".jpg") {
		t.Errorf("without photos: %v", err)
	}
	if l == nil || !strings.Contains(l.Summary(), "1 hidden file or folder") {
		t.Errorf("%+v does not say what there is instead", l)
	}
	_, err = List(t.Context(), []string{filepath.Join(empty, "absent\x1b[31m")}, Options{})
	if !errors.Is(err, cpar.ErrInput) || strings.ContainsRune(err.Error(), '\x1b') || strings.Count(err.Error(), "absent") != 1 {
		t.Errorf("an absent folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = List(ctx, []string{tree(t, "a.jpg")}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// File names are untrusted and must not control a terminal.
func TestNamesAreSafeToPrint(t *testing.T) {
	dir := tree(t, "a.jpg", "red\x1b[31m.mp4", "two\nlines.rw\x1b2")
	if err := os.Symlink("nowhere", filepath.Join(dir, "bad\x1b[2J.jpg")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	l, err := List(t.Context(), []string{dir}, Options{})
	if err != nil || len(l.Skipped) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	text := l.Summary()
	for _, s := range l.Skipped {
		text += s.String()
	}
	text = strings.ReplaceAll(text, "\n", "") // the summary's own
	if strings.ContainsAny(text, "\x1b\n") || !strings.Contains(text, `two\nlines`) || !strings.Contains(text, `red\x1b[31m.mp4": video`) {
		t.Errorf("%q", text)
	}
	if n := strings.Count(l.Summary(), "\n"); n != 2 {
		t.Errorf("%d lines more than one of\n%s", n, l.Summary())
	}
}

// The failure is injected, because root is never refused.
func TestListSkipsUnreadableFolders(t *testing.T) {
	dir := tree(t, "a.jpg", "closed/b.jpg")
	closed := filepath.Join(dir, "closed")
	walking := func() *lister {
		return &lister{ctx: t.Context(), seen: map[string]bool{}, readDir: func(name string) ([]fs.DirEntry, error) {
			if name == closed {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
			}
			return os.ReadDir(name)
		}}
	}
	l, err := list(walking(), []string{dir})
	if err != nil || len(l.Photos) != 1 || !strings.Contains(l.Summary(), "closed (permission denied)") {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := list(walking(), []string{closed}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a root that may not be read: %v", err)
	}
}
