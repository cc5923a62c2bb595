package prepare

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"cpar"
)

// Configuration files of public networks, without ignored fields.
const (
	clipHF = `{"crop_size": {"height": 224, "width": 224}, "do_center_crop": true, "do_convert_rgb": true, "do_normalize": true, "do_rescale": true, "do_resize": true,
		"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_processor_type": "CLIPImageProcessor", "image_std": [0.26862954, 0.26130258, 0.27577711],
		"processor_class": "CLIPProcessor", "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 224}}`
	clipOldHF   = `{"crop_size": 224, "do_center_crop": true, "do_normalize": true, "do_resize": true, "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3, "size": 224}`
	siglipHF    = `{"do_normalize": true, "do_rescale": true, "do_resize": true, "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "SiglipImageProcessor", "image_std": [0.5, 0.5, 0.5], "resample": 3, "size": {"height": 256, "width": 256}}`
	vitHF       = `{"do_normalize": true, "do_resize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 224, "feature_extractor_type": "ViTFeatureExtractor", "resample": 2}`
	dinov2HF    = `{"crop_size": {"height": 224, "width": 224}, "do_center_crop": true, "image_mean": [0.485, 0.456, 0.406], "image_processor_type": "BitImageProcessor", "image_std": [0.229, 0.224, 0.225], "resample": 3, "size": {"shortest_edge": 256}}`
	convnextHF  = `{"crop_pct": 0.875, "image_mean": [0.485, 0.456, 0.406], "image_processor_type": "ConvNextImageProcessor", "image_std": [0.229, 0.224, 0.225], "resample": 3, "size": {"shortest_edge": 224}}`
	immich      = `{"size": [224, 224], "mode": "RGB", "mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711], "interpolation": "bicubic", "resize_mode": "shortest", "fill_color": 0}`
	immichSmall = `{"size": 224, "mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711], "interpolation": "bicubic"}`
	openCLIP    = `{"model_cfg": {"embed_dim": 768, "vision_cfg": {"image_size": 256, "timm_model_name": "x"}, "text_cfg": {}}, "preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bicubic", "resize_mode": "squash"}}`
	timmConfig  = `{"architecture": "deit_small", "num_classes": 1000, "pretrained_cfg": {"tag": "x", "input_size": [3, 224, 224], "fixed_input_size": true, "interpolation": "bicubic", "crop_pct": 0.9, "crop_mode": "center",
		"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "num_classes": 1000, "pool_size": null, "first_conv": "patch_embed.proj"}}`
	timmTest = `{"pretrained_cfg": {"input_size": [3, 192, 192], "test_input_size": [3, 224, 224], "crop_pct": 0.9, "test_crop_pct": 1.0, "crop_mode": "squash", "interpolation": "bilinear"}}`
	timmOld  = `{"architecture": "resnet50", "input_size": [3, 224, 224], "interpolation": "bicubic", "crop_pct": 0.95, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}`
)

