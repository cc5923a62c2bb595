package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress/bar"
	"cpar/internal/untrusted"
	"cpar/user"
	"cpar/user/dataset"
	"cpar/user/device"
	"cpar/user/photos"
)

// updateFlags are what add, remove and compact have in common.
type updateFlags struct {
	keys           keyFlags
	model          modelFlags
	index, cache   string
	dryRun, asJSON bool
}

func (f *updateFlags) add(c *cobra.Command) {
	f.keys.add(c)
	c.Flags().StringVar(&f.index, "index", "", "`folder` of the index (required)")
	dryRunFlag(c, &f.dryRun)
	jsonFlag(c, &f.asJSON)
}

// addPhotos adds the flags of commands that read photos.
func (f *updateFlags) addPhotos(c *cobra.Command) {
	f.model.add(c)
	c.Flags().StringVar(&f.cache, "cache", defaultCache(), "`folder` that keeps features between runs; empty for none")
}

// updated is what add, remove and compact print.
type updated struct {
	*user.Update
	Index string `json:"index"` // its folder, as build says it
	ID    string `json:"id,omitempty"`
	// Was is the id that compact has replaced.
	Was string `json:"was,omitempty"`
	// NotFound are the photos given to remove that the index does not hold.
	NotFound []string `json:"not_found"`
	// LeftOut counts the photos that add has not added, those of Skipped among them.
	LeftOut  int               `json:"left_out,omitempty"`
	Skipped  []user.Skipped    `json:"skipped"`
	Warnings []dataset.Warning `json:"warnings"`
	DryRun   bool              `json:"dry_run"`
}

func addCommand() *cobra.Command {
	var f updateFlags
	var strict, people bool
	c := &cobra.Command{
		Use:   "add COLLECTION --index FOLDER",
		Short: "add annotated photos to an index of scheme sealed or local",
		Long: `add encrypts the photos of a collection and adds them to an index that build made.
What the index holds already is not written again, so the next push sends the new
photos and little else. The collection is not changed; it should hold the new
photos only, since add does not look whether a photo is in the index already.

The cloud sees that something was added and about how much (SECURITY.md). An index
of scheme cpar, ivf or capia is made anew with build instead.`,
		Example: `  $ cpar add summer/ --index family.index --key family.key
  added 40 photos to family.index: 4540 photos, 2 MB to push
  $ cpar push family.index --cloud http://127.0.0.1:8080
  pushed index 3a9d33fd4c9e228a4994b0d476c91826 (7 MB) to http://127.0.0.1:8080`,
		Args: oneArg("the folder of a collection"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := f.check(); err != nil {
				return err
			}
			collection, err := dataset.Open(cmd.Context(), args[0], dataset.Options{Strict: strict, Machine: f.keys.machine(), IncludePeople: people, Progress: bar.On(cmd.ErrOrStderr())})
			if err != nil {
				return err
			}
			return f.withPhotos(cmd, collection.Items, strict, func(ctx context.Context, key *user.Key, images []user.Image, r *updated) (err error) {
				r.Warnings = append(r.Warnings, collection.Warnings...)
				r.LeftOut = collection.LeftOut() + len(r.Skipped)
				if !f.asJSON {
					tellCollection(cmd, collection)
				}
				if f.dryRun {
					r.Added = len(images)
					return nil
				}
				r.Update, err = user.Add(ctx, key, f.index, images, bar.On(cmd.ErrOrStderr()))
				return err
			}, func(out io.Writer, r *updated) {
				if f.dryRun {
					fmt.Fprintf(out, "would add %s to %s, %d left out; nothing was written\n", photosOf(r.Added), f.index, r.LeftOut)
					return
				}
				fmt.Fprintf(out, "added %s to %s: %s, %s to push\n", photosOf(r.Added), f.index, photosOf(r.Records), size(r.Bytes))
				if r.Clamped > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "note: %s unlike those that the index was built of; distances to them are approximate\n", photosOf(r.Clamped))
				}
			})
		},
	}
	f.add(c)
	f.addPhotos(c)
	peopleFlag(c, &people)
	c.Flags().BoolVar(&strict, "strict", false, "stop at the first photo that cannot be used")
	return c
}

