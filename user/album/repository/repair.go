package repository

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/object"

	"cpar"
	"cpar/user/album/blobs"
)

// Distrust records packs that the server has lost or changed, for Mend.
func (r *Repository) Distrust(packs map[string]string) { r.lost = packs }

// Mend removes an object's contents (chunks) in distrusted packs from the index,
// and reports whether there are any. The caller must then Put the file again,
// because Put does not send contents that the index has.
func (r *Repository) Mend(ctx context.Context, id string) (again bool, err error) {
	if len(r.lost) == 0 {
		return false, nil
	}
	r.mending.Lock() // otherwise a concurrent call for another file could delete a shared content that was just resent
	defer r.mending.Unlock()
	ctx, done := r.storage.guard(ctx)
	defer done()
	found, _, err := r.distrusted(ctx, id)
	for _, c := range found {
		if err == nil && !c.Deleted {
			err, again = r.writer.ContentManager().DeleteContent(ctx, c.ContentID), true
		}
	}
	return again, r.Failed("replacing lost contents", err)
}

// distrusted returns an object's contents in distrusted packs. If the list of the
// object's contents is in such a pack, the other contents are unknown and result
// whole is false.
func (r *Repository) distrusted(ctx context.Context, id string) (found []content.Info, whole bool, err error) {
	o, err := object.ParseID(id)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	if list, ok := o.IndexObjectID(); ok {
		if found, _, err = r.distrusted(ctx, list.String()); err != nil || len(found) > 0 {
			return found, false, err
		}
	}
	contents, err := r.writer.VerifyObject(ctx, o)
	for _, c := range contents {
		info, err := r.writer.ContentInfo(ctx, c)
		if err != nil {
			return nil, false, err
		}
		if _, lost := r.lost[string(info.PackBlobID)]; lost {
			found = append(found, info)
		}
	}
	return found, true, err
}

// Reindex adds the contents of all pinned packs to a new index, from the index
// entries that kopia copies to the end of each pack. Newer entries of other
// indexes stay in force.
func (r *Repository) Reindex(ctx context.Context) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	var err error
	for name, p := range r.storage.pins {
		if err == nil && (strings.HasPrefix(name, "p") || strings.HasPrefix(name, "q")) {
			_, err = r.writer.ContentManager().RecoverIndexFromPackBlob(ctx, blob.ID(name), p.Size, true)
		}
	}
	if err == nil {
		err = r.writer.Flush(ctx)
	}
	return r.Failed("rebuilding an index", err)
}

// Missing reports whether an object cannot be read because some of its contents
// are in distrusted packs.
func (r *Repository) Missing(ctx context.Context, id string) (bool, error) {
	ctx, done := r.storage.guard(ctx)
	defer done()
	found, whole, err := r.distrusted(ctx, id)
	return len(found) > 0 || !whole, r.Failed("finding an object", err)
}

// Abandon removes distrusted packs that none of the objects needs, and returns the
// number of those left. The next generation unpins the removed packs. Later
// snapshots rewrite directories that were in them.
func (r *Repository) Abandon(ctx context.Context, objects iter.Seq[string]) (left int, err error) {
	ctx, done := r.storage.guard(ctx)
	defer done()
	needed := map[blob.ID]bool{}
	for id := range objects {
		found, whole, err := r.distrusted(ctx, id)
		if err != nil || !whole {
			return len(r.lost), r.Failed("finding an object", err)
		}
		for _, c := range found {
			needed[c.PackBlobID] = true
		}
	}
	var dead []content.ID
	err = r.writer.ContentReader().IterateContents(ctx, content.IterateOptions{}, func(c content.Info) error {
		if _, lost := r.lost[string(c.PackBlobID)]; lost && !needed[c.PackBlobID] {
			dead = append(dead, c.ContentID)
		}
		return nil
	})
	for _, id := range dead {
		if err == nil {
			err = r.writer.ContentManager().DeleteContent(ctx, id)
		}
	}
	for name := range r.lost {
		if err == nil && !needed[blob.ID(name)] {
			err = r.storage.DeleteBlob(ctx, blob.ID(name))
		}
	}
	if err == nil {
		err = r.writer.Flush(ctx)
	}
	return len(needed), r.Failed("removing lost packs", err)
}

// Rely returns an error if the server lacks one of the packs. It asks for each
// pack once.
func (r *Repository) Rely(ctx context.Context, packs []string) error {
	ctx, done := r.storage.guard(ctx)
	defer done()
	for _, name := range packs {
		r.storage.mu.Lock()
		_, sent := r.storage.added[name]
		r.storage.mu.Unlock()
		if sent || r.there[name] {
			continue
		}
		if _, err := r.storage.GetMetadata(ctx, blob.ID(name)); err != nil {
			return r.Failed("looking for a pack", err)
		}
		r.there[name] = true
	}
	return nil
}

// Packs returns the names of the blobs that contain an object. It fails if one is
// unpinned or its pinned size is too small. Call Packs after Adopt.
func (r *Repository) Packs(ctx context.Context, id string) ([]string, error) {
	ctx, done := r.storage.guard(ctx)
	defer done()
	o, err := object.ParseID(id)
	if err != nil {
		return nil, fmt.Errorf("finding an object: %w: %w", cpar.ErrCorrupt, err)
	}
	contents, err := r.writer.VerifyObject(ctx, o)
	if err != nil {
		return nil, r.Failed("finding an object", err)
	}
	var packs []string
	for _, c := range contents {
		info, err := r.writer.ContentInfo(ctx, c)
		if err != nil {
			return nil, r.Failed("finding an object", err)
		}
		name := string(info.PackBlobID)
		p, pinned := r.storage.pin(name)
		if !pinned { // an old index blob refers to a pack that maintenance has replaced
			return nil, r.Failed("finding an object", r.storage.fail(blobs.Damage(name, "belongs to no generation")))
		}
		if p.Size < int64(info.PackOffset)+int64(info.PackedLength) {
			return nil, r.Failed("finding an object", r.storage.fail(blobs.Damage(name, "is cut off")))
		}
		packs = append(packs, name)
	}
	return packs, nil
}
