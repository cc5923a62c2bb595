package indexdir_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/durable/crash"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/indexdir/sample"
)

func build(t testing.TB, folder string, seed uint64) *cpar.Manifest {
	t.Helper()
	m, err := sample.Build(folder, seed, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// which identifies whose segments the index in folder has, checking every byte.
func which(folder string, seeds ...uint64) (uint64, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return 0, err
	}
	defer x.Release()
	for _, seed := range seeds {
		_, want := sample.Segments(x.Manifest(), seed)
		same := len(want) == len(x.Segments())
		for i := range want {
			same = same && bytes.Equal(want[i], x.Segments()[i])
		}
		if same {
			return seed, nil
		}
	}
	return 0, errors.New("an unknown index")
}

func segmentFiles(t *testing.T, folder string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(folder, "segments"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, e := range entries {
		got[e.Name()] = true
	}
	return got
}

func onlyNamed(t *testing.T, folder string, m *cpar.Manifest) {
	t.Helper()
	files := segmentFiles(t, folder)
	for _, s := range m.Segments {
		delete(files, s.Digest.String())
	}
	if len(files) != 0 {
		t.Errorf("%d unnamed files are left", len(files))
	}
}

func TestBuildAndReplace(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "index")
	if _, err := indexdir.Open(folder); !errors.Is(err, cpar.ErrInput) || !errors.Is(err, indexdir.ErrNoIndex) {
		t.Errorf("opening a missing index: %v", err)
	}
	for seed := uint64(1); seed <= 2; seed++ {
		m := build(t, folder, seed)
		if got, err := which(folder, 1, 2); err != nil || got != seed {
			t.Fatalf("index %d: %v; want %d", got, err, seed)
		}
		onlyNamed(t, folder, m)
	}
}

func TestEmptySegment(t *testing.T) {
	folder := t.TempDir()
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := sample.Manifest(1)
	m.Records, m.Planes, m.Fields = 1, 0, 0
	if err := sample.Write(w, m, 1); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := which(folder, 1); err != nil {
		t.Error(err)
	}
}

func TestCutAtEveryStep(t *testing.T) {
	for _, had := range []bool{false, true} {
		t.Run(fmt.Sprintf("index before %v", had), func(t *testing.T) {
			crash.Each(t,
				func(root string) {
					if had {
						build(t, filepath.Join(root, "x"), 1)
					}
				},
				func(fsys durable.FS, root string) error {
					w, err := indexdir.Create(filepath.Join(root, "x"), indexdir.Options{FS: fsys})
					if err != nil {
						return err
					}
					defer w.Close()
					return sample.Write(w, sample.Manifest(2), 2)
				},
				func(t *testing.T, root string, done bool) {
					folder := filepath.Join(root, "x")
					got, err := which(folder, 1, 2)
					switch {
					case done && got != 2:
						t.Fatalf("activated, and the folder holds index %d: %v", got, err)
					case had && err != nil:
						t.Fatalf("the old index does not load: %v", err)
					case !had && err != nil && !errors.Is(err, indexdir.ErrNoIndex):
						t.Fatalf("neither an index nor none: %v", err)
					}
					// The next writer cleans up and keeps what is active.
					w, err := indexdir.Create(folder, indexdir.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer w.Close()
					m := new(cpar.Manifest)
					if got != 0 {
						if now, err := which(folder, got); err != nil {
							t.Fatalf("after cleaning: index %d: %v", now, err)
						}
						m, _ = indexdir.ReadManifest(folder)
					}
					onlyNamed(t, folder, m)
				})
		})
	}
}

func TestFullDiskAtEveryByte(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	total := 0
	m, _ := indexdir.ReadManifest(folder)
	b, _ := m.MarshalBinary()
	total = int(m.Bytes()) + len(b)
	for left := 0; left < total; left += 13 {
		w, err := indexdir.Create(folder, indexdir.Options{FS: &crash.Full{FS: durable.OS, Left: left}})
		if err != nil {
			t.Fatal(err)
		}
		err = sample.Write(w, sample.Manifest(2), 2)
		w.Close()
		if !errors.Is(err, cpar.ErrStorage) || !strings.Contains(hint.Of(err), "free in") {
			t.Fatalf("%d bytes left of %d: %v (hint %q)", left, total, err, hint.Of(err))
		}
		if got, err := which(folder, 1, 2); got != 1 {
			t.Fatalf("%d bytes left: index %d: %v", left, got, err)
		}
	}
	w, err := indexdir.Create(folder, indexdir.Options{FS: &crash.Full{FS: durable.OS, Left: total}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := sample.Write(w, sample.Manifest(2), 2); err != nil {
		t.Fatalf("just enough room: %v", err)
	}
}

func TestEveryFlippedBitAndTruncation(t *testing.T) {
	folder := t.TempDir()
	m := build(t, folder, 1)
	paths := []string{filepath.Join(folder, "manifest")}
	for _, s := range m.Segments {
		paths = append(paths, indexdir.SegmentPath(folder, s.Digest))
	}
	for _, path := range paths {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, b []byte, fault error) {
			os.WriteFile(path, b, 0o600)
			x, err := indexdir.Open(folder)
			if err == nil {
				x.Release()
			}
			// A flipped bit in the version field is another version, not damage.
			if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) || fault != nil && !errors.Is(err, fault) {
				t.Errorf("%s, %s: %v; want %v", filepath.Base(path)[:8], what, err, fault)
			}
		}
		var size, digest error
		if path != paths[0] {
			size, digest = indexdir.ErrSize, indexdir.ErrDigest
		}
		for i := 0; i < len(good); i += 3 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			try(fmt.Sprintf("bit of byte %d flipped", i), bad, digest)
		}
		try("cut by one", good[:len(good)-1], size)
		try("emptied", nil, size)
		try("one more", append(bytes.Clone(good), 0), size)
		os.WriteFile(path, good, 0o600)
	}
	if _, err := which(folder, 1); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func TestFaultsAreToldApart(t *testing.T) {
	folder := t.TempDir()
	m := build(t, folder, 1)
	s := m.Segments[0]
	path := indexdir.SegmentPath(folder, s.Digest)
	good, _ := os.ReadFile(path)
	aside := filepath.Join(t.TempDir(), "aside")
	os.WriteFile(aside, good, 0o600)

	open := func() error {
		x, err := indexdir.Open(folder)
		if err == nil {
			x.Release()
		}
		return err
	}
	for _, c := range []struct {
		fault error
		text  string
		spoil func() error
	}{
		{indexdir.ErrMissing, "it is missing", func() error { return nil }},
		{indexdir.ErrNotFile, "a folder", func() error { return os.Mkdir(path, 0o700) }},
		{indexdir.ErrNotFile, "a symbolic link", func() error { return os.Symlink(aside, path) }},
		{indexdir.ErrSize, "280 bytes", func() error { return nil }},
	} {
		os.RemoveAll(path)
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		if c.fault == indexdir.ErrSize {
			c.text = fmt.Sprintf("it has %d bytes", len(good)-1)
			os.WriteFile(path, good[:len(good)-1], 0o600)
		}
		err := open()
		if !errors.Is(err, c.fault) || !errors.Is(err, cpar.ErrCorrupt) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: %v", c.fault, err)
			continue
		}
		if name := "segment vectors " + s.Digest.String()[:8] + "…"; !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %q", err, name)
		}
		if hint.Of(err) != "build or push the index again" {
			t.Errorf("hint %q", hint.Of(err))
		}
	}
	os.RemoveAll(path)
	os.WriteFile(path, good, 0o600)

	manifest := filepath.Join(folder, "manifest")
	b, _ := os.ReadFile(manifest)
	b[6]++
	os.WriteFile(manifest, b, 0o600)
	if err := open(); !errors.Is(err, cpar.ErrVersion) || errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another version: %v", err)
	}
	os.Remove(manifest)
	os.Mkdir(manifest, 0o700)
	if err := open(); !errors.Is(err, cpar.ErrCorrupt) || !errors.Is(err, indexdir.ErrNotFile) {
		t.Errorf("a folder for a manifest: %v", err)
	}
	os.Remove(manifest)
	os.WriteFile(manifest, make([]byte, 5<<20), 0o600)
	if err := open(); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a manifest of 5 MiB: %v", err)
	}
}

