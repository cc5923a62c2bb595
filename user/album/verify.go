package album

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
)

type Verified struct {
	Photos int   `json:"photos"`
	Files  int   `json:"files"`
	Read   int64 `json:"read_bytes"`
	// Blobs maps the names of lost or changed blobs to their problems.
	Blobs map[string]string `json:"damaged_blobs"`
	// Affected lists the files that can no longer be read.
	Affected []string `json:"affected"`
}

type verifier struct {
	*Album
	Verified
	repository *repository.Repository
	broken     error             // why the album cannot be opened
	unreadable map[string]string // damaged packs (content blobs) that the server lists correctly
}

// Verify compares the server's list of blobs with the pins, the catalogue's
// record of blobs, and reads the given percentage of the files. If anything is
// missing or changed, the error wraps cpar.ErrCloud. If the catalogue or the
// repository is too damaged to open, all photos in this device's copy of the
// catalogue are affected.
func (a *Album) Verify(ctx context.Context, percent float64, tell progress.Func) (Verified, error) {
	v := &verifier{Album: a, unreadable: map[string]string{}}
	defer v.close(ctx)
	if err := v.open(ctx); err != nil {
		return v.Verified, err
	}
	photos := a.catalogue.State().Photos()
	for i, p := range photos {
		if ctx.Err() != nil {
			return v.Verified, context.Cause(ctx)
		}
		tell.Report("verifying", i, len(photos))
		v.Photos++
		for _, f := range p.Files {
			v.Files++
			err := v.file(ctx, p, f, percent)
			if err != nil && !errors.Is(err, blobs.ErrDamaged) {
				return v.Verified, fmt.Errorf("verifying the album: %w", err)
			}
			if err != nil {
				v.Affected = append(v.Affected, path.Join(p.Folder, f.Name))
			}
		}
	}
	tell.Report("verifying", len(photos), len(photos))
	v.Affected = slices.Compact(v.Affected)
	if v.broken == nil && len(v.Blobs)+len(v.Affected) == 0 {
		return v.Verified, nil
	}
	what := fmt.Sprintf("%d of its blobs are missing or changed, and %d files are affected", len(v.Blobs), len(v.Affected))
	if len(v.Affected) > 0 {
		what += fmt.Sprintf("; the first: %s", sanitize.Text(v.Affected[0]))
	}
	v.broken = cmp.Or(v.broken, cpar.ErrCloud)
	err := hint.Add(fmt.Errorf("verifying the album: %w: %s", v.broken, what),
		"cpard album undelete brings back deleted blobs, and cpar album add --check sends photos again that are still at home")
	return v.Verified, errors.Join(err, a.suspect(v.unreadable))
}

func (v *verifier) close(ctx context.Context) {
	if v.repository != nil {
		v.repository.Close(ctx)
		v.repository = nil
	}
}

// open calls compare and opens the repository of the newest generation.
func (v *verifier) open(ctx context.Context) error {
	for {
		v.close(ctx)
		v.broken = v.Sync(ctx)
		if v.broken != nil && !errors.Is(v.broken, blobs.ErrDamaged) {
			return v.broken
		}
		if err := v.compare(ctx); err != nil {
			return err
		}
		if v.broken == nil {
			if v.repository, v.broken = v.Album.repository(ctx, true); v.broken != nil {
				v.repository = nil
			}
		}
		if v.broken == nil && len(v.Blobs) == 0 {
			return nil
		}
		// Another device may have maintained the album after Sync.
		before := v.catalogue.State().Number
		if v.Sync(ctx) == nil && v.catalogue.State().Number > before {
			continue
		}
		if again, err := v.recover(ctx); err != nil || !again {
			if err == nil && v.broken != nil && !errors.Is(v.broken, blobs.ErrDamaged) {
				err = v.broken
			}
			return err
		}
	}
}

// compare compares the pins of the newest generation with the server's list.
func (v *verifier) compare(ctx context.Context) (err error) {
	segments := v.catalogue.Pins()
	pins := maps.Clone(segments)
	maps.Copy(pins, v.catalogue.State().Pins)
	if v.Blobs, err = blobs.Check(ctx, v.o.Store, pins); err != nil {
		return fmt.Errorf("verifying the album: %w", err)
	}
	for name := range segments {
		if what, damaged := v.Blobs[name]; damaged && v.broken == nil {
			v.broken = blobs.Damage(name, what)
		}
	}
	for name, what := range v.unreadable {
		if _, pinned := v.catalogue.State().Pins[name]; pinned {
			v.Blobs[name] = what
		}
	}
	return nil
}

