package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar/internal/progress/bar"
	"cpar/user"
)

func compactCommand() *cobra.Command {
	var f updateFlags
	c := &cobra.Command{
		Use:   "compact --index FOLDER",
		Short: "rewrite an index of scheme sealed or local without removed photos",
		Long: `compact decrypts the records of an index and encrypts them again on this device, without
the removed ones, under a new id and with new randomness. The index at the cloud stays
until push has sent the new one and, with --replaces, deleted the old.`,
		Example: `  $ cpar compact --index family.index
  compacted family.index: 4500 photos, 7 MB to push
  index 0f3c64a1d2b7e98856aa01c2d3e4f506, which takes the place of 3a9d33fd4c9e228a4994b0d476c91826
  $ cpar push family.index --cloud http://127.0.0.1:8080 --replaces 3a9d33fd4c9e228a4994b0d476c91826`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.update(cmd, func(ctx context.Context, o opened, r *updated) (err error) {
				r.Update, err = user.Compact(ctx, o.key, f.index, user.UpdateOptions{DryRun: f.dryRun, Progress: bar.On(cmd.ErrOrStderr())})
				return err
			}, func(out io.Writer, r *updated) {
				fmt.Fprintf(out, "%s %s: %s\n", either(f.dryRun, "would compact", "compacted"), f.index, f.wrote(r))
				if r.Written {
					fmt.Fprintf(out, "index %s, which takes the place of %s\n", r.ID, r.Was)
					next(cmd, "cpar push %s --cloud http://127.0.0.1:8080 --replaces %s", f.index, r.Was)
				}
			})
		},
	}
	f.add(c)
	return c
}

func renameCommand() *cobra.Command {
	var f updateFlags
	c := &cobra.Command{
		Use:   "rename NAME --index FOLDER",
		Short: "rename an index of scheme sealed or local",
		Long: `rename changes the name of an index, which cpar list and inspect --key show. The name is
stored encrypted: the cloud sees an update, as after add, and not the name.`,
		Example: `  $ cpar rename holidays --index family.index
  $ cpar push family.index --cloud http://127.0.0.1:8080`,
		Args: oneArg("the new name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := user.CheckName(args[0]); err != nil {
				return err
			}
			was := ""
			return f.update(cmd, func(ctx context.Context, o opened, r *updated) (err error) {
				was = o.owner.Name()
				r.Update, err = user.Rename(ctx, o.key, f.index, args[0], user.UpdateOptions{DryRun: f.dryRun})
				return err
			}, func(out io.Writer, r *updated) {
				if was == args[0] {
					fmt.Fprintf(out, "%s is called %s already; nothing was written\n", f.index, was)
					return
				}
				fmt.Fprintf(out, "%s %s to %s: %s\n", either(f.dryRun, "would rename", "renamed"), f.index, args[0], f.wrote(r))
				if r.Written {
					nextPush(cmd, f.index)
				}
			})
		},
	}
	f.add(c)
	return c
}
