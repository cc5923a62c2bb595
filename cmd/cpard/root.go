package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar/cloud/tenant"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/manpage"
	"cpar/internal/version"
)

const session = `  $ cpard serve --data ~/cpar-cloud --listen 127.0.0.1:8080
  listening on http://127.0.0.1:8080

  $ cpard list --data ~/cpar-cloud
  INDEX                             SCHEME  RECORDS    BYTES
  9f6067c4caa7a19a9c8939024892e324  cpar    4500     67653394`

func newRoot() *cobra.Command {
	var config string
	root := &cobra.Command{
		Use:   "cpard",
		Short: "store encrypted image indexes and answer encrypted requests",
		Long: `cpard is the cloud of cpar. It stores encrypted image indexes in a data folder and answers
encrypted requests. It holds no key and can read neither.

Beyond loopback it serves only over TLS, to tenants with tokens. Its HTTP interface is
described at /openapi.json. The environment and a file can also set flags: cpard config
--help.

` + exitcode.Line(exitcode.OK, exitcode.Other, exitcode.Usage, exitcode.Input, exitcode.Corrupt, exitcode.Version, exitcode.Storage, exitcode.Interrupted),
		Example:       session,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		// A command with its own PersistentPreRunE must call table.Apply if it
		// needs settings.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return table.Apply(c, config) },
	}
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().StringVar(&config, "config", "", "configuration file, or none (default: cpard/cpard.toml in your configuration folder, otherwise /etc/cpard/cpard.toml)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitcode.UsageError(err) })
	root.AddCommand(newServe(), newList(), newCheck(), newGC(), newAlbum(), newBackup(), newRestore(), newTenant(), newInspect(), newCluster(), newConfig(&config), newDoctor(&config))
	version.Add(root)
	manpage.Add(root, table.Text())
	complete(root)
	return root
}

func knownCommand(c *cobra.Command, args []string) error {
	err := noArguments(c, args)
	if err == nil {
		return nil
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return hint.Add(err, "did you mean: cpard %s", near[0])
	}
	return err
}

func oneNode(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exitcode.UsageError(errors.New("which node?"))
	}
	return nil
}

func oneName(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exitcode.UsageError(fmt.Errorf("%s needs the name of a tenant", c.CommandPath()))
	}
	return tenant.CheckName(args[0])
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exitcode.UsageError(fmt.Errorf("%s does not know what to do with %q", c.CommandPath(), args[0]))
	}
	return nil
}
