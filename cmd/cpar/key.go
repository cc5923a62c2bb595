package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/user"
	"cpar/user/device"
)

func keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "manage a key",
		Long: `key manages a key file: its allowed schemes, the passphrases that open it, a recovery
phrase for paper, and the system's keyring.`,
		Example: `  $ cpar key passphrase                     (change it)
  $ cpar key slot add office                (a second passphrase)
  $ cpar key remember                       (type none, as long as you are logged in)
  $ cpar key phrase                         (24 words, to be kept on paper)`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keyAllowCommand(), keyPassphraseCommand(), keySlotsCommand(), keySlotCommand(),
		keyRememberCommand(), keyForgetCommand(), keyPhraseCommand())
	return c
}

func keyAllowCommand() *cobra.Command {
	var keys keyFlags
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "allow SCHEME…|none",
		Short: "set the schemes that a key allows besides sealed and local",
		Long: `allow atomically replaces the key file by one with the same key and passphrase that allows
these schemes besides sealed and local. none allows no others. Copies of the file stay as
they are.

Schemes cpar, ivf and capia show the cloud how near your photos are to each request
(SECURITY.md). Unless allowed, no index of theirs can be built or searched with the key,
whatever a cloud offers. This device remembers the allowed schemes, so an older copy of
the file cannot extend them.`,
		Example: `  $ cpar key allow cpar capia --key family.key
  family.key allows cpar, capia, sealed, local
  $ cpar key allow none --key family.key`,
		Args: someArgs("a scheme, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			policy := user.DefaultPolicy()
			for _, arg := range args {
				if arg == "none" {
					continue
				}
				more, err := user.ParsePolicy(arg)
				if err != nil {
					return err
				}
				policy = policy.With(more.Schemes()...)
			}
			path, err := keys.file()
			if err != nil {
				return err
			}
			d, err := device.This()
			if err != nil {
				return err
			}
			if !dryRun {
				if _, err := d.SetPolicy(path, keys.unlock(d, path), policy); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, map[string]any{"key": path, "allows": policy, "dry_run": dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s %v\n", path, either(dryRun, "would allow", "allows"), policy)
			})
		},
	}
	keys.add(c)
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}
