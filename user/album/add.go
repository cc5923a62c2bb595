package album

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/dataset"
	"cpar/photo/metadata"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
	"cpar/user/album/thumbs"
)

type AddOptions struct {
	// Into is the album's folder for the photos. If it is "", the name of the
	// folder that contains the photos is used.
	Into string
	// PlaceDigits is the number of decimals of a degree to which places are
	// rounded. If it is negative, places are left out.
	PlaceDigits int
	Exclude     []string
	// New allows a new album although the server has albums of other keys.
	New bool
	// Check reads all photos again, even photos of unchanged size and time.
	Check    bool
	DryRun   bool
	Progress progress.Func
	// Listed is called with the listing of all folders.
	Listed func(*photo.Listing)
	// Committed is called with the paths of photos that are now safe.
	Committed func(paths []string)
}

type Added struct {
	Photos    int   `json:"photos"`    // new photos
	Versions  int   `json:"versions"`  // changed photos, whose older versions are in the trash
	Unchanged int   `json:"unchanged"` // photos that were not sent again
	Bytes     int64 `json:"bytes"`     // size of new and changed photos
	// Thumbnails counts unchanged photos whose thumbnails were missing.
	Thumbnails int       `json:"thumbnails"`
	Sent       int64     `json:"sent_bytes"`
	LeftOut    []LeftOut `json:"left_out"`
	// Warnings are failures after photos were safe, such as to delete old blobs.
	Warnings []error `json:"-"`
}

// LeftOut describes a photo that could not be read.
type LeftOut struct {
	Path string `json:"path"`
	Err  error  `json:"-"`
	Why  string `json:"error"`
}

// Add commits after each batch, so the next run repeats at most a batch after a
// kill.
const batchPhotos, batchBytes = 1000, 256 << 20

// An item is a photo to be added.
type item struct {
	folder, name string
	files        []string
	words        []string         // keywords that a manifest.csv gives the photo
	same         bool             // the album has the photo with these files
	old, row     *catalogue.Photo // the row before, or nil, and the new row
	images       *thumbs.Images
	packs        []string
	size         int64
	err          error
}

// Add adds photos to the album. Photos that the album has are not sent again, so
// an interrupted run continues. If there is no album, Add creates it.
func (a *Album) Add(ctx context.Context, roots []string, o AddOptions) (sum Added, err error) {
	items, err := list(ctx, roots, o)
	if err != nil {
		return sum, err
	}
	release, err := a.lock()
	if err != nil {
		return sum, err
	}
	defer release()
	there, err := a.catalogue.Sync(ctx)
	if err == nil && !there && !o.New {
		err = a.alone(ctx)
	}
	if err != nil {
		return sum, err
	}
	todo, lacking := a.changed(items, o, &sum), []*item(nil)
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
			return sum, hint.Add(fmt.Errorf("%w (%d photos of %d bytes are not in the album yet)", err, len(todo)-done, left), "%s", continues(err))
		}
		done += n
	}
	o.Progress.Report("adding", len(todo), len(todo))
	err = a.addThumbs(ctx, r, lacking, o.Progress, &sum)
	return sum, err
}

// alone returns an error if the server has albums of other keys, because a new
// album is then probably a mistake.
func (a *Album) alone(ctx context.Context) error {
	if a.o.Others == nil {
		return nil
	}
	n, err := a.o.Others(ctx)
	if err == nil && n > 0 {
		err = hint.Add(fmt.Errorf("adding photos: %w: the server has an album, but not of this key", cpar.ErrKey), "name the other key with --key; or pass --new to begin another album")
	}
	return err
}

func continues(err error) string {
	if h := hint.Of(err); h != "" {
		return h
	}
	return "what was added is safe; the same command continues"
}

