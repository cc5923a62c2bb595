package album

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
	"cpar/user/album/thumbs"
)

// suspects is the file in which Verify names packs (blobs of photo contents) that
// the server lists correctly but that cannot be read.
const suspects = "suspects"

// lost maps the packs and parts (blobs of thumbnails) that the server has lost or
// changed to their problems. It reads the suspects, and otherwise trusts the
// server's list.
func (a *Album) lost(ctx context.Context) (map[string]string, error) {
	pins := a.catalogue.State().Pins
	lost, err := blobs.Check(ctx, a.o.Store, maps.Clone(pins))
	if err != nil {
		return nil, fmt.Errorf("looking for lost packs: %w", err)
	}
	maps.DeleteFunc(lost, func(name, _ string) bool {
		return !strings.HasPrefix(name, "p") && !strings.HasPrefix(name, "q") && !strings.HasPrefix(name, catalogue.ThumbPrefix)
	})
	var names []string
	b, err := os.ReadFile(filepath.Join(a.folder, suspects))
	if err == nil {
		err = json.Unmarshal(b, &names)
	}
	if err != nil { // no suspects, or a file that Verify will replace
		return lost, nil
	}
	for _, name := range names {
		if p, pinned := pins[name]; pinned && lost[name] == "" {
			if err := a.problem(ctx, name, p, lost); err != nil {
				return nil, err
			}
		}
	}
	return lost, nil
}

// problem reads a blob and adds it to `damaged` if it is missing, damaged or not
// the pinned (recorded) one.
func (a *Album) problem(ctx context.Context, name string, p blobs.Pin, damaged map[string]string) error {
	b, err := a.o.Store.Get(ctx, name, 0, -1)
	switch {
	case errors.Is(err, blobs.ErrDamaged):
		damaged[name] = "is damaged"
	case errors.Is(err, blobs.ErrNotFound):
		damaged[name] = "is missing"
	case err != nil:
		return fmt.Errorf("reading from the album: %w", err)
	case !p.Holds(b):
		damaged[name] = "is not the one that was stored"
	}
	return nil
}

// suspect writes the file suspects for the next Add with Check.
func (a *Album) suspect(packs map[string]string) error {
	if len(packs) == 0 {
		return nil
	}
	b, err := json.Marshal(slices.Sorted(maps.Keys(packs)))
	if err == nil {
		err = durable.WriteFile(filepath.Join(a.folder, suspects), b, 0o600)
	}
	return err
}

// put stores a file. If the server has lost a part of it, put sends the file again
// and reports it as mended.
func put(ctx context.Context, r *repository.Repository, from io.ReadSeeker) (object string, size int64, mended bool, err error) {
	object, size, err = r.Put(ctx, from)
	for again := true; err == nil; mended = true {
		if again, err = r.Mend(ctx, object); err != nil || !again {
			return object, size, mended, err
		}
		before := object
		if _, err = from.Seek(0, io.SeekStart); err == nil {
			object, size, err = r.Put(ctx, from)
		}
		// Mend has removed the old contents from the index, so a batch that lacks
		// them must not be committed.
		if err == nil && object != before {
			err = hint.Add(fmt.Errorf("replacing a lost photo: %w: the file changed while it was read", cpar.ErrInput), "run the same command again")
		}
	}
	return object, size, mended, err
}

// mendThumbs makes the thumbnails in lost parts again, from the owner's files or
// from the album. If a photo cannot be read, mendThumbs deletes the parts of its
// month from `lost`. They stay pinned, because the operator may bring them back.
func (a *Album) mendThumbs(ctx context.Context, r *repository.Repository, items []*item, lost map[string]string, tell progress.Func, sum *Added) error {
	home := map[thumbs.Key][]string{}
	for _, i := range items {
		if i.err == nil {
			home[thumbs.KeyOf(i.row)] = i.files
		}
	}
	type keys = map[thumbs.Key]bool
	has, gone := map[thumbs.Month][]keys{}, map[thumbs.Month][]string{}
	var some []*item
	for _, p := range a.catalogue.State().Photos() {
		key := thumbs.KeyOf(p)
		month, _ := thumbs.When(p)
		for _, size := range thumbs.Sizes {
			if len(has[month]) == len(thumbs.Sizes) {
				break
			}
			k, parts, err := a.thumbnails().Keys(ctx, size, month, lost)
			if err != nil {
				return fmt.Errorf("reading the album: %w", err)
			}
			has[month], gone[month] = append(has[month], k), append(gone[month], parts...)
		}
		if len(p.Files) > 0 && len(gone[month]) > 0 && slices.ContainsFunc(has[month], func(k keys) bool { return !k[key] }) {
			some = append(some, &item{old: p, files: home[key], bare: true})
		}
	}
	err := a.completeAll(ctx, r, some, tell, sum)
	for _, i := range some {
		if month, _ := thumbs.When(i.old); i.bare {
			maps.DeleteFunc(lost, func(name, _ string) bool { return slices.Contains(gone[month], name) })
		}
	}
	return err
}

// abandon commits a state without the lost packs whose photos were sent again and
// the lost parts whose thumbnails were made again.
func (a *Album) abandon(ctx context.Context, r *repository.Repository) error {
	number := a.catalogue.State().Number
	left, err := r.Abandon(ctx, func(yield func(string) bool) {
		for _, p := range a.catalogue.State().Photos() {
			for _, f := range p.Files {
				if !yield(f.Object) {
					return
				}
			}
		}
	})
	if err == nil {
		err = a.commit(ctx, r, func(s *catalogue.State) (*catalogue.Change, error) {
			if s.Number != number { // photos of another device may need the packs
				return nil, repository.ErrBusy
			}
			return &catalogue.Change{}, nil
		})
	}
	if err == nil && left > 0 {
		return hint.Add(fmt.Errorf("the server has lost or changed %d packs with photos that were not added again", left), "cpar album verify names them")
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(a.folder, suspects))
	}
	return err
}
