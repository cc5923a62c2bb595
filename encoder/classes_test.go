package encoder

import (
	"errors"
	"slices"
	"testing"

	"cpar"
	"cpar/encoder/bundled"
	"cpar/encoder/onnx"
	"cpar/internal/hint"
	"cpar/photo/decode"
)

func TestOpenClassifier(t *testing.T) {
	c, err := OpenClassifier(bundled.Name, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e, err := Open(bundled.Name, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	image := &decode.Image{Width: 8, Height: 8, RGB: slices.Repeat([]byte{200, 30, 90, 10, 240, 60}, 32)}
	logits, err1 := c.Embed(image)
	embedding, err2 := e.Embed(image)
	classes, err3 := bundled.Classes(embedding)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	best := func(list []float32) int { return slices.Index(list, slices.Max(list)) }
	if len(logits) != 1001 || best(logits[1:]) != best(classes) {
		t.Errorf("%d values, the largest is class %d, want %d", len(logits), best(logits[1:]), best(classes))
	}
}

// The classes of networks that CPAR does not know could mean anything.
func TestOpenClassifierRefusesUnknownNetworks(t *testing.T) {
	if _, err := OpenClassifier(write(t, smallFile(), nil), OpenOptions{}); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}

// The outputs of the listed networks, as the model zoo declares them.
func TestClassOutput(t *testing.T) {
	for _, x := range []struct {
		outputs []onnx.ValueInfo
		want    string
	}{
		{[]onnx.ValueInfo{{Name: "embedding", Dims: []int{1, 1280}}, {Name: "logits", Dims: []int{1, 1001}}}, "logits"},
		{[]onnx.ValueInfo{{Name: "output", Dims: []int{-1, 1000}}}, "output"},
		{[]onnx.ValueInfo{{Name: "softmaxout_1", Dims: []int{1, 1000, 1, 1}}}, "softmaxout_1"},
		{[]onnx.ValueInfo{{Name: "features", Dims: []int{1, 512}}}, ""},
	} {
		if got := classOutput(x.outputs); got != x.want {
			t.Errorf("%v: %q, want %q", x.outputs, got, x.want)
		}
	}
}