// list returns the photos in files and folders, with their places in the album.
func list(ctx context.Context, roots []string, o AddOptions) (items []*item, err error) {
	seen, all := map[string]bool{}, &photo.Listing{}
	if o.Listed != nil {
		defer func() { o.Listed(all) }()
	}
	for _, root := range roots {
		l, err := photo.List(ctx, []string{root}, photo.Options{Exclude: o.Exclude})
		if l != nil {
			all.Photos, all.Skipped = append(all.Photos, l.Photos...), append(all.Skipped, l.Skipped...)
		}
		if err != nil {
			return nil, err
		}
		base := root
		if info, err := os.Stat(root); err == nil && !info.IsDir() {
			base = filepath.Dir(root)
		}
		whole, err := filepath.Abs(base) // the base of . has no name
		if err != nil {
			return nil, fmt.Errorf("listing photos: %w: %w", cpar.ErrInput, err)
		}
		into := o.Into
		if into == "" {
			into = filepath.Base(whole)
		}
		words, err := manifest(ctx, base)
		if err != nil {
			return nil, err
		}
		for _, p := range l.Photos {
			rel, err := filepath.Rel(base, p.Path)
			if err != nil {
				return nil, fmt.Errorf("listing photos: %w: %w", cpar.ErrInput, err)
			}
			at := path.Join(into, filepath.ToSlash(rel))
			if seen[at] {
				continue
			}
			seen[at] = true
			folder := path.Dir(at)
			if folder == "." {
				folder = ""
			}
			i := &item{folder: folder, name: path.Base(at), files: filesOf(p), words: words[filepath.ToSlash(rel)]}
			if !utf8.ValidString(at) || slices.ContainsFunc(i.files, func(f string) bool { return !utf8.ValidString(filepath.Base(f)) }) {
				i.err = fmt.Errorf("reading the photo: %w: the name of a file or folder is not UTF-8", cpar.ErrInput)
			}
			items = append(items, i)
		}
	}
	return items, nil
}

// manifest returns the keywords that a folder's manifest.csv, if it exists, gives
// to photos, by path.
func manifest(ctx context.Context, folder string) (map[string][]string, error) {
	if _, err := os.Stat(filepath.Join(folder, dataset.ManifestName)); err != nil {
		return nil, nil
	}
	c, err := dataset.Open(ctx, folder, dataset.Options{IncludePeople: true})
	if err != nil {
		return nil, err
	}
	words := map[string][]string{}
	for _, p := range c.Photos {
		words[p.Name] = p.Keywords
	}
	return words, nil
}

