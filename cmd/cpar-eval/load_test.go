package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

// cpard builds the program. Its temporary folder appears on the command line of
// the process, so that gone can find it.
func cpard(t *testing.T) (program, temporary string) {
	t.Helper()
	temporary = t.TempDir()
	program = filepath.Join(t.TempDir(), "cpard")
	if out, err := exec.Command("go", "build", "-o", program, "cpar/cmd/cpard").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("TMPDIR", temporary)
	return program, temporary
}

func gone(t *testing.T, temporary string) {
	t.Helper()
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(temporary)) {
			t.Errorf("%s is still running: %q", filepath.Dir(name), b)
		}
	}
}

// A short run against a real cpard gives only correct answers and leaves
// nothing behind.
func TestLoad(t *testing.T) {
	program, temporary := cpard(t)
	page := filepath.Join(t.TempDir(), "docs", "cloud.md")
	soak := filepath.Join(t.TempDir(), "soak.csv")
	figures := "minutes,anonymous memory MB,goroutines,descriptors\n"
	for k := range 60 {
		figures += fmt.Sprintf("%d.00,20,30,40\n", k)
	}
	if err := os.WriteFile(soak, []byte(figures), 0o600); err != nil {
		t.Fatal(err)
	}
	root := rootCommand()
	var out, progress bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&progress)
	root.SetArgs([]string{"load", "--data", collection(t, 40), "--cache", "", "--cpard", program, "--records", "60", "--clients", "1,4", "--seconds", "0.5", "--json", "--docs", page, "--soak", soak})
	if err := execute(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	gone(t, temporary)
	var got struct {
		Rows []struct {
			Scheme  string
			Records int
			Clients int
			Rate    float64
			P50     float64 `json:"p50_ms"`
			P99     float64 `json:"p99_ms"`
			Errors  *int
			Shed    *int
			RSS     float64 `json:"rss_mb"`
		}
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	_, err := os.Stat("/proc/self/status")
	hasProc := err == nil
	var order []string
	for _, r := range got.Rows {
		order = append(order, r.Scheme)
		if r.Records != 60 || r.Rate <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.Errors == nil || *r.Errors != 0 || r.Shed == nil || *r.Shed != 0 || (r.RSS > 0) != hasProc {
			t.Errorf("%+v", r)
		}
	}
	if strings.Join(order, " ") != "cpar cpar capia capia sealed sealed" || got.Rows[0].Clients != 1 || got.Rows[1].Clients != 4 {
		t.Errorf("%+v", got.Rows)
	}
	text, err := invoke(t, "load", "--data", collection(t, 40), "--cache", "", "--cpard", program, "--records", "60", "--schemes", "capia", "--clients", "1,64", "--seconds", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	gone(t, temporary)
	for _, want := range []string{"records  scheme  clients", "with 64 clients, divided by the rate with one", "One client beside 64 of another tenant"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(progress.String(), "answers/s"); n != 6 {
		t.Errorf("%d rows were reported on the way:\n%s", n, &progress)
	}
	b, err := os.ReadFile(page)
	for _, want := range []string{"| 60 | sealed | 4 | ", "59.00 minutes", "\n| 0.00 | 20 | 30 | 40 |\n", "\n| 59.00 | 20 | 30 | 40 |\n"} {
		if err != nil || !bytes.Contains(b, []byte(want)) || bytes.Contains(b, []byte("%!")) {
			t.Errorf("no %q in %s, %v", want, b, err)
		}
	}
}

// Invalid options fail before anything starts, and an interruption also leaves
// nothing behind.
func TestLoadRefusesAndStops(t *testing.T) {
	program, temporary := cpard(t)
	data := collection(t, 12)
	if _, err := invoke(t, "load"); exitcode.Of(err) != exitcode.Usage || !strings.Contains(hint.Of(err), "--data") {
		t.Errorf("without a collection: %v", err)
	}
	for _, flags := range [][]string{{"--clients", "0"}, {"--records", "0"}, {"--seconds", "0"}, {"--photos", "0"}, {"--schemes", "local"}, {"--schemes", "none"}, {"--clients", "100000"}} {
		if _, err := invoke(t, append([]string{"load", "--data", data, "--cpard", program}, flags...)...); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: %v", flags, err)
		}
	}
	if _, err := invoke(t, "load", "--data", data, "--cache", "", "--cpard", filepath.Join(temporary, "none")); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no such program: %v", err)
	}
	gone(t, temporary)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	root := rootCommand()
	root.SetOut(io.Discard)
	root.SetErr(writer(func(p []byte) (int, error) { cancel(); return len(p), nil })) // after the first row
	root.SetArgs([]string{"load", "--data", data, "--cache", "", "--cpard", program, "--records", "12", "--schemes", "capia", "--clients", "1,2,3", "--seconds", "0.2"})
	if err := execute(ctx, root); !errors.Is(err, exitcode.ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
	gone(t, temporary)
}

type writer func([]byte) (int, error)

func (f writer) Write(p []byte) (int, error) { return f(p) }
