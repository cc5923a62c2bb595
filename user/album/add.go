package album

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
)

type AddOptions struct {
	// Into is the album's folder for the photos. The default is the name of the
	// folder that contains them.
	Into string
	// PlaceDigits is the number of decimals to which the degrees of places are
	// rounded. If it is negative, Add stores no places.
	PlaceDigits int
	Exclude     []string
	// New permits a new album even if the server has albums of other keys.
	New bool
	// Check reads all photos again, even if their size and time are unchanged, and
	// resends data that the server has lost.
	Check    bool
	DryRun   bool
	Progress progress.Func
	// Listed receives the listing of all folders.
	Listed func(*photo.Listing)
	// Committed receives the paths of each committed batch.
	Committed func(paths []string)
}

type Added struct {
	Photos    int   `json:"photos"`    // new photos
	Versions  int   `json:"versions"`  // changed photos, whose older versions are in the trash
	Unchanged int   `json:"unchanged"` // photos that the album already had
	Mended    int   `json:"mended"`    // photos that the server had lost
	Bytes     int64 `json:"bytes"`     // size of new and changed photos
	// Thumbnails counts unchanged photos whose missing thumbnails Add has made.
	// Digests counts unchanged photos whose rows had no content digest.
	Thumbnails int       `json:"thumbnails"`
	Digests    int       `json:"digests"`
	Sent       int64     `json:"sent_bytes"`
	LeftOut    []LeftOut `json:"left_out"`
	Empty      []string  `json:"empty"` // folders without photos
	// Warnings are failures after a commit, for example to delete old blobs.
	Warnings []error `json:"-"`
}

type LeftOut struct {
	Path string `json:"path"`
	Err  error  `json:"-"`
	Why  string `json:"error"`
}

// A batch ends when it has batchPhotos photos or batchBytes bytes. Add commits
// each batch, so a killed run loses at most one.
const batchPhotos, batchBytes = 1000, 256 << 20

// Add adds photos to the album, which it creates if necessary. It does not resend
// photos that the album has, so a repeated call continues an interrupted one.
func (a *Album) Add(ctx context.Context, roots []string, o AddOptions) (sum Added, err error) {
	items, empty, err := list(ctx, roots, o)
	sum.Empty = empty
	if err != nil {
		return sum, err
	}
	release, err := a.lock()
	if err != nil {
		return sum, err
	}
	defer release()
	there, err := a.sync(ctx)
	if err == nil && !there && !o.New {
		err = a.checkOthers(ctx)
	}
	if err != nil {
		return sum, err
	}
	todo, lacking := a.changed(items, o, &sum), []*item(nil)
	if o.Check && !o.DryRun {
		if _, err := a.mendIndexes(ctx, true); err != nil {
			return sum, err
		}
	}
	if !o.DryRun {
		lacking, err = a.lacking(ctx, items)
	}
	if o.DryRun || err != nil || len(todo)+len(lacking) == 0 {
		leaveOut(todo, &sum)
		return sum, err
	}
	r, err := a.repository(ctx, false)
	if err != nil {
		return sum, err
	}
	defer r.Close(ctx)
	lost := map[string]string{}
	if o.Check {
		if lost, err = a.lost(ctx); err != nil {
			return sum, err
		}
		r.Distrust(lost)
	}
	for done := 0; done < len(todo); {
		n, bytes := 0, int64(0)
		for n == 0 || done+n < len(todo) && n < batchPhotos && bytes < batchBytes {
			bytes += todo[done+n].size
			n++
		}
		some := todo[done : done+n]
		err := a.addSome(ctx, r, some, o, func(i int) { o.Progress.Report("adding", done+i, len(todo)) }, &sum)
		sum.Sent = r.Sent() + a.catalogue.Sent()
		if err != nil {
			left := int64(0)
			for _, i := range todo[done:] {
				left += i.size
			}
			return sum, hint.Add(fmt.Errorf("%w (%d photos of %d bytes are not in the album yet)", err, len(todo)-done, left), "what was added is safe; the same command continues")
		}
		done += n
	}
	o.Progress.Report("adding", len(todo), len(todo))
	if len(lost) == 0 {
		err = a.completeAll(ctx, r, lacking, o.Progress, &sum)
		return sum, err
	}
	if err := a.mendThumbs(ctx, r, items, lost, o.Progress, &sum); err != nil {
		return sum, err
	}
	if err := a.abandon(ctx, r); err != nil {
		sum.Warnings = append(sum.Warnings, err)
	}
	return sum, nil
}

// checkOthers returns an error if the server has albums of other keys, because a new
// album is then probably a mistake.
func (a *Album) checkOthers(ctx context.Context) error {
	if a.o.Others == nil {
		return nil
	}
	n, err := a.o.Others(ctx)
	if err == nil && n > 0 {
		err = hint.Add(fmt.Errorf("adding photos: %w: the server has an album, but not of this key", cpar.ErrKey), "name the other key with --key; or pass --new to begin another album")
	}
	return err
}

