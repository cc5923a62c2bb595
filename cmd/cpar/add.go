package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

type addFlags struct {
	updateFlags
	model                      modelFlags
	strict, removeMissing, yes bool
	untagged                   bool
	people                     bool
	tell                       io.Writer // receives notes about the network, may be nil
}

func addCommand() *cobra.Command {
	var f addFlags
	c := &cobra.Command{
		Use:   "add COLLECTION --index FOLDER",
		Short: "update an index of scheme sealed or local from a collection",
		Long: `add makes an index hold the photos of a collection. It recognises photos by their content:
a moved, renamed or copied photo is not added again, changed keywords are taken over, and
a new photo is encrypted and added. Several copies count as one photo with the keywords of
all, and add names the other copies. It never changes the collection, and writes nothing
if there is nothing to do.

Photos that are in the index but not in the collection stay in the index, so that you can
add a folder of new photos. --remove-missing removes them, for a folder that holds the
whole collection. It also removes photos that no longer have keywords. If that is more
than half of the index, it needs --yes. If a file or row of the collection cannot be read,
nothing is removed, because it might be any photo.

Whether names of people are keywords is stored in the index when it is built, and add
follows it. --include-people and --include-people=false change it from then on.

--untagged also adds photos without keywords, which cpar search finds. They do not vote when
cpar annotate looks for keywords.

Records that the index already holds are not written again, so the next push sends new
photos, the keywords and some bookkeeping, all encrypted. --dry-run prints the amount.
The cloud sees that something was added and about how much (SECURITY.md). To update an
index of scheme cpar, ivf or capia, build it again with --replace.`,
		Example: `  $ cpar add summer/ --index family.index
  added 40 photos to family.index, 2 with other keywords, 118 unchanged: 4540 photos, 1194 kB to push
  $ cpar push family.index --cloud http://127.0.0.1:8080
  pushed index 3a9d33fd4c9e228a4994b0d476c91826 (7 MB) to http://127.0.0.1:8080

  $ cpar add photos/ --index family.index --remove-missing --dry-run`,
		Args: oneArg("the folder of a collection"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.add(c)
	f.model.add(c)
	f.cache.add(c)
	peopleFlag(c, &f.people)
	c.Flags().BoolVar(&f.strict, "strict", false, "stop at the first unusable photo")
	c.Flags().BoolVar(&f.untagged, "untagged", false, "also add photos without keywords, for cpar search")
	c.Flags().BoolVar(&f.removeMissing, "remove-missing", false, "remove photos that the collection no longer holds, or that no longer have keywords")
	c.Flags().BoolVar(&f.yes, "yes", false, "let --remove-missing remove more than half of the index")
	return c
}

func (f *addFlags) run(cmd *cobra.Command, folder string) error {
	for _, check := range []func() error{f.check, f.model.Check, f.cache.check} {
		if err := check(); err != nil {
			return err
		}
	}
	f.tell = unlessJSON(cmd, f.asJSON)
	tell := bar.On(cmd.ErrOrStderr())
	return f.update(cmd, func(ctx context.Context, o opened, r *updated) error {
		if !cmd.Flags().Changed("include-people") {
			f.people = o.owner.IncludesPeople()
		} else if f.people != o.owner.IncludesPeople() && f.tell != nil {
			fmt.Fprintf(f.tell, "note: from now on names of people are %s in this index\n", either(f.people, "keywords", "no keywords"))
		}
		collection, err := dataset.Open(ctx, folder, dataset.Options{Strict: f.strict, Machine: f.keys.machine(), IncludePeople: f.people, Untagged: f.untagged, Progress: tell})
		if err != nil {
			return err
		}
		err = f.sync(ctx, o, collection, r, tell)
		r.Warnings, r.People = append(r.Warnings, collection.Warnings...), collection.People
		if !f.asJSON {
			tellCollection(cmd, collection)
		}
		r.LeftOut = collection.LeftOut() + len(r.Skipped) + len(r.Duplicates)
		return err
	}, func(out io.Writer, r *updated) {
		fmt.Fprintln(out, f.line(r))
		if n := r.Records - r.Added - r.Changed - r.Unchanged; n > 0 && 2*n < r.Records { // otherwise the collection is a folder of new photos
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s; --remove-missing removes what is missing\n",
				either(n == 1, "1 indexed photo is not in this collection, and stays", fmt.Sprintf("%d indexed photos are not in this collection, and stay", n)))
		}
		if r.Clamped > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s unlike the photos that the index was built from; distances to them are approximate\n", photosOf(r.Clamped))
		}
		if r.Written {
			nextPush(cmd, f.index, "")
		}
	})
}

