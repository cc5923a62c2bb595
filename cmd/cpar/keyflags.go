package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	zxcvbn "github.com/ccojocar/zxcvbn-go"
	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
)

// keyFlags name the key file and say where its passphrase comes from.
type keyFlags struct {
	path, passphraseFile, slot string
	cmd                        *cobra.Command
	// opened is the key once it was read: nobody types a passphrase twice.
	opened *user.Key
}

// ring is the system's keyring, but in stories.
var ring device.Keyring = device.SystemKeyring{}

func (k *keyFlags) add(c *cobra.Command) {
	k.cmd = c
	c.Flags().StringVar(&k.path, "key", "", "key `file` (default $CPAR_KEY, else cpar/key in your configuration folder)")
	c.Flags().StringVar(&k.passphraseFile, "passphrase-file", "", "read the passphrase from this `file` instead of the terminal")
	c.Flags().StringVar(&k.slot, "slot", "", "the passphrase is of this `slot` of the key file; by default all are tried (cpar key slots)")
}

// context is the command's, which ^C ends.
func (k *keyFlags) context() context.Context {
	if ctx := k.cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
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

// device is this device. A command that has no flag of its own for it keeps nothing where the
// settings say so.
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

// read reads the key, as this device knows it.
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

// unlock says how a key file is opened: by the keyring, where it was remembered, else by a
// passphrase.
func (k *keyFlags) unlock(d *device.Device, path string) user.Unlock {
	how := user.Unlock{Slot: k.slot, Passphrase: func() (string, error) {
		if k.passphraseFile != "" {
			return k.fromFile()
		}
		of := path
		if k.slot != "" {
			of = "slot " + k.slot + " of " + path
		}
		return prompt(k.context(), "passphrase of "+of+": ")
	}}
	if k.slot == "" { // who names one wants to type its passphrase
		how.Identity = d.Recall(k.context(), ring, func(err error) {
			fmt.Fprintf(k.cmd.ErrOrStderr(), "note: %v\n", err)
		})
	}
	return how
}

// again is the flag as it was given, for a command to type next.
func (k *keyFlags) again() string {
	if k.path == "" {
		return ""
	}
	return " --key " + k.path
}

// newPassphrase asks twice, since nobody sees what is typed. A weak one is refused
// unless the person insists.
func (k *keyFlags) newPassphrase(file string, insist bool) (string, error) {
	pass, err := k.typed(file)
	if err != nil || insist || utf8.RuneCountInString(pass) >= longEnough && zxcvbn.PasswordStrength(pass, nil).Score >= strongEnough {
		return pass, err
	}
	return "", hint.Add(fmt.Errorf("reading the passphrase: %w: it is easy to guess", cpar.ErrKey),
		"take four or five words that nobody would put together; or pass --weak-passphrase to insist on this one")
}

// strongEnough, of 0 to 4: whoever has the key file must not find the passphrase by
// trying; each try costs about a second (scrypt). longEnough is in letters, whatever the
// estimate says of them.
const strongEnough, longEnough = 3, 8

// typed is a new passphrase from a file, or typed twice.
func (k *keyFlags) typed(file string) (string, error) {
	if file != "" {
		return passphraseFrom(file)
	}
	first, err := prompt(k.context(), "new passphrase: ")
	if err != nil {
		return "", err
	}
	again, err := prompt(k.context(), "once more: ")
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

func (k *keyFlags) fromFile() (string, error) { return passphraseFrom(k.passphraseFile) }

func passphraseFrom(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the passphrase file: %w: %w", cpar.ErrKey, err)
	}
	pass := string(bytes.TrimRight(b, "\r\n"))
	if pass == "" {
		return "", fmt.Errorf("reading the passphrase file: %w: it is empty", cpar.ErrKey)
	}
	return pass, nil
}
