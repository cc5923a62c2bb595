package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cpar/encoder/bundled"
	"cpar/internal/doctor"
	"cpar/internal/durable"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/device"
)

// doctorFlags collects findings.
type doctorFlags struct {
	keys     keyFlags
	cloud    cloudFlags
	model    modelFlags
	findings doctor.List

	free func(folder string) (bytes int64, ok bool) // replaced in tests
}

func doctorCommand() *cobra.Command {
	d := doctorFlags{free: durable.FreeBytes}
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check key, keyring, cloud, clock, index, formats, folders and space",
		Long: `doctor checks everything that annotate needs and prints a remedy for each problem: the key
file and its permissions, the keyring, the cloud, the scopes of its token, its clock, the
index in use, format versions, folders and their free space, and the image network. It
changes nothing and never asks for a passphrase: it opens an encrypted key only through
the keyring, which may ask to be unlocked, or with --passphrase-file. The exit code is
that of the first failure. Warnings do not count.`,
		Example: `  $ cpar doctor --cloud http://127.0.0.1:8080
  ok    key      …/cpar/key, allows sealed, local
  ok    cloud    http://127.0.0.1:8080 has 1 index`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.model.Check(); err != nil {
				return err
			}
			d.run(cmd.Context())
			if err := d.findings.Print(cmd.OutOrStdout(), asJSON); err != nil {
				return err
			}
			return d.findings.Err()
		},
	}
	d.keys.add(c)
	d.cloud.add(c)
	d.model.add(c)
	jsonFlag(c, &asJSON)
	return c
}

func (d *doctorFlags) run(ctx context.Context) {
	this, err := device.This()
	if err != nil {
		d.findings.Fail("folders", "set XDG_STATE_HOME to a folder of yours", err)
		return
	}
	key := d.checkKey(ctx, this)
	d.checkCloud(ctx, this, key)
	d.checkFolder("state", this.State, stateWants)
	d.checkFolder("cache", this.Cache, cacheWants)
	d.model.orBundled()
	gives, do := betterEncoder()
	if d.model.path == "" {
		d.findings.Warn("network", "leave --model none out, or "+do, "no image network is used; with one more is found")
	} else if n, err := d.model.open(nil); err != nil {
		d.findings.Fail("network", "name another file with --model", err)
	} else {
		u := describe(n)
		d.findings.OK("network", "%s: %s, run by %s", sanitize.Text(d.model.path), u.Embedding, sanitize.Text(u.Runtime))
		if d.model.path == bundled.Name {
			d.findings.OK("network", "%s: %s", gives, do)
		}
	}
}

var errAsking = errors.New("no passphrase was given")

func (d *doctorFlags) checkKey(ctx context.Context, this *device.Device) *user.Key {
	path, err := d.keys.file()
	if err != nil {
		d.findings.Fail("key", "pass --key FILE", err)
		return nil
	}
	d.checkKeyring(ctx, this, path)
	how := d.keys.unlock(this, path)
	if d.keys.passphraseFile == "" {
		how.Passphrase = func() (string, error) { return "", errAsking }
	}
	key, err := this.ReadKey(path, how)
	switch {
	case errors.Is(err, errAsking):
		d.findings.Warn("key", "pass --passphrase-file FILE to have it opened, or cpar key remember", "%s is encrypted, and was not opened", sanitize.Text(path))
	case err != nil:
		d.findings.Fail("key", "make a key with cpar init, or name one with --key", err)
	default:
		d.findings.OK("key", "%s, allows %v", sanitize.Text(path), key.Policy())
	}
	d.checkPrivate("key", path, "600")
	if d.keys.passphraseFile != "" {
		d.checkPrivate("key", d.keys.passphraseFile, "600")
	}
	return key
}

// checkPrivate warns if others can read a file. Windows has no such
// permissions.
func (d *doctorFlags) checkPrivate(check, path, mode string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		d.findings.Warn(check, "chmod "+mode+" "+shellWord(path), "others may read %s", sanitize.Text(path))
	}
}

// keyringPatience is the time a person has to unlock the keyring.
const keyringPatience = time.Minute

// checkKeyring checks that there is a keyring and, if the key file relies on
// it, that it opens the file.
func (d *doctorFlags) checkKeyring(ctx context.Context, this *device.Device, path string) {
	ctx, cancel := context.WithTimeout(ctx, keyringPatience)
	defer cancel()
	there := device.ProbeKeyring(ctx, ring)
	id, _ := user.FileID(path) // the check of the key reports errors
	remembered, _ := this.Remembers(path)
	if !remembered {
		if there == nil {
			d.findings.OK("keyring", "it is there, and opens no key file here (cpar key remember)")
		} else {
			d.findings.OK("keyring", "none is there, and none is needed; passphrases are typed (%s)", sanitize.Text(there.Error()))
		}
		return
	}
	switch {
	case there != nil:
		d.findings.Warn("keyring", "have the keyring started; until then the passphrase is asked for", "it was to open %s, and does not answer: %s", sanitize.Text(path), sanitize.Text(there.Error()))
	case this.Recall(ctx, ring, nil)(id) == "":
		d.findings.Warn("keyring", "cpar key remember", "it was to open %s, and has no longer what opens it", sanitize.Text(path))
	default:
		d.findings.OK("keyring", "it opens %s (cpar key forget)", sanitize.Text(path))
	}
}
