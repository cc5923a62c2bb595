package encoder

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/encoder/known"
	"cpar/encoder/prepare"
	"cpar/internal/hint"
	"cpar/internal/testing/onnxtest"
)

type fakeModel struct {
	Embedder
	tensor string
	pool   string
	file   byte
}

func (f fakeModel) Choice() Choice            { return Choice{Name: f.tensor, Size: 3, Pool: f.pool} }
func (f fakeModel) Size() (int, int)          { return 2, 2 }
func (f fakeModel) Digest() [sha256.Size]byte { return [sha256.Size]byte{f.file} }

func TestDigestNamesTheNetwork(t *testing.T) {
	digest := func(file byte, tensor, preset string) [sha256.Size]byte {
		t.Helper()
		p, err := prepare.Preset(preset, 2)
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
	for name, resize := range map[string]func(p *prepare.Preprocessing){"wider": func(p *prepare.Preprocessing) { p.Width++ }, "higher": func(p *prepare.Preprocessing) { p.Height++ }} {
		p, err := prepare.Preset("clip", 2)
		if err != nil {
			t.Fatal(err)
		}
		resize(&p)
		if _, err := NewEncoder(fakeModel{}, p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("pictures that are %s: %v", name, err)
		}
	}
}

// (v − mean) / scale
func TestMetadata(t *testing.T) {
	read := func(f *onnxtest.File) (prepare.Preprocessing, bool, error) {
		m, err := loadGo(f.Bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return prepare.FromMetadata(m.metadata, 6, 6)
	}
	p, ok, err := read(smallFile())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if x, err := p.Tensor(make([]byte, 3*6*6), 6, 6); err != nil || x[0] != -1 {
		t.Errorf("%v, %v", x, err)
	}
	if _, ok, err := read(smallFileWithoutMetadata()); ok || err != nil {
		t.Error(ok, err)
	}
	if _, _, err := read(smallFile().Meta("input_mean", "a, b, c")); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

// TestDigestIsPinned pins the digest, because indexes store it.
func TestDigestIsPinned(t *testing.T) {
	p, err := prepare.Preset("imagenet", 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, p.Views = range []prepare.Views{0, 1} {
		e, err := NewEncoder(fakeModel{tensor: "a", file: 1}, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%x", e.Digest()), "389b20698f3bbc6a3b97fadc0b26f7065fd285b8c8520bb6cda0626b58654ce2"; got != want {
			t.Errorf("%d views: %s, want %s", p.Views, got, want)
		}
	}
}

func TestEmbedIsTheMean(t *testing.T) {
	file := filepath.Join(t.TempDir(), "small.onnx")
	if err := os.WriteFile(file, smallFile().Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	photo := testImage(0)
	digests := map[[sha256.Size]byte]bool{}
	for _, views := range []prepare.Views{0, 1, 2} {
		e, err := Open(file, OpenOptions{Runtime: Go, Views: views})
		if err != nil {
			t.Fatal(err)
		}
		digests[e.Digest()] = true
		p, _ := e.Preprocessing()
		if views == 0 && p.Views != prepare.MostViews || views != 0 && p.Views != views {
			t.Errorf("%d views are %d", views, p.Views)
		}
		got, err := e.Embed(photo)
		if err != nil {
			t.Fatal(err)
		}
		images, err := p.Tensors(photo.RGB, photo.Width, photo.Height)
		if err != nil || len(images) != int(p.Views) {
			t.Fatal(len(images), err)
		}
		want := make([]float64, len(got))
		for _, image := range images {
			one, err := e.embedder.Embed(image)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range one {
				want[i] += float64(x) / float64(len(images))
			}
		}
		for i, x := range got {
			if math.Abs(float64(x)-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Errorf("%d views, value %d: %g, want %g", views, i, x, want[i])
			}
		}
	}
	if len(digests) != 2 {
		t.Errorf("%d digests", len(digests))
	}
	if _, err := Open(file, OpenOptions{Runtime: Go, Views: 3}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("3 views: %v", err)
	}
}

func TestKnownByDigest(t *testing.T) {
	for _, m := range known.List() {
		how := preparation{digest: m.Digest}
		p, from, err := how.forSize(m.Size, m.Size)
		want := m.Preprocessing
		want.Views = prepare.MostViews
		if err != nil || p != want || !strings.Contains(from, m.Name) || how.side() != m.Size {
			t.Errorf("%s: %+v, %s, %v", m.Name, p, from, err)
		}
		if _, _, err := how.forSize(100, 100); err == nil {
			t.Errorf("%s: of another size", m.Name)
		}
	}
	m := known.List()[0]
	p, from, err := preparation{digest: m.Digest, metadata: map[string]string{"input_mean": "1"}}.forSize(m.Size, m.Size)
	if err != nil || p.Mean == m.Preprocessing.Mean || from != "the model's metadata" {
		t.Errorf("%+v, %s, %v", p, from, err)
	}
}

func TestOpenTakesTheSize(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("m.onnx", string(onnxtest.New(11, -1, -1).Floats("dense", make([]float32, 6), 3, 2).Floats("bias", make([]float32, 2), 2).Ints("to", 1, -1).
		Node("GlobalAveragePool", []string{"image"}, "g", nil).Node("Reshape", []string{"g", "to"}, "f", nil).
		Node("Gemm", []string{"f", "dense", "bias"}, "y", nil).Output("y", 1, 2).Bytes()))
	open := func(side int, named string) (*Encoder, error) {
		return Open(model, OpenOptions{Runtime: Go, Preprocessing: named, Options: Options{Side: side}})
	}
	if _, err := open(0, ""); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "--preprocessing") {
		t.Error(err)
	}
	write("preprocessor_config.json", `{"image_processor_type": "SiglipImageProcessor", "size": {"height": 20, "width": 20}}`)
	e, err := open(0, "")
	if err != nil {
		t.Fatal(err)
	}
	if p, from := e.Preprocessing(); p.Width != 20 || !strings.Contains(from, "preprocessor_config.json") {
		t.Errorf("%+v, %s", p, from)
	}
	if _, err := open(24, ""); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "20×20, but the network takes 24×24") {
		t.Error(err)
	}
	if e, err = open(24, "clip"); err != nil {
		t.Fatal(err)
	}
	if p, from := e.Preprocessing(); p.Width != 24 || from != "preset clip" {
		t.Errorf("%+v, %s", p, from)
	}
}
