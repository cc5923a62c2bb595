package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user"
)

// keyFlags name the key file and say where its passphrase comes from.
type keyFlags struct{ path, passphraseFile string }

func (k *keyFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&k.path, "key", os.Getenv("CPAR_KEY"), "key `file` (default $CPAR_KEY, else cpar/key in your configuration folder)")
	c.Flags().StringVar(&k.passphraseFile, "passphrase-file", "", "read the passphrase from this `file` instead of the terminal")
}

// file is the key's path, the default one where none was given.
func (k *keyFlags) file() (string, error) {
	if k.path != "" {
		return k.path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", hint.Add(fmt.Errorf("finding your configuration folder: %w: %w", cpar.ErrInput, err), "pass --key FILE")
	}
	return filepath.Join(dir, "cpar", "key"), nil
}

// makeFolder makes the folder of the default key. One that was named must be
// there: a misspelt name should not become a folder.
func (k *keyFlags) makeFolder(path string) error {
	dir := filepath.Dir(path)
	if k.path == "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the folder of the key: %w: %w", cpar.ErrStorage, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return hint.Add(fmt.Errorf("writing key file %s: %w: there is no folder %s", path, cpar.ErrInput, dir), "make the folder first, or name another file")
	}
	return nil
}

func (k *keyFlags) read() (*user.Key, error) {
	path, err := k.file()
	if err != nil {
		return nil, err
	}
	key, err := user.ReadKeyFile(path, func() (string, error) {
		if k.passphraseFile != "" {
			return k.fromFile()
		}
		return prompt("passphrase of " + path + ": ")
	})
	if err != nil && k.path == "" {
		err = hint.Add(err, "pass --key FILE, or set CPAR_KEY, if your key is elsewhere")
	}
	return key, err
}

// again is the flag as it was given, for a command to type next.
func (k *keyFlags) again() string {
	if k.path == "" {
		return ""
	}
	return " --key " + k.path
}

// next tells a person what to do next, on standard error.
func next(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "next: "+format+"\n", args...)
}

// newPassphrase asks twice, since nobody sees what is typed.
func (k *keyFlags) newPassphrase() (string, error) {
	if k.passphraseFile != "" {
		return k.fromFile()
	}
	first, err := prompt("passphrase: ")
	if err != nil {
		return "", err
	}
	again, err := prompt("once more: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", fmt.Errorf("reading the passphrase: %w: the two differ", cpar.ErrKey)
	}
	if first == "" {
		return "", hint.Add(fmt.Errorf("reading the passphrase: %w: it is empty", cpar.ErrKey), "pass --no-passphrase if the key file shall not be encrypted")
	}
	return first, nil
}

func (k *keyFlags) fromFile() (string, error) {
	b, err := os.ReadFile(k.passphraseFile)
	if err != nil {
		return "", fmt.Errorf("reading the passphrase file: %w: %w", cpar.ErrKey, err)
	}
	pass := string(bytes.TrimRight(b, "\r\n"))
	if pass == "" {
		return "", fmt.Errorf("reading the passphrase file: %w: it is empty", cpar.ErrKey)
	}
	return pass, nil
}

var errNoTerminal = errors.New("there is no terminal to ask on")

func prompt(label string) (string, error) {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return "", hint.Add(fmt.Errorf("asking for the passphrase: %w: %w", cpar.ErrKey, errNoTerminal),
			"pass --passphrase-file FILE, or make the key with --no-passphrase")
	}
	fmt.Fprint(os.Stderr, label)
	b, err := term.ReadPassword(fd)
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return "", fmt.Errorf("asking for the passphrase: %w: %w", cpar.ErrKey, err)
	}
	return string(b), nil
}

func jsonFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "json", false, "print JSON instead of text")
}

func dryRunFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "dry-run", false, "say what would be done and write nothing")
}

// output prints v as JSON, or calls human.
func output(c *cobra.Command, asJSON bool, v any, human func()) error {
	if !asJSON {
		human()
		return nil
	}
	return writeJSON(c.OutOrStdout(), v)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// usageOf is a mistake on the command line that has a hint of its own.
func usageOf(text string) error { return exitcode.UsageError(errors.New(text)) }

// usageError is a mistake on the command line, with where to read on.
func usageError(c *cobra.Command, err error) error {
	return hint.Add(exitcode.UsageError(err), "see: %s --help", c.CommandPath())
}

// noArgs, oneArg and someArgs check the number of arguments; what names what
// is missing.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(c, fmt.Errorf("%s takes no %q", c.CommandPath(), args[0]))
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(c, fmt.Errorf("%s needs %s, and has %d arguments", c.CommandPath(), what, len(args)))
		}
		return nil
	}
}

func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError(c, fmt.Errorf("%s needs %s", c.CommandPath(), what))
		}
		return nil
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return strings.TrimSuffix(info.Main.Version, "+dirty") + " (" + s.Value[:min(12, len(s.Value))] + ")"
		}
	}
	return info.Main.Version
}
