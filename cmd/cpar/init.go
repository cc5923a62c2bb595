package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

func initCommand() *cobra.Command {
	var keys keyFlags
	var noPassphrase, dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "init",
		Short: "make a key",
		Long: `init makes a key and writes it to a file that only you may read.

Whoever has the key can read every index built with it, and without it nobody
can: keep a copy in a safe place. The file is encrypted with a passphrase unless
you ask otherwise.`,
		Example: `  $ cpar init --key family.key
  passphrase: ‹typed twice›
  wrote family.key; keep a copy in a safe place

  $ cpar init --key family.key --no-passphrase     (for scripts)`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := keys.file()
			if err != nil {
				return err
			}
			// Asked first: nobody likes to type a passphrase for nothing.
			if _, err := os.Lstat(path); err == nil {
				return hint.Add(fmt.Errorf("making a key: %w: %s exists, and a key is never overwritten", cpar.ErrInput, path),
					"use it as it is, or name another file with --key")
			}
			if !dryRun {
				if err := keys.makeFolder(path); err != nil {
					return err
				}
			}
			passphrase := ""
			if !noPassphrase && !dryRun {
				if passphrase, err = keys.newPassphrase(); err != nil {
					return err
				}
			}
			if !dryRun {
				if err := user.NewKey().WriteFile(path, passphrase); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, map[string]any{"key": path, "passphrase": !noPassphrase, "dry_run": dryRun}, func() {
				verb := "wrote"
				if dryRun {
					verb = "would write"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s; keep a copy in a safe place\n", verb, path)
				next(cmd, "cpar build FOLDER%s --out FOLDER.index", keys.again())
			})
		},
	}
	keys.add(c)
	c.Flags().BoolVar(&noPassphrase, "no-passphrase", false, "leave the key file unencrypted, for scripts")
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}
