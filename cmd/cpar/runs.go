package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/internal/sanitize"
)

func runsCommand() *cobra.Command {
	var keys keyFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "runs",
		Short: "list the runs of annotate",
		Long: `runs lists the runs of annotate --write and the decisions made in cpar ui, oldest first,
with their ids for cpar undo. cpar immich runs lists runs over an Immich library.

The journal is in the state folder, encrypted under the key. It holds the data needed to
undo runs until you forget them.`,
		Example: `  $ cpar runs
  20260712-k7pm  2026-07-12 18:03  1901 files, 5412 words  annotate photos/`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := openLibrary(&keys)
			if err != nil {
				return err
			}
			all, err := l.Runs()
			if err != nil {
				return err
			}
			return output(cmd, asJSON, all, func() {
				for _, r := range all {
					state := ""
					switch {
					case r.Undone:
						state = "  (undone)"
					case r.Left > 0:
						state = fmt.Sprintf("  (undone but for %s)", counted(r.Left, "file"))
					case r.Forgotten:
						state = "  (forgotten)"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s, %s  %s%s\n", r.ID, r.Began.Local().Format("2006-01-02 15:04"),
						counted(r.Files, "file"), counted(r.Keywords, "word"), sanitize.Text(r.Command), state)
				}
				if len(all) == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "no run has written anything yet")
				}
			})
		},
	}
	keys.add(c)
	jsonFlag(c, &asJSON)
	c.AddCommand(forgetCommand())
	return c
}

func forgetCommand() *cobra.Command {
	var keys keyFlags
	var all, dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "forget RUN…|--all",
		Short: "forget how to undo runs",
		Long: `forget drops the undo data of the given runs from the journal to save space. The runs can
no longer be undone. The journal still records which keywords they wrote, so that cpar
does not learn from them.`,
		Example: `  $ cpar runs forget 20260712-k7pm
  forgot how to undo 1 run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usageError(cmd, fmt.Errorf("cpar runs forget needs runs, or --all"))
			}
			l, err := openLibrary(&keys)
			if err != nil {
				return err
			}
			ids, err := l.Forget(args, dryRun)
			if err != nil {
				return err
			}
			return output(cmd, asJSON, struct {
				Forgotten []string `json:"forgotten"`
				DryRun    bool     `json:"dry_run"`
			}{ids, dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s how to undo %s%s\n", either(dryRun, "would forget", "forgot"), counted(len(ids), "run"), either(dryRun, "; nothing was written", ""))
			})
		},
	}
	keys.add(c)
	c.Flags().BoolVar(&all, "all", false, "all runs")
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}
