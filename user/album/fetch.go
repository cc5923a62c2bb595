package album

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
)

type Got struct {
	Photos int   `json:"photos"`
	Files  int   `json:"files"`
	Bytes  int64 `json:"bytes"`
	// Field There counts files that the folder already had.
	There int `json:"there"`
}

// readers is the number of files that Get reads at once. Reading a small file
// mostly waits for the server.
const readers = 4

// A target is a file that Get writes.
type target struct {
	file catalogue.File
	path string
}

// Get writes photos and their sidecars into a folder, under their paths in the
// album. It keeps existing files of the same size and time. If a path has a
// different file, Get fails before it writes anything.
func (a *Album) Get(ctx context.Context, photos []*catalogue.Photo, to string, tell progress.Func) (sum Got, err error) {
	todo, there, err := missing(photos, to)
	if err != nil {
		return sum, err
	}
	sum.Photos, sum.There = len(photos), there
	if len(todo) == 0 {
		return sum, nil
	}
	r, err := a.repository(ctx, false)
	if err != nil {
		return sum, err
	}
	defer r.Close(ctx)
	var mu sync.Mutex
	err = each(ctx, readers, todo, func(ctx context.Context, at int, g target) error {
		tell.Report("getting", at, len(todo))
		if err := write(ctx, r, g.file, g.path); err != nil {
			return fmt.Errorf("getting %s: %w", sanitize.Text(g.path), err)
		}
		mu.Lock()
		defer mu.Unlock()
		sum.Files++
		sum.Bytes += g.file.Size
		return nil
	})
	if err != nil {
		return sum, err
	}
	tell.Report("getting", len(todo), len(todo))
	return sum, nil
}

// missing returns the photos' files that a folder lacks, in order, and the number
// of files that it has. If photos share a sidecar in several versions, missing
// takes the newest.
func missing(photos []*catalogue.Photo, to string) (todo []target, there int, err error) {
	var all []target
	listed := map[string]int{}
	for _, p := range photos {
		for _, f := range p.Files {
			at := path.Join(p.Folder, f.Name)
			if !filepath.IsLocal(filepath.FromSlash(at)) {
				return nil, 0, fmt.Errorf("getting photos: %w: the album has a file named %s", cpar.ErrCorrupt, sanitize.Text(at))
			}
			at = filepath.Join(to, filepath.FromSlash(at))
			if i, twice := listed[at]; !twice {
				listed[at] = len(all)
				all = append(all, target{f, at})
			} else if f.Modified > all[i].file.Modified {
				all[i].file = f
			}
		}
	}
	for _, g := range all {
		info, err := os.Lstat(g.path)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Size() == g.file.Size && info.ModTime().UnixNano() == g.file.Modified:
			there++
		case err == nil:
			return nil, 0, fmt.Errorf("getting photos: %w", another(g.path))
		default:
			todo = append(todo, g)
		}
	}
	return todo, there, nil
}

func another(file string) error {
	return hint.Add(fmt.Errorf("%w: there is another file %s", cpar.ErrInput, sanitize.Text(file)), "name another folder with --to")
}