func TestConfigurationFiles(t *testing.T) {
	clip := Preprocessing{224, 224, 1.0 / 255, clipMean, clipStd, RGB, ResizeCrop, 224, Bicubic, OffsetEven, [3]uint8{}, 0}
	with := func(p Preprocessing, change func(*Preprocessing)) Preprocessing { change(&p); return p }
	floored := with(clip, func(p *Preprocessing) { p.Offset = OffsetFloor })
	imagenet := with(clip, func(p *Preprocessing) { p.Mean, p.Std = imagenetMean, imagenetStd })
	whole := with(plain(224, 224), func(p *Preprocessing) { p.Mean, p.Std = halves, halves })
	for _, c := range []struct {
		file, kind string
		side       int
		want       Preprocessing
	}{
		{clipHF, "Hugging Face", 224, floored},
		{clipHF, "Hugging Face", 0, floored},
		{clipOldHF, "Hugging Face", 224, floored},
		{strings.Replace(clipHF, "CLIPImageProcessor", "CLIPImageProcessorFast", 1), "Hugging Face", 224, clip},
		{`{"image_processor": ` + clipHF + `, "processor_class": "CLIPProcessor"}`, "Hugging Face", 224, floored},
		{strings.Replace(clipHF, `"image_processor_type": "CLIPImageProcessor",`, "", 1), "Hugging Face", 224, floored},
		{siglipHF, "Hugging Face", 0, with(whole, func(p *Preprocessing) { p.Width, p.Height, p.Interpolation = 256, 256, Bicubic })},
		{vitHF, "Hugging Face", 224, whole},
		{strings.Replace(vitHF, `"size": 224`, `"size": [224, 192]`, 1), "Hugging Face", 0, with(whole, func(p *Preprocessing) { p.Width = 192 })},
		{dinov2HF, "Hugging Face", 224, with(imagenet, func(p *Preprocessing) { p.Shorter, p.Offset = 256, OffsetFloor })},
		{convnextHF, "Hugging Face", 224, with(imagenet, func(p *Preprocessing) { p.Shorter, p.Offset = 256, OffsetFloor })},
		{strings.Replace(convnextHF, "224}", "384}", 1), "Hugging Face", 0, with(imagenet, func(p *Preprocessing) { p.Width, p.Height, p.Resize, p.Shorter = 384, 384, ResizeWhole, 0 })},
		{`{"image_processor_type": "DeiTImageProcessor", "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}`, "Hugging Face", 224,
			with(imagenet, func(p *Preprocessing) { p.Resize, p.Shorter, p.Offset = ResizeWhole, 256, OffsetFloor })},
		{`{"feature_extractor_type": "MobileViTFeatureExtractor", "size": 288, "crop_size": 256}`, "Hugging Face", 256,
			with(plain(256, 256), func(p *Preprocessing) { p.Color, p.Resize, p.Shorter, p.Offset = BGR, ResizeCrop, 288, OffsetFloor })},
		{`{"image_processor_type": "ViTImageProcessor", "do_rescale": false, "do_normalize": false}`, "Hugging Face", 224, with(plain(224, 224), func(p *Preprocessing) { p.Scale = 1 })},
		{immich, "open_clip", 224, clip},
		{immichSmall, "open_clip", 224, clip},
		{immich, "open_clip", 0, clip},
		{strings.Replace(immich, "bicubic", "random", 1), "open_clip", 224, clip},
		{strings.NewReplacer("shortest", "longest", `"fill_color": 0`, `"fill_color": 7`).Replace(immich), "open_clip", 224,
			with(clip, func(p *Preprocessing) { p.Resize, p.Shorter, p.Fill = ResizePad, 0, [3]uint8{7, 7, 7} })},
		{openCLIP, "open_clip", 0, with(whole, func(p *Preprocessing) { p.Width, p.Height, p.Interpolation = 256, 256, Bicubic })},
		{`{"preprocess_cfg": {}}`, "open_clip", 224, clip},
		{timmConfig, "timm", 224, with(imagenet, func(p *Preprocessing) { p.Shorter = 248 })},
		{timmTest, "timm", 0, with(plain(192, 192), func(p *Preprocessing) { p.Mean, p.Std, p.Shorter = imagenetMean, imagenetStd, 213 })},
		{timmTest, "timm", 224, with(plain(224, 224), func(p *Preprocessing) { p.Mean, p.Std = imagenetMean, imagenetStd })},
		{strings.NewReplacer("center", "border", "0.9,", "1.0,").Replace(timmConfig), "timm", 224,
			with(imagenet, func(p *Preprocessing) { p.Resize, p.Shorter, p.Fill = ResizePad, 0, [3]uint8{124, 116, 104} })},
		{timmOld, "timm", 224, with(imagenet, func(p *Preprocessing) { p.Shorter = 235 })},
	} {
		got, kind, err := ReadConfig([]byte(c.file), c.side, c.side)
		if err != nil || kind != c.kind || got != c.want {
			t.Errorf("%.90s for %d: %s\n got %+v, %v\nwant %+v", c.file, c.side, kind, got, err, c.want)
		}
	}
}

