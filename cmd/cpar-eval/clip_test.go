package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/eval/quality"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/testing/oracle"
)

// TestClipMeasuresARealPair runs the command with both halves of a network, as
// files. The vocabulary of the text half has single bytes only.
func TestClipMeasuresARealPair(t *testing.T) {
	graphs := oracle.Named(t, "CPAR_GRAPHS")
	dir, data := t.TempDir(), collection(t, 24)
	vocabulary := map[string]int{"<|startoftext|>": 998, "<|endoftext|>": 999}
	for i, free := 0, rune(256); i < 256; i++ {
		r := rune(i)
		if i < '!' || i > '~' && i < 0xa1 || i == 0xad { // CLIP's names of bytes that cannot be printed
			r, free = free, free+1
		}
		vocabulary[string(r)], vocabulary[string(r)+"</w>"] = 2*i, 2*i+1
	}
	b, err := json.Marshal(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"vocab.json": b, "merges.txt": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"clip", "--data", data, "--cache", "", "--tokenizer", dir, "--text-model", filepath.Join(graphs, "text_openai.onnx"), "--json"}
	out, err := invoke(t, append(args, "--model", filepath.Join(graphs, "clip_openai_pair-visual.onnx"), "--preprocessing", "clip")...)
	var got quality.Clip
	if err == nil {
		err = json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &got)
	}
	if err != nil || got.Width != 64 || got.Images < 20 || got.Queries != 5 || got.Full <= 0 || fmt.Sprint(got.Rows[0].Dim, got.Rows[1].Dim) != "128 256" {
		t.Fatalf("%v: %s", err, out)
	}
	for _, r := range got.Rows {
		if r.Best != 0 || r.Sealed <= 0 || r.Sealed > 1 || math.Abs(r.Share-r.Sealed/got.Full) > 1e-4 {
			t.Errorf("%+v of %+v", r, got)
		}
	}
	if _, err := invoke(t, args...); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "--model") {
		t.Errorf("the text half of another network: %v", err)
	}
	if _, err := invoke(t, args[:3]...); exitcode.Of(err) != exitcode.Usage || !strings.Contains(hint.Of(err), "--text-model") {
		t.Errorf("no text half: %v", err)
	}
}
