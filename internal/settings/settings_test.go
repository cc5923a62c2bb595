package settings

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

type fixture struct {
	Table
	c     *cobra.Command
	size  int64
	names []string
	file  string
}

func newFixture(t *testing.T, file string) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{file: filepath.Join(dir, "prog.toml")}
	if file != "" {
		if err := os.WriteFile(f.file, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.Table = Table{Program: "prog", Places: func() []string { return []string{filepath.Join(dir, "absent"), f.file} }, Settings: []Setting{
		{Name: "max-size", None: "1MB"}, {Name: "data", None: "none", Path: true}, {Name: "name", None: "none"}, {Name: "mine", Except: []string{"run"}},
	}}
	f.c = &cobra.Command{Use: "run"}
	f.c.Flags().Var(Size(&f.size, "1MB"), "max-size", "")
	f.c.Flags().String("data", "", "")
	f.c.Flags().StringSliceVar(&f.names, "name", nil, "")
	f.c.Flags().String("mine", "its own", "")
	for _, name := range []string{"PROG_CONFIG", "PROG_MAX_SIZE", "PROG_DATA", "PROG_NAME", "PROG_MINE"} {
		t.Setenv(name, "")
	}
	return f
}

func TestPrecedence(t *testing.T) {
	for _, k := range []struct {
		flag, env, file string
		size            int64
		from            string
	}{
		{"", "", "", 1e6, FromDefault},
		{"", "", `max-size = "2MB"`, 2e6, FromFile},
		{"", "", `max-size = 17`, 17, FromFile},
		{"", "3MiB", `max-size = "2MB"`, 3 << 20, FromEnvironment},
		{"4GiB", "3MiB", `max-size = "2MB"`, 4 << 30, FromFlag},
	} {
		f := newFixture(t, k.file)
		if k.flag != "" {
			if err := f.c.ParseFlags([]string{"--max-size", k.flag}); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PROG_MAX_SIZE", k.env)
		shown, err := f.Show(f.c, "")
		if err != nil || f.size != k.size || shown[0].From != k.from {
			t.Errorf("%+v: size %d from %s, %v", k, f.size, shown[0].From, err)
		}
		var out strings.Builder
		if err := f.Print(&out, f.file, shown, false); err != nil || !strings.Contains(out.String(), "("+k.from+")") {
			t.Errorf("%+v: printed %s, %v", k, out.String(), err)
		}
	}
}

func TestListsAndPaths(t *testing.T) {
	f := newFixture(t, "data = \"here\"\nname = [\"a\", \"b\"]\nmine = \"x\"")
	if err := f.Apply(f.c, ""); err != nil {
		t.Fatal(err)
	}
	data, mine := f.c.Flags().Lookup("data").Value.String(), f.c.Flags().Lookup("mine").Value.String()
	if data != filepath.Join(filepath.Dir(f.file), "here") || mine != "its own" || !slices.Equal(f.names, []string{"a", "b"}) {
		t.Errorf("data %q, mine %q, names %q", data, mine, f.names)
	}
	t.Setenv("PROG_NAME", "c,d")
	f.names = nil
	if err := f.Apply(f.c, ""); err != nil || !slices.Contains(f.names, "c") || !slices.Contains(f.names, "d") {
		t.Errorf("names %q, %v", f.names, err)
	}
}

func TestFiles(t *testing.T) {
	f := newFixture(t, `max-size = "2MB"`)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte(`max-size = "5MB"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		env, named string
		size       int64
	}{{"", "", 2e6}, {other, "", 5e6}, {"none", "", 1e6}, {other, f.file, 2e6}, {other, "none", 1e6}} {
		t.Setenv("PROG_CONFIG", k.env)
		if err := f.c.Flags().Set("max-size", "1MB"); err != nil {
			t.Fatal(err)
		}
		f.c.Flags().Lookup("max-size").Changed = false
		if err := f.Apply(f.c, k.named); err != nil || f.size != k.size {
			t.Errorf("%+v: %d, %v", k, f.size, err)
		}
	}
	if err := f.Apply(f.c, filepath.Join(t.TempDir(), "absent")); exitcode.Of(err) != exitcode.Usage {
		t.Errorf("a named file that is not there: %v", err)
	}
}

func TestInvalidFilesAreRefused(t *testing.T) {
	for file, want := range map[string]string{
		`max_size = 1`:              "there is no setting max_size; did you mean max-size?",
		`dat = "x"`:                 "did you mean data?",
		`listenn = 1`:               "there is no setting listenn",
		"data = \"x\"\ndata = ":     "line 2",
		`[data]`:                    "data is not text",
		`max-size = "lots"`:         `"lots" is not a size`,
		`max-size = "-1MB"`:         `"-1MB" is not a size`,
		`max-size = -1`:             `"-1" is not a size`,
		`max-size = "10000PB"`:      "too large",
		`max-size = "1 bananas"`:    "not a size",
		`max-size = ["1MB", "2MB"]`: "it takes one value",
	} {
		f := newFixture(t, file)
		err := f.Apply(f.c, "")
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, exitcode.ErrUsage) || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", file, err, hint.Of(err))
		}
		if _, err := f.Show(f.c, ""); err == nil {
			t.Errorf("%s: shown", file)
		}
	}
	f := newFixture(t, "nonsense = 1")
	if err := f.Apply(&cobra.Command{Use: "version"}, ""); err != nil {
		t.Error(err)
	}
}
