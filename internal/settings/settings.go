// Package settings sets flags from the environment and a configuration file, in
// the same way for every program. The first source that sets a flag applies:
//
//	flag > environment > file > default
//
//	Table ─▶ Apply: sets the flags of a command that were not given
//	      ─▶ Show:  the effective values and their origins
//	      ─▶ Text:  the table, for help and manual pages
//
// A file is flat TOML whose keys are flag names. An unknown key is an error, so
// that the user notices a misspelt setting. Only environment variables of
// settings in the table are read, because other variables may begin with the
// program's name, such as CPARD_SERVICE_HOST in a Kubernetes container.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// None instead of a file or folder name turns a setting off.
const None = "none"

// A Setting is one row of a program's table.
type Setting struct {
	Name string // flag name and key in the file
	What string
	None string // description of the default
	Path bool   // a path, which in the file may begin with ~/ or be relative to the file's folder
	// Names lists values of a Path setting that are not paths.
	Names []string
	// Except lists commands in which a flag of this name has another meaning.
	Except []string
}

// A Table lists a program's settings, for help, manual pages and documents.
type Table struct {
	Program  string
	Settings []Setting
	// Places returns possible paths of the configuration file. The first
	// existing file is read.
	Places func() []string
}

func (t *Table) Environment(name string) string {
	return strings.ToUpper(strings.ReplaceAll(t.Program+"_"+name, "-", "_"))
}

// File returns the configuration file, or "". A file named by the argument or
// the environment must exist. Otherwise File returns the first of Places that
// exists.
func (t *Table) File(named string) (path string, must bool) {
	named = cmp.Or(named, os.Getenv(t.Environment("config")))
	switch named {
	case None:
		return "", false
	case "":
	default:
		return named, true
	}
	places := t.Places()
	for _, path := range places {
		// A permission error is reported when the file is read.
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, false
		}
	}
	if len(places) == 0 {
		return "", false
	}
	return places[0], false
}

func (t *Table) read(path string, must bool) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	fail := func(format string, args ...any) error {
		return hint.Add(exitcode.UsageError(fmt.Errorf("reading the configuration file %s: "+format, append([]any{path}, args...)...)),
			"the settings are in: %s config --help", t.Program)
	}
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		err = named.Err // fail adds the path
	}
	if err != nil {
		return nil, fail("%w", err)
	}
	found := map[string]any{}
	if err := toml.Unmarshal(b, &found); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := at.Position()
			return nil, fail("line %d: %s", row, sanitize.Text(strings.TrimPrefix(at.Error(), "toml: ")))
		}
		return nil, fail("%s", sanitize.Text(err.Error()))
	}
	for name, v := range found {
		if !slices.ContainsFunc(t.Settings, func(s Setting) bool { return s.Name == name }) {
			err := fail("there is no setting %s", sanitize.Text(name))
			if near := t.near(name); near != "" {
				err = exitcode.UsageError(fmt.Errorf("reading the configuration file %s: there is no setting %s; did you mean %s?", path, sanitize.Text(name), near))
				err = hint.Add(err, "the settings are in: %s config --help", t.Program)
			}
			return nil, err
		}
		switch v.(type) {
		case string, bool, int64, float64, []any:
		default:
			return nil, fail("%s is not text, a number, a truth value or a list", name)
		}
	}
	return found, nil
}

func (t *Table) near(name string) string {
	words := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, s := range t.Settings {
		words.AddCommand(&cobra.Command{Use: s.Name, Run: func(*cobra.Command, []string) {}})
	}
	if all := words.SuggestionsFor(strings.ReplaceAll(name, "_", "-")); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (s Setting) inFile(path string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := []string{}
	for _, x := range list {
		text := fmt.Sprint(x)
		if rest, ok := strings.CutPrefix(text, "~/"); s.Path && ok {
			if home, err := os.UserHomeDir(); err == nil {
				text = filepath.Join(home, rest)
			}
		} else if s.Path && text != "" && text != None && !slices.Contains(s.Names, text) && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		out = append(out, text)
	}
	return out
}

const (
	FromFlag        = "flag"
	FromEnvironment = "environment"
	FromFile        = "file"
	FromDefault     = "default"
)

// A Found is a value from the environment or the file.
type Found struct {
	Values []string
	From   string
	// Origin is the file or the variable, for messages.
	Origin string
}

// Find reads the environment and the file. `named` is the file given on the
// command line, if any.
func (t *Table) Find(named string) (map[string]Found, error) {
	environment, found, err := t.Sources(named)
	maps.Copy(found, environment)
	return found, err
}

// Sources reads the environment and the file separately.
func (t *Table) Sources(named string) (environment, file map[string]Found, err error) {
	path, must := t.File(named)
	inFile, err := t.read(path, must)
	if err != nil {
		return nil, nil, err
	}
	environment, file = map[string]Found{}, map[string]Found{}
	for _, s := range t.Settings {
		if v, ok := inFile[s.Name]; ok {
			file[s.Name] = Found{s.inFile(path, v), FromFile, path}
		}
		if v := os.Getenv(t.Environment(s.Name)); v != "" {
			environment[s.Name] = Found{[]string{v}, FromEnvironment, "$" + t.Environment(s.Name)}
		}
	}
	return environment, file, nil
}

// Apply sets a command's flags from the environment and the file unless the
// command line has set them.
func (t *Table) Apply(c *cobra.Command, named string) error {
	// A command without settings must work even with an invalid file.
	if !slices.ContainsFunc(t.Settings, func(s Setting) bool { return c.Flags().Lookup(s.Name) != nil }) {
		return nil
	}
	found, err := t.Find(named)
	if err != nil {
		return err
	}
	for _, s := range t.Settings {
		v, ok := found[s.Name]
		f := c.Flags().Lookup(s.Name)
		if !ok || f == nil || f.Changed || slices.Contains(s.Except, c.Name()) {
			continue
		}
		if err := set(f, v); err != nil {
			return hint.Add(exitcode.UsageError(fmt.Errorf("%s: %s: %w", v.Origin, s.Name, err)), "see what applies: %s config", t.Program)
		}
	}
	return nil
}

func set(f *pflag.Flag, v Found) error {
	if list, ok := f.Value.(pflag.SliceValue); ok && v.From == FromFile {
		return list.Replace(v.Values)
	}
	if len(v.Values) != 1 {
		return errors.New("it takes one value")
	}
	return f.Value.Set(v.Values[0])
}

func (t *Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range t.Settings {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", s.Name, t.Environment(s.Name), s.What)
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
