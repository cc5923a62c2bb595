package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user/device"
	"cpar/user/library"
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
	return writerFlags(c, &dryRun, &asJSON)
}

func undoCommand() *cobra.Command {
	var f struct {
		keys         keyFlags
		last         bool
		dryRun, json bool
	}
	c := &cobra.Command{
		Use:   "undo RUN|--last",
		Short: "undo a run of annotate",
		Long: `undo reverts a run. It restores files that are unchanged since the run, and removes files
that the run created. From files changed since, it removes exactly the keywords of the run,
except those that you have accepted, and keeps all other changes.

--last prints the name of the last run before it undoes it. If that run wrote nothing, or
is undone already, nothing happens (exit code 3): an older run is undone only by its id.

cpar runs lists the runs. The same command continues an interrupted undo. Files that cannot
be changed are named, and the exit code is 8.`,
		Example: `  $ cpar undo --last --dry-run
  note: run 20260712-k7pm is annotate photos/, 2026-07-12 18:03
  would restore 1901 files of run 20260712-k7pm; nothing was written
  $ cpar undo 20260712-k7pm
  restored 1901 files of run 20260712-k7pm`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.last == (len(args) == 1) {
				return hint.Add(usageOf("cpar undo needs one run"), "name one that cpar runs lists, or pass --last")
			}
			id := runOf(args)
			if strings.HasPrefix(id, "immich-") {
				return hint.Add(usageOf("that is a run over an Immich library"), "cpar immich undo %s", sanitize.Text(id))
			}
			l, err := openLibrary(&f.keys)
			if err != nil {
				return err
			}
			run, err := l.ToUndo(id)
			if err != nil {
				return err
			}
			if !f.json {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: run %s is %s, %s\n", run.ID, sanitize.Text(run.Command), run.Began.Local().Format("2006-01-02 15:04"))
			}
			u, err := l.Undo(cmd.Context(), run.ID, f.dryRun, bar.On(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			if err := output(cmd, f.json, struct {
				library.Undone
				DryRun bool `json:"dry_run"`
			}{u, f.dryRun}, func() { printUndone(cmd, u, f.dryRun) }); err != nil || len(u.Left) == 0 {
				return err
			}
			return hint.Add(fmt.Errorf("undoing run %s: %w: %s could not be changed", u.Run, cpar.ErrStorage, counted(len(u.Left), "file")),
				"remove the obstacle, then run the same command again")
		},
	}
	f.keys.add(c)
	c.Flags().BoolVar(&f.last, "last", false, "the last run, if it wrote something and is not undone")
	return writerFlags(c, &f.dryRun, &f.json)
}

// openLibrary opens this device's record of annotated photos.
func openLibrary(keys *keyFlags) (*library.Library, error) {
	key, this, err := keys.read()
	if err != nil {
		return nil, err
	}
	return library.Open(key, this)
}

func printUndone(cmd *cobra.Command, u library.Undone, dryRun bool) {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if dryRun || verbose(cmd) {
		for _, path := range u.Restored {
			fmt.Fprintln(out, sanitize.Text(path))
		}
		for _, path := range u.Retracted {
			fmt.Fprintf(out, "%s: changed since\n", sanitize.Text(path))
		}
	}
	for _, left := range u.Left {
		fmt.Fprintf(notes, "%s: %s\n", sanitize.Text(left.Path), left.Reason)
	}
	fmt.Fprintf(out, "%s %s of run %s%s\n", either(dryRun, "would restore", "restored"), counted(len(u.Restored), "file"), u.Run, either(dryRun, "; nothing was written", ""))
	if n := len(u.Retracted); n > 0 {
		fmt.Fprintf(out, "%s the run's words out of %s changed since\n", either(dryRun, "would take", "took"), counted(n, "file"))
	}
	if n := len(u.Untouched); n > 0 {
		fmt.Fprintf(notes, "note: %s no longer held any word of the run\n", counted(n, "file"))
	}
	if n := len(u.Gone); n > 0 {
		fmt.Fprintf(notes, "note: %s moved or deleted since the run: nothing to undo there\n", counted(n, "file"))
	}
	if u.Damaged > 0 {
		fmt.Fprintf(notes, "note: %s of the journal could not be read, so their files stay as they are\n", counted(u.Damaged, "part"))
	}
}

// machine returns a function that finds the keywords that annotate has written
// into a photo's files on this device. Commands leave these keywords out, so
// that an index does not learn from its own output. The returned function asks
// for the key at the first photo. It is nil if annotate has written nothing on
// this device.
func (k *keyFlags) machine() func(path string) []string {
	if d, err := device.This(); err != nil || !d.HasJournals() {
		return nil
	}
	open := sync.OnceValue(func() *library.Library {
		l, err := openLibrary(k)
		if err != nil {
			return nil // commands that need the key report the error
		}
		return l
	})
	return func(path string) []string {
		if l := open(); l != nil {
			return l.Machine(path)
		}
		return nil
	}
}
