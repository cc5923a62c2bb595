// Package manpage generates the manual pages of a program.
//
//	commands, settings, exit codes ─▶ man1/PROGRAM.1, man1/PROGRAM-COMMAND.1, …
package manpage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/version"
)

// Add adds to root the command man and the help page exitcodes. `settings` is
// the table of settings, formatted for a terminal.
func Add(root *cobra.Command, settings string) {
	root.AddCommand(man(root.Name(), settings), &cobra.Command{
		Use:   "exitcodes",
		Short: "what the exit codes mean",
		Long:  "Every command of cpar, cpard and cpar-eval ends with one of these:\n\n" + exitcode.Table(),
	})
}

func man(program, settings string) *cobra.Command {
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:     "man FOLDER",
		Short:   "write manual pages",
		Long:    "man writes a manual page for every command into a folder, for packagers of " + program + ".",
		Example: "  $ " + program + " man ~/.local/share/man/man1 && man " + program,
		Hidden:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exitcode.UsageError(errors.New("it takes a folder"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			if !dryRun {
				if err := write(root, settings, args[0]); err != nil {
					return fmt.Errorf("writing manual pages: %w: %w", cpar.ErrStorage, err)
				}
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(map[string]any{"folder": args[0], "dry_run": dryRun})
			}
			verb := "wrote"
			if dryRun {
				verb = "would write"
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s manual pages into %s\n", verb, args[0])
			return err
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done and write nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return c
}

func write(root *cobra.Command, settings, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	program := root.Name()
	// Pages name the version, because dates would make builds differ.
	root.DisableAutoGenTag = true
	noDate := time.Unix(0, 0).UTC()
	root.Long += "\n\n" + exitcode.Table() + "\n\nSettings, by flag, or in the environment, or in the configuration file:\n\n" + settings
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &noDate, Source: version.Of(program).Version, Manual: program}, folder)
}
