package prepare

import (
	"cmp"
	"errors"
	"fmt"

	"cpar"
)

// usualSide is the default side of a network that leaves it open.
const usualSide = 224

var errNoPreprocessing = errors.New("it contains no preprocessing")

// ReadConfig reads a configuration file, recognised by its content, for images
// of height×width. If both are 0, the file's own size applies.
//
//	sidecar               this program's own
//	Hugging Face          preprocessor_config.json
//	open_clip             preprocess_cfg.json, as Immich keeps it, and open_clip_config.json
//	timm                  config.json
//
// It ignores unknown fields of foreign formats and refuses unsupported
// operations by name. kind is the detected format. Errors wrap cpar.ErrInput.
func ReadConfig(data []byte, height, width int) (p Preprocessing, kind string, err error) {
	p, kind, err = readConfig(data, height, width)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		if kind != "" {
			kind += ": "
		}
		return Preprocessing{}, "", fmt.Errorf("reading preprocessing: %w: %s%w", cpar.ErrInput, kind, err)
	}
	return p, kind, nil
}

func readConfig(data []byte, height, width int) (p Preprocessing, kind string, err error) {
	if height < 0 || width < 0 || (height == 0) != (width == 0) {
		return p, "", fmt.Errorf("for a network of %d×%d", width, height)
	}
	f, err := readFields(data)
	if err != nil {
		return p, "", err
	}
	switch {
	case f.has("pretrained_cfg"):
		kind, p = "timm", readTimm(f.object("pretrained_cfg"), height, width)
	case f.has("input_size"): // timm, before pretrained_cfg
		kind, p = "timm", readTimm(f, height, width)
	case f.has("preprocess_cfg"):
		// The size is apart from the preprocessing.
		side := f.object("model_cfg").object("vision_cfg").size("image_size")
		kind, p = "open_clip", readOpenCLIP(f.object("preprocess_cfg"), side, height, width)
	case f.has("resize_mode", "fill_color", "mode"), f.has("interpolation") && !f.has("preset", "resize", "shorter", "scale", "color", "offset", "fill"):
		kind, p = "open_clip", readOpenCLIP(f, nil, height, width)
	case f.has("image_processor"): // Hugging Face's processor_config.json
		kind, p = "Hugging Face", readHuggingFace(f.object("image_processor"), height, width)
	case f.has("image_processor_type", "feature_extractor_type", "image_mean", "do_resize", "do_normalize"):
		kind, p = "Hugging Face", readHuggingFace(f, height, width)
	case f.has("model_type", "architectures", "architecture", "vision_cfg", "model_cfg", "tokenizer_class", "transformers_version"):
		f.fail(errNoPreprocessing)
	default:
		kind = "sidecar"
		p, err = readSidecar(data, height, width)
	}
	return p, kind, cmp.Or(err, *f.err)
}
