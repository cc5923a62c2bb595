package ui

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cpar"
	"cpar/internal/hint"
)

const maxPhotoBytes = 512 << 20

// A shelf holds the photos below the opened folders. The page refers to photos
// by opaque ids, never by path.
type shelf struct {
	folders []folder
	secret  [32]byte

	mu      sync.RWMutex
	all     []*shelfPhoto // sorted by name
	by      map[string]*shelfPhoto
	paths   map[string]*shelfPhoto
	skipped string
}

// A folder is an open folder named on the command line. os.Root follows no link
// and no ".." out of it.
type folder struct {
	path string // absolute
	root *os.Root
}

type shelfPhoto struct {
	id     string
	folder int
	name   string // relative to the folder, with slashes
	path   string // as the backend returned it
	dated  time.Time
}

func openShelf(folders []string) (*shelf, error) {
	s := &shelf{}
	rand.Read(s.secret[:])
	for _, path := range folders {
		abs, err := filepath.Abs(path)
		if err == nil {
			var root *os.Root
			if root, err = os.OpenRoot(abs); err == nil {
				s.folders = append(s.folders, folder{abs, root})
				continue
			}
		}
		s.close()
		return nil, hint.Add(fmt.Errorf("opening a folder of photos: %w: %w", cpar.ErrInput, err), "name folders; a single photo can be dropped onto the page")
	}
	return s, nil
}

func (s *shelf) close() {
	for _, f := range s.folders {
		f.root.Close()
	}
}

// fill rescans the folders. Ids stay the same.
func (s *shelf) fill(ctx context.Context, b Backend) error {
	listed, skipped, err := b.Photos(ctx)
	if err != nil {
		return err
	}
	var all []*shelfPhoto
	by, paths := map[string]*shelfPhoto{}, map[string]*shelfPhoto{}
	out := 0
	for _, path := range listed {
		p, ok := s.place(path)
		if ok {
			var info os.FileInfo
			if info, err = s.stat(p); err == nil {
				p.dated = info.ModTime()
			}
		}
		if !ok || err != nil { // probably a link to another listed photo
			out++
			continue
		}
		if by[p.id] != nil {
			continue
		}
		by[p.id], paths[path] = p, p
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b *shelfPhoto) int {
		return cmp.Or(cmp.Compare(a.folder, b.folder), strings.Compare(a.name, b.name))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.by, s.paths, s.skipped = all, by, paths, skipped
	if out > 0 {
		s.skipped = strings.TrimSpace(fmt.Sprintf("%s\nleft out: %d that lead out of the folders or cannot be read", s.skipped, out))
	}
	return nil
}

func (s *shelf) place(path string) (*shelfPhoto, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, false
	}
	for i, f := range s.folders {
		name, err := filepath.Rel(f.path, abs)
		if err == nil && name != "." && filepath.IsLocal(name) {
			name = filepath.ToSlash(name)
			return &shelfPhoto{id: s.id(i, name), folder: i, name: name, path: path}, true
		}
	}
	return nil, false
}

func (s *shelf) id(folder int, name string) string {
	mac := hmac.New(sha256.New, s.secret[:])
	fmt.Fprintf(mac, "%d/%s", folder, name)
	return "p" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}

func (s *shelf) get(id string) (*shelfPhoto, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.by[id]
	return p, ok
}

func (s *shelf) at(path string) (*shelfPhoto, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.paths[path]
	return p, ok
}

// list returns all photos and a description of skipped files. Callers must not
// modify the slice.
func (s *shelf) list() ([]*shelfPhoto, string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all, s.skipped
}

// stat describes a photo, which it accesses through its opened folder.
func (s *shelf) stat(p *shelfPhoto) (os.FileInfo, error) {
	info, err := s.folders[p.folder].root.Stat(filepath.FromSlash(p.name))
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("reading a photo: %w: %w", cpar.ErrInput, err)
	}
	return info, nil
}

func (s *shelf) read(p *shelfPhoto) ([]byte, error) {
	if _, err := s.stat(p); err != nil { // reading a pipe would block
		return nil, err
	}
	f, err := s.folders[p.folder].root.Open(filepath.FromSlash(p.name))
	if err != nil {
		return nil, fmt.Errorf("reading a photo: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPhotoBytes+1))
	if err == nil && len(data) > maxPhotoBytes {
		err = fmt.Errorf("it has more than %d bytes", int64(maxPhotoBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("reading a photo: %w: %w", cpar.ErrInput, err)
	}
	return data, nil
}