func removeCommand() *cobra.Command {
	var f updateFlags
	c := &cobra.Command{
		Use:   "remove PHOTO… --index FOLDER",
		Short: "remove photos from an index of scheme sealed or local",
		Long: `remove takes photos out of an index: they are found by their features, so the same
files are needed that were put in; copies of one photo go together. From then on they
are in nobody's results. Their keyword blocks are erased at once, their features stay in the
index, encrypted, until compact. Photos that are not in the index are named, and the
exit code is 3. An index of profile network needs the image network that it was
built with (--model).

The cloud sees that something was removed, not what nor how much.`,
		Example: `  $ cpar remove photos/0017.jpg --index family.index --key family.key
  removed 1 photo from family.index: 4539 photos, 1 MB to push
  $ cpar push family.index --cloud http://127.0.0.1:8080`,
		Args: someArgs("a photo, or a folder of photos"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := f.check(); err != nil {
				return err
			}
			found, err := findPhotos(cmd, args, photos.Options{})
			if err != nil {
				return err
			}
			items := make([]dataset.Item, len(found))
			for i, p := range found {
				items[i] = dataset.Item{Name: p.Path, Path: p.Path}
			}
			return f.withPhotos(cmd, items, true, func(ctx context.Context, key *user.Key, images []user.Image, r *updated) (err error) {
				if f.dryRun {
					r.Removed = len(images)
					return nil
				}
				if r.Update, err = user.Remove(ctx, key, f.index, images); err == nil && r.Removed == 0 {
					err = hint.Add(fmt.Errorf("removing from index %s: %w: none of the photos is in it; nothing was written", f.index, cpar.ErrInput),
						"pass the files that were put in, unchanged")
				}
				if err == nil { // all were read, so images and photos are in step
					for _, i := range r.Missing {
						r.NotFound = append(r.NotFound, found[i].Path)
					}
				}
				return err
			}, func(out io.Writer, r *updated) {
				if f.dryRun {
					fmt.Fprintf(out, "would look for %s in %s and remove what is there; nothing was written\n", photosOf(r.Removed), f.index)
					return
				}
				fmt.Fprintf(out, "removed %s from %s: %s, %s to push\n", photosOf(r.Removed), f.index, photosOf(r.Records), size(r.Bytes))
			})
		},
	}
	f.add(c)
	f.addPhotos(c)
	return c
}

func compactCommand() *cobra.Command {
	var f updateFlags
	c := &cobra.Command{
		Use:   "compact --index FOLDER",
		Short: "write an index of scheme sealed or local anew, without what was removed",
		Long: `compact decrypts the records of an index here and encrypts them anew, without the
removed ones, under a new id and new randomness. The index at the cloud stays until
push has sent the new one and, with --replaces, deleted the old.`,
		Example: `  $ cpar compact --index family.index --key family.key
  compacted family.index: 4500 photos, 7 MB to push
  index 0f3c64a1d2b7e98856aa01c2d3e4f506, which takes the place of 3a9d33fd4c9e228a4994b0d476c91826
  $ cpar push family.index --cloud http://127.0.0.1:8080 --replaces 3a9d33fd4c9e228a4994b0d476c91826`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := f.check()
			if err != nil {
				return err
			}
			r := f.result()
			if !f.dryRun {
				o, err := f.open()
				if err != nil {
					return err
				}
				if r.Update, err = user.Compact(cmd.Context(), o.key, f.index); err != nil {
					return err
				}
				if err := o.device.Made(o.key, f.index, o.manifest); err != nil {
					return err
				}
				r.ID, r.Was = r.Update.ID.String(), o.manifest.ID.String()
			}
			return output(cmd, f.asJSON, r, func() {
				out := cmd.OutOrStdout()
				if f.dryRun {
					fmt.Fprintf(out, "would write %s anew, %s; nothing was written\n", f.index, size(m.Bytes()))
					return
				}
				fmt.Fprintf(out, "compacted %s: %s, %s to push\n", f.index, photosOf(r.Records), size(r.Bytes))
				fmt.Fprintf(out, "index %s, which takes the place of %s\n", r.ID, r.Was)
				next(cmd, "cpar push %s --cloud http://127.0.0.1:8080 --replaces %s", f.index, r.Was)
			})
		},
	}
	f.add(c)
	return c
}

