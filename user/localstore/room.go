package localstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cpar"
)

// staleAfter is when a temporary file belongs to no process any more.
const staleAfter = time.Hour

type file struct {
	path     string
	size     int64
	modified time.Time
}

// entries lists the entries, and temporary files apart. Logs are neither.
func (v *Store) entries() (all, temporaries []file, err error) {
	folders, err := os.ReadDir(v.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 { // not ours, or logs
			continue
		}
		files, err := os.ReadDir(filepath.Join(v.dir, folder.Name()))
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue // removed by another process meanwhile
			}
			this := file{filepath.Join(v.dir, folder.Name(), f.Name()), info.Size(), info.ModTime()}
			switch {
			case strings.HasPrefix(f.Name(), temporary):
				temporaries = append(temporaries, this)
			case len(f.Name()) == 62:
				all = append(all, this)
			}
		}
	}
	return all, temporaries, nil
}

// makeRoom removes the oldest entries where more bytes would pass the limit, a tenth
// more than necessary, so that it is seldom done.
func (v *Store) makeRoom(more int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.limit == 0 {
		return nil
	}
	if v.used >= 0 && v.used+more <= v.limit {
		v.used += more
		return nil
	}
	all, temporaries, err := v.entries()
	if err != nil {
		return err
	}
	for _, f := range temporaries {
		if time.Since(f.modified) > staleAfter {
			os.Remove(f.path)
		}
	}
	v.used = more
	for _, f := range all {
		v.used += f.size
	}
	if v.used <= v.limit {
		return nil
	}
	slices.SortFunc(all, func(a, b file) int { return a.modified.Compare(b.modified) })
	for _, f := range all {
		if v.used <= v.limit-v.limit/10 {
			break
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		v.used -= f.size
	}
	return nil
}

// Size says how many entries there are, and how many bytes they take. Logs do not
// count.
func (v *Store) Size() (entries int, bytes int64, err error) {
	all, _, err := v.entries()
	if err != nil {
		return 0, 0, fmt.Errorf("looking at what is kept at home: %w: %w", cpar.ErrStorage, err)
	}
	for _, f := range all {
		bytes += f.size
	}
	return len(all), bytes, nil
}

// Clear removes all entries, also those that another key wrote, and says how many
// bytes that were. Logs stay.
func (v *Store) Clear() (bytes int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	all, temporaries, err := v.entries()
	if err != nil {
		return 0, fmt.Errorf("clearing what is kept at home: %w: %w", cpar.ErrStorage, err)
	}
	for _, f := range slices.Concat(all, temporaries) {
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return bytes, fmt.Errorf("clearing what is kept at home: %w: %w", cpar.ErrStorage, err)
		}
		bytes += f.size
	}
	v.used = -1
	return bytes, nil
}
