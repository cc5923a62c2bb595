package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/encoder/prepare"
	"cpar/internal/hint"
	"cpar/internal/testing/onnxtest"
	"cpar/internal/testing/oracle"
)

// write puts a model into a new folder with a configuration for 6×6 pixels.
func write(t testing.TB, f *onnxtest.File, others map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "model.onnx")
	all := map[string][]byte{"model.onnx": f.Bytes(), "model.json": []byte(`{"preset": "imagenet"}`)}
	for name, data := range others {
		all[name] = data
	}
	for name, data := range all {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func runtimesHere(t *testing.T) []OpenOptions {
	t.Helper()
	all := []OpenOptions{{Runtime: Go}}
	if os.Getenv("CPAR_ONNXRUNTIME") != "" || os.Getenv("CPAR_ONNXRUNTIME_TEST") == "required" {
		all = append(all, OpenOptions{Runtime: ONNXRuntime, Options: Options{Library: oracle.Named(t, "CPAR_ONNXRUNTIME")}})
	}
	return all
}

func convolving(weights onnxtest.Proto) *onnxtest.File {
	f := onnxtest.New(13, 6, 6).Node("Conv", []string{"image", "w"}, "c", nil).Node("GlobalAveragePool", []string{"c"}, "features", nil).Output("features")
	f.Tensors = append(f.Tensors, weights)
	return f
}

func TestOpenExternal(t *testing.T) {
	values := randomFloats(rand.New(rand.NewPCG(1, 1)), 16*27)
	inside := onnxtest.FloatTensor("w", values, 16, 3, 3, 3)
	raw := inside[len(inside)-4*len(values):]
	outside := onnxtest.Proto{}.Varint(1, 16).Varint(1, 3).Varint(1, 3).Varint(1, 3).Varint(2, onnxtest.Float).Text(8, "w").
		Bytes(13, onnxtest.Proto{}.Text(1, "location").Text(2, "model.onnx_data")).
		Bytes(13, onnxtest.Proto{}.Text(1, "offset").Text(2, "64")).Varint(14, 1)
	data := append(make([]byte, 64), raw...)
	var want []float32
	for _, options := range runtimesHere(t) {
		for where, path := range map[string]string{
			"inside": write(t, convolving(inside), nil), "outside": write(t, convolving(outside), map[string][]byte{"model.onnx_data": data}),
		} {
			e, err := Open(path, options)
			if err != nil {
				t.Fatal(where, err, hint.Of(err))
			}
			defer e.Close()
			got, err := e.Embed(testImage(1))
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			alike(t, where+" in "+e.RuntimeName(), got, want)
			if c := e.Choice(); c.Name != "features" || c.Size != 16 || e.Runtime() != options.Runtime {
				t.Errorf("%v", c)
			}
		}
		_, err := Open(write(t, convolving(outside), nil), options)
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "there is no file") {
			t.Error(err)
		}
	}
}

func TestOpenInputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	weights := randomFloats(rng, 16*27)
	image := make([]float32, 3*6*6)
	for i := range image {
		image[i] = float32(i*37%256) / 2
	}
	var want []float32
	for _, options := range runtimesHere(t) {
		for _, elements := range []int64{onnxtest.Float, onnxtest.Float16, 2} {
			for _, last := range []bool{false, true} {
				f := onnxtest.Empty(13).Floats("w", weights, 16, 3, 3, 3).Input("input_ids", onnxtest.Int64, -1, -1)
				if last {
					f.Input("pixel_values", elements, -1, 6, 6, 3)
				} else {
					f.Input("pixel_values", elements, -1, 3, 6, 6)
				}
				from := "pixel_values"
				if last {
					f.Node("Transpose", []string{from}, "t", onnxtest.Attributes{"perm": []int64{0, 3, 1, 2}})
					from = "t"
				}
				f.Node("Cast", []string{from}, "x", onnxtest.Attributes{"to": 1}).Node("Conv", []string{"x", "w"}, "c", nil).
					Node("GlobalAveragePool", []string{"c"}, "g", nil).Node("Flatten", []string{"g"}, "image_embeds", nil).
					Node("Cast", []string{"input_ids"}, "text_embeds", onnxtest.Attributes{"to": 1}).
					Node("Cast", []string{"image_embeds"}, "logits", onnxtest.Attributes{"to": 1}).
					Output("text_embeds").Output("image_embeds").Output("logits")
				if elements == 2 && !last {
					f.Outputs = f.Outputs[1:2]
				}
				what := fmt.Sprintf("%d, last %v, %s", elements, last, options.Runtime)
				e, err := OpenWith(options.Runtime, write(t, f, nil), options.Options)
				if err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				defer e.Close()
				x := image
				if elements == 2 {
					x = make([]float32, len(image))
					for i := range image {
						x[i] = float32(int(image[i]))
					}
				}
				got, err := e.Embed(x)
				if err != nil {
					t.Fatal(what, err)
				}
				if want == nil {
					want = got
				}
				if elements != 2 {
					alike(t, what, got, want)
				}
				if c := e.Choice(); c.Name != "image_embeds" || c.Size != 16 {
					t.Errorf("%s: %v", what, c)
				}
				if elements == 2 {
					if _, err := e.Embed(append(x[:len(x)-1:len(x)-1], -3)); err == nil || !strings.Contains(err.Error(), "takes bytes") {
						t.Errorf("%s: a byte of -3: %v", what, err)
					}
				}
			}
		}
	}
}

