package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
)

// updateFlags are the common flags of add, remove, compact and rename.
type updateFlags struct {
	keys           keyFlags
	cache          cacheFlags
	index          string
	dryRun, asJSON bool
}

func (f *updateFlags) add(c *cobra.Command) *cobra.Command {
	f.keys.add(c)
	c.Flags().StringVar(&f.index, "index", "", indexUsage+" (default: the only one that this device made)")
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

// updated is the JSON output of add, remove, compact and rename.
type updated struct {
	*user.Update
	Index string `json:"index"` // folder of the index, as in the output of build
	ID    string `json:"id,omitempty"`
	// Was is the ID that compact replaced.
	Was string `json:"was,omitempty"`
	// NotFound are the arguments of remove that the index does not hold.
	NotFound []string `json:"not_found"`
	// LeftOut is the number of photos that add did not use, including Skipped
	// and Duplicates.
	LeftOut int `json:"left_out,omitempty"`
	// Duplicates are photos with the same content as another photo of the
	// collection.
	Duplicates []user.NamedDuplicate `json:"duplicates"`
	Skipped    []user.Skipped        `json:"skipped"`
	Warnings   []dataset.Warning     `json:"warnings"`
	peopleLeftOut
	DryRun bool `json:"dry_run"`
}

func (f *updateFlags) result() *updated {
	return &updated{Update: &user.Update{Missing: []int{}}, Index: f.index, NotFound: []string{}, Duplicates: []user.NamedDuplicate{},
		Skipped: []user.Skipped{}, Warnings: []dataset.Warning{}, DryRun: f.dryRun}
}

// check finds the folder of the index and checks the flags. It needs the key
// only if --index names no folder.
func (f *updateFlags) check() (err error) {
	if f.index, err = indexFolder(&f.keys, f.index); err != nil {
		return err
	}
	m, err := indexdir.ReadManifest(f.index)
	if err != nil {
		return err
	}
	if !m.Scheme.Grows() {
		return hint.Add(fmt.Errorf("updating index %s: %w: an index of scheme %v is made in one go", f.index, cpar.ErrInput, m.Scheme),
			"build it again with --replace, or build one of scheme sealed")
	}
	return nil
}

// An opened value is an index folder to update, with its key.
type opened struct {
	key      *user.Key
	device   *device.Device
	owner    *user.Owner
	manifest *cpar.Manifest
}

// update calls function `work` on an index folder, records the new generation
// (version number of the index), and prints the result. A dry run does the same
// without writing, so that its output is exact.
func (f *updateFlags) update(cmd *cobra.Command, work func(context.Context, opened, *updated) error, human func(out io.Writer, r *updated)) error {
	key, this, err := f.keys.read()
	if err != nil {
		return err
	}
	o := opened{key: key, device: this}
	if o.owner, o.manifest, err = this.ToUpdate(key, f.index); err != nil {
		return err
	}
	r := f.result()
	if err := work(cmd.Context(), o, r); err != nil {
		return err
	}
	if r.Written {
		if err := o.device.Made(o.key, f.index, o.manifest); err != nil {
			return err
		}
	}
	r.ID = r.Update.ID.String()
	if f.dryRun {
		r.ID = o.owner.ID().String() // a real run would draw a new ID, so report the old one
	}
	if was := o.owner.ID().String(); was != r.ID {
		r.Was = was
	}
	return output(cmd, f.asJSON, r, func() {
		printSkipped(cmd, r.Skipped)
		printDuplicates(cmd, r.Duplicates)
		printSome(cmd, r.NotFound, func(name string) string { return "not in the index: " + sanitize.Text(name) })
		human(cmd.OutOrStdout(), r)
	})
}

// wrote returns the end of an update's summary: the number of photos in the
// index, and the size of the next push.
func (f *updateFlags) wrote(r *updated) string {
	return fmt.Sprintf("%s, %s to push%s", photosOf(r.Records), size(r.Bytes), either(f.dryRun, "; nothing was written", ""))
}

func compactCommand() *cobra.Command {
	var f updateFlags
	return f.add(&cobra.Command{
		Use:   "compact --index FOLDER",
		Short: "rewrite an index of scheme sealed or local without removed photos",
		Long: `compact decrypts the records of an index and encrypts them again on this device, without
the removed ones, under a new id and with new randomness. The index at the cloud stays
until push has sent the new one and, with --replaces, deleted the old.`,
		Example: `  $ cpar compact --index family.index
  compacted family.index: 4500 photos, 7 MB to push
  index 0f3c64a1d2b7e98856aa01c2d3e4f506, which takes the place of 3a9d33fd4c9e228a4994b0d476c91826
  $ cpar push family.index --cloud http://127.0.0.1:8080 --replaces family`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			was := "" // name of the old index, which the new one keeps
			return f.update(cmd, func(ctx context.Context, o opened, r *updated) (err error) {
				was = o.owner.Name()
				r.Update, err = user.Compact(ctx, o.key, f.index, user.UpdateOptions{DryRun: f.dryRun, Progress: bar.On(cmd.ErrOrStderr())})
				return err
			}, func(out io.Writer, r *updated) {
				fmt.Fprintf(out, "%s %s: %s\n", either(f.dryRun, "would compact", "compacted"), f.index, f.wrote(r))
				if r.Written {
					fmt.Fprintf(out, "index %s, which takes the place of %s\n", r.ID, r.Was)
					nextPush(cmd, f.index, " --replaces "+shellWord(cmp.Or(was, r.Was)))
				}
			})
		},
	})
}

func renameCommand() *cobra.Command {
	var f updateFlags
	return f.add(&cobra.Command{
		Use:   "rename NAME --index FOLDER",
		Short: "rename an index of scheme sealed or local",
		Long: `rename changes the name of an index, which cpar list and inspect --key show. The name is
stored encrypted: the cloud sees an update, as after add, but not the name.`,
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
					nextPush(cmd, f.index, "")
				}
			})
		},
	})
}
