package localstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar"
)

func logOf(t *testing.T, v *Store) *Log {
	t.Helper()
	l, err := v.Log("runs")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func appendTo(t *testing.T, l *Log, records ...string) {
	t.Helper()
	var all [][]byte
	for _, r := range records {
		all = append(all, []byte(r))
	}
	if err := l.Append(all...); err != nil {
		t.Fatal(err)
	}
}

func all(l *Log) string {
	var out []string
	for b, err := range l.All() {
		if err != nil {
			b = []byte("damaged")
		}
		out = append(out, string(b))
	}
	return strings.Join(out, " ")
}

func TestLogKeepsOrder(t *testing.T) {
	dir := t.TempDir()
	v := open(t, dir, 1, 0)
	l := logOf(t, v)
	if got := all(l); got != "" {
		t.Errorf("a new log: %q", got)
	}
	appendTo(t, l, "a", "", "b")
	appendTo(t, logOf(t, open(t, dir, 1, 0)), "c")
	if got := all(l); got != "a  b c" {
		t.Errorf("%q", got)
	}
	if other, err := v.Log("other"); err != nil || all(other) != "" {
		t.Error("another log holds the same records")
	}
	if err := l.Replace([][]byte{[]byte("b"), []byte("c")}); err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, "d")
	if got := all(l); got != "b c d" {
		t.Errorf("replaced: %q", got)
	}
	for record := range l.All() { // stopping early is allowed
		if string(record) != "b" {
			t.Errorf("%q", record)
		}
		break
	}
}

// A crash may leave any prefix of the last batch, or zeros. Earlier batches
// stay, and the next batch follows them.
func TestTruncatedTailIsDropped(t *testing.T) {
	v := open(t, t.TempDir(), 1, 0)
	l := logOf(t, v)
	appendTo(t, l, "one")
	appendTo(t, l, "two")
	whole, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, "three", "four")
	longer, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	zeros := append(slices.Clone(whole), make([]byte, 40)...)
	torn := append(slices.Clone(longer[:len(longer)-3]), 0, 0, 0)
	files := [][]byte{zeros, torn}
	for n := len(whole); n < len(longer); n++ {
		files = append(files, longer[:n])
	}
	for _, file := range files {
		if err := os.WriteFile(l.path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := all(l); got != "one two" {
			t.Fatalf("%d of %d bytes: %q", len(file), len(longer), got)
		}
		appendTo(t, l, "five")
		if got := all(l); got != "one two five" {
			t.Fatalf("%d of %d bytes, then more: %q", len(file), len(longer), got)
		}
	}
}

func TestDamagedBatchIsReported(t *testing.T) {
	v := open(t, t.TempDir(), 1, 0)
	l := logOf(t, v)
	for _, word := range []string{"one", "two", "three"} {
		appendTo(t, l, word)
	}
	b, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(l.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := all(l); got != "one damaged three" {
		t.Errorf("%q", got)
	}
	for _, err := range l.All() {
		if err != nil && !errors.Is(err, cpar.ErrCorrupt) {
			t.Error(err)
		}
	}
}

func TestConcurrentAppends(t *testing.T) {
	dir := t.TempDir()
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			v, err := Open(dir, [32]byte{1}, 0)
			if err != nil {
				t.Error(err)
				return
			}
			l, err := v.Log("runs")
			for j := range 20 {
				if err == nil {
					err = l.Append(fmt.Appendf(nil, "%d-%d", i, j))
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	got := strings.Fields(all(logOf(t, open(t, dir, 1, 0))))
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 160 {
		t.Errorf("%d of 160 records", n)
	}
}

// The batches hidden by a damaged length are kept in a file when the log
// continues.
func TestDamagedLengthKeepsTail(t *testing.T) {
	v := open(t, t.TempDir(), 1, 0)
	l := logOf(t, v)
	for _, word := range []string{"one", "two", "three"} {
		appendTo(t, l, word)
	}
	whole, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * headSize {
		b := slices.Clone(whole)
		second := headSize + int(b[0])
		b[second+bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(l.path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := all(l); got != "one damaged" {
			t.Fatalf("bit %d: %q", bit, got)
		}
		appendTo(t, l, "four")
		if got := all(l); got != "one four" {
			t.Fatalf("bit %d, then more: %q", bit, got)
		}
		kept, err := filepath.Glob(l.path + ".damaged-*")
		if err != nil || len(kept) != 1 {
			t.Fatalf("bit %d: kept %v, %v", bit, kept, err)
		}
		if tail, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(tail, b[second:]) {
			t.Fatalf("bit %d: %d bytes kept, %v", bit, len(tail), err)
		}
		if err := os.Remove(kept[0]); err != nil {
			t.Fatal(err)
		}
	}
}
