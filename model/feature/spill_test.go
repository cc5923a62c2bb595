package feature

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"reflect"
	"testing"

	"cpar/photo/decode"
)

type fakeNetwork struct{}

func (fakeNetwork) Digest() [32]byte { return [32]byte{7} }

func (fakeNetwork) Embed(p *decode.Image) ([]float32, error) { return []float32{1, -2.5, 3}, nil }

// Many photos give the same vectors with and without a spill, and its file
// shows none of the values.
func TestSpillKeepsVectors(t *testing.T) {
	images := make([][]byte, 4)
	for k := range images {
		img := image.NewRGBA(image.Rect(0, 0, 40, 30))
		for i := range 1200 {
			img.Set(i%40, i/40, color.RGBA{uint8(i * (k + 1)), uint8(i / 40), uint8(60 * k), 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		images[k] = b.Bytes()
	}
	load := func(i int) ([]byte, error) { return images[i%len(images)], nil }
	cache, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spill, err := NewSpill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer spill.Close()
	for _, n := range []int{keptInMemory, keptInMemory + 1} {
		got, _, err := ExtractAll(context.Background(), n, load, Options{Cache: cache, Network: fakeNetwork{}, Spill: spill})
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := ExtractAll(context.Background(), len(images), load, Options{Cache: cache, Network: fakeNetwork{}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			v, err := got[i].Vectors.Load()
			if err != nil || !reflect.DeepEqual(v, want[i%len(images)].Vectors) {
				t.Fatalf("%d photos: photo %d differs: %v", n, i, err)
			}
			if kept := got[i].Vectors.RGB != nil; kept != (n <= keptInMemory) || got[i].Vectors.Embedding.Network != want[0].Vectors.Embedding.Network {
				t.Fatalf("%d photos: photo %d is in memory: %v", n, i, kept)
			}
		}
	}
	file := make([]byte, spill.end.Load())
	if _, err := spill.file.ReadAt(file, 0); err != nil || bytes.Contains(file, appendFloats(nil, []float32{1, -2.5, 3})) {
		t.Errorf("the file holds a plain embedding, or %v", err)
	}
}

func TestSpillDetectsDamageAndLeavesNoFile(t *testing.T) {
	folder := t.TempDir()
	s, err := NewSpill(folder)
	if err != nil {
		t.Fatal(err)
	}
	v := New()
	v.RGB[3] = 0.5
	first, second := s.put(v), s.put(v)
	b := make([]byte, 2*first.stored.size)
	if _, err := s.file.ReadAt(b, 0); err != nil || bytes.Equal(b[:len(b)/2], b[len(b)/2:]) {
		t.Errorf("equal vectors have equal ciphertexts, or %v", err)
	}
	if _, err := s.file.WriteAt([]byte{b[100] ^ 1}, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Load(); err == nil {
		t.Error("damaged vectors were loaded")
	}
	if got, err := second.Load(); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("the vectors beside damaged ones: %v", err)
	}
	s.Close()
	if got := s.put(v); got != v {
		t.Error("a closed file took vectors")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := NewSpill(filepath.Join(folder, "none")); err == nil {
		t.Error("a spill in a missing folder")
	}
}
