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
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

func build(t testing.TB, folder string, seed uint64) *cpar.Manifest {
	t.Helper()
	m, err := indexsample.Build(folder, seed, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func create(t testing.TB, folder string) *indexdir.Writer {
	t.Helper()
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// which returns the seed of the segments in folder, checking every byte.
func which(folder string, seeds ...uint64) (uint64, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return 0, err
	}
	defer x.Release()
	for _, seed := range seeds {
		_, want := indexsample.Segments(x.Manifest(), seed)
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
	w := create(t, folder)
	m := indexsample.Manifest(1)
	m.Records, m.Planes, m.Fields = 1, 0, 0
	if err := indexsample.Write(w, m, 1); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := which(folder, 1); err != nil {
		t.Error(err)
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
			// A flipped bit in the version field is another version, not
			// damage.
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

func TestFaultsAreDistinguished(t *testing.T) {
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
	w := create(t, folder)
	if _, err := indexdir.Create(folder, indexdir.Options{}); !errors.Is(err, indexdir.ErrLocked) || !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a second writer: %v", err)
	}
	w.Close()
	w = create(t, folder)
	w.Close()
}

func TestReadersWhileActivating(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	x, err := indexdir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	_, want := indexsample.Segments(x.Manifest(), 1)
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
	if _, want := indexsample.Segments(x.Manifest(), 3); !bytes.Equal(x.Segments()[0], want[0]) {
		t.Error("not the newest index")
	}
}

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
	w := create(b, folder)
	defer w.Close()
	m := indexsample.Manifest(1)
	m.Dim = 1 << 16
	m.Records = 32
	if err := indexsample.Write(w, m, 1); err != nil {
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
	w := create(b, b.TempDir())
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