func TestOpenRefusesOtherInputs(t *testing.T) {
	for why, f := range map[string]*onnxtest.File{
		"it has no input":                  onnxtest.Empty(13),
		"int64 of shape 1×3×6×6, is not":   onnxtest.Empty(13).Input("x", onnxtest.Int64, 1, 3, 6, 6),
		"float of shape 4×3×6×6, is not":   onnxtest.Empty(13).Input("x", onnxtest.Float, 4, 3, 6, 6),
		"it is a network of grey images":   onnxtest.Empty(13).Input("x", onnxtest.Float, 1, 1, 28, 28),
		"float of shape ?×77, is not":      onnxtest.Empty(13).Input("x", onnxtest.Float, -1, 77),
		"it is a text network":             onnxtest.Empty(13).Input("x", onnxtest.Int64, 1, 77).Input("y", onnxtest.Int64, 1, 77),
		"it has two inputs that are image": onnxtest.New(13, 6, 6).Input("x", onnxtest.Float, 1, 3, 6, 6),
	} {
		refused(t, f.Node("Identity", []string{"image"}, "y", nil).Output("y").Bytes(), Options{}, why)
	}
}

func TestOpenRefusesUselessEmbeddings(t *testing.T) {
	zeros := make([]float32, 16*27)
	same := make([]float32, 16)
	for i := range same {
		same[i] = float32(i)
	}
	weak := randomFloats(rand.New(rand.NewPCG(3, 3)), 16*27)
	for i := range weak {
		weak[i] *= 1e-5
	}
	layer := func(weights, bias []float32) *onnxtest.File {
		return onnxtest.New(13, 6, 6).Floats("w", weights, 16, 3, 3, 3).Floats("b", bias, 16).Node("Conv", []string{"image", "w", "b"}, "c", nil).
			Node("GlobalAveragePool", []string{"c"}, "features", nil).Output("features")
	}
	huge := make([]float32, 16)
	for i := range huge {
		huge[i] = 3e38
	}
	ones := make([]float32, 16)
	for i := range ones {
		ones[i] = 1
	}
	for why, f := range map[string]*onnxtest.File{
		"all values of the embedding are 0":        layer(zeros, make([]float32, 16)),
		"all values of the embedding are the same": layer(zeros, ones),
		"two different images have the same":       layer(weak, same),
		"not a finite number":                      layer(zeros, huge).Node("Mul", []string{"features", "features"}, "embedding", nil),
	} {
		path := write(t, f, nil)
		for _, options := range runtimesHere(t) {
			e, err := Open(path, options)
			if e != nil || !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), why) || !strings.Contains(hint.Of(err), "--embedding") {
				t.Errorf("%s: got %v, %v (%s), want %q", options.Runtime, e, err, hint.Of(err), why)
			}
		}
	}
}

// TestPoolingIsInTheDigest: without pooling the digest is unchanged.
func TestPoolingIsInTheDigest(t *testing.T) {
	f := onnxtest.New(13, 6, 6).Floats("w", randomFloats(rand.New(rand.NewPCG(4, 4)), 5*27), 5, 3, 3, 3).
		Node("Conv", []string{"image", "w"}, "c", nil).Ints("to", 1, 5, 16).Node("Reshape", []string{"c", "to"}, "tokens", nil).Output("tokens")
	path := write(t, f, nil)
	digests := map[string]bool{}
	for _, pool := range []string{"", PoolClass, PoolMean} {
		e, err := Open(path, OpenOptions{Runtime: Go, Options: Options{Pool: pool}})
		if err != nil {
			t.Fatal(err)
		}
		if c := e.Choice(); c.Size != 16 || c.Pool == "" {
			t.Errorf("%v", c)
		}
		digests[fmt.Sprintf("%x", e.Digest())] = true
	}
	if len(digests) != 2 {
		t.Errorf("%d digests of two poolings, one of them the default", len(digests))
	}
}

func TestInspect(t *testing.T) {
	r, err := Inspect(write(t, smallFile(), nil), OpenOptions{})
	if err != nil || r.Embedding.Name != "f" || len(r.Missing) != 0 || r.GoErr != nil || r.PreprocessingErr != nil || r.Input != "1×3×6×6, float" || r.Preprocessing.Width != 6 {
		t.Errorf("%+v, %v", r, err)
	}
	f := onnxtest.New(13, 6, 6).Floats("s", []float32{0.1}).Node("DynamicQuantizeLinear", []string{"image"}, "q", nil).
		Node("MatMulInteger", []string{"q", "q"}, "m", nil).Node("Cast", []string{"m"}, "image_embeds", onnxtest.Attributes{"to": 1}).Output("image_embeds", 1, 32)
	path := write(t, f, nil)
	r, err = Inspect(path, OpenOptions{})
	if err != nil || r.Embedding.Size != 32 || strings.Join(r.Missing, " ") != "DynamicQuantizeLinear MatMulInteger" || r.GoErr == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Open(path, OpenOptions{Runtime: Go}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "8-bit integers") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	if _, err := Inspect(filepath.Join(t.TempDir(), "ghost.onnx"), OpenOptions{}); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func TestRecallFindsOptionsOfDigest(t *testing.T) {
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
