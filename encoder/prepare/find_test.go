package prepare

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	const transformers = `{"model_type": "clip", "architectures": ["CLIPModel"]}`
	for name, c := range map[string]struct {
		files map[string]string
		named string
		from  string
		side  int
	}{
		"nothing":                        {map[string]string{}, "", "", 0},
		"a preset":                       {map[string]string{"m.json": siglipHF}, "clip", "preset clip", 0},
		"a file":                         {map[string]string{"other.json": clipHF, "m.json": siglipHF}, "other.json", "other.json (Hugging Face)", 224},
		"a sidecar":                      {map[string]string{"m.json": `{"size": 256}`, "preprocessor_config.json": clipHF}, "", "m.json (sidecar)", 256},
		"Hugging Face":                   {map[string]string{"preprocessor_config.json": clipHF, "config.json": transformers}, "", "preprocessor_config.json (Hugging Face)", 224},
		"Hugging Face, in a folder onnx": {map[string]string{"../preprocessor_config.json": siglipHF, "../config.json": transformers}, "", "preprocessor_config.json (Hugging Face)", 256},
		"Immich":                         {map[string]string{"preprocess_cfg.json": immich, "../config.json": `{"embed_dim": 512, "vision_cfg": {}}`}, "", "preprocess_cfg.json (open_clip)", 224},
		"two that agree":                 {map[string]string{"preprocessor_config.json": clipHF, "open_clip_config.json": `{"preprocess_cfg": {}, "model_cfg": {"vision_cfg": {"image_size": 224}}}`}, "", "preprocessor_config.json (Hugging Face)", 224},
		"timm":                           {map[string]string{"config.json": timmConfig}, "", "config.json (timm)", 224},
		"somebody's settings":            {map[string]string{"config.json": `{"volume": 11}`, "m.json": transformers}, "", "", 0},
	} {
		dir := filepath.Join(write(t, nil), "onnx")
		for f, content := range c.files {
			path := filepath.Join(dir, f)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		named := c.named
		if strings.HasSuffix(named, ".json") {
			named = filepath.Join(dir, named)
		}
		found, err := Find(filepath.Join(dir, "m.onnx"), named)
		if err != nil || (found == nil) != (c.from == "") || found.Side() != c.side {
			t.Errorf("%s: %+v, side %d, %v", name, found, found.Side(), err)
			continue
		}
		if found == nil {
			continue
		}
		side := cmp.Or(found.Side(), 224) // presets have no size
		if p, from, err := found.For(side, side); err != nil || !strings.HasSuffix(from, c.from) || p.Width != side {
			t.Errorf("%s: %+v, %q, %v", name, p, from, err)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	dir := write(t, map[string]string{"preprocessor_config.json": clipHF, "preprocess_cfg.json": strings.Replace(immich, "bicubic", "bilinear", 1)})
	c, err := Find(filepath.Join(dir, "m.onnx"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = c.For(224, 224); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "preprocessor_config.json and ") ||
		!strings.Contains(err.Error(), "preprocess_cfg.json") || !strings.Contains(hint.Of(err), "--preprocessing") {
		t.Error(err)
	}
	if _, _, err = c.For(256, 256); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "preprocessor_config.json: ") {
		t.Error(err)
	}
	if _, err := Find("m.onnx", filepath.Join(dir, "ghost.json")); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "clip") {
		t.Error(err)
	}
	if _, err := Find("m.onnx", dir); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	preset, err := Find("m.onnx", "clip")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := preset.For(224, 256); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}