// recover unpins superseded index blobs that the server lacks, and reports
// whether it found any.
func (v *verifier) recover(ctx context.Context) (bool, error) {
	for name := range v.Blobs {
		if strings.HasPrefix(name, "x") {
			release, err := v.lock()
			if err != nil { // another process is writing, so leave this to a later run
				return false, nil
			}
			defer release()
			return v.mendIndexes(ctx, false)
		}
	}
	return false, nil
}

// mendIndexes unpins index blobs that the server lacks, provided that every photo
// is found without them. kopia has then merged them into others, and a device that
// committed during the maintenance has pinned them again. If photos need them and
// `rebuild` is set, mendIndexes first rebuilds an index from the packs.
func (a *Album) mendIndexes(ctx context.Context, rebuild bool) (bool, error) {
	pins, lost := maps.Clone(a.catalogue.State().Pins), map[string]bool{}
	for name := range pins {
		lost[name] = strings.HasPrefix(name, "x")
	}
	err := a.o.Store.List(ctx, "x", func(b blobs.Blob) error { delete(lost, b.Name); return nil })
	maps.DeleteFunc(lost, func(_ string, index bool) bool { return !index })
	if err != nil || len(lost) == 0 {
		return false, err
	}
	maps.DeleteFunc(pins, func(name string, _ blobs.Pin) bool { return lost[name] })
	var rebuilt *repository.Repository
	r, err := a.repositoryOf(ctx, pins, true)
	if err == nil {
		defer r.Close(ctx)
		err = a.findAll(ctx, r)
	}
	if errors.Is(err, blobs.ErrDamaged) && rebuild && r != nil {
		rebuilt = r
		if err = r.Reindex(ctx); err == nil {
			err = a.findAll(ctx, r)
		}
	}
	if errors.Is(err, blobs.ErrDamaged) { // the blobs stay pinned, because the operator may bring them back
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, a.commit(ctx, rebuilt, func(s *catalogue.State) (*catalogue.Change, error) {
		c := &catalogue.Change{}
		for name := range lost {
			if _, pinned := s.Pins[name]; pinned {
				c.Unpinned = append(c.Unpinned, name)
			}
		}
		return c, nil
	})
}

// findAll returns an error if the indexes lack a photo.
func (a *Album) findAll(ctx context.Context, r *repository.Repository) error {
	for _, p := range a.catalogue.State().Photos() {
		for _, f := range p.Files {
			if _, err := r.Packs(ctx, f.Object); err != nil {
				return err
			}
		}
	}
	return nil
}

// file verifies a photo's file. If another device maintains the album meanwhile,
// file tries again in the newest generation.
func (v *verifier) file(ctx context.Context, p *catalogue.Photo, f catalogue.File, percent float64) error {
	for {
		err := v.broken
		if err == nil {
			err = v.read(ctx, f, percent)
		}
		if !errors.Is(err, repository.ErrBusy) {
			return err
		}
		if err := v.open(ctx); err != nil {
			return err
		}
		if !slices.ContainsFunc(v.catalogue.State().Photos(), p.SameFiles) {
			return nil // the photo was permanently removed
		}
	}
}

// read checks that the server has a file's packs. With a probability of `percent`,
// it also reads the file.
func (v *verifier) read(ctx context.Context, f catalogue.File, percent float64) error {
	packs, err := v.repository.Packs(ctx, f.Object)
	if err != nil {
		return err
	}
	for _, p := range packs {
		if what, damaged := v.Blobs[p]; damaged {
			return blobs.Damage(p, what)
		}
	}
	if rand.Float64()*100 >= percent {
		return nil
	}
	n, err := copyFile(ctx, v.repository, io.Discard, f)
	v.Read += n
	if !errors.Is(err, blobs.ErrDamaged) {
		return err
	}
	for _, name := range packs {
		if pin, pinned := v.catalogue.State().Pins[name]; pinned {
			err = errors.Join(err, v.problem(ctx, name, pin, v.unreadable))
		}
	}
	maps.Copy(v.Blobs, v.unreadable)
	return err
}