func (f *updateFlags) result() *updated {
	return &updated{Update: &user.Update{Missing: []int{}}, Index: f.index, NotFound: []string{}, Skipped: []user.Skipped{}, Warnings: []dataset.Warning{}, DryRun: f.dryRun}
}

// check refuses what can be known to be wrong without a key.
func (f *updateFlags) check() (*cpar.Manifest, error) {
	if f.index == "" {
		return nil, hint.Add(usageOf("no index was named"), "pass --index FOLDER, the folder that cpar build --out made")
	}
	m, err := indexdir.ReadManifest(f.index)
	if err != nil {
		return nil, hint.Add(err, "name the folder that cpar build --out made")
	}
	if !user.Updatable(m.Scheme) {
		return nil, hint.Add(fmt.Errorf("updating index %s: %w: an index of scheme %v is made in one go", f.index, cpar.ErrInput, m.Scheme),
			"build it again, or build one of scheme sealed")
	}
	return m, f.model.check()
}

// opened is an index folder that is to be updated, and who may.
type opened struct {
	key      *user.Key
	device   *device.Device
	owner    *user.Owner
	manifest *cpar.Manifest
}

func (f *updateFlags) open() (o opened, err error) {
	if o.key, o.device, err = f.keys.read(); err != nil {
		return o, err
	}
	o.owner, o.manifest, err = o.device.ToUpdate(o.key, f.index)
	return o, err
}

// withPhotos extracts the features of photos, has them worked on and prints what
// comes out. A dry run needs no key.
func (f *updateFlags) withPhotos(cmd *cobra.Command, items []dataset.Item, strict bool,
	work func(context.Context, *user.Key, []user.Image, *updated) error, human func(io.Writer, *updated)) error {
	reading := user.ReadOptions{Strict: strict, Progress: bar.On(cmd.ErrOrStderr())}
	var o opened
	var err error
	if !f.dryRun {
		if o, err = f.open(); err != nil {
			return err
		}
		if reading.Network, err = f.model.forOwner(o.owner); err != nil {
			return err
		}
		if reading.Cache, err = openCache(f.cache); err != nil {
			return err
		}
	}
	images, skipped, err := user.ReadImages(cmd.Context(), items, reading)
	if err != nil {
		return err
	}
	r := f.result()
	r.Skipped = append(r.Skipped, skipped...)
	if err := work(cmd.Context(), o.key, images, r); err != nil {
		return err
	}
	if !f.dryRun {
		if err := o.device.Made(o.key, f.index, o.manifest); err != nil {
			return err
		}
		r.ID = r.Update.ID.String()
	}
	if err := output(cmd, f.asJSON, r, func() {
		printSkipped(cmd, r.Skipped)
		for i, name := range r.NotFound {
			if i == 10 {
				fmt.Fprintf(cmd.ErrOrStderr(), "… and %d more\n", len(r.NotFound)-i)
				break
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "not in the index: %s\n", untrusted.Text(name))
		}
		human(cmd.OutOrStdout(), r)
		if !f.dryRun {
			next(cmd, "cpar push %s --cloud http://127.0.0.1:8080 (where cpard serves)", f.index)
		}
	}); err != nil || len(r.NotFound) == 0 {
		return err
	}
	return hint.Add(partly(len(r.NotFound), len(items), fmt.Errorf("%s: %w: it is not in the index", untrusted.Text(r.NotFound[0]), cpar.ErrInput)),
		"pass the files that were put in, unchanged; the others were removed")
}
