// Package settings lets a flag also be set in the environment and in a file, once for all
// commands that have it, in the same way for every program:
//
//	flag > environment > file > default
//
//	Table ─▶ Apply: sets the flags of a command that were not given
//	      ─▶ Show:  what holds, and where it comes from
//	      ─▶ Text:  the table, for help and manual pages
//
// A file is flat TOML: a key is a flag's name. A key that no flag has is an error, since a
// misspelt setting must not be passed over. Of variables only those that the table names are
// read: others may begin with the program's name without being meant for it, as
// CPARD_SERVICE_HOST does where a container of that name is orchestrated.
package settings

import (
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

// None, in place of the name of a file or folder, means that there is none.
const None = "none"

// A Setting is one row of a program's table.
type Setting struct {
	Name string // of the flag, and in the file
	What string
	None string // the default, in words
	Path bool   // of a file or folder: in the file it may begin with ~/, or counts from the file's folder
	// Except are the commands whose flag of this name is something else.
	Except []string
}

// A Table says which settings a program has. Help, manual pages and documents are written
// from it.
type Table struct {
	Program  string
	Settings []Setting
	// Places are where the configuration file is looked for; the first that is there is read.
	Places func() []string
}

// Environment is the variable of a setting.
func (t *Table) Environment(name string) string {
	return strings.ToUpper(strings.ReplaceAll(t.Program+"_"+name, "-", "_"))
}

// File is the configuration file, "" for none: the one that is named, here or in the
// environment, which must be there, or the first of the places.
func (t *Table) File(named string) (path string, must bool) {
	if named == "" {
		named = os.Getenv(t.Environment("config"))
	}
	switch named {
	case None:
		return "", false
	case "":
	default:
		return named, true
	}
	places := t.Places()
	for _, path := range places {
		// One that may not be looked at is told of when it is read.
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, false
		}
	}
	if len(places) == 0 {
		return "", false
	}
	return places[0], false
}

// read reads the configuration file.
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
	if err != nil {
		return nil, fail("%w", withoutPath(err))
	}
	found := map[string]any{}
	if err := toml.Unmarshal(b, &found); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
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
			return nil, fail("%s is no text, number, truth value or list", name)
		}
	}
	return found, nil
}

// near is the setting that was probably meant, by the measure that cobra has for commands.
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

func withoutPath(err error) error {
	if named := (*fs.PathError)(nil); errors.As(err, &named) {
		return named.Err
	}
	return err
}

// inFile is what the file says of a setting, as a flag would be given.
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
		} else if s.Path && text != "" && text != None && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		out = append(out, text)
	}
	return out
}

// Where a value comes from.
const (
	FromFlag        = "flag"
	FromEnvironment = "environment"
	FromFile        = "file"
	FromDefault     = "default"
)

// A Found is what environment or file say of a setting.
type Found struct {
	Values []string
	From   string
	// Origin is the file or the variable, for messages.
	Origin string
}

// Find reads environment and file, which may have been named.
func (t *Table) Find(named string) (map[string]Found, error) {
	environment, found, err := t.Sources(named)
	maps.Copy(found, environment)
	return found, err
}

// Sources reads environment and file, each for itself.
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

// Apply gives a command's flags what environment and file say of them, where the command
// line does not.
func (t *Table) Apply(c *cobra.Command, named string) error {
	// A command without settings works also beside a broken file.
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

// Text is the table for a terminal.
func (t *Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range t.Settings {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", s.Name, t.Environment(s.Name), s.What)
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
