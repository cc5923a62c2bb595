package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/encoder/bundled"
	"cpar/internal/doctor"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/device"
)

type doctorFlags struct {
	keys     keyFlags
	cloud    cloudFlags
	model    modelFlags
	findings doctor.List

	detailed bool // as with --verbose, and in JSON

	free func(folder string) (bytes int64, ok bool) // replaced in tests
}

func doctorCommand() *cobra.Command {
	d := doctorFlags{free: durable.FreeBytes}
	var asJSON, bench bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check key, keyring, cloud, clock, index, formats, folders and space",
		Long: `doctor checks everything that annotate needs (the key file and its permissions, the
keyring, the cloud, the scopes of its token, its clock, the index in use, format versions,
folders and their free space, cpar watch, and the image network) and prints a remedy for
each problem. It changes nothing. It opens an encrypted key as other commands do, but
without a terminal it asks for no passphrase and leaves the index unchecked. The exit code
is that of the first failure. Warnings and notes do not count.

With --bench, doctor checks nothing. It times the arithmetic of this processor instead, in
about ten seconds, in plain Go and with each set of vector instructions.`,
		Example: `  $ cpar doctor --cloud http://127.0.0.1:8080
  ok    key      …/cpar/key, allows sealed, local
  ok    cloud    http://127.0.0.1:8080 has 1 index`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if bench {
				return benchKernels(cmd, benchEach, asJSON)
			}
			if err := d.model.Check(); err != nil {
				return err
			}
			d.detailed = asJSON || verbose(cmd)
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
	c.Flags().BoolVar(&bench, "bench", false, "time the arithmetic of this processor instead")
	return jsonFlag(c, &asJSON)
}

func (d *doctorFlags) run(ctx context.Context) {
	this, err := device.This()
	if err != nil {
		d.findings.Fail("folders", "set XDG_STATE_HOME to a folder you own", err)
		return
	}
	key := d.checkKey(ctx, this)
	d.checkCloud(ctx, this, key)
	d.checkFolder("state", this.State, stateWants)
	d.checkFolder("cache", this.Cache, cacheWants)
	d.checkWatches(this)
	d.model.orBundled()
	gives, do := betterEncoder()
	if d.model.path == "" {
		d.findings.Warn("network", "remove --model none, or "+do, "no image network is used; a network finds more keywords")
	} else if n, err := d.model.open(nil); err != nil {
		d.findings.Fail("network", "name another file with --model", err)
	} else {
		u := describe(n)
		detail := ""
		if d.detailed {
			detail = ": photos are compared by " + u.Embedding.String()
		}
		if d.model.path == bundled.Name {
			detail += ". " + gives + ": " + do
		}
		d.findings.OK("network", "%s, run by %s%s", sanitize.Text(d.model.path), sanitize.Text(u.Runtime), detail)
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
	if d.keys.passphraseFile == "" && !term.IsTerminal(int(os.Stdin.Fd())) {
		how.Passphrase = func() (string, error) { return "", errAsking }
	}
	key, err := this.ReadKey(path, how)
	switch {
	case errors.Is(err, errAsking):
		d.findings.Note("key", "run doctor in a terminal, or pass --passphrase-file FILE", "%s is encrypted and was not opened, so no index was checked", sanitize.Text(path))
	case err != nil:
		d.findings.Fail("key", cmp.Or(hint.Of(err), "name another key file with --key"), err)
	default:
		d.findings.OK("key", "%s, allows %v", sanitize.Text(path), key.Policy())
	}
	d.checkPrivate("key", path, "600")
	if d.keys.passphraseFile != "" {
		d.checkPrivate("key", d.keys.passphraseFile, "600")
	}
	return key
}

// checkPrivate warns if other users can read a file. It does nothing on
// Windows, which has no such permission bits.
func (d *doctorFlags) checkPrivate(check, path, mode string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		d.findings.Warn(check, "chmod "+mode+" "+shellWord(path), "others may read %s", sanitize.Text(path))
	}
}

// keyringPatience is the time that the user has to unlock the keyring.
const keyringPatience = time.Minute

// checkKeyring checks whether a keyring is available. If the key file relies on
// the keyring, it also checks whether the keyring opens the file.
func (d *doctorFlags) checkKeyring(ctx context.Context, this *device.Device, path string) {
	ctx, cancel := context.WithTimeout(ctx, keyringPatience)
	defer cancel()
	there := device.ProbeKeyring(ctx, ring)
	id, _ := user.FileID(path) // checkKey reports the error
	remembered, _ := this.Remembers(path)
	if !remembered {
		if there == nil {
			d.findings.OK("keyring", "available, but does not open this key file (cpar key remember stores the secret that does)")
		} else {
			d.findings.OK("keyring", "none is there, and none is needed; passphrases are typed (%s)", sanitize.Text(there.Error()))
		}
		return
	}
	switch {
	case there != nil:
		d.findings.Warn("keyring", "start the keyring; until then cpar asks for the passphrase", "it should open %s but does not answer: %s", sanitize.Text(path), sanitize.Text(there.Error()))
	case this.Recall(ctx, ring, nil)(id) == "":
		d.findings.Warn("keyring", "cpar key remember", "it should open %s but no longer holds the secret", sanitize.Text(path))
	default:
		d.findings.OK("keyring", "it opens %s (cpar key forget)", sanitize.Text(path))
	}
}

// These are the bytes that should be free for a library of 30,000 photos:
// stateWants for the journal, and cacheWants for about thirty kilobytes of
// features per photo (see device.DefaultLimit).
const (
	stateWants = 100_000_000
	cacheWants = 1_000_000_000
)

func (d *doctorFlags) checkFolder(check, path string, wants int64) {
	if path == "" {
		d.findings.Warn(check, "", "there is no such folder, so nothing is kept and everything is fetched again")
		return
	}
	f, err := "", os.MkdirAll(path, 0o700)
	if err == nil {
		f, err = os.MkdirTemp(path, "doctor-")
	}
	if err != nil {
		d.findings.Fail(check, "free some space, or give yourself permission to write there", fmt.Errorf("%w: %w", cpar.ErrStorage, err))
		return
	}
	os.Remove(f)
	var held uint64
	_ = filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return nil // skip unreadable entries
		}
		if info, err := e.Info(); err == nil && e.Type().IsRegular() {
			held += uint64(info.Size())
		}
		return nil
	})
	d.findings.OK(check, "%s holds %s", sanitize.Text(path), size(held))
	d.checkPrivate(check, path, "700")
	switch free, ok := d.free(path); {
	case !ok:
		d.findings.Warn("space", "", "the system does not say how much is free for the %s folder", check)
	case free < wants:
		d.findings.Warn("space", "free some space on the disk of "+sanitize.Text(path), "%s are free for the %s folder, which should have %s", size(uint64(max(free, 0))), check, size(uint64(wants)))
	default:
		d.findings.OK("space", "%s are free for the %s folder", size(uint64(free)), check)
	}
}
