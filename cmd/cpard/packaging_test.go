package main

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cpar/internal/settings"
)

const packaging = "../../release/packaging"

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{packaging}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The example file is valid, with and without each commented line.
func TestExampleConfiguration(t *testing.T) {
	text := read(t, "cpard.toml")
	option := regexp.MustCompile(`(?m)^# ([a-z-]+ = .*)$`)
	files := map[string]string{"as it is": text}
	for _, m := range option.FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(m[1], " = ")
		rest := regexp.MustCompile(`(?m)^`+name+` = .*\n`).ReplaceAllString(text, "") // one of each
		files[name] = strings.Replace(rest, m[0], m[1], 1)
	}
	if len(files) < 10 {
		t.Fatalf("only %d settings were found", len(files))
	}
	for name, text := range files {
		path := filepath.Join(t.TempDir(), "cpard.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		root := newRoot()
		root.SetOut(io.Discard)
		root.SetArgs([]string{"config", "--config", path})
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c := newConfig(new(string))
		shown, err := table.Show(c, path)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(shown, func(x settings.Shown) bool { return x.Name == name }); name != "as it is" && (i < 0 || shown[i].From != settings.FromFile) {
			t.Errorf("%s does not come from the file", name)
		}
	}
}

func TestNATSConfigMatchesTheDocuments(t *testing.T) {
	page, err1 := os.ReadFile("../../docs/operating.md")
	source, err2 := os.ReadFile("../../internal/testing/natstest/natstest.go")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	typed := regexp.MustCompile(`(?s)cat > nats-server.conf <<END\n(.*?)END\n`).FindSubmatch(page)
	if typed == nil {
		t.Fatal("the page has no nats-server.conf")
	}
	want := strings.NewReplacer("$NAME", "one", "$ME", "10.0.0.1", "$ONE", "10.0.0.1", "$TWO", "10.0.0.2", "$THREE", "10.0.0.3").Replace(string(typed[1]))
	example := read(t, "nats-server.conf")
	got := regexp.MustCompile(`(?m)^(#.*)?\n`).ReplaceAllString(example, "")
	if got = strings.NewReplacer("/etc/nats/", "", "/var/lib/nats/", "").Replace(got); got != want {
		t.Errorf("the example says\n%s\nthe page\n%s", got, want)
	}
	settings := regexp.MustCompile(`(?m)^[a-z_]+: ("2s"|1|8MB)$|sync_interval: always`).FindAllString(example, -1)
	if len(settings) != 5 {
		t.Errorf("settings %q", settings)
	}
	for _, s := range settings {
		if !strings.Contains(string(source), s) {
			t.Errorf("tests do not run with %s", s)
		}
	}
}

// The unit passes systemd's own analysis and matches the daemon.
func TestUnitMatchesTheDaemon(t *testing.T) {
	unit := read(t, "systemd", "cpard.service")
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Fatalf("the unit has no %s", name)
		}
		return m[1]
	}
	root := newRoot()
	words := strings.Fields(value("ExecStart"))
	c, args, err := root.Find(words[1:])
	if err != nil || c.Name() != "serve" {
		t.Fatalf("ExecStart is %q: %v", words, err)
	}
	if err := c.ParseFlags(args); err != nil {
		t.Error(err)
	}
	var o options
	addFlags(new(cobra.Command), &o) // for the default values
	stop, err := strconv.Atoi(value("TimeoutStopSec"))
	if err != nil || time.Duration(stop)*time.Second <= o.Grace {
		t.Errorf("systemd kills after %d seconds, but requests have %v", stop, o.Grace)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CPAR_SYSTEMD") == "required" {
			t.Fatal(err)
		}
		t.Skip("no systemd")
	}
	path := filepath.Join(packaging, "systemd", "cpard.service")
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold=20", path).CombinedOutput()
	if err != nil {
		t.Errorf("its exposure is above 2.0 of 10: %s", out)
	}
	// The unit's program and manual are elsewhere on this machine.
	installed := filepath.Join(t.TempDir(), "cpard.service")
	text := strings.ReplaceAll(strings.ReplaceAll(unit, "/usr/bin/cpard", "/bin/true"), "Documentation=man:cpard(1)\n", "")
	if err := os.WriteFile(installed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", installed).CombinedOutput(); err != nil || strings.Contains(string(out), "cpard.service:") {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
}

// The variables of the image are settings, and the program needs no library.
func TestImageMatchesTheDaemon(t *testing.T) {
	named := regexp.MustCompile(`CPARD_[A-Z_]+`).FindAllString(read(t, "..", "images.go"), -1)
	if len(named) < 3 {
		t.Errorf("the image sets %q", named)
	}
	for _, m := range named {
		if m != table.Environment("config") && !slices.ContainsFunc(table.Settings, func(s settings.Setting) bool { return table.Environment(s.Name) == m }) {
			t.Errorf("%s is no setting", m)
		}
	}
	if os.Getenv("CPAR_STATIC") != "required" {
		t.Skip("building takes a minute and a half")
	}
	// .ci/run builds for this system.
	out := filepath.Join(t.TempDir(), "cpard")
	build := exec.Command("go", "build", "-o", out, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v: it is not static", p.Type)
		}
	}
}
