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

// file is the key's path; its folder is made only for the default one.
func (k *keyFlags) file() (string, error) {
	if k.path != "" {
		return k.path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", hint.Add(fmt.Errorf("finding your configuration folder: %w: %w", cpar.ErrInput, err), "pass --key FILE")
	}
	dir = filepath.Join(dir, "cpar")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the folder of the key: %w: %w", cpar.ErrStorage, err)
	}
	return filepath.Join(dir, "key"), nil
}

func (k *keyFlags) read() (*user.Key, error) {
	path, err := k.file()
	if err != nil {
		return nil, err
	}
	return user.ReadKeyFile(path, func() (string, error) {
		if k.passphraseFile != "" {
			return k.fromFile()
		}
		return prompt("passphrase: ")
	})
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

// noArgs, someArgs and oneArg make a wrong number of arguments a usage error.
func noArgs(c *cobra.Command, args []string) error {
	return exitcode.UsageError(cobra.NoArgs(c, args))
}

func oneArg(c *cobra.Command, args []string) error {
	return exitcode.UsageError(cobra.ExactArgs(1)(c, args))
}

func someArgs(c *cobra.Command, args []string) error {
	return exitcode.UsageError(cobra.MinimumNArgs(1)(c, args))
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
