package encoder

import (
	"fmt"
	"strings"
	"testing"

	"cpar/encoder/onnx"
)

// A drawing is a graph of names and shapes. "a b > c: Op 1x512" is a node.
// Names without a maker are constants, except image and text.
type drawing struct {
	nodes  string
	output string
}

func (d drawing) chooser(t *testing.T) *chooser {
	t.Helper()
	var nodes []*onnx.Node
	var outputs []onnx.ValueInfo
	shapes := map[string][]int{}
	for _, line := range strings.Split(strings.TrimSpace(d.nodes), "\n") {
		in, rest, _ := strings.Cut(line, " > ")
		out, rest, _ := strings.Cut(rest, ": ")
		op, dims, ok := strings.Cut(strings.TrimSpace(rest), " ")
		if !ok {
			t.Fatalf("%q", line)
		}
		nodes = append(nodes, &onnx.Node{Op: op, In: strings.Fields(in), Out: []string{out}, Name: "/" + out})
		var shape []int
		for _, word := range strings.Split(dims, "x") {
			var n int
			if _, err := fmt.Sscan(word, &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			shape = append(shape, n)
		}
		shapes[out] = shape
	}
	for _, name := range strings.Fields(d.output) {
		outputs = append(outputs, onnx.ValueInfo{Name: name})
	}
	c := newChooser(nodes, outputs, "image", []string{"text"})
	c.height, c.width = 224, 224
	c.shape = func(name string) ([]int, error) {
		if shape := shapes[name]; shape != nil {
			return shape, nil
		}
		return nil, errUnknownShape{name}
	}
	return c
}

// Shapes of commonly exported graphs.
var drawings = map[string]drawing{
	"ResNet-50": {`
image w > c: Conv 1x2048x7x7
c > g: GlobalAveragePool 1x2048x1x1
g > f: Flatten 1x2048
f w b > y: Gemm 1x1000`, "y"},
	"ResNet-50 without classifier": {`
image w > c: Conv 1x2048x7x7
c > y: GlobalAveragePool 1x2048x1x1`, "y"},
	"MobileNet with softmax, 1001": {`
image w > c: Conv 1x1280x1x1
c w > k: Conv 1x1001x1x1
k to > r: Reshape 1x1001
r > y: Softmax 1x1001`, "y"},
	"SqueezeNet": {`
image w > c: Conv 1x512x13x13
c w b > k: Conv 1x1000x13x13
k > r: Relu 1x1000x13x13
r > g: GlobalAveragePool 1x1000x1x1
g > y: Flatten 1x1000`, "y"},
	"VGG16": {`
image w > c: Conv 1x512x7x7
c > f: Flatten 1x25088
f w b > d: Gemm 1x4096
d > r: Relu 1x4096
r w b > y: Gemm 1x1000`, "y"},
	"all pixels in one row": {`
image w > c: Conv 1x512x7x7
c > f: Flatten 1x25088
f w b > y: Gemm 1x1000`, "y"},
	"Places365": {`
image w > c: Conv 1x512x7x7
c > g: GlobalAveragePool 1x512x1x1
g > f: Flatten 1x512
f w b > y: Gemm 1x365`, "y"},
	"own classes, softmax": {`
image w > c: Conv 1x512x7x7
c > f: ReduceMean 1x512
f w > m: MatMul 1x48
m b > a: Add 1x48
a > y: Softmax 1x48`, "y"},
	"ViT-B/32": {`
image w > t: Conv 1x50x768
t w > n: LayerNormalization 1x50x768
n i > c: Gather 1x768
c w b > y: Gemm 1x1000`, "y"},
	"ViT-B/32 without head": {`
image w > t: Conv 1x50x768
t w > m: MatMul 1x50x3072
m w > n: MatMul 1x50x768
n i > y: Gather 1x768`, "y"},
	"DeiT, distilled": {`
image w > t: Conv 1x198x384
t i > c: Gather 1x384
t j > d: Gather 1x384
c w b > y1: Gemm 1x1000
d w b > y2: Gemm 1x1000
y1 y2 > s: Add 1x1000
s two > y: Div 1x1000`, "y"},
	"CLIP, the image's half": {`
image w > t: Conv 1x50x768
t i > p: Gather 1x768
p w > image_embeds: MatMul 1x512
t w > last_hidden_state: LayerNormalization 1x50x768`, "image_embeds last_hidden_state"},
	"CLIP, both halves": {`
image w > t: Conv 1x50x768
t i > p: Gather 1x768
p w > image_embeds: MatMul 1x512
text w > text_embeds: Gather 7x512
text_embeds > tt: Transpose 512x7
image_embeds tt > logits_per_image: MatMul 1x7
logits_per_image > logits_per_text: Transpose 7x1`, "logits_per_image logits_per_text text_embeds image_embeds"},
	"CLIP, OpenAI's": {`
image w > t: Conv 1x50x768
t i > p: Gather 1x768
p w > e: MatMul 1x512
e > l: ReduceL2 1x1
e l > n: Div 1x512
text w > x: Gather 7x512
x > xt: Transpose 512x7
n xt > m: MatMul 1x7
m s > logits_per_image: Mul 1x7
logits_per_image > logits_per_text: Transpose 7x1`, "logits_per_image logits_per_text"},
	"CLIP, texts first": {`
image w > p: Conv 1x512x1x1
p to > e: Reshape 1x512
e > et: Transpose 512x1
text w > x: Gather 7x512
x et > logits_per_text: MatMul 7x1
logits_per_text > logits_per_image: Transpose 1x7`, "logits_per_image logits_per_text"},
	"open_clip": {`
image w > t: Conv 1x50x768
t i > p: Gather 1x768
p w > e: MatMul 1x512
e > l: ReduceL2 1x1
e l > output: Div 1x512`, "output"},
	"MobileCLIP": {`
image w > c: Conv 1x1024x8x8
c > g: ReduceMean 1x1024
g w b > output: Gemm 1x512`, "output"},
	"SigLIP": {`
image w > last_hidden_state: LayerNormalization 1x196x768
last_hidden_state q > a: MatMul 1x768
a w b > pooler_output: Gemm 1x768`, "last_hidden_state pooler_output"},
	"SigLIP, tokens": {`
image w > last_hidden_state: LayerNormalization 1x196x768`, "last_hidden_state"},
	"DINOv2, tokens": {`
image w > y: LayerNormalization 1x257x384`, "y"},
	"DINOv2 with registers, tokens": {`
image w > y: LayerNormalization 1x261x384`, "y"},
	"embeddings of two kinds": {`
image w > image_embeds_projected: Conv 1x512x1x1
image w > image_embeds: Conv 1x768x1x1`, "image_embeds_projected image_embeds"},
	"a feature map": {`
image w > y: Conv 1x512x7x7`, "y"},
	"a feature map, channels last": {`
image w > y: Transpose 1x7x7x768`, "y"},
	"8-bit integers, dynamic": {`
image w > c: ConvInteger 1x64x7x7
c > f: ReduceMean 1x2048
f > q: DynamicQuantizeLinear 1x2048
q w z > m: MatMulInteger 1x1000
m > k: Cast 1x1000
k s > d: Mul 1x1000
d b > y: Add 1x1000`, "y"},
	"by its old name": {`
image w > embedding: Conv 1x1280x1x1
embedding w > y: Conv 1x1000x1x1`, "y"},
	"features among logits": {`
image w > features: GlobalAveragePool 1x2048
features w b > logits: Gemm 1x1000`, "logits features"},
}

func TestChooseFindsEmbeddingOfCommonNetworks(t *testing.T) {
	for name, want := range map[string]struct {
		tensor, pool string
		size         int
		why          string
	}{
		"ResNet-50":                     {"f", "", 2048, "classifier of 1000"},
		"ResNet-50 without classifier":  {"y", "", 2048, "only output"},
		"MobileNet with softmax, 1001":  {"c", "", 1280, "classifier of 1001"},
		"SqueezeNet":                    {"c", PoolMean, 512, "13×13"},
		"VGG16":                         {"r", "", 4096, "classifier of 1000"},
		"all pixels in one row":         {"c", PoolMean, 512, "7×7"},
		"Places365":                     {"f", "", 512, "classifier of 365"},
		"own classes, softmax":          {"f", "", 512, "classifier of 48"},
		"ViT-B/32":                      {"c", "", 768, "classifier of 1000"},
		"ViT-B/32 without head":         {"y", "", 768, "only output"},
		"DeiT, distilled":               {"c", "", 384, "classifier of 1000"},
		"CLIP, the image's half":        {"image_embeds", "", 512, "of that name"},
		"CLIP, both halves":             {"image_embeds", "", 512, "of that name"},
		"CLIP, OpenAI's":                {"n", "", 512, "comparison with texts"},
		"CLIP, texts first":             {"e", "", 512, "comparison with texts"},
		"open_clip":                     {"output", "", 512, "only output"},
		"MobileCLIP":                    {"output", "", 512, "only output"},
		"SigLIP":                        {"pooler_output", "", 768, "of that name"},
		"SigLIP, tokens":                {"last_hidden_state", PoolMean, 768, "mean of 196 tokens"},
		"DINOv2, tokens":                {"y", PoolClass, 384, "class token, first of 257"},
		"DINOv2 with registers, tokens": {"y", PoolClass, 384, "class token, first of 261"},
		"embeddings of two kinds":       {"image_embeds", "", 768, "of that name"},
		"a feature map":                 {"y", PoolMean, 512, "7×7"},
		"a feature map, channels last":  {"y", PoolMean, 768, "7×7"},
		"8-bit integers, dynamic":       {"f", "", 2048, "classifier of 1000"},
		"by its old name":               {"embedding", "", 1280, "of that name"},
		"features among logits":         {"features", "", 2048, "of that name"},
	} {
		got, err := drawings[name].chooser(t).choose("", "")
		if err != nil || got.Name != want.tensor || got.Pool != want.pool || got.Size != want.size || !strings.Contains(got.Reason, want.why) {
			t.Errorf("%s: %v %q, %v; want %s, %d values, pooled by %q, %s", name, got, got.Pool, err, want.tensor, want.size, want.pool, want.why)
		}
	}
	if len(drawings) != 27 {
		t.Errorf("%d drawings, of which 27 have an embedding here", len(drawings))
	}
}

func TestChooseRefusesUnsuitableTensors(t *testing.T) {
	for why, c := range map[string]struct {
		drawing
		asked, pool string
	}{
		"more than 4096":                      {drawing{"image w > y: MatMul 1x153600", "y"}, "y", ""},
		"none of its outputs":                 {drawing{"image w > y: MatMul 1x153600", "y"}, "", ""},
		"none of its outputs is recognisable": {drawing{"image w > q: MatMul 1x12x50x64\nq > y: Softmax 1x12x50x50", "y"}, "", ""},
		"several of its outputs":              {drawing{"image w > a: MatMul 1x512\nimage w > b: MatMul 1x512", "a b"}, "", ""},
		"several of its outputs may":          {drawing{"image w > feature_0: Conv 1x64x56x56\nfeature_0 w > feature_1: Conv 1x512x7x7", "feature_0 feature_1"}, "", ""},
		"looks like classes, but no layer":    {drawing{"image w > c: Conv 1x1000\nc w > y: Einsum 1x1000", "y"}, "", ""},
		`no tensor "ghost"`:                   {drawings["ResNet-50"], "ghost", ""},
		`no tensor "image"`:                   {drawings["ResNet-50"], "image", ""},
		"does not depend on the image":        {drawings["CLIP, both halves"], "text_embeds", ""},
		"depends on more than the image":      {drawings["CLIP, both halves"], "logits_per_image", ""},
		"nothing to pool by mean":             {drawings["ResNet-50"], "", PoolMean},
		"has no class token":                  {drawings["a feature map"], "", PoolClass},
		`no pooling "max"`:                    {drawings["a feature map"], "", "max"},
		"neither a vector nor tokens":         {drawing{"image w > y: Conv 1x2x3x4x5", "y"}, "y", ""},
		"its first dimension is not 1":        {drawing{"image w > y: Conv 2x3x4x4", "y"}, "y", ""},
		"it has no output":                    {drawing{"image w > y: Conv 1x4", ""}, "", ""},
		"the shape of \"unknown\" is not kn":  {drawing{"image w > y: Conv 1x4", "y unknown"}, "unknown", ""},
	} {
		chooser := c.chooser(t)
		if c.asked == "unknown" {
			chooser.makers["unknown"], chooser.from["unknown"] = chooser.nodes[0], fromImage
		}
		got, err := chooser.choose(c.asked, c.pool)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, %v; want %q", got, err, why)
		}
	}
}

