package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	zxcvbn "github.com/ccojocar/zxcvbn-go"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/device"
)

// keyFlags name the key file and the source of its passphrase.
type keyFlags struct {
	path, passphraseFile, slot string
	newKey                     bool
	cmd                        *cobra.Command
	// opened caches the key, so that the user types a passphrase only once.
	opened *user.Key
}

// ring is the system's keyring. Tests replace it.
var ring device.Keyring = device.SystemKeyring{}

func (k *keyFlags) add(c *cobra.Command) {
	k.cmd = c
	c.Flags().StringVar(&k.path, "key", "", "key `file` (default $CPAR_KEY, otherwise cpar/key in your configuration folder)")
	c.Flags().StringVar(&k.passphraseFile, "passphrase-file", "", "read the passphrase from this `file` instead of the terminal")
	c.Flags().StringVar(&k.slot, "slot", "", "`slot` of the key file that the passphrase opens (default: try all, see cpar key slots)")
	c.Flags().BoolVar(&k.newKey, "new-key", false, "accept that the key file holds another key than before")
}

// context returns the command's context, which ^C cancels.
func (k *keyFlags) context() context.Context {
	if ctx := k.cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// file returns the path of the key file, or the default path if none was given.
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

func (k *keyFlags) exists() bool {
	path, err := k.file()
	if err == nil {
		_, err = os.Stat(path)
	}
	return err == nil
}

// makeFolder creates the folder of the default key file. It creates no folder
// for a key file that the user names, so that a misspelt name creates nothing.
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

// device returns this device. For a command without flag --cache, it applies
// the cache setting of the configuration.
func (k *keyFlags) device() (*device.Device, error) {
	d, err := device.This()
	if err != nil || k.cmd.Flags().Lookup("cache") != nil {
		return d, err
	}
	found, err := table.Find("")
	if v := found["cache"].Values; err == nil && len(v) == 1 && v[0] == noCache {
		d.Cache = ""
	}
	return d, err
}

// read reads the key and checks it against this device's records.
func (k *keyFlags) read() (*user.Key, *device.Device, error) {
	path, err := k.file()
	if err != nil {
		return nil, nil, err
	}
	d, err := k.device()
	if err != nil {
		return nil, nil, err
	}
	if k.opened != nil {
		return k.opened, d, nil
	}
	key, err := d.ReadKey(path, k.unlock(d, path))
	if err == nil {
		k.opened = key
	}
	if err != nil && k.path == "" {
		err = hint.Add(err, "pass --key FILE, or set CPAR_KEY, if your key is elsewhere")
	}
	return key, d, err
}

// unlock returns the ways to open a key file: the keyring if it remembers the
// key, and otherwise a passphrase.
func (k *keyFlags) unlock(d *device.Device, path string) user.Unlock {
	if k.newKey {
		_ = d.NewKeyFile(path) // if this call fails, the key is refused later
	}
	how := user.Unlock{Slot: k.slot, Encrypted: k.passphraseFile != "", Passphrase: func() (string, error) {
		if k.passphraseFile != "" {
			return passphraseFrom(k.passphraseFile)
		}
		of := path
		if k.slot != "" {
			of = "slot " + k.slot + " of " + path
		}
		return prompt(k.context(), "passphrase of "+of+": ")
	}}
	if k.slot == "" { // a user who gives --slot wants to type that slot's passphrase
		how.Identity = d.Recall(k.context(), ring, func(err error) {
			fmt.Fprintf(k.cmd.ErrOrStderr(), "note: %v\n", err)
		})
	}
	return how
}

// again returns the --key flag as the user gave it, for use in a suggested next
// command.
func (k *keyFlags) again() string { return again("key", k.path) }

const passphraseAdvice = `Choose a passphrase for the key file: four or five unrelated words are good. It cannot be
recovered, so write it down. Typing stays invisible.
`

// maxPrompts is the maximum number of attempts at typing a new passphrase.
const maxPrompts = 3

// newPassphrase reads a new passphrase from a file or from the terminal. At the
// terminal, it asks again if a passphrase is unusable.
func (k *keyFlags) newPassphrase(file string, insist bool) (pass string, err error) {
	if file != "" {
		if pass, err = passphraseFrom(file); err == nil {
			err = checkPassphrase(pass, insist)
		}
		return pass, err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		advice := "pass --passphrase-file FILE, or make the key with --no-passphrase"
		if k.cmd.Flags().Lookup("new-passphrase-file") != nil {
			advice = "pass --new-passphrase-file FILE"
		}
		return "", hint.Add(exitcode.UsageError(fmt.Errorf("asking for a new passphrase: %w", errNoTerminal)), "%s", advice)
	}
	fmt.Fprint(k.cmd.ErrOrStderr(), passphraseAdvice)
	for left := maxPrompts; left > 0; left-- {
		if pass, err = k.typed(); err == nil {
			err = checkPassphrase(pass, insist)
		}
		if err == nil || !errors.Is(err, errUnusable) {
			return pass, err
		}
		if left > 1 {
			reason := strings.TrimPrefix(err.Error(), errUnusable.Error()+": ")
			fmt.Fprintf(k.cmd.ErrOrStderr(), "not accepted: %s; %s\n", reason, hint.Of(err))
		}
	}
	return "", err
}

// errUnusable is wrapped by errors after which the user is asked for another
// passphrase.
var errUnusable = fmt.Errorf("reading the passphrase: %w", cpar.ErrKey)

// checkPassphrase refuses a passphrase that is easy to guess unless the user
// insists on it.
func checkPassphrase(pass string, insist bool) error {
	if insist || utf8.RuneCountInString(pass) >= longEnough && zxcvbn.PasswordStrength(pass, nil).Score >= strongEnough {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: it is easy to guess", errUnusable),
		"take four or five unrelated words, or pass --weak-passphrase to insist on this one")
}

// strongEnough is the minimum score, from 0 to 4, that package zxcvbn must give
// a passphrase. With the key file, an attacker can try passphrases at about a
// second per try (scrypt). longEnough is the minimum number of characters,
// whatever the score.
const strongEnough, longEnough = 3, 8

// typed reads a new passphrase twice, because the terminal hides it.
func (k *keyFlags) typed() (string, error) {
	first, err := prompt(k.context(), "new passphrase: ")
	if err != nil {
		return "", err
	}
	again, err := prompt(k.context(), "once more: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", hint.Add(fmt.Errorf("%w: the two differ", errUnusable), "type the same passphrase twice")
	}
	if first == "" {
		return "", hint.Add(fmt.Errorf("%w: it is empty", errUnusable), "type one, or pass --no-passphrase for an unencrypted key file")
	}
	return first, nil
}

func passphraseFrom(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", hint.Kind(fmt.Errorf("reading the passphrase file: %w", err), cpar.ErrKey)
	}
	pass := string(bytes.TrimRight(b, "\r\n"))
	if pass == "" {
		return "", hint.Add(hint.Kind(fmt.Errorf("the passphrase file %s is empty", sanitize.Text(file)), cpar.ErrKey), "write the passphrase into it, or name another file")
	}
	return pass, nil
}
