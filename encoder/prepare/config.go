package prepare

import (
	"errors"
	"fmt"

	"cpar"
)

// usualSide is the side of a network that leaves it open, if nothing else says one.
const usualSide = 224

// errNoPreprocessing is a file that holds no preprocessing, such as a config.json of other things.
var errNoPreprocessing = errors.New("it does not say how to prepare pictures")

// ReadConfig reads a configuration file of any kind, recognised by its content, for a
// network that takes images of height×width; 0 and 0 if the network leaves its size open,
// where the file's own is taken:
//
//	sidecar               this program's own
//	Hugging Face          preprocessor_config.json
//	open_clip             preprocess_cfg.json, as Immich keeps it, and open_clip_config.json
//	timm                  config.json
//
// Unknown fields of other people's files are ignored; what cannot be done as they do it is
// refused by name. kind says what it was. Errors wrap cpar.ErrInput.
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
		kind = "timm"
		if f, err = f.object("pretrained_cfg"); err == nil {
			p, err = readTimm(f, height, width)
		}
	case f.has("input_size"): // timm, before there was pretrained_cfg
		kind = "timm"
		p, err = readTimm(f, height, width)
	case f.has("preprocess_cfg"):
		kind = "open_clip"
		p, err = readOpenCLIPConfig(f, height, width)
	case f.has("resize_mode", "fill_color", "mode"), f.has("interpolation") && !f.has("preset", "resize", "shorter", "scale", "color", "offset", "fill"):
		kind = "open_clip"
		p, err = readOpenCLIP(f, nil, height, width)
	case f.has("image_processor"): // Hugging Face's processor_config.json
		kind = "Hugging Face"
		if f, err = f.object("image_processor"); err == nil {
			p, err = readHuggingFace(f, height, width)
		}
	case f.has("image_processor_type", "feature_extractor_type", "image_mean", "do_resize", "do_normalize"):
		kind = "Hugging Face"
		p, err = readHuggingFace(f, height, width)
	case f.has("model_type", "architectures", "architecture", "vision_cfg", "model_cfg", "tokenizer_class", "transformers_version"):
		err = errNoPreprocessing
	default:
		kind = "sidecar"
		p, err = readSidecar(data, height, width)
	}
	return p, kind, err
}
