package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/eval/measure"
	"cpar/eval/quality"
	"cpar/eval/report"
	"cpar/eval/simulate"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

func invoke(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := execute(t.Context(), root)
	return out.String(), err
}

var measuring = map[string]string{"agreement": "", "all": "draws few model most n", "alphagamma": "", "attacks": "model", "clusters": "model", "corel5k": "", "cost": "n", "draws": "draws model", "flann": "", "kernels": "", "letter": "n",
	"numbers": "n", "pca": "", "peers": "n", "profile-growth": "n", "profiles": "model n", "recall": "", "samples": "", "scaling": "most", "sealed": "n", "sealed-size": "model n", "small": "model", "speedup": "",
	"structures": "", "tradeoff": ""}

func TestSimulateReportsItsOptions(t *testing.T) {
	args := []string{"fleet", "--nodes", "6", "--per-rack", "2", "--indexes", "60", "--seconds", "12"}
	text, err := invoke(t, args...)
	if err != nil || !strings.Contains(text, "6 nodes in racks of 2") || !strings.Contains(text, "a rack loses its power") {
		t.Errorf("%v: %s", err, text)
	}
	out, err := invoke(t, append(args, "--json")...)
	var got simulate.Result
	if err == nil {
		err = json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &got)
	}
	if err != nil || got.Nodes != 6 || len(got.Rows) != len(simulate.Scenarios) || got.Rows[0].Requests == 0 {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := invoke(t, "fleet", "--nodes", "2"); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func TestCommands(t *testing.T) {
	for _, c := range rootCommand().Commands() {
		if _, ok := measuring[c.Name()]; !ok && !slices.Contains([]string{"clip", "fleet", "load", "memory", "plan", "results", "search", "security", "version"}, c.Name()) {
			t.Errorf("%s: an unexpected command", c.Name())
		}
	}
	if _, err := invoke(t, "search"); exitcode.Of(err) != exitcode.Usage || !strings.Contains(hint.Of(err), "--data") {
		t.Errorf("search without a collection: %v", err)
	}
	if _, err := invoke(t, "search", "--data", filepath.Join(t.TempDir(), "none")); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("search of a missing folder: %v", err)
	}
	for _, args := range [][]string{{"memory"}, {"memory", "--data", ".", "--large", "-1"}} {
		if _, err := invoke(t, args...); !errors.Is(err, exitcode.ErrUsage) && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", args, err)
		}
	}
	for name, flags := range measuring {
		c, _, err := rootCommand().Find([]string{name})
		if err != nil || c.Name() != name || c.Flags().Lookup("json") == nil {
			t.Errorf("%s: %v", name, err)
		}
		var has []string
		for _, flag := range []string{"draws", "few", "model", "most", "n"} {
			if c.Flags().Lookup(flag) != nil {
				has = append(has, flag)
			}
		}
		if got := strings.Join(has, " "); got != flags {
			t.Errorf("%s has flags %q, want %q", name, got, flags)
		}
		if _, err := invoke(t, name); exitcode.Of(err) != exitcode.Usage || !strings.Contains(hint.Of(err), "--data") {
			t.Errorf("%s without a collection: %v", name, err)
		}
		if _, err := invoke(t, name, "--data", filepath.Join(t.TempDir(), "none"), "--out", t.TempDir()); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s of a missing folder: %v", name, err)
		}
		if _, err := invoke(t, name, "surplus"); !errors.Is(err, exitcode.ErrUsage) {
			t.Errorf("%s with an argument: %v", name, err)
		}
	}
	if _, err := invoke(t, "cost", "--data", ".", "--n", "-1"); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "--n -1; 0 to ") {
		t.Errorf("a size below 0: %v", err)
	}
	for _, flag := range []string{"--draws", "--draw"} {
		if _, err := invoke(t, "draws", "--data", ".", flag, "-1"); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), flag+" -1; ") {
			t.Errorf("%s below 0: %v", flag, err)
		}
	}
	if _, err := invoke(t, "all", "--data", ".", "--out", ""); exitcode.Of(err) != exitcode.Usage || !strings.Contains(hint.Of(err), "--out") {
		t.Errorf("all without a folder for results: %v", err)
	}
	args := []string{"all", "--data", ".", "--model", "none", "--out", t.TempDir(), "--dry-run"}
	text, err := invoke(t, args...)
	if err != nil || !strings.Contains(text, "\nload ") || !strings.Contains(text, "\ntogether ") {
		t.Errorf("the plan of all: %v, %s", err, text)
	}
	var plan runPlan
	if text, err = invoke(t, append(args, "--json")...); err == nil {
		err = json.Unmarshal([]byte(text), &plan)
	}
	if err != nil || len(plan.Steps) != len(report.Measurements()) || plan.Minutes <= 0 || plan.Minutes > 90 {
		t.Errorf("the plan of all: %v, %+v", err, plan)
	}
	help, err := invoke(t, "--help")
	for name := range measuring {
		if err != nil || !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("the help does not name %s (%v)", name, err)
		}
	}
}

