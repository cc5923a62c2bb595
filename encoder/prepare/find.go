package prepare

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// usualFiles are the configuration files that Hugging Face (the first two),
// Immich, open_clip and timm distribute with models.
var usualFiles = []string{"preprocessor_config.json", "processor_config.json", "preprocess_cfg.json", "open_clip_config.json", "config.json"}

// A Config is the preprocessing of a model file before the network's image size
// is known. It is a preset, or a list of files that must agree.
type Config struct {
	preset string
	files  []configFile
}

type configFile struct {
	path string
	data []byte
}

// Find finds the preprocessing of a model file. If `named` is not empty, it is
// a preset or file. Otherwise, Find tries MODEL.json and then usualFiles in the
// model's folder and its parent. Hugging Face keeps models in a subfolder
// "onnx" of the folder with these files. Find returns nil if there is no
// preprocessing. `model` is "" for a model without a file. Errors wrap
// cpar.ErrInput.
func Find(model, named string) (c *Config, err error) {
	switch {
	case slices.Contains(Presets(), named):
		return &Config{preset: named}, nil
	case named != "":
		var f configFile
		f, err = readFile(named)
		if errors.Is(err, os.ErrNotExist) {
			err = hint.Add(fmt.Errorf("there is no preset and no file %s", named), "presets are %s", strings.Join(Presets(), ", "))
		}
		c = &Config{files: []configFile{f}}
	case model != "":
		c = &Config{}
		c.files, err = configsBeside(model)
	}
	if err != nil {
		return nil, fmt.Errorf("finding preprocessing: %w: %w", cpar.ErrInput, err)
	}
	if c == nil || len(c.files) == 0 {
		return nil, nil
	}
	return c, nil
}

func configsBeside(model string) (files []configFile, err error) {
	model, err = filepath.Abs(model)
	if err != nil {
		return nil, err
	}
	own, err := readFile(strings.TrimSuffix(model, filepath.Ext(model)) + ".json")
	switch {
	case err == nil && kindOf(own.data) != "none":
		return []configFile{own}, nil // MODEL.json is the user's own and takes precedence
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	folder := filepath.Dir(model)
	for _, folder := range slices.Compact([]string{folder, filepath.Dir(folder)}) {
		for _, name := range usualFiles {
			f, err := readFile(filepath.Join(folder, name))
			switch {
			case errors.Is(err, os.ErrNotExist):
			case err != nil:
				return nil, err
			case sharedNames[name] && slices.Contains([]string{"none", "sidecar"}, kindOf(f.data)):
			default:
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// sharedNames are names that files other than preprocessing also have.
var sharedNames = map[string]bool{"config.json": true, "processor_config.json": true}

func kindOf(data []byte) string {
	_, kind, err := readConfig(data, 0, 0)
	if errors.Is(err, errNoPreprocessing) {
		return "none"
	}
	return kind
}

func readFile(path string) (configFile, error) {
	// Check first, because opening a pipe would block.
	if info, err := os.Stat(path); err != nil {
		return configFile{}, err
	} else if !info.Mode().IsRegular() {
		return configFile{}, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return configFile{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	return configFile{path, data}, err
}

// Side returns the side in pixels of the square images that the configuration
// requests, or 0 if there is none. Method For reports errors in the files.
func (c *Config) Side() int {
	if c == nil || c.preset != "" {
		return 0
	}
	p, _, err := ReadConfig(c.files[0].data, 0, 0)
	if err != nil || p.Width != p.Height {
		return 0
	}
	return p.Width
}

// For returns the preprocessing for images of height×width, and the preset or
// file that it is from. It refuses files that disagree. Errors wrap
// cpar.ErrInput.
func (c *Config) For(height, width int) (p Preprocessing, from string, err error) {
	if c.preset != "" {
		if height != width {
			return p, "", fmt.Errorf("%w: preset %s is for square images, but the network takes %d×%d", cpar.ErrInput, c.preset, height, width)
		}
		p, err = Preset(c.preset, width)
		return p, "preset " + c.preset, err
	}
	for i, f := range c.files {
		q, kind, err := ReadConfig(f.data, height, width)
		if err != nil {
			err = fmt.Errorf("%s: %w", f.path, err)
			if len(c.files) > 1 {
				err = hint.Add(err, "pass the right one with --preprocessing: %s", c.paths())
			}
			return p, "", err
		}
		switch {
		case i == 0:
			p, from = q, fmt.Sprintf("%s (%s)", f.path, kind)
		case !agree(p, q):
			return p, "", hint.Add(fmt.Errorf("%w: %s and %s contain different preprocessing", cpar.ErrInput, c.files[0].path, f.path),
				"pass the one that belongs to the network with --preprocessing FILE")
		}
	}
	return p, from, nil
}

func (c *Config) paths() string {
	var paths []string
	for _, f := range c.files {
		paths = append(paths, f.path)
	}
	return strings.Join(paths, ", ")
}

// agree reports whether two files describe the same preprocessing. It ignores
// rounding of numbers, and the offset rule, because Hugging Face and open_clip
// round half a pixel in a crop's offset differently.
func agree(p, q Preprocessing) bool {
	for c := range 3 {
		for _, v := range []float64{0, 255} {
			a, b := (v*p.Scale-p.Mean[c])/p.Std[c], (v*q.Scale-q.Mean[c])/q.Std[c]
			if math.Abs(a-b) > 1e-3*max(1, math.Abs(a)) {
				return false
			}
		}
	}
	q.Scale, q.Mean, q.Std, q.Offset = p.Scale, p.Mean, p.Std, p.Offset
	return p == q
}
