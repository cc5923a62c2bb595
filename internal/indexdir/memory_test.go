package indexdir_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unsafe"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

func TestMemoryKindsHoldTheSameBytes(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	for _, memory := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge, indexdir.MemoryAuto} {
		x, err := memory.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		_, want := indexsample.Segments(x.Manifest(), 1)
		for i, b := range x.Segments() {
			if !bytes.Equal(b, want[i]) {
				t.Errorf("%v: segment %d differs", memory, i)
			}
		}
		if n := x.Copied(); memory == indexdir.MemoryMap && n != 0 || n != 0 && uint64(n) != indexdir.RowBytes(x.Manifest()) {
			t.Errorf("%v: %d bytes copied", memory, n)
		}
		if x.Copied() > 0 { // the two segments of vectors can be joined
			a, b := x.Segments()[0], x.Segments()[1]
			if joined := a[:len(a)+len(b)]; unsafe.SliceData(joined[len(a):]) != unsafe.SliceData(b) {
				t.Errorf("%v: vectors are not one piece", memory)
			}
		}
		m := x.Manifest()
		x.Release()
		for i, s := range m.Segments {
			path := indexdir.SegmentPath(folder, s.Digest)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := bytes.Clone(good)
			bad[len(bad)/2]++
			for what, b := range map[string][]byte{"damaged": bad, "short": good[1:]} {
				overwrite(t, path, b)
				if _, err := memory.Open(folder); !errors.Is(err, cpar.ErrCorrupt) {
					t.Errorf("%v: segment %d %s: %v", memory, i, what, err)
				}
			}
			overwrite(t, path, good)
		}
	}
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestParseMemory(t *testing.T) {
	for _, m := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge, indexdir.MemoryAuto} {
		if got, err := indexdir.ParseMemory(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := indexdir.ParseMemory("memory 9"); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func TestAllocate(t *testing.T) {
	b, free, err := indexdir.Allocate(5<<20 + 3)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	if len(b) != 5<<20+3 || uintptr(unsafe.Pointer(&b[0]))%(2<<20) != 0 {
		t.Errorf("%d bytes at %p", len(b), &b[0])
	}
	b[0], b[len(b)-1] = 1, 1
	if _, _, err := indexdir.Allocate(1 << 63); err == nil {
		t.Error("half of all addresses were allocated")
	}
}