func TestConfigurationsRefused(t *testing.T) {
	change := func(file, from, to string) string {
		if !strings.Contains(file, from) {
			t.Fatalf("%s is not in %s", from, file)
		}
		return strings.Replace(file, from, to, 1)
	}
	for file, want := range map[string]string{
		change(clipHF, `"do_resize": true`, `"do_resize": false`):                        "do_resize",
		change(clipHF, `"do_resize": true`, `"do_resize": "yes"`):                        `"do_resize" is "yes"; it must be true or false`,
		change(clipHF, `"do_center_crop": true`, `"do_center_crop": false`):              "keep their shape",
		change(clipHF, `"resample": 3`, `"resample": 0`):                                 "resample 0",
		change(clipHF, `"resample": 3`, `"resample": 6`):                                 "resample 6",
		change(clipHF, `"resample": 3`, `"resample": "bicubic"`):                         "a whole number",
		change(clipHF, `"resample": 3`, `"resample": 2.5`):                               "a whole number",
		change(clipHF, "CLIPImageProcessor", "Siglip2ImageProcessor"):                    "Siglip2ImageProcessor",
		change(clipHF, `"CLIPImageProcessor"`, `7`):                                      "a string",
		change(clipHF, `{"shortest_edge": 224}`, `{"longest_edge": 224}`):                "shortest_edge, or height and width",
		change(clipHF, `{"shortest_edge": 224}`, `{"shortest_edge": "224"}`):             "a whole number",
		change(clipHF, `{"shortest_edge": 224}`, `{"shortest_edge": 200}`):               "does not cover",
		change(clipHF, `{"shortest_edge": 224}`, `"224"`):                                "a number, two, or an object",
		change(clipHF, `{"height": 224, "width": 224}`, `{"height": 336, "width": 336}`): "336×336, but the network takes 224×224",
		change(clipHF, `[0.48145466, 0.4578275, 0.40821073]`, `[0.5, 0.5]`):              "a number or three numbers",
		change(clipHF, `0.00392156862745098`, `0`):                                       "no sensible values",
		change(clipHF, `"do_rescale": true`, `"do_pad": true`):                           "do_pad",
		`{"do_resize": true, "size": 224}`:                                               "names no image processor",
		change(siglipHF, `"width": 256`, `"width": 224`):                                 "the network takes",
		change(immich, "shortest", "crop"):                                               "resize_mode",
		change(immich, "RGB", "L"):                                                       "mode",
		change(immich, "bicubic", "nearest"):                                             "interpolation",
		change(immich, "[224, 224]", "[224]"):                                            "a side, or [height, width]",
		change(immich, "[224, 224]", "336"):                                              "336×336",
		change(immich, "[224, 224]", "[224, 256]"):                                       "256×224",
		change(immich, `"fill_color": 0`, `"fill_color": "black"`):                       "fill_color",
		change(openCLIP, `"mean"`, `"size": 224, "mean"`):                                "its model takes 256×256",
		change(openCLIP, `"text_cfg": {}`, `"vision_cfg": 5`):                            "an object",
		`{"preprocess_cfg": 3}`:                                                          "an object",
		change(timmConfig, `[3, 224, 224]`, `[1, 224, 224]`):                             "3 channels",
		change(timmConfig, `[3, 224, 224]`, `[3, 288, 288]`):                             "288×288, but the network takes 224×224",
		change(timmConfig, `[3, 224, 224]`, `224`):                                       "three whole numbers",
		change(timmConfig, `0.9`, `1.5`):                                                 "crop_pct",
		change(timmConfig, `0.9`, `1e-300`):                                              "cover",
		change(timmConfig, `"center"`, `"border"`):                                       "border with 1",
		change(timmConfig, `"bicubic"`, `"random"`):                                      "random",
		`{"pretrained_cfg": []}`:                                                         "an object",
		`{"model_type": "clip", "architectures": ["CLIPModel"]}`:                         "no preprocessing",
	} {
		if p, _, err := ReadConfig([]byte(file), 224, 224); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %+v, %v, want %s", file, p, err, want)
		}
	}
	// Without a network's size, too, each names the field.
	if _, _, err := ReadConfig([]byte(change(immich, "[224, 224]", "5000")), 0, 0); err == nil || !strings.Contains(err.Error(), "5000") {
		t.Error(err)
	}
}

func TestProcessorsAreComplete(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(processors)) {
		p, _, err := ReadConfig([]byte(`{"image_processor_type": "`+name+`ImageProcessor", "size": {"height": 256, "width": 256}}`), 0, 0)
		if err != nil || p.Std == [3]float64{} {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{clipHF, clipOldHF, siglipHF, vitHF, dinov2HF, convnextHF, immich, immichSmall, openCLIP, timmConfig, timmTest, timmOld,
		`{"preset": "clip", "size": 3, "mean": [1, 2, 3], "std": 2, "scale": 1, "color": "BGR", "resize": "whole"}`,
		`{"preset": "imagenet", "resize": "pad", "fill": 3, "interpolation": "hamming", "offset": "floor"}`} {
		f.Add([]byte(strings.ReplaceAll(seed, "224", "3")))
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, side := range []int{0, 3} {
			p, _, err := ReadConfig(data, side, side)
			if err != nil {
				if !errors.Is(err, cpar.ErrInput) {
					t.Error(err)
				}
				continue
			}
			if side != 0 && (p.Width != side || p.Height != side) {
				t.Fatalf("%s: %+v", data, p)
			}
			if p.Width*p.Height > 300*300 {
				continue
			}
			x, err := p.Tensor(noise(5, 4), 5, 4)
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			for _, v := range x {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Fatalf("%s: %v", data, v)
				}
			}
		}
	})
}
