package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user/immich"
)

type runFlags struct {
	keys   keyFlags
	server serverFlags
	last   bool
	dryRun bool
	asJSON bool
}

func (f *runFlags) add(c *cobra.Command) *cobra.Command {
	f.keys.add(c)
	f.server.add(c)
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

func (f *runFlags) library() (*immich.Library, error) {
	client, err := f.server.client()
	if err != nil {
		return nil, err
	}
	journal, err := f.journal()
	if err != nil {
		return nil, err
	}
	return immich.NewLibrary(client, journal), nil
}

func (f *runFlags) journal() (*immich.Journal, error) {
	key, this, err := f.keys.read()
	if err != nil {
		return nil, err
	}
	return immich.OpenJournal(key, this)
}

// atMostOne checks the arguments of commands that accept one run and use the
// last run by default.
func atMostOne(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError(c, fmt.Errorf("%s takes one run, and has %d arguments", c.CommandPath(), len(args)))
	}
	return nil
}

func runOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func immichUndoCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "undo RUN|--last",
		Short: "remove the tags of a run",
		Long: `undo removes exactly the tags that a run has added to photos, and deletes tags that cpar
has created and that no photo uses any more. Your tags stay, whatever has changed since.
An interrupted run can be undone like any other. If undo is interrupted, run it again.`,
		Example: "  $ cpar immich undo --last\n  run immich-20261122-190512 is undone: 2 tags taken off photos, 3 tags removed",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.last == (len(args) == 1) {
				return usageError(cmd, exitcode.UsageError(errors.New("name a run, or pass --last")))
			}
			l, err := f.library()
			if err != nil {
				return err
			}
			u, err := l.Undo(cmd.Context(), runOf(args), f.dryRun, bar.On(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			return output(cmd, f.asJSON, u, func() { f.undone(cmd, u) })
		},
	}
	f.add(c)
	c.Flags().BoolVar(&f.last, "last", false, "the last run not yet undone")
	return c
}

func (f *runFlags) undone(cmd *cobra.Command, u immich.Undone) {
	out := cmd.OutOrStdout()
	if f.dryRun {
		fmt.Fprintf(out, "would undo run %s: %s to be taken off photos\n", u.Run, counted(u.Removed, "tag"))
		return
	}
	fmt.Fprintf(out, "run %s is undone: %s taken off photos, %s removed\n", u.Run, counted(u.Removed, "tag"), counted(u.Tags, "tag"))
	if u.Gone > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s already off, or the photo is gone\n", were(u.Gone))
	}
	if u.Left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: Immich refused to remove %s\n", counted(u.Left, "tag"))
	}
	if u.Kept > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: the API key may not remove %s without photos (tag.delete); Immich does so every night\n", counted(u.Kept, "tag"))
	}
}

func immichCheckCommand() *cobra.Command {
	var f runFlags
	return f.add(&cobra.Command{
		Use:   "check [RUN]",
		Short: "restore tags that Immich has dropped",
		Long: `check verifies that the photos of a run, the last one by default, still have its tags.
When Immich reads the metadata of a file again, it may drop all tags that are not in the
file. Such a photo gets them back. A photo that has lost only some of them was changed by
a person and is left alone.`,
		Example: "  $ cpar immich check\n  run immich-20261122-190512: 400 photos, 388 whole, 12 put back, 0 changed by a person, 0 gone",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := f.library()
			if err != nil {
				return err
			}
			s, err := l.Check(cmd.Context(), runOf(args), f.dryRun, bar.On(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			return output(cmd, f.asJSON, s, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "run %s: %s, %d whole, %d %s, %d changed by a person, %d gone\n", s.Run, photosOf(s.Photos), s.Whole, s.PutBack, either(f.dryRun, "to put back", "put back"), s.Taken, s.Gone)
			})
		},
	})
}

func immichRunsCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:     "runs",
		Short:   "list the runs over Immich libraries",
		Example: "  $ cpar immich runs\n  immich-20261122-190512  2026-11-22 19:05  https://photos.example  400 photos, 1203 tags",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			journal, err := f.journal()
			if err != nil {
				return err
			}
			runs, damaged, err := journal.Runs("")
			if err != nil {
				return err
			}
			if damaged > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: %s of the journal cannot be read\n", counted(damaged, "part"))
			}
			if runs == nil {
				runs = []*immich.Run{}
			}
			return output(cmd, f.asJSON, runs, func() {
				for _, r := range runs {
					undone := ""
					if r.Undone {
						undone = ", undone"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s, %s%s\n", r.ID, r.Began.Local().Format("2006-01-02 15:04"), sanitize.Text(r.Server), photosOf(r.Photos), counted(r.Tags, "tag"), undone)
				}
			})
		},
	}
	f.keys.add(c)
	return jsonFlag(c, &f.asJSON)
}