func TestPooling(t *testing.T) {
	values := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}
	for _, c := range []struct {
		shape []int
		pool  string
		want  string
	}{
		{[]int{1, 9, 2}, "", "[9 10]"},
		{[]int{1, 9, 2}, PoolClass, "[1 2]"},
		{[]int{1, 2, 9}, "", "[1 2 3 4 5 6 7 8 9]"}, // one of two tokens is extra
		{[]int{1, 2, 3, 3}, "", "[5 14]"},
		{[]int{1, 3, 3, 2}, "", "[9 10]"},
		{[]int{1, 18, 1, 1}, "", fmt.Sprint(values)},
		{[]int{18}, "", fmt.Sprint(values)},
	} {
		p, err := poolingOf(c.shape, "y", c.pool, 224, 224)
		if err != nil {
			t.Fatal(c.shape, err)
		}
		got, err := p.apply(values)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%v by %q: %v, %v; want %s", c.shape, c.pool, got, err, c.want)
		}
		if _, err := p.apply(values[1:]); err == nil {
			t.Errorf("%v: a value less is accepted", c.shape)
		}
	}
	for tokens, extra := range map[int]int{49: 0, 50: 1, 196: 0, 197: 1, 198: 2, 256: 0, 257: 1, 261: 5, 577: 1, 77: 0} {
		if got := extraTokens(tokens, 224, 224); got != extra {
			t.Errorf("%d tokens: %d extra, want %d", tokens, got, extra)
		}
	}
	if extraTokens(15, 160, 96) != 0 || extraTokens(16, 160, 96) != 0 || extraTokens(61, 160, 96) != 1 {
		t.Error("images that are not square")
	}
}
