package encoder

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar/encoder/bundled"
	"cpar/encoder/onnxruntime"
)

func bundledModel(t testing.TB, embedding string) *Model {
	t.Helper()
	data, err := bundled.Model()
	if err != nil {
		t.Fatal(err)
	}
	m, err := loadGo(data, Options{Embedding: embedding})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The embedded network gives the values in shared/models/README.md.
func TestBundledGolden(t *testing.T) {
	embedding, err := bundledModel(t, "").Embed(goldenImage())
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, embedding)
}

// The weights are the float file's bit for bit, so the values are too.
func TestBundledEqualsSource(t *testing.T) {
	for _, name := range []string{"", "logits"} {
		want, err1 := loadMobileNet(t, name).Embed(goldenImage())
		got, err2 := bundledModel(t, name).Embed(goldenImage())
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if !slices.Equal(got, want) {
			t.Errorf("output %q differs", name)
		}
	}
}

// An independent runtime reads the same weights from the integers.
func TestBundledInONNXRuntime(t *testing.T) {
	if os.Getenv(onnxruntime.Variable) == "" {
		t.Skipf("%s names no library", onnxruntime.Variable)
	}
	other, err := OpenWith(ONNXRuntime, bundled.Name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	want, err1 := other.Embed(goldenImage())
	got, err2 := bundledModel(t, "").Embed(goldenImage())
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-4*(1+math.Abs(float64(want[i]))) {
			t.Fatalf("value %d is %g, ONNX Runtime computes %g", i, got[i], want[i])
		}
	}
}

// Configuration files of the working folder belong to other models.
func TestBundledIgnoresTheWorkingFolder(t *testing.T) {
	want, err := Open(bundled.Name, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"bundled.json", "preprocessor_config.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(`{"image_mean":[0,0,0],"image_std":[1,1,1],"size":224}`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	got, err := Open(bundled.Name, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != want.Digest() {
		t.Error("a file of the working folder changed the preprocessing")
	}
}

func TestBundledEncoderDigest(t *testing.T) {
	e, err := Open(bundled.Name, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if got := fmt.Sprintf("%x", e.Digest()); got != bundled.EncoderDigest {
		t.Errorf("the digest is %s", got)
	}
}

// The last layer, applied to the embedding, gives the network's own logits.
func TestBundledClasses(t *testing.T) {
	logits, err1 := bundledModel(t, "logits").Embed(goldenImage())
	embedding, err2 := bundledModel(t, "").Embed(goldenImage())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	got, err := bundled.Classes(embedding)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range logits[1:] {
		sum += math.Exp(float64(x))
	}
	for class, p := range got {
		if want := math.Exp(float64(logits[class+1])) / sum; math.Abs(float64(p)-want) > 1e-5 {
			t.Fatalf("class %d: %v, want %v", class, p, want)
		}
	}
	if _, err := bundled.Classes(embedding[1:]); err == nil {
		t.Error("a short embedding was classified")
	}
}
