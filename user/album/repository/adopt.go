package repository

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"

	"cpar/user/album/blobs"
)

// Adopt pins all packs (blobs of contents) in kopia's indexes, because an
// interrupted run may have written packs and indexes. Adopt replaces old unpinned
// packs by new ones with the same contents, because maintenance by another device
// may be deleting them.
func (r *Repository) Adopt(ctx context.Context) error {
	err := r.adoptAll(ctx, false)
	if errors.Is(err, ErrBusy) { // maintenance by another device may have replaced a pack
		err = r.adoptAll(ctx, true)
	}
	return err
}

func (r *Repository) adoptAll(ctx context.Context, refresh bool) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	if refresh {
		if err := r.rep.Refresh(ctx); err != nil {
			return r.Failed("reading the indexes", err)
		}
	}
	all, old, err := r.unpinned(ctx)
	if err == nil && len(old) > 0 {
		if err = r.replace(ctx, old); err == nil {
			all, _, err = r.unpinned(ctx)
		}
	}
	for name, at := range all {
		if err == nil {
			err = r.adopt(ctx, name, at)
		}
	}
	return r.Failed("reading the indexes", err)
}

// unpinned returns each unpinned pack with the time of its newest content, and
// the contents of the packs that are too old to pin.
func (r *Repository) unpinned(ctx context.Context) (all map[string]time.Time, old []content.Info, err error) {
	all = map[string]time.Time{}
	err = r.writer.ContentReader().IterateContents(ctx, content.IterateOptions{}, func(c content.Info) error {
		name := string(c.PackBlobID)
		if _, pinned := r.storage.pin(name); pinned {
			return nil
		}
		if at := all[name]; c.Timestamp().After(at) {
			all[name] = c.Timestamp()
		}
		old = append(old, c)
		return nil
	})
	old = slices.DeleteFunc(old, func(c content.Info) bool {
		return r.storage.now().Sub(all[string(c.PackBlobID)]) <= maxUnpinned
	})
	return all, old, err
}

// replace writes contents into new packs.
func (r *Repository) replace(ctx context.Context, contents []content.Info) error {
	for _, c := range contents {
		err := r.writer.ContentManager().RewriteContent(ctx, c.ContentID)
		if errors.Is(err, blob.ErrBlobNotFound) {
			return r.storage.missing(ctx, string(c.PackBlobID))
		}
		if err != nil {
			return err
		}
	}
	return r.writer.Flush(ctx)
}

// adopt pins a pack that an interrupted run wrote at time `at`.
func (r *Repository) adopt(ctx context.Context, name string, at time.Time) error {
	b, err := r.storage.store.Get(ctx, name, 0, -1)
	if errors.Is(err, blobs.ErrNotFound) {
		return r.storage.missing(ctx, name)
	}
	if err != nil {
		return err
	}
	r.storage.mu.Lock()
	defer r.storage.mu.Unlock()
	r.storage.added[name] = blobs.PinOf(b, at)
	return nil
}
