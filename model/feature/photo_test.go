package feature

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/photo/decode"
)

type countingNetwork struct {
	name  byte
	calls *atomic.Int64
	err   error
}

func (n countingNetwork) Digest() [sha256.Size]byte { return [sha256.Size]byte{n.name} }

func (n countingNetwork) Embed(p *decode.Image) ([]float32, error) {
	n.calls.Add(1)
	return []float32{float32(p.Width), float32(p.Height), float32(n.name)}, n.err
}

func TestEmbeddings(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := encodePNG(t, synthetic(50, 70))
	calls := new(atomic.Int64)
	get := func(note string, name byte, wantCalls int64) {
		t.Helper()
		v, err := NewExtractor().Photo(data, Options{Cache: c, Network: countingNetwork{name: name, calls: calls}})
		if err != nil {
			t.Fatalf("%s: %v", note, err)
		}
		if e := v.Embedding; e == nil || e.Network[0] != name || !slices.Equal(e.Values, []float32{50, 70, float32(name)}) {
			t.Errorf("%s: embedding %+v", note, v.Embedding)
		}
		if calls.Load() != wantCalls {
			t.Errorf("%s: computed %d times, want %d", note, calls.Load(), wantCalls)
		}
	}
	get("first", 1, 1)
	get("again", 1, 1)
	get("another network", 2, 2)
	get("the first once more", 1, 2)
	if v, err := NewExtractor().Photo(data, Options{Cache: c}); err != nil || v.Embedding != nil {
		t.Errorf("without a network: %+v, %v", v, err)
	}

	key := decode.ContentDigest(data)
	name := hex.EncodeToString(key[:])
	entry := filepath.Join(dir, name[:2], name+".embedding-1-0100000000000000")
	good, err := os.ReadFile(entry)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(entry); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if _, ok := c.store.(dirStore).entry(embeddingKind, append(key[:], make([]byte, 32)...)).decode(good); ok {
		t.Error("an entry of one network is taken for another's")
	}
	os.WriteFile(entry, good[:len(good)-3], 0o600)
	get("a torn entry", 1, 3)
	get("mended", 1, 3)
}

func TestExtractAllEmbedsEveryImage(t *testing.T) {
	calls := new(atomic.Int64)
	photos := [][]byte{encodePNG(t, synthetic(20, 30)), []byte("no photo"), encodePNG(t, synthetic(40, 20))}
	load := func(i int) ([]byte, error) { return photos[i], nil }
	results, errs, err := ExtractAll(context.Background(), len(photos), load, Options{Network: countingNetwork{name: 3, calls: calls}})
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Vectors.Embedding.Values[0] != 20 || results[2].Vectors.Embedding.Values[0] != 40 || !errors.Is(errs[1], cpar.ErrInput) || calls.Load() != 2 {
		t.Errorf("%+v after %d calls", results, calls.Load())
	}
	broken := errors.New("the network is broken")
	results, errs, err = ExtractAll(context.Background(), 1, load, Options{Network: countingNetwork{calls: calls, err: broken}})
	if err != nil || !errors.Is(errs[0], broken) || results[0].Vectors != nil {
		t.Errorf("%+v, %v", results, err)
	}
}