func TestOneWriterAtATime(t *testing.T) {
	folder := t.TempDir()
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := indexdir.Create(folder, indexdir.Options{}); !errors.Is(err, indexdir.ErrLocked) || !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a second writer: %v", err)
	}
	w.Close()
	w, err = indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

func TestForeignFolderIsRefused(t *testing.T) {
	folder := t.TempDir()
	photo := filepath.Join(folder, "photo.jpg")
	os.WriteFile(photo, []byte("x"), 0o600)
	if _, err := indexdir.Create(folder, indexdir.Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a folder of photos: %v", err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("something was written: %v", entries)
	}
	os.Remove(photo)
	build(t, folder, 1)
	os.WriteFile(photo, []byte("x"), 0o600)
	os.WriteFile(filepath.Join(folder, "segments", "notes.txt"), []byte("x"), 0o600)
	build(t, folder, 2)
	if _, err := os.Stat(photo); err != nil {
		t.Errorf("a file beside the index: %v", err)
	}
	if !segmentFiles(t, folder)["notes.txt"] {
		t.Error("a file that is not a segment was removed")
	}
}

// The owner's files are not removed or overwritten just because they have a name that an
// index uses.
func TestOwnFilesOfLikeNamesAreKept(t *testing.T) {
	digest, temp := strings.Repeat("ab", 32), "vectors-ABCDEFGHIJKL.tmp"
	for what, files := range map[string][]string{
		"a thesis":                          {"thesis.tmp"},
		"a similar name":                    {"manifest-draft.tmp"},
		"a similar name, one letter longer": {"manifest-ABCDEFGHIJKLM.tmp"},
		"a manifest of another program":     {"manifest"},
		"the same with a photo and draft":   {"manifest", "photo.jpg", "draft.tmp"},
		"the same with segments":            {"manifest", "segments/" + digest},
		"files that are not segments":       {"segments/film.mp4"},
		"segments and another file":         {"segments/" + digest, "segments/film.mp4"},
		"a thesis among segments":           {"segments/" + digest, "segments/thesis.tmp"},
		"segments that are a file":          {"segments"},
		"a photo beside segments":           {"segments/" + digest, "photo.jpg"},
		"a thesis beside segments":          {"segments/" + digest, "thesis.tmp"},
	} {
		folder := t.TempDir()
		write(t, folder, files...)
		w, err := indexdir.Create(folder, indexdir.Options{})
		if err == nil {
			w.Close()
		}
		if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range files {
			if b, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(b) != "mine" {
				t.Errorf("%s: %s: %q, %v", what, name, b, err)
			}
		}
	}
	// What a killed build leaves before there is a manifest.
	for _, files := range [][]string{
		{"lock"}, {"manifest-ABCDEFGHIJKL.tmp", "lock"}, {"segments/" + digest, "segments/" + temp}, {"segments/" + temp, "lock"},
	} {
		folder := t.TempDir()
		write(t, folder, files...)
		build(t, folder, 1)
		for _, name := range files[:len(files)-1] {
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				t.Errorf("%v: %s is left", files, name)
			}
		}
	}
	// Beside an index only our own files are removed.
	folder := t.TempDir()
	build(t, folder, 1)
	mine := []string{"thesis.tmp", "photo.jpg", "segments/draft.tmp", "segments/manifest.tmp"}
	write(t, folder, append(mine, "manifest-ABCDEFGHIJKL.tmp", "segments/"+temp, "segments/upload-234567ABCDEF.tmp")...)
	build(t, folder, 2)
	for _, name := range mine {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"manifest-ABCDEFGHIJKL.tmp", "segments/" + temp, "segments/upload-234567ABCDEF.tmp"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func write(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A first write killed at any segment leaves a folder that the next one accepts and
// cleans: a Writer recognises all its temporary names.
func TestEveryTempIsKnown(t *testing.T) {
	writes := map[string]func(*indexdir.Writer) error{
		"upload": func(w *indexdir.Writer) error { _, err := w.AddUpload(cpar.Digest{}, -1); return err },
	}
	for kind := cpar.SegmentVectors; kind <= indexdir.LastKind; kind++ {
		writes[kind.String()] = func(w *indexdir.Writer) error { _, err := w.AddSegment(kind); return err }
	}
	for name, write := range writes {
		folder := t.TempDir()
		w, err := indexdir.Create(folder, indexdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := write(w); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got := segmentFiles(t, folder); len(got) != 1 {
			t.Fatalf("%s: temporary files %v", name, got)
		}
		if w, err = indexdir.Create(folder, indexdir.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w.Close()
		if got := segmentFiles(t, folder); len(got) != 0 {
			t.Errorf("%s: left: %v", name, got)
		}
	}
	// Catches a kind that is added later: a kind without a name is written as a number.
	for kind := 1; kind <= 255; kind++ {
		named := !strings.HasPrefix(cpar.SegmentKind(kind).String(), "segment kind")
		if named != (cpar.SegmentKind(kind) <= indexdir.LastKind) {
			t.Errorf("segment kind %d (%v) is not among the kinds that are cleaned up", kind, cpar.SegmentKind(kind))
		}
	}
}

// Errors for owners name the folder; errors that the cloud may pass on do not.
func TestWhoHearsOfTheFolder(t *testing.T) {
	folder := t.TempDir()
	bytesOf := func() error { _, err := indexdir.ReadManifestBytes(folder); return err }
	read := func() error { _, err := indexdir.ReadManifest(folder); return err }
	open := func() error { _, err := indexdir.Open(folder); return err }
	check := func(when string, err error, want bool) {
		t.Helper()
		if err == nil || strings.Count(err.Error(), folder) != map[bool]int{true: 1}[want] {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("nothing, bytes", bytesOf(), false)
	check("nothing, read", read(), true)
	check("nothing, open", open(), true)
	m := build(t, folder, 1)
	for _, s := range m.Segments {
		os.Remove(indexdir.SegmentPath(folder, s.Digest))
	}
	check("no segment, open", open(), true)
	load := func() error { _, err := indexdir.MemoryMap.Load(folder, m, nil); return err }
	check("no segment, load", load(), false)
	manifest := filepath.Join(folder, "manifest")
	os.WriteFile(manifest, []byte("x"), 0o600)
	check("damaged, read", read(), true)
	check("damaged, open", open(), true)
	os.WriteFile(manifest, make([]byte, 5<<20), 0o600)
	check("large, bytes", bytesOf(), false)
	check("large, read", read(), true)
	os.Remove(manifest)
	os.Mkdir(manifest, 0o700)
	check("a folder, bytes", bytesOf(), false)
	check("a folder, open", open(), true)
}

// A segment whose folder could not be synced is in place but not durable; it must be
// before a manifest names it.
func TestActivateSyncsTheSegments(t *testing.T) {
	folder := t.TempDir()
	synced := syncs{durable.OS, map[string]bool{}}
	w, err := indexdir.Create(folder, indexdir.Options{FS: synced})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := sample.Manifest(1)
	if err := sample.Write(w, m, 1); err != nil {
		t.Fatal(err)
	}
	clear(synced.seen)
	if err := w.Activate(m); err != nil {
		t.Fatal(err)
	}
	if !synced.seen[filepath.Join(folder, "segments")] {
		t.Errorf("synced: %v", synced.seen)
	}
}

// Many folders may be attached to, and what was uploaded to them stays.
func TestAttachHoldsNothingAndRemovesNothing(t *testing.T) {
	folder := t.TempDir()
	m := build(t, folder, 1)
	var paths []string
	for i := range 2 { // both at a time
		w, err := indexdir.Attach(folder, durable.OS)
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.AddSegment(cpar.SegmentVectors)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(s, "pending %d", i)
		seg, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, indexdir.SegmentPath(folder, seg.Digest))
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("what was uploaded is gone: %v", err)
		}
	}
	lock, err := indexdir.Lock(folder)
	if err != nil {
		t.Fatalf("it holds the lock: %v", err)
	}
	lock.Close()
	w, err := indexdir.Attach(folder, durable.OS)
	if err == nil {
		err = w.Activate(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	onlyNamed(t, folder, m)
}

func TestUploadMustFit(t *testing.T) {
	folder := t.TempDir()
	w, _ := indexdir.Create(folder, indexdir.Options{})
	defer w.Close()
	s, err := w.AddUpload(cpar.Digest{1}, -1)
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("x"))
	if _, err := s.Close(); !errors.Is(err, indexdir.ErrDigest) || !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another digest: %v", err)
	}
	if got := segmentFiles(t, folder); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestActivateNeedsItsSegments(t *testing.T) {
	folder := t.TempDir()
	m := build(t, folder, 1)
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	next := *m
	next.Segments = append([]cpar.Segment(nil), m.Segments...)
	next.Segments[2].Digest[0]++
	if err := w.Activate(&next); !errors.Is(err, indexdir.ErrMissing) {
		t.Errorf("a manifest without its keywords: %v", err)
	}
	next.Segments = nil
	if err := w.Activate(&next); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a manifest without segments: %v", err)
	}
	if _, err := which(folder, 1); err != nil {
		t.Error(err)
	}
}

// An index stays readable while newer ones replace it, and new readers find a complete one.
func TestReadersWhileActivating(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	x, err := indexdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	_, want := sample.Segments(x.Manifest(), 1)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := which(folder, 1, 2, 3, 4, 5, 6); err != nil {
				t.Errorf("a reader got %v", err)
				return
			}
		}
	})
	for seed := uint64(2); seed <= 6; seed++ {
		build(t, folder, seed)
	}
	close(stop)
	wg.Wait()
	for i := range want {
		if !bytes.Equal(want[i], x.Segments()[i]) {
			t.Errorf("segment %d of the first index changed", i)
		}
	}
	x.Retain()
	x.Release()
	if x.Segments()[0] == nil {
		t.Error("unmapped before the last release")
	}
	if got := x.Segment(cpar.SegmentLedger); !bytes.Equal(got, want[len(want)-2]) {
		t.Error("Segment(ledger) is not the ledger")
	}
	x.Release()
	if x.Segments()[0] != nil {
		t.Error("not unmapped")
	}
	defer func() {
		if recover() == nil {
			t.Error("an extra release was accepted")
		}
	}()
	x.Release()
}

// An index that is replaced while being opened is not a damaged one.
func TestReplacedWhileOpening(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	seed := uint64(1)
	x, err := indexdir.OpenWith(folder, func() {
		if seed < 3 {
			seed++
			build(t, folder, seed)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if _, want := sample.Segments(x.Manifest(), 3); !bytes.Equal(x.Segments()[0], want[0]) {
		t.Error("not the newest index")
	}
}

// A process killed between creating a folder and syncing its name leaves a name that may
// be lost in a power failure: the next writer syncs it.
func TestFoldersThatExistAreSynced(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "x")
	if err := os.MkdirAll(filepath.Join(folder, "segments"), 0o700); err != nil {
		t.Fatal(err)
	}
	synced := syncs{durable.OS, map[string]bool{}}
	w, err := indexdir.Create(folder, indexdir.Options{FS: synced})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !synced.seen[filepath.Dir(folder)] || !synced.seen[folder] {
		t.Errorf("synced: %v", synced.seen)
	}
}

type syncs struct {
	durable.FS
	seen map[string]bool
}

func (s syncs) SyncDir(path string) error { s.seen[path] = true; return s.FS.SyncDir(path) }

func FuzzManifestFile(f *testing.F) {
	folder := f.TempDir()
	build(f, folder, 1)
	good, _ := os.ReadFile(filepath.Join(folder, "manifest"))
	f.Add(good)
	f.Add(good[:40])
	f.Add([]byte("CPARM\x00\x02\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(folder, "manifest"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := indexdir.Open(folder)
		if err == nil {
			defer x.Release()
			if again, _ := x.Manifest().MarshalBinary(); !bytes.Equal(again, b) {
				t.Error("another encoding of the same manifest was accepted")
			}
		} else if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) {
			t.Errorf("neither damaged nor another version: %v", err)
		}
	})
}

func benchmarkFolder(b *testing.B) (string, uint64) {
	folder := b.TempDir()
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	m := sample.Manifest(1)
	m.Dim = 1 << 16
	m.Records = 32
	if err := sample.Write(w, m, 1); err != nil {
		b.Fatal(err)
	}
	return folder, m.Bytes()
}

func BenchmarkOpen16MiB(b *testing.B) {
	folder, n := benchmarkFolder(b)
	b.SetBytes(int64(n))
	for b.Loop() {
		x, err := indexdir.Open(folder)
		if err != nil {
			b.Fatal(err)
		}
		x.Release()
	}
}

func BenchmarkSegment16MiB(b *testing.B) {
	w, err := indexdir.Create(b.TempDir(), indexdir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	data := make([]byte, 16<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s, err := w.AddSegment(cpar.SegmentVectors)
		if err != nil {
			b.Fatal(err)
		}
		s.Write(data)
		if _, err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
