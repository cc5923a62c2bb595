package encoder

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"cpar/encoder/prepare"
)

// TestRecall: of an index only the digest is known, and yet its owner is told what to say again.
func TestRecall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.onnx")
	if err := os.WriteFile(path, smallFile().Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []OpenOptions{
		{},
		{Preprocessing: "clip"},
		{Preprocessing: "clip", Views: 1},
		{Preprocessing: "siglip", Options: Options{Embedding: "sum", Pool: PoolMean}},
	} {
		e, err := Open(path, want)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Recall(path, e.Digest(), OpenOptions{Preprocessing: "tensorflow"})
		if !ok {
			t.Errorf("%+v is not found", want)
			continue
		}
		again, err := Open(path, got)
		if err != nil || again.Digest() != e.Digest() || got.Preprocessing != want.Preprocessing || got.Views != cmp.Or(want.Views, prepare.MostViews) {
			t.Errorf("%+v is found as %+v: %v", want, got, err)
		}
	}
	if got, ok := Recall(path, [32]byte{1}, OpenOptions{}); ok {
		t.Errorf("another file is found as %+v", got)
	}
}
