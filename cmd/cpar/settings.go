package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/untrusted"
)

// A setting is a flag that may also be set in the environment and in a file, once for all
// commands that have it. What applies is, in this order: the flag, the environment, the
// file, the default. This table is the one place that says which there are; help, manual pages and
// docs/COMMANDS.md are written from it.
type setting struct {
	flag string // and its name in the file
	what string
	none string // the default, in words
	path bool   // of a file or folder: in the file it may begin with ~/, or counts from the file's folder
	// except are the commands whose flag of this name is something else.
	except []string
}

var settings = []setting{
	{flag: "cloud", what: "address of the cloud", none: "none"},
	{flag: "index", what: "name or id of the index at the cloud", none: "the one in use", except: []string{"add", "remove", "compact", "rename"}},
	{flag: "key", what: "key file", none: "cpar/key in the configuration folder", path: true, except: []string{"inspect"}},
	{flag: "passphrase-file", what: "file with the passphrase of the key file", none: "the keyring, or the terminal", path: true},
	{flag: "slot", what: "slot of the key file that the passphrase is of", none: "all are tried"},
	{flag: "model", what: "image network, an ONNX file", none: "none", path: true},
	{flag: "preprocessing", what: "how pictures are prepared for the network: a preset or a file", none: "as the model says"},
	{flag: "runtime", what: "what runs the network: go, onnxruntime or auto", none: "auto"},
	{flag: "cache", what: "folder that keeps features in the clear, or none to keep nothing", none: "encrypted, in the cache folder", path: true},
	{flag: "min-probability", what: "the least probability of a keyword", none: "the command's"},
	{flag: "write", what: "where annotate writes keywords", none: "nowhere"},
	{flag: "sidecar-style", what: "how sidecars are named", none: "the command's"},
	{flag: "keep-mtime", what: "whether photos keep their time when keywords are written", none: "false"},
	{flag: "exclude", what: "photos that are passed over", none: "none"},
	{flag: "jobs", what: "photos that are worked on at once", none: "the command's"},
}

// environment is the setting's variable.
func (s setting) environment() string {
	return "CPAR_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
}

// configVariable names another configuration file.
const configVariable = "CPAR_CONFIG"

// configFile is the file of settings, which need not be there.
func configFile() (string, error) {
	if path := os.Getenv(configVariable); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil // and so there is no file
	}
	return filepath.Join(dir, "cpar", "config.toml"), nil
}

// readConfig reads the file of settings. What it does not know is an error: a misspelt
// setting must not be passed over.
func readConfig(path string) (map[string]any, error) {
	b, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) && os.Getenv(configVariable) == "" {
		return nil, nil
	}
	fail := func(format string, args ...any) error {
		return hint.Add(exitcode.UsageError(fmt.Errorf("reading the configuration file %s: "+format, append([]any{path}, args...)...)),
			"the settings are in: cpar config --help")
	}
	if err != nil {
		return nil, fail("%w", withoutPath(err))
	}
	found := map[string]any{}
	if err := toml.Unmarshal(b, &found); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			row, _ := at.Position()
			return nil, fail("line %d: %s", row, untrusted.Text(strings.TrimPrefix(at.Error(), "toml: ")))
		}
		return nil, fail("%s", untrusted.Text(err.Error()))
	}
	for name, v := range found {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.flag == name }) {
			return nil, fail("there is no setting %s", untrusted.Text(name))
		}
		switch v.(type) {
		case string, bool, int64, float64, []any:
		default:
			return nil, fail("%s is no text, number, truth value or list", name)
		}
	}
	return found, nil
}

func withoutPath(err error) error {
	if named := (*fs.PathError)(nil); errors.As(err, &named) {
		return named.Err
	}
	return err
}

// inFile is what the file says of a setting, as a flag would be given.
func (s setting) inFile(path string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []string
	for _, x := range list {
		text := fmt.Sprint(x)
		if rest, ok := strings.CutPrefix(text, "~/"); s.path && ok {
			if home, err := os.UserHomeDir(); err == nil {
				text = filepath.Join(home, rest)
			}
		} else if s.path && text != "" && text != noCache && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		out = append(out, text)
	}
	return out
}

// A source says where a value comes from.
type source struct {
	values []string
	from   string // in words, for messages
}

// sources are the settings of environment and file, by flag.
func sources() (map[string]source, error) {
	path, err := configFile()
	if err != nil {
		return nil, err
	}
	inFile, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	found := map[string]source{}
	for _, s := range settings {
		if v, ok := inFile[s.flag]; ok {
			found[s.flag] = source{s.inFile(path, v), path}
		}
		if v := os.Getenv(s.environment()); v != "" {
			found[s.flag] = source{[]string{v}, "$" + s.environment()}
		}
	}
	return found, nil
}

// applySettings gives a command's flags what environment and file say of them, where the
// command line does not.
func applySettings(cmd *cobra.Command) error {
	found, err := sources()
	if err != nil {
		return err
	}
	for _, s := range settings {
		v, ok := found[s.flag]
		f := cmd.Flags().Lookup(s.flag)
		if !ok || f == nil || f.Changed || slices.Contains(s.except, cmd.Name()) {
			continue
		}
		if err := setFlag(f, v.values); err != nil {
			return hint.Add(exitcode.UsageError(fmt.Errorf("%s: %s: %w", v.from, s.flag, err)), "see what applies: cpar config")
		}
	}
	return nil
}

func setFlag(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	if len(values) != 1 {
		return errors.New("it takes one value")
	}
	return f.Value.Set(values[0])
}
