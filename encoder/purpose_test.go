package encoder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/encoder/onnx"
	"cpar/internal/testing/onnxtest"
)

type tensorShape struct {
	name string
	of   onnx.Type
	dims []int64
}

// Networks that are no encoders, with the inputs and outputs that their
// exporters document.
var nonEncoders = []struct {
	name, is string
	in, out  []tensorShape
}{
	{"YOLOv8", aDetector, images(640, 640), []tensorShape{{"output0", onnx.Float, []int64{1, 84, 8400}}}},
	{"YOLOv5, 320 pixels", aDetector, images(320, 320), []tensorShape{{"output", onnx.Float, []int64{1, 6300, 85}}}},
	{"YOLOv10", aDetector, images(640, 640), []tensorShape{{"output0", onnx.Float, []int64{1, 300, 6}}}},
	{"YOLOv3, grids", aDetector, images(416, 416), []tensorShape{{"a", onnx.Float, []int64{1, 255, 13, 13}}, {"b", onnx.Float, []int64{1, 255, 26, 26}}}},
	{"SSD", aDetector, images(300, 300), []tensorShape{{"scores", onnx.Float, []int64{1, 8732, 81}}, {"locations", onnx.Float, []int64{1, 8732, 4}}}},
	{"SSD with suppression", aDetector, images(300, 300), []tensorShape{{"selected_indices", onnx.Int64, []int64{-1, 3}}}},
	{"DETR", aDetector, images(800, 800), []tensorShape{{"logits", onnx.Float, []int64{1, 100, 92}}, {"pred_boxes", onnx.Float, []int64{1, 100, 4}}, {"last_hidden_state", onnx.Float, []int64{1, 100, 256}}}},
	{"DeepLab", aSegmenter, images(520, 520), []tensorShape{{"out", onnx.Float, []int64{1, 21, 520, 520}}}},
	{"SegFormer", "a network that makes maps", images(512, 512), []tensorShape{{"logits", onnx.Float, []int64{1, 150, 128, 128}}}},
	{"ESRGAN", anImageMaker, images(128, 128), []tensorShape{{"output", onnx.Float, []int64{1, 3, 512, 512}}}},
	{"ESPCN of grey images", "a network of grey images", []tensorShape{{"input", onnx.Float, []int64{1, 1, 224, 224}}}, []tensorShape{{"output", onnx.Float, []int64{1, 1, 672, 672}}}},
	{"MiDaS", aDepthNetwork, images(256, 256), []tensorShape{{"797", onnx.Float, []int64{1, 256, 256}}}},
	{"HRNet", "a network that makes maps", images(256, 192), []tensorShape{{"output", onnx.Float, []int64{1, 17, 64, 48}}}},
	{"MoveNet", aKeypointer, images(192, 192), []tensorShape{{"output_0", onnx.Float, []int64{1, 1, 17, 3}}}},
	{"BERT", "a text network", []tensorShape{{"input_ids", onnx.Int64, []int64{-1, -1}}, {"attention_mask", onnx.Int64, []int64{-1, -1}}}, []tensorShape{{"last_hidden_state", onnx.Float, []int64{1, -1, 768}}}},
	{"Whisper", "an audio network", []tensorShape{{"input_features", onnx.Float, []int64{1, 80, 3000}}}, []tensorShape{{"last_hidden_state", onnx.Float, []int64{1, 1500, 384}}}},
	{"a diffusion model's decoder", "a part of a diffusion model", []tensorShape{{"latent_sample", onnx.Float, []int64{1, 4, 64, 64}}}, []tensorShape{{"sample", onnx.Float, []int64{1, 3, 512, 512}}}},
	{"classes as integers", "a network whose result is integers", images(224, 224), []tensorShape{{"y", onnx.Int64, []int64{1, 16}}}},
}

func images(height, width int64) []tensorShape {
	return []tensorShape{{"images", onnx.Float, []int64{1, 3, height, width}}}
}

func TestOtherNetworksAreRefusedByPurpose(t *testing.T) {
	for _, n := range nonEncoders {
		t.Run(n.name, func(t *testing.T) {
			f := onnxtest.Empty(13)
			var in []string
			for _, x := range n.in {
				f.Input(x.name, int64(x.of), x.dims...)
				in = append(in, x.name)
			}
			// The engine lacks this operator, so the shapes are the declared ones.
			for _, y := range n.out {
				f.NodeOf("Anything", in, []string{y.name}, nil).OutputOf(y.name, int64(y.of), y.dims...)
			}
			path := filepath.Join(t.TempDir(), "model.onnx")
			if err := os.WriteFile(path, f.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			r, err := Inspect(path, OpenOptions{})
			if err == nil {
				err = r.EmbeddingErr
			}
			checkPurpose(t, err, n.is)
			_, err = Open(path, OpenOptions{})
			checkPurpose(t, err, n.is)
		})
	}
}

func checkPurpose(t *testing.T, err error, is string) {
	t.Helper()
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "it is "+is) {
		t.Errorf("got %v, want %q", err, is)
	}
}

// A file that declares no shapes is recognised by those that its operators
// compute.
func TestComputedShapesTellThePurpose(t *testing.T) {
	for _, n := range nonEncoders {
		if n.in[0].name != "images" || len(n.out) > 1 || n.out[0].of != onnx.Float {
			continue
		}
		y := n.out[0]
		f := onnxtest.Empty(13).Input("images", onnxtest.Float, n.in[0].dims...).Ints("to", y.dims...).
			Node("ReduceMean", []string{"images"}, "mean", onnxtest.Attributes{"keepdims": 0}).
			Node("Expand", []string{"mean", "to"}, y.name, nil).Output(y.name)
		_, err := loadGo(f.Bytes(), Options{})
		if err == nil {
			t.Errorf("%s is accepted", n.name)
			continue
		}
		checkPurpose(t, err, n.is)
	}
}

func TestSecondInputIsNamed(t *testing.T) {
	f := onnxtest.New(13, 64, 64).Input("orig_target_sizes", onnxtest.Float, 1, 2).
		Node("GlobalAveragePool", []string{"image"}, "g", nil).Node("Flatten", []string{"g"}, "flat", nil).
		Node("MatMul", []string{"flat", "w"}, "v", nil).Floats("w", make([]float32, 6), 3, 2).
		Node("Mul", []string{"v", "orig_target_sizes"}, "y", nil).Output("y", 1, 2)
	refused(t, f.Bytes(), Options{}, `it also needs input "orig_target_sizes"`)
	refused(t, f.Bytes(), Options{Embedding: "y"}, `more than the image, input "orig_target_sizes"`)
}
