package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/dataset"
	"cpar/user"
)

func removeCommand() *cobra.Command {
	var f updateFlags
	return f.add(&cobra.Command{
		Use:   "remove PHOTO… --index FOLDER",
		Short: "remove photos from an index of scheme sealed or local",
		Long: `remove takes photos out of an index. It recognises them by their content, so it needs the
files, under any name and with any keywords. Copies of one photo are removed together.
Removed photos no longer appear in results. Their keywords and features stay in the index,
encrypted, until compact. Photos that are not in the index are named, and the exit code is
3. For photos whose files are gone, use cpar add COLLECTION --remove-missing.

The cloud sees that something was removed, but neither what nor how much.`,
		Example: `  $ cpar remove photos/0017.jpg --index family.index
  removed 1 photo from family.index: 4539 photos, 1 MB to push
  $ cpar push family.index --cloud http://127.0.0.1:8080`,
		Args: someArgs("a photo, or a folder of photos"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.remove(cmd, args) },
	})
}

func (f *updateFlags) remove(cmd *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	found, err := findPhotos(cmd, args, photo.Options{})
	if err != nil {
		return err
	}
	items := make([]dataset.Photo, len(found))
	for i, p := range found {
		items[i] = dataset.Photo{Name: p.Path, Path: p.Path}
	}
	notFound := []string{}
	err = f.update(cmd, func(ctx context.Context, o opened, r *updated) error {
		tell := bar.On(cmd.ErrOrStderr())
		listed, _, _, err := user.ReadContents(ctx, items, user.ContentOptions{Strict: true, Progress: tell})
		if err != nil {
			return err
		}
		contents := make([][32]byte, len(listed))
		for i, p := range listed {
			contents[i] = p.Content
		}
		if r.Update, err = user.Remove(ctx, o.key, f.index, contents, user.UpdateOptions{DryRun: f.dryRun, Progress: tell}); err != nil {
			return err
		}
		if r.Removed == 0 {
			return hint.Add(fmt.Errorf("removing from index %s: %w: none of the photos is in it, and nothing was written", f.index, cpar.ErrInput),
				"pass the files that were added; their names and keywords do not matter")
		}
		for _, i := range r.Missing { // Missing holds positions in items, because all items were read
			r.NotFound = append(r.NotFound, items[i].Path)
		}
		notFound = r.NotFound
		return nil
	}, func(out io.Writer, r *updated) {
		fmt.Fprintf(out, "%s %s from %s: %s\n", either(f.dryRun, "would remove", "removed"), photosOf(r.Removed), f.index, f.wrote(r))
		if r.Written {
			nextPush(cmd, f.index, "")
		}
	})
	if err != nil || len(notFound) == 0 {
		return err
	}
	return hint.Add(partly(len(notFound), len(items), fmt.Errorf("%s: %w: it is not in the index", sanitize.Text(notFound[0]), cpar.ErrInput)),
		"pass the files that were added; the others were removed")
}
