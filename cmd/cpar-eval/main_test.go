package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/exitcode"
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// Every measurement can be had alone, as JSON, and asks for its collection.
func TestCommands(t *testing.T) {
	for _, name := range []string{"alphagamma", "pca", "cost", "speedup", "recall", "tradeoff", "samples", "numbers", "scaling", "flann", "corel5k", "agreement", "all"} {
		c, _, err := rootCommand().Find([]string{name})
		if err != nil || c.Name() != name || c.Flags().Lookup("json") == nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := execute(t, name); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s without a collection: %v", name, err)
		}
		if _, err := execute(t, name, "--data", filepath.Join(t.TempDir(), "none"), "--out", t.TempDir()); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s of a folder that is not there: %v", name, err)
		}
		if _, err := execute(t, name, "surplus"); !errors.Is(err, exitcode.ErrUsage) {
			t.Errorf("%s with an argument: %v", name, err)
		}
	}
	if _, err := execute(t, "cost", "--data", ".", "--n", "-1"); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a size below 0: %v", err)
	}
}

// collection writes a folder of n photographs, drawn.
func collection(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	manifest := "path,keywords\n"
	for k := range n {
		img := image.NewRGBA(image.Rect(0, 0, 64, 48))
		for i := range 64 * 48 {
			img.Set(i%64, i/64, color.RGBA{uint8(i * (k + 1)), uint8(i / 64 * (5 + k%3)), uint8(60 * (k % 4)), 255})
		}
		var buf bytes.Buffer
		if err := png.Encode(&buf, img); err != nil {
			t.Fatal(err)
		}
		name := "p" + string(rune('a'+k/26)) + string(rune('a'+k%26)) + ".png"
		if err := os.WriteFile(filepath.Join(dir, name), buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		manifest += name + ",every;kind " + string(rune('a'+k%4)) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.csv"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// One step, kept, and the report of it; a change of a photograph measures anew.
func TestSamplesThenReport(t *testing.T) {
	data, out := collection(t, 40), t.TempDir()
	args := []string{"samples", "--data", data, "--out", out, "--cache", filepath.Join(out, "features"), "--json"}
	first, err := execute(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	var samples struct{ Rows []struct{ Name string } }
	if err := json.Unmarshal([]byte(first), &samples); err != nil || len(samples.Rows) == 0 {
		t.Fatalf("%s: %v", first, err)
	}
	state := filepath.Join(out, "state", "samples.json")
	before, err := os.Stat(state)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := execute(t, args...); err != nil || again != first {
		t.Errorf("the second run says otherwise: %v", err)
	}
	if after, err := os.Stat(state); err != nil || !os.SameFile(before, after) {
		t.Errorf("the second run measured again (%v)", err)
	}
	if text, err := execute(t, "report", "--out", out, "--data", data, "--json"); err != nil || !strings.Contains(text, `"samples"`) || !strings.Contains(text, "report.html") {
		t.Errorf("%s, %v", text, err)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !bytes.Contains(page, []byte("data:image/jpeg")) {
		t.Errorf("no thumbnail on the page (%v)", err)
	}
	photo := filepath.Join(data, samples.Rows[0].Name)
	other, err := os.ReadFile(filepath.Join(data, "paa.png"))
	if samples.Rows[0].Name == "paa.png" {
		other, err = os.ReadFile(filepath.Join(data, "pab.png"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(photo, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := execute(t, args...); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(state); err != nil || os.SameFile(before, after) {
		t.Errorf("another photograph, and not measured again (%v)", err)
	}
}