func TestSecurity(t *testing.T) {
	text, err := invoke(t, "security")
	if err != nil {
		t.Fatal(err)
	}
	out, err := invoke(t, "security", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rings []struct {
			N    int        `json:"n"`
			LogQ int        `json:"log_q"`
			Core [2]float64 `json:"primal_core"`
		}
		Formats []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Formats) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	said := 0
	for _, r := range got.Rings {
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) > 5 && f[0] == fmt.Sprint(r.N) && f[1] == fmt.Sprint(r.LogQ) && strings.Contains(line, fmt.Sprintf(" %g / %g ", r.Core[0], r.Core[1])) {
				said++
			}
		}
	}
	if said != len(got.Rings) || said < 10 {
		t.Errorf("%d of %d rings in\n%s", said, len(got.Rings), text)
	}
	if _, err := invoke(t, "security", "surplus"); !errors.Is(err, exitcode.ErrUsage) {
		t.Errorf("an argument: %v", err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"cost", "all"} {
		root := rootCommand()
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		root.SetArgs([]string{name, "--data", collection(t, 3), "--cache", "", "--out", t.TempDir()})
		if err := execute(ctx, root); !errors.Is(err, exitcode.ErrInterrupted) || err.Error() != "interrupted" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCorel5k(t *testing.T) {
	data, out := collection(t, 40), t.TempDir()
	args := []string{"corel5k", "--data", data, "--out", out, "--cache", ""}
	text, err := invoke(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"F1 %", "JEC (published)", "2PKNN + ML (published)", "capia"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text, err = invoke(t, append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Rows, Published []map[string]any }
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Rows) != 12 || len(got.Published) != 4 {
		t.Fatalf("%s: %v", text, err)
	}
	for _, key := range []string{"scheme", "neighbours", "P", "R", "Nplus"} {
		if got.Rows[0][key] == nil || key != "neighbours" && got.Published[0][key] == nil {
			t.Errorf("no %q in %v or %v", key, got.Rows[0], got.Published[0])
		}
	}
}

func TestSweep(t *testing.T) {
	args := []string{"recall", "--data", collection(t, 40), "--out", t.TempDir(), "--cache", ""}
	text, err := invoke(t, args...)
	if err != nil || !strings.HasPrefix(text, "Accuracy against AP") || strings.Contains(text, "visits allow") {
		t.Errorf("%s, %v", text, err)
	}
	for table, want := range map[string]string{"speedup": "cpar and ivf over capia", "tradeoff": "Speedup against accuracy"} {
		args[0] = table
		if text, err := invoke(t, args...); err != nil || !strings.HasPrefix(text, want) || strings.Contains(text, "Accuracy against AP") {
			t.Errorf("%s, %v", text, err)
		}
	}
	text, err = invoke(t, append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Requests, Words int
		Rows            []struct{ Speedup map[string]float64 }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Requests == 0 || got.Words == 0 || len(got.Rows) != 25 || got.Rows[0].Speedup["value"] != 1 {
		t.Errorf("%d rows, %d requests, %d words: %v", len(got.Rows), got.Requests, got.Words, err)
	}
}

// Without an image network the third profile is skipped, with advice.
func TestProfiles(t *testing.T) {
	data := collection(t, 40)
	args := []string{"profiles", "--model", "none", "--data", data, "--out", t.TempDir(), "--cache", "", "--n", "0"}
	text, err := invoke(t, append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rows    []map[string]any
		Skipped []struct{ Profile, Reason string }
		Records int     `json:"cost_records"`
		Ratio   float64 `json:"capia_ratio"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(got.Rows) != 28 || got.Records < 30 || got.Records > 39 || got.Ratio <= 0 || len(got.Skipped) != 1 || got.Skipped[0].Profile != "network" || !strings.Contains(got.Skipped[0].Reason, "--model") {
		t.Errorf("%d rows, %+v", len(got.Rows), got)
	}
	if text, err := invoke(t, args...); err != nil || !strings.Contains(text, "network was left out: no image network was named (--model FILE)") || !strings.Contains(text, "cloud ms") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := invoke(t, append(args, "--model", filepath.Join(data, "none.onnx"))...); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a missing model: %v", err)
	}
}

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

// A foreign step is neither published nor described on a page.
func TestForeignStepsAreNotPublished(t *testing.T) {
	out, published := t.TempDir(), t.TempDir()
	c := &cobra.Command{}
	c.SetOut(io.Discard)
	r := &measure.Results{Steps: []checkpoint.Record{{Name: "cost", Origin: checkpoint.Origin{Machine: "a"}}, {Name: "pca", Origin: checkpoint.Origin{Machine: "b"}}}}
	if err := writeReport(c, &flags{out: out, publish: published}, r); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "one machine") {
		t.Errorf("published: %v", err)
	}
	if left, err := os.ReadDir(published); err != nil || len(left) > 0 {
		t.Errorf("published %v, %v", left, err)
	}
}

// A kept result is reused. A changed photo is measured again.
func TestKeptResultIsReused(t *testing.T) {
	data, out := collection(t, 40), t.TempDir()
	args := []string{"samples", "--data", data, "--out", out, "--cache", filepath.Join(out, "features"), "--json"}
	first, err := invoke(t, args...)
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
	if again, err := invoke(t, args...); err != nil || again != first {
		t.Errorf("the second run has another result: %v", err)
	}
	if after, err := os.Stat(state); err != nil || !os.SameFile(before, after) {
		t.Errorf("the second run measured again (%v)", err)
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
	if _, err := invoke(t, args...); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(state); err != nil || os.SameFile(before, after) {
		t.Errorf("a changed photo was not measured again (%v)", err)
	}
}

func TestReportIsPublished(t *testing.T) {
	out, published, docs, again := t.TempDir(), filepath.Join(t.TempDir(), "published"), filepath.Join(t.TempDir(), "docs", "results.md"), filepath.Join(t.TempDir(), "again.md")
	var text bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&text)
	r := &measure.Results{Each: []measure.Result{&quality.Samples{}}, Steps: []checkpoint.Record{{Name: "samples", Seconds: 1}}}
	if err := writeReport(c, &flags{out: out, publish: published, docs: docs, asJSON: true}, r); err != nil || !strings.Contains(text.String(), `"samples"`) || !strings.Contains(text.String(), "samples.csv") {
		t.Errorf("%s, %v", text.String(), err)
	}
	if b, err := os.ReadFile(docs); err != nil || !bytes.Contains(b, []byte("/published)")) {
		t.Errorf("%s, %v", b, err)
	}
	if text, err := invoke(t, "results", "--from", out, "--out", again); err != nil || !strings.Contains(text, again) {
		t.Errorf("%s, %v", text, err)
	}
	if b, err := os.ReadFile(again); err != nil || !bytes.Contains(b, []byte(filepath.Base(out)+")")) {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := invoke(t, "results", "--from", t.TempDir()); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("results of nothing: %v", err)
	}
}
