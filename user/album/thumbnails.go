package album

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"cpar/internal/progress"
	"cpar/photo/decode"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
	"cpar/user/album/thumbs"
)

// thumbnails returns the reader of thumbnails, set to the newest state.
func (a *Album) thumbnails() *thumbs.Reader {
	s := a.catalogue.State()
	a.thumbs.Use(s.Number, s.Pins)
	return a.thumbs
}

// Prefetch fetches the thumbnails of whole years.
func (a *Album) Prefetch(ctx context.Context, years []int, tell progress.Func) error {
	return a.thumbnails().Prefetch(ctx, years, tell)
}

// complete computes an item's missing content digest and makes its missing
// thumbnails from the photo's bytes. A photo that cannot be decoded gets empty
// thumbnails, so that no later run tries again.
func (i *item) complete(file []byte) {
	if file == nil {
		return
	}
	if i.row.Content == ([32]byte{}) {
		i.row.Content = decode.ContentDigest(file)
	}
	if i.bare {
		i.images = thumbs.Make(file)
	}
}

// maxDecoded is the maximum size of a photo that is fetched to be decoded.
const maxDecoded = 1 << 30

// photo returns the bytes of an item's photo in the album, from the owner's file if
// possible, or nil if they cannot be read.
func (i *item) photo(ctx context.Context, r *repository.Repository) ([]byte, error) {
	f := i.old.Files[0]
	if len(i.files) > 0 {
		now, b, _, err := storeFile(ctx, r, i.files[0], true)
		switch {
		case errors.Is(err, errUnreadable):
			return nil, nil // the next run reports it
		case err == nil && now.Object != f.Object: // send the new contents before a commit
			return nil, r.Flush(ctx)
		}
		return b, err
	}
	if missing, err := r.Missing(ctx, f.Object); err != nil || missing || f.Size > maxDecoded {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := copyFile(ctx, r, &b, f); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (a *Album) storeThumbs(ctx context.Context, r *repository.Repository, items []*item) error {
	b := a.thumbnails().Batch()
	for _, i := range items {
		if i.err == nil && i.images != nil {
			b.Add(i.row, i.images)
		}
		i.images = nil
	}
	return b.Encode(func(name string, part []byte) error { return r.Store(ctx, name, part) })
}

// lacking returns the unchanged items without a content digest or thumbnails in
// the album, because an older program added them or the server lost thumbnails.
func (a *Album) lacking(ctx context.Context, items []*item) (some []*item, err error) {
	months := map[thumbs.Month]map[thumbs.Key]bool{}
	for _, i := range items {
		if i.err != nil || !i.same {
			continue
		}
		month, _ := thumbs.When(i.old)
		if months[month] == nil {
			if months[month], _, err = a.thumbnails().Keys(ctx, thumbs.Small, month, nil); err != nil {
				return nil, fmt.Errorf("reading the album: %w", err)
			}
		}
		if i.bare = !months[month][thumbs.KeyOf(i.old)]; i.bare || i.old.Content == [32]byte{} {
			some = append(some, i)
		}
	}
	return some, nil
}

// completeAll completes and commits unchanged photos in batches. Items whose
// thumbnails cannot be made stay `bare`.
func (a *Album) completeAll(ctx context.Context, r *repository.Repository, items []*item, tell progress.Func, sum *Added) error {
	for done := 0; done < len(items); done += batchPhotos {
		some := items[done:min(done+batchPhotos, len(items))]
		err := each(ctx, runtime.GOMAXPROCS(0), some, func(ctx context.Context, at int, i *item) error {
			tell.Report("making thumbnails", done+at, len(items))
			row := *i.old
			i.row = &row
			file, err := i.photo(ctx, r)
			i.complete(file)
			return err
		})
		made, digests := 0, 0
		for _, i := range some {
			if i.images != nil {
				i.bare = false
				made++
			}
		}
		if err == nil {
			err = a.storeThumbs(ctx, r, some)
		}
		if err == nil {
			err = a.commit(ctx, r, func(s *catalogue.State) (*catalogue.Change, error) {
				c := &catalogue.Change{}
				for _, i := range some {
					p := s.Photo(i.row.Path())
					if p != nil && p.SameFiles(i.row) && p.Content == ([32]byte{}) && i.row.Content != ([32]byte{}) {
						now := *p
						now.Content = i.row.Content
						c.Put = append(c.Put, &now)
					}
				}
				digests = len(c.Put)
				return c, nil
			})
		}
		sum.Sent = r.Sent() + a.catalogue.Sent()
		if err != nil {
			return fmt.Errorf("making thumbnails: %w", err)
		}
		sum.Thumbnails, sum.Digests = sum.Thumbnails+made, sum.Digests+digests
	}
	return nil
}

// mergeThumbs merges parts (blobs of thumbnails) and drops the thumbnails of
// permanently removed photos.
func (a *Album) mergeThumbs(ctx context.Context, r *repository.Repository) error {
	days := map[thumbs.Key]uint8{}
	for _, p := range a.catalogue.State().Photos() {
		_, days[thumbs.KeyOf(p)] = thumbs.When(p)
	}
	err := a.thumbnails().Merge(ctx, func(k thumbs.Key) (uint8, bool) {
		day, has := days[k]
		return day, has
	}, func(name string, part []byte) error { return r.Store(ctx, name, part) },
		func(name string) error { return r.Drop(ctx, name) })
	if err != nil {
		return fmt.Errorf("merging thumbnails: %w", err)
	}
	return nil
}