// filesOf returns the files of one exposure: the photo, others such as a raw
// file, and existing sidecars. A file system that ignores case finds one sidecar
// under several names.
func filesOf(p photo.Photo) (files []string) {
	var sidecars []os.FileInfo
	for _, f := range append([]string{p.Path}, p.Also...) {
		if filepath.Dir(f) == filepath.Dir(p.Path) && !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	for _, f := range slices.Clone(files) {
		for _, s := range metadata.Sidecars(f) {
			info, err := os.Stat(s)
			if err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(sidecars, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
				files, sidecars = append(files, s), append(sidecars, info)
			}
		}
	}
	return files
}

// changed returns the items that the album lacks or has with other files.
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

// leaveOut adds the items that could not be read to sum.
func leaveOut(items []*item, sum *Added) {
	for _, i := range items {
		if i.err != nil {
			sum.LeftOut = append(sum.LeftOut, LeftOut{i.files[0], i.err, sanitize.Text(i.err.Error())})
		}
	}
}

// addSome stores the files of a batch and commits the rows.
func (a *Album) addSome(ctx context.Context, r *repository.Repository, some []*item, o AddOptions, tell func(int), sum *Added) error {
	work, inner := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for at, i := range some {
		if i.err != nil {
			continue
		}
		work.Go(func() error {
			if inner.Err() != nil {
				return context.Cause(inner)
			}
			tell(at)
			err := i.store(inner, r, o)
			if errors.Is(err, errUnreadable) {
				i.err, err = err, nil
			}
			return err
		})
	}
	err := work.Wait()
	if err == nil {
		err = r.Flush(ctx)
	}
	for _, i := range some {
		if err == nil && i.err == nil {
			for _, f := range i.row.Files {
				var packs []string
				packs, err = r.Packs(ctx, f.Object)
				i.packs = append(i.packs, packs...)
			}
		}
	}
	if err == nil {
		err = a.storeThumbs(ctx, r, some)
	}
	if err != nil {
		return fmt.Errorf("adding photos: %w", err)
	}
	photos, versions, unchanged, bytes := 0, 0, 0, int64(0)
	err = a.commit(ctx, r, func(s *catalogue.State) (*catalogue.Change, error) {
		photos, versions, unchanged, bytes = 0, 0, 0, 0
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
			switch {
			case old == nil:
				photos++
				bytes += i.size
			case old.SameFiles(i.row):
				row.Keywords = carried(old, &row)
				unchanged++
			default:
				row.Keywords = carried(old, &row)
				moved := *old
				moved.Trashed = a.o.Now().UnixNano()
				c.Put = append(c.Put, &moved)
				versions++
				bytes += i.size
			}
			c.Put = append(c.Put, &row)
		}
		return c, nil
	})
	if errors.Is(err, catalogue.ErrCommitted) {
		sum.Warnings = append(sum.Warnings, err)
	} else if err != nil {
		return err
	}
	sum.Photos, sum.Versions, sum.Unchanged, sum.Bytes = sum.Photos+photos, sum.Versions+versions, sum.Unchanged+unchanged, sum.Bytes+bytes
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

// carried returns the keywords of a changed photo, including suggestions that
// only the old row has.
func carried(old, now *catalogue.Photo) []catalogue.Keyword {
	words := slices.Clone(now.Keywords)
	for _, k := range old.Keywords {
		if k.Source != catalogue.Human && !now.Has(k.Word) {
			words = append(words, k)
		}
	}
	return words
}

// errUnreadable marks a photo that Add leaves out.
var errUnreadable = fmt.Errorf("reading the photo: %w", cpar.ErrInput)

// store stores an item's files and creates its row.
func (i *item) store(ctx context.Context, r *repository.Repository, o AddOptions) error {
	i.row = &catalogue.Photo{Folder: i.folder, Name: i.name}
	for _, name := range i.files {
		f, err := storeFile(ctx, r, name)
		if err != nil {
			return err
		}
		i.row.Files = append(i.row.Files, f)
	}
	facts, err := metadata.ReadFacts(i.files[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	i.row.Time, i.row.Camera, i.row.Orientation = facts.Time, facts.Camera, facts.Orientation
	i.row.Width, i.row.Height = facts.Width, facts.Height
	if facts.Place != nil && o.PlaceDigits >= 0 {
		unit := math.Pow10(o.PlaceDigits)
		round := func(x float64) int32 { return int32(math.Round(math.Round(x*unit) / unit * 1e5)) }
		i.row.Place = &catalogue.Place{Lat: round(facts.Place[0]), Lon: round(facts.Place[1])}
	}
	k, _, err := metadata.ReadFile(i.files[0]) // ignores damaged blocks of metadata
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	add := func(words []string, from catalogue.Source) {
		for _, w := range words {
			if !i.row.Has(w) {
				i.row.Keywords = append(i.row.Keywords, catalogue.Keyword{Word: w, Source: from})
			}
		}
	}
	for _, words := range append([][]string{k.Human, k.People, i.words}, k.Paths...) {
		add(words, catalogue.Human)
	}
	add(k.Machine, catalogue.Suggested)
	if i.old == nil || thumbs.KeyOf(i.old) != thumbs.KeyOf(i.row) {
		i.makeThumbs()
	}
	return nil
}

// storeFile stores a file. It fails if the file changes meanwhile.
func storeFile(ctx context.Context, r *repository.Repository, name string) (f catalogue.File, err error) {
	file, err := os.Open(name)
	if err != nil {
		return f, fmt.Errorf("%w: %w", errUnreadable, photo.Cause(err))
	}
	defer file.Close()
	before, err := file.Stat()
	if err == nil && !before.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil && before.Size() == 0 && photo.IsPhoto(name) {
		err = errors.New("it is empty")
	}
	if err != nil {
		return f, fmt.Errorf("%w: %w", errUnreadable, photo.Cause(err))
	}
	source := &reading{file: file}
	object, size, err := r.Put(ctx, source)
	if source.err != nil {
		return f, fmt.Errorf("%w: %w", errUnreadable, photo.Cause(source.err))
	}
	if err != nil {
		return f, err
	}
	after, err := os.Stat(name)
	if err != nil || after.Size() != size || !after.ModTime().Equal(before.ModTime()) {
		return f, fmt.Errorf("%w: it changed while it was read", errUnreadable)
	}
	return catalogue.File{Name: filepath.Base(name), Size: size, Modified: before.ModTime().UnixNano(), Object: object}, nil
}

// A reading keeps the error of reading a file, to distinguish it from an error of
// the server.
type reading struct {
	file io.Reader
	err  error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
