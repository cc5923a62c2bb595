package network

import (
	"crypto/sha256"
	"errors"
	"testing"

	"cpar"
)

// fakeModel takes two by two pixels.
type fakeModel struct {
	Embedder
	tensor string
	file   byte
}

func (f fakeModel) Embedding() (string, int)  { return f.tensor, 3 }
func (f fakeModel) Size() (int, int)          { return 2, 2 }
func (f fakeModel) Digest() [sha256.Size]byte { return [sha256.Size]byte{f.file} }

// TestDigestNamesTheNetwork: model, tensor and preprocessing.
func TestDigestNamesTheNetwork(t *testing.T) {
	digest := func(file byte, tensor, preset string) [sha256.Size]byte {
		t.Helper()
		p, err := Preset(preset, 2)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEncoder(fakeModel{tensor: tensor, file: file}, p)
		if err != nil {
			t.Fatal(err)
		}
		return e.Digest()
	}
	a := digest(1, "a", "clip")
	if a != digest(1, "a", "clip") {
		t.Error("one network has two digests")
	}
	for what, other := range map[string][sha256.Size]byte{
		"model": digest(2, "a", "clip"), "tensor": digest(1, "b", "clip"), "preprocessing": digest(1, "a", "tensorflow"),
	} {
		if other == a {
			t.Errorf("another %s has the same digest", what)
		}
	}
	for name, resize := range map[string]func(p *Preprocessing){"wider": func(p *Preprocessing) { p.Width++ }, "higher": func(p *Preprocessing) { p.Height++ }} {
		p, err := Preset("clip", 2)
		if err != nil {
			t.Fatal(err)
		}
		resize(&p)
		if _, err := NewEncoder(fakeModel{}, p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("pictures that are %s: %v", name, err)
		}
	}
}