// write writes a file of the album atomically, with its modification time. It
// fails if the name is used, because two names can be equal on a file system that
// ignores case.
func write(ctx context.Context, r *repository.Repository, f catalogue.File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	w, err := durable.Create(durable.OS, filepath.Dir(to), "album", 0o666)
	if err != nil {
		return err
	}
	defer w.Abort()
	w.Expect(f.Size)
	if _, err := copyFile(ctx, r, w, f); err != nil {
		return err
	}
	if err := os.Chtimes(w.Temp(), time.Time{}, time.Unix(0, f.Modified)); err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	if err := w.CommitNew(filepath.Base(to)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return another(to)
}

func copyFile(ctx context.Context, r *repository.Repository, to io.Writer, f catalogue.File) (int64, error) {
	from, err := r.Open(ctx, f.Object)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	n, err := io.Copy(to, from)
	switch {
	case err != nil && errors.Is(err, cpar.ErrStorage):
		return n, err
	case err == nil && n != f.Size:
		err = fmt.Errorf("%w: the album holds %d bytes of %d", blobs.ErrDamaged, n, f.Size)
	}
	return n, r.Failed("reading from the album", err)
}

// fetched is the folder, within the album's folder, into which Fetch writes. The
// file fetched.lock is locked while it is in use.
const fetched = "fetched"

// Fetch writes photos into a private folder of this device. Function remove
// deletes the folder. If the process is killed first, Open deletes it.
func (a *Album) Fetch(ctx context.Context, photos []*catalogue.Photo) (folder string, remove func(), err error) {
	release, err := a.lockFile(fetched+".lock", "fetching photos from it")
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(a.folder, fetched)
	remove = func() {
		os.RemoveAll(folder) // if this fails, Open removes it
		release()
	}
	os.RemoveAll(folder)
	if err = os.Mkdir(folder, 0o700); err != nil {
		err = fmt.Errorf("fetching photos: %w: %w", cpar.ErrStorage, err)
	} else {
		_, err = a.Get(ctx, photos, folder, nil)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return folder, remove, nil
}

// tidy removes the folder that a killed Fetch has left behind.
func (a *Album) tidy() error {
	folder := filepath.Join(a.folder, fetched)
	if _, err := os.Stat(folder); err != nil {
		return nil
	}
	release, err := a.lockFile(fetched+".lock", "")
	if err != nil { // another process uses the folder
		return nil
	}
	defer release()
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("removing fetched photos: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

// day is the time for which Tidy keeps unneeded blobs, as kopia does.
const day = 24 * time.Hour

// Maintain compacts the repository and the catalogue in a new generation, and
// frees the bytes of photos that were permanently removed a day ago or earlier.
func (a *Album) Maintain(ctx context.Context, takeOver bool) error {
	return a.withTrees(ctx, func(r *repository.Repository) error {
		if err := r.Maintain(ctx, takeOver); err != nil {
			return err
		}
		if err := a.mergeThumbs(ctx, r); err != nil {
			return err
		}
		err := a.commit(ctx, r, func(*catalogue.State) (*catalogue.Change, error) { return &catalogue.Change{Compact: true}, nil })
		if err != nil {
			return err
		}
		return a.catalogue.Tidy(ctx, func(name string) bool { return a.o.Now().Sub(r.Since(name)) > day })
	})
}

// MayMaintain returns an error if another device owns maintenance. It changes nothing.
func (a *Album) MayMaintain(ctx context.Context, takeOver bool) error {
	return a.withRepository(ctx, func(r *repository.Repository) error {
		if takeOver {
			return nil
		}
		return r.MayMaintain(ctx)
	})
}

// withRepository opens the repository of the newest generation and calls function work,
// which must not write.
func (a *Album) withRepository(ctx context.Context, work func(*repository.Repository) error) error {
	if err := a.Sync(ctx); err != nil {
		return err
	}
	r, err := a.repository(ctx, false)
	if err != nil {
		return err
	}
	defer r.Close(ctx)
	return work(r)
}

// withTrees opens the repository of the newest generation, records the album and
// the trash as kopia snapshots, and calls function work.
func (a *Album) withTrees(ctx context.Context, work func(*repository.Repository) error) error {
	release, err := a.lock()
	if err != nil {
		return err
	}
	defer release()
	if err := a.Sync(ctx); err != nil {
		return err
	}
	if _, err := a.mendIndexes(ctx, false); err != nil {
		return err
	}
	r, err := a.repository(ctx, false)
	if err != nil {
		return err
	}
	defer r.Close(ctx)
	trees := map[string][]repository.File{repository.Photos: nil, repository.Trash: nil}
	for _, p := range a.catalogue.State().Photos() {
		tree, folder := repository.Photos, p.Folder
		if p.Trashed != 0 {
			tree, folder = repository.Trash, path.Join(fmt.Sprint(p.Trashed), p.Folder)
		}
		for _, f := range p.Files {
			trees[tree] = append(trees[tree], repository.File{Path: path.Join(folder, f.Name), Object: f.Object, Size: f.Size, Modified: time.Unix(0, f.Modified)})
		}
	}
	for tree, files := range trees {
		if err := r.WriteTree(ctx, tree, files); err != nil {
			return err
		}
	}
	if err := r.Flush(ctx); err != nil {
		return err
	}
	if err := a.commit(ctx, r, func(*catalogue.State) (*catalogue.Change, error) { return &catalogue.Change{}, nil }); err != nil {
		return err
	}
	return work(r)
}

// Export writes the repository into a folder that a stock kopia can read, and
// returns the number of bytes written. A dry run only counts, and leaves out the
// snapshots that an export adds.
func (a *Album) Export(ctx context.Context, to string, dryRun bool, tell progress.Func) (copied int64, err error) {
	with := a.withTrees
	if dryRun {
		with = a.withRepository
	}
	err = with(ctx, func(r *repository.Repository) error {
		copied, err = r.Export(ctx, to, dryRun, tell)
		return err
	})
	return copied, err
}

func (a *Album) KopiaPassword() string { return repository.Password(a.secret) }
