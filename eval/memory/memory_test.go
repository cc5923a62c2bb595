package memory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/internal/testing/oracle"
)

// needGroups skips a test where memory control groups cannot be made, unless
// CPAR_CGROUP is "required".
func needGroups(t *testing.T) {
	t.Helper()
	if err := Available(); err != nil {
		if os.Getenv("CPAR_CGROUP") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestLimitEndsProcess(t *testing.T) {
	needGroups(t)
	m := &measurement{Options: Options{Work: t.TempDir(), LimitMB: 64}}
	use := func(mb string) (float64, error) {
		return m.run(t.Context(), "/bin/sh", "-c", `x=$(head -c "$0" /dev/zero | tr '\0' x); sleep 0.1`, mb+"000000")
	}
	if peak, err := use("16"); err != nil || peak < 16 || peak > 64 {
		t.Errorf("16 MB below a limit of 64: %v MB, %v", peak, err)
	}
	if peak, err := use("200"); err == nil {
		t.Errorf("200 MB above a limit of 64: %v MB", peak)
	}
}

// Every row needs a network for profile network, real photos and both programs.
func TestMeasureRunsEveryCommand(t *testing.T) {
	needGroups(t)
	if testing.Short() {
		t.Skip("builds programs and indexes")
	}
	var told []string
	o := Options{Data: oracle.Path(t, "data/corel5k"), Work: t.TempDir(), Sizes: Sizes{Decoded: 20, Photos: 60, Paper: 30, Large: 40, Grown: 1200}, LimitMB: 2048, ServerLimitMB: 512,
		Done: func(r Row) { told = append(told, r.Name) }}
	o.Data, o.Cache = few(t, o.Data, 30), filepath.Join(o.Work, "features")
	got, err := Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got.Rows {
		name, _, _ := strings.Cut(r.Name, ", an index")
		names = append(names, name)
		if r.PeakMB < 5 || r.PeakMB > 2048 || r.Seconds <= 0 || r.Photos < 20 {
			t.Errorf("%+v", r)
		}
	}
	want := []string{"build, photos decoded", "build, features cached", "build learned", "build network", "build paper", "build",
		"add", "annotate, first", "annotate", "cpard", "add", "annotate, first", "annotate", "cpard"}
	if !slices.Equal(names, want) || len(got.Tables()[0].Rows) != len(want) || len(told) != len(want) {
		t.Errorf("rows %q, told %q", names, told)
	}
}

// few returns a folder with the first n photos of a collection.
func few(t *testing.T, from string, n int) string {
	t.Helper()
	folder := t.TempDir()
	b, err := os.ReadFile(filepath.Join(from, "manifest.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")[:n+1]
	if err := os.WriteFile(filepath.Join(folder, "manifest.csv"), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, ",")
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