// changed returns the unreadable items and the items that the album lacks or has
// with other files or keywords. With Check, it returns all items. In sum, it counts
// the rest and, in a dry run, all readable items.
func (a *Album) changed(items []*item, o AddOptions, sum *Added) (todo []*item) {
	s := a.catalogue.State()
	for _, i := range items {
		old := s.Photo(path.Join(i.folder, i.name))
		i.old = old
		same := old != nil && len(old.Files) == len(i.files) && !o.Check && !slices.ContainsFunc(i.words, func(w string) bool { return !old.Has(w) })
		for k, f := range i.files {
			info, err := os.Stat(f)
			if err != nil {
				i.err = fmt.Errorf("reading the photo: %w: %w", cpar.ErrInput, photo.Cause(err))
				break
			}
			i.size += info.Size()
			same = same && old.Files[k].Name == filepath.Base(f) && old.Files[k].Size == info.Size() && old.Files[k].Modified == info.ModTime().UnixNano()
		}
		i.same = same
		switch {
		case i.err == nil && same:
			sum.Unchanged++
		case i.err == nil && o.DryRun && old != nil:
			sum.Versions++
			sum.Bytes += i.size
		case i.err == nil && o.DryRun:
			sum.Photos++
			sum.Bytes += i.size
		}
		if i.err != nil || !same {
			todo = append(todo, i)
		}
	}
	return todo
}

// leaveOut lists the unreadable items in sum.
func leaveOut(items []*item, sum *Added) {
	for _, i := range items {
		if i.err != nil {
			sum.LeftOut = append(sum.LeftOut, LeftOut{i.files[0], i.err, sanitize.Text(i.err.Error())})
		}
	}
}

// addSome stores the files of a batch and commits its rows.
func (a *Album) addSome(ctx context.Context, r *repository.Repository, some []*item, o AddOptions, tell func(int), sum *Added) error {
	err := each(ctx, runtime.GOMAXPROCS(0), some, func(ctx context.Context, at int, i *item) (err error) {
		if i.err == nil {
			tell(at)
			err = i.store(ctx, r, o)
		}
		if errors.Is(err, errUnreadable) {
			i.err, err = err, nil
		}
		return err
	})
	if err == nil {
		err = r.Flush(ctx)
	}
	if err == nil {
		err = r.Adopt(ctx) // before Packs, because it may move contents into other packs
	}
	for _, i := range some {
		if err == nil && i.err == nil {
			for _, f := range i.row.Files {
				var packs []string
				packs, err = r.Packs(ctx, f.Object)
				i.packs = append(i.packs, packs...)
			}
		}
		if err == nil && !o.Check { // a check has already compared all packs
			err = r.Rely(ctx, i.packs)
		}
	}
	if err == nil {
		err = a.storeThumbs(ctx, r, some)
	}
	if err != nil {
		return fmt.Errorf("adding photos: %w", err)
	}
	var n Added
	err = a.commit(ctx, r, func(s *catalogue.State) (*catalogue.Change, error) {
		n = Added{}
		return a.rows(s, r, some, &n)
	})
	if errors.Is(err, catalogue.ErrCommitted) {
		sum.Warnings = append(sum.Warnings, err)
	} else if err != nil {
		return err
	}
	sum.Photos, sum.Versions, sum.Unchanged, sum.Mended, sum.Bytes = sum.Photos+n.Photos, sum.Versions+n.Versions, sum.Unchanged+n.Unchanged, sum.Mended+n.Mended, sum.Bytes+n.Bytes
	if o.Committed != nil {
		var paths []string
		for _, i := range some {
			if i.err == nil {
				paths = append(paths, i.row.Path())
			}
		}
		o.Committed(paths)
	}
	leaveOut(some, sum)
	return nil
}

// each calls function do for all elements of a list, with at most atOnce calls
// running at a time. After a failure it starts no more calls.
func each[T any](ctx context.Context, atOnce int, all []T, do func(ctx context.Context, at int, one T) error) error {
	work, inner := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for at, one := range all {
		work.Go(func() error {
			if inner.Err() != nil {
				return context.Cause(inner)
			}
			return do(inner, at, one)
		})
	}
	return work.Wait()
}

// rows returns the change that adds a batch to state s, and counts its items in
// n. It fails if a pack (blob of file contents) of an item is no longer pinned.
func (a *Album) rows(s *catalogue.State, r *repository.Repository, some []*item, n *Added) (*catalogue.Change, error) {
	added, _ := r.Changes()
	c := &catalogue.Change{}
	for _, i := range some {
		if i.err != nil {
			continue
		}
		for _, pack := range i.packs {
			_, has := s.Pins[pack]
			if _, new := added[pack]; !has && !new {
				return nil, hint.Add(fmt.Errorf("adding photos: %w: %w", cpar.ErrStorage, repository.ErrBusy), "run the same command again")
			}
		}
		old := s.Photo(i.row.Path())
		row := *i.row
		if old != nil {
			row.Keywords = carried(old, &row)
		}
		switch {
		case old == nil:
			n.Photos++
			n.Bytes += i.size
		case !old.SameFiles(i.row):
			a.trash(c, old)
			n.Versions++
			n.Bytes += i.size
		case i.mended:
			n.Mended++
		default:
			n.Unchanged++
		}
		c.Put = append(c.Put, &row)
	}
	return c, nil
}

// carried returns the keywords of row `now`, and then the accepted and suggested
// keywords that only row `old` has.
func carried(old, now *catalogue.Photo) []catalogue.Keyword {
	words := slices.Clone(now.Keywords)
	for _, k := range old.Keywords {
		if k.Source != catalogue.Human && !now.Has(k.Word) {
			words = append(words, k)
		}
	}
	return words
}