func (f *addFlags) sync(ctx context.Context, o opened, collection *dataset.Collection, r *updated, tell user.Progress) (err error) {
	defer limitMemory()()
	defer spareMemory()()
	reading := user.ReadOptions{Strict: f.strict, Warnings: &collection.Warnings, Progress: tell}
	if spill, err := feature.NewSpill(filepath.Dir(f.index)); err == nil { // otherwise features stay in memory
		defer spill.Close()
		reading.Spill = spill
	}
	contents := user.ContentOptions{Strict: f.strict, Progress: tell}
	if contents.Memo, err = f.cache.localStore(o.device, o.key); err != nil {
		return err
	}
	if reading.Cache, err = f.cache.open(o.device, o.key); err != nil {
		return err
	}
	if f.dryRun {
		reading.Cache, contents.ReadOnly = reading.Cache.ReadOnly(), true
	}
	listed, read, skipped, err := user.ReadContents(ctx, collection.Photos, contents)
	if err != nil {
		return err
	}
	r.Skipped = append(r.Skipped, skipped...)
	if err := f.checkCertain(collection, r); err != nil {
		return err
	}
	_, first := user.Distinct(listed)
	r.Duplicates = append(r.Duplicates, user.NamedDuplicates(read, first)...)
	opt := user.SyncOptions{IncludePeople: f.people, UpdateOptions: user.UpdateOptions{DryRun: f.dryRun, Progress: tell}, RemoveMissing: f.removeMissing, AllowMajority: f.yes}
	opt.Features = func(ctx context.Context, owner *user.Owner, photos []int) (out []*feature.Vectors, err error) {
		// Open the network only if there are photos to read.
		if reading.Network, err = f.model.forOwner(owner, f.tell); err != nil {
			return nil, err
		}
		fresh := make([]dataset.Photo, len(photos))
		for k, i := range photos {
			fresh[k] = read[i]
		}
		out, skipped, err := user.ReadFeatures(ctx, fresh, reading)
		r.Skipped = append(r.Skipped, skipped...)
		if err == nil {
			err = f.checkCertain(collection, r)
		}
		return out, err
	}
	r.Update, err = user.Sync(ctx, o.key, f.index, listed, opt)
	return err
}

// checkCertain returns an error if the update would remove missing photos from
// the index although unreadable files might be those photos.
func (f *addFlags) checkCertain(collection *dataset.Collection, r *updated) error {
	unread := []string{}
	for _, s := range r.Skipped {
		unread = append(unread, sanitize.Text(s.Name)+": "+sanitize.Text(s.Reason))
	}
	for _, w := range collection.Uncertain() {
		unread = append(unread, w.String())
	}
	if !f.removeMissing || len(unread) == 0 {
		return nil
	}
	return hint.Add(fmt.Errorf("adding to index %s: %w: the collection has %s that may hide photos, so the missing ones are unknown; nothing was removed. The first: %s",
		f.index, cpar.ErrInput, counted(len(unread), "problem"), unread[0]), "fix or remove the unreadable files, or omit --remove-missing")
}

func (f *addFlags) line(r *updated) string {
	if r.Added+r.Changed+r.Removed == 0 && !r.Written && r.Bytes == 0 {
		return fmt.Sprintf("nothing to add to %s: it holds the %s of the collection that can be used, with these keywords; nothing was written", f.index, photosOf(r.Unchanged))
	}
	also := []string{fmt.Sprintf("%s %s to %s", either(f.dryRun, "would add", "added"), photosOf(r.Added), f.index)}
	if r.Changed > 0 {
		also = append(also, fmt.Sprintf("%d with other keywords", r.Changed))
	}
	also = append(also, fmt.Sprintf("%d unchanged", r.Unchanged))
	if f.removeMissing {
		also = append(also, fmt.Sprintf("%d removed", r.Removed))
	}
	if n := len(r.Duplicates); n > 0 {
		also = append(also, fmt.Sprintf("%d left out as duplicates", n))
	}
	if n := len(r.Skipped); n > 0 {
		also = append(also, fmt.Sprintf("%d left out as unusable", n))
	}
	return strings.Join(also, ", ") + ": " + f.wrote(r)
}
