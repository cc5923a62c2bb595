package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"cpar"
	"cpar/internal/version"
)

func manCommand() *cobra.Command {
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:     "man FOLDER",
		Short:   "write manual pages",
		Long:    `man writes a manual page for every command into a folder, for who packages cpar.`,
		Example: `  $ cpar man ~/.local/share/man/man1 && man cpar-annotate`,
		Hidden:  true,
		Args:    oneArg("a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same pages from the same program
			if !dryRun {
				if err := writeMan(root, args[0]); err != nil {
					return fmt.Errorf("writing manual pages: %w: %w", cpar.ErrStorage, err)
				}
			}
			return output(cmd, asJSON, map[string]any{"folder": args[0], "dry_run": dryRun}, func() {
				verb := "wrote"
				if dryRun {
					verb = "would write"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s manual pages into %s\n", verb, args[0])
			})
		},
	}
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}

func writeMan(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	noDate := time.Unix(0, 0).UTC() // the version says how old a page is
	root.Long += "\n\n" + exitCodesText() + "\n\nSettings, by flag, or in the environment, or in config.toml:\n\n" + settingsText()
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &noDate, Source: version.Of("cpar").Version, Manual: "cpar"}, folder)
}
