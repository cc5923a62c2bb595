package localstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// staleAfter is the age at which a temporary file is abandoned.
const staleAfter = time.Hour

type file struct {
	path     string
	size     int64
	modified time.Time
}

// entries lists the entries and, separately, temporary files. It skips logs.
func (v *Store) entries() (all, temporaries []file, err error) {
	folders, err := os.ReadDir(v.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 { // foreign folders and logs
			continue
		}
		files, err := os.ReadDir(filepath.Join(v.dir, folder.Name()))
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue // just removed by another process
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

// makeRoom makes room for a number of further bytes. Above the limit, it removes
// the oldest entries, until nine tenths of the limit are used.
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
