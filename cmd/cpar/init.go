package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
)

func initCommand() *cobra.Command {
	var keys keyFlags
	var allow string
	var noPassphrase, weak, fromPhrase, dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "init",
		Short: "make a key",
		Long: `init makes a key and writes it to a file that only you can read.

The key opens every index built with it, and nothing else does: keep a copy in a safe
place. The file is encrypted with a passphrase unless you pass --no-passphrase. A
passphrase that is easy to guess is refused unless you insist.

A key can be used with schemes sealed and local. Schemes cpar, ivf and capia, which show
the cloud distances, must be allowed by name: --allow cpar,capia, or later with cpar key
allow.

--from-phrase restores a key file from the 24 words of cpar key phrase. It asks for the
words, or reads them from standard input.`,
		Example: `  $ cpar init
  new passphrase: ‹typed twice›
  wrote ‹your configuration folder›/cpar/key; keep a copy in a safe place

  $ cpar init --from-phrase --key restored.key
  $ cpar init --key test.key --no-passphrase     (for scripts)`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := keys.file()
			if err != nil {
				return err
			}
			more, err := user.ParsePolicy(allow)
			if err != nil {
				return err
			}
			// Check before asking for a passphrase.
			if _, err := os.Lstat(path); err == nil {
				return hint.Add(fmt.Errorf("making a key: %w: %s exists, and a key is never overwritten", cpar.ErrInput, path),
					"use it as it is, or name another file with --key")
			}
			key := user.NewKey(more.Schemes()...)
			if fromPhrase {
				phrase, err := promptWords(keys.context(), "the 24 words: ", user.PhraseWords)
				if err != nil {
					return err
				}
				if key, err = user.FromPhrase(phrase, more.Schemes()...); err != nil {
					return err
				}
			}
			if !dryRun {
				if err := writeKey(&keys, key, path, noPassphrase, weak); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, map[string]any{"key": path, "fingerprint": key.Fingerprint(), "passphrase": !noPassphrase, "allows": key.Policy(), "dry_run": dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s; keep a copy in a safe place\n", either(dryRun, "would write", "wrote"), path)
				if !noPassphrase {
					fmt.Fprintf(cmd.ErrOrStderr(), "note: each command asks for the passphrase; cpar key remember%s stores it in your system's keyring\n", keys.again())
				}
				if fromPhrase { // the key may already have an index at a cloud
					next(cmd, "cpar list%s", keys.again())
					return
				}
				next(cmd, "cpar build FOLDER%s --out FOLDER.index", keys.again())
			})
		},
	}
	keys.add(c)
	c.Flags().StringVar(&allow, "allow", "", "`schemes` to allow besides sealed and local: cpar, ivf, capia (they show the cloud the distances)")
	c.Flags().BoolVar(&noPassphrase, "no-passphrase", false, "leave the key file unencrypted, for scripts")
	c.Flags().BoolVar(&weak, "weak-passphrase", false, "accept a passphrase that is easy to guess")
	c.Flags().BoolVar(&fromPhrase, "from-phrase", false, "restore the key from the 24 words of cpar key phrase")
	return writerFlags(c, &dryRun, &asJSON)
}

// writeKey writes a new key file and records its policy on this device.
func writeKey(keys *keyFlags, key *user.Key, path string, noPassphrase, weak bool) (err error) {
	if err := keys.makeFolder(path); err != nil {
		return err
	}
	passphrase := ""
	if !noPassphrase {
		if passphrase, err = keys.newPassphrase(keys.passphraseFile, weak); err != nil {
			return err
		}
	}
	d, err := device.This()
	if err != nil {
		return err
	}
	if err := keys.context().Err(); err != nil {
		return err
	}
	if err := key.WriteFile(path, passphrase); err != nil {
		return err
	}
	return d.Adopt(path, key)
}
