package photo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// Photo is one shot (exposure), stored in one or more files, such as a RAW file
// and a JPEG.
type Photo struct {
	Path string   `json:"path"`           // the file to decode
	Also []string `json:"also,omitempty"` // other files of the same shot, which get the same keywords
}

// Skipped is a file or folder that was left out. Path is spelt as on the disk
// and may contain control characters, which String escapes.
type Skipped struct {
	Path   string `json:"path"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

func (s Skipped) String() string {
	text := sanitize.Text(s.Path) + ": " + s.Reason.text().one
	if s.Detail != "" {
		text += ": " + sanitize.Text(s.Detail)
	}
	return text
}

type Options struct {
	// Exclude holds patterns of path.Match, for the slash-separated path below
	// the root or the base name. Matching folders are not entered.
	Exclude []string
	// Videos also lists videos, as photos whose path satisfies IsVideo.
	Videos bool
	// Folder, if not nil, is called with every folder before List reads it.
	Folder func(path string)
}

type Listing struct {
	Photos  []Photo
	Skipped []Skipped
}

// List lists the photos in files and folders. Errors wrap cpar.ErrInput. If
// List finds no photo, it returns the listing with the error, so that the
// caller can report the skipped files.
func List(ctx context.Context, roots []string, o Options) (*Listing, error) {
	for _, pattern := range o.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, hint.Add(fmt.Errorf("leaving out %s: %w: invalid pattern: %w", sanitize.Text(pattern), cpar.ErrInput, err),
				"* stands for any letters, ? for one, [ab] for a or b")
		}
	}
	return list(&lister{ctx: ctx, readDir: os.ReadDir, exclude: o.Exclude, enter: o.Folder, videos: o.Videos, links: map[string]bool{}, seen: map[string]bool{}}, roots)
}

func list(w *lister, roots []string) (*Listing, error) {
	for _, root := range roots {
		info, err := os.Stat(root)
		switch {
		case err != nil:
			return nil, fmt.Errorf("looking for photos: %w: %s: %w", cpar.ErrInput, sanitize.Text(root), Cause(err))
		case info.IsDir():
			err = w.folder(root, "")
		default:
			w.addFile(root)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(w.links) > 0 {
		w.skipLinks()
	}
	l := &Listing{Photos: groupShots(w.files), Skipped: w.skipped}
	if len(l.Photos) == 0 {
		names := make([]string, len(roots))
		for i, root := range roots {
			names[i] = sanitize.Text(root)
		}
		return l, hint.Add(fmt.Errorf("looking for photos: %w: no photos in %s", cpar.ErrInput, strings.Join(names, ", ")),
			"files ending in %s count", strings.Join(photoExtensions, " "))
	}
	return l, nil
}

type lister struct {
	ctx     context.Context
	readDir func(string) ([]fs.DirEntry, error) // os.ReadDir, except in tests
	exclude []string
	enter   func(folder string) // may be nil
	videos  bool
	files   []string
	links   map[string]bool // links to files, found in folders
	seen    map[string]bool // cleaned paths, because a photo and its folder may both be named
	skipped []Skipped
}

func (w *lister) addFile(file string) {
	if clean := filepath.Clean(file); !w.seen[clean] {
		w.seen[clean] = true
		w.files = append(w.files, file)
	}
}

func (w *lister) skip(file string, r Reason, detail string) {
	w.skipped = append(w.skipped, Skipped{Path: file, Reason: r, Detail: detail})
}

// folder lists a folder. `below` is the folder's slash-separated path below the
// root, "" for the root itself.
func (w *lister) folder(dir, below string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.enter != nil {
		w.enter(dir)
	}
	entries, err := w.readDir(dir)
	if err != nil && below == "" {
		return fmt.Errorf("looking for photos: %w: %s: %w", cpar.ErrInput, sanitize.Text(dir), Cause(err))
	}
	if err != nil { // keep the entries read before the error
		w.skip(dir, Unreadable, Cause(err).Error())
	}
	for _, e := range entries {
		file, inside := filepath.Join(dir, e.Name()), path.Join(below, e.Name())
		if w.excluded(inside, e.Name()) {
			w.skip(file, Excluded, "")
			continue
		}
		isFolder, reason, detail := classifyEntry(file, e)
		switch {
		case reason == Video && w.videos && !isFolder && IsVideo(file):
			w.addFile(file)
		case reason != "":
			w.skip(file, reason, detail)
		case isFolder:
			if err := w.folder(file, inside); err != nil {
				return err
			}
		default:
			w.addFile(file)
			if e.Type()&fs.ModeSymlink != 0 {
				w.links[file] = true
			}
		}
	}
	return nil
}

// skipLinks leaves out links to photos that are listed themselves, because a
// photo should get one annotation. It keeps links to other photos, because some
// programs store a whole library behind links.
func (w *lister) skipLinks() {
	target := func(file string) string { // "" if the file has been removed meanwhile
		abs, _ := filepath.Abs(file)
		real, _ := filepath.EvalSymlinks(abs)
		return real
	}
	listed := map[string]bool{}
	for _, file := range w.files {
		if !w.links[file] {
			listed[target(file)] = true
		}
	}
	w.files = slices.DeleteFunc(w.files, func(file string) bool {
		twice := w.links[file] && listed[target(file)]
		if twice {
			w.skip(file, LinkTwice, "")
		}
		return twice
	})
}

func (w *lister) excluded(inside, base string) bool {
	return slices.ContainsFunc(w.exclude, func(pattern string) bool {
		whole, _ := path.Match(strings.Trim(pattern, "/"), inside) // List has validated the pattern
		name, _ := path.Match(pattern, base)
		return whole || name
	})
}

// classifyEntry returns the reason to leave out a folder entry. The reason is
// empty for a photo and for a folder to enter.
func classifyEntry(file string, e fs.DirEntry) (isFolder bool, r Reason, detail string) {
	linked := e.Type()&fs.ModeSymlink != 0
	mode := e.Type()
	if linked {
		info, err := os.Stat(file)
		if err != nil {
			return false, Unreadable, "a broken link: " + Cause(err).Error()
		}
		mode = info.Mode().Type()
	}
	r = classifyName(e.Name(), mode.IsDir())
	switch {
	case r != "":
		return mode.IsDir(), r, ""
	case mode.IsDir() && linked:
		return true, Link, ""
	case mode.IsDir():
		return true, "", ""
	case !mode.IsRegular():
		return false, NotAPhoto, "not a file"
	}
	return false, "", ""
}

// Cause strips the path from an error, because callers add an escaped path.
func Cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// groupShots merges the RAW files of a shot with the image of the same name.
// The image becomes Path, because the photographer may have edited it.
func groupShots(files []string) []Photo {
	of := map[string][]string{} // by path without extension
	for _, f := range files {
		of[stem(f)] = append(of[stem(f)], f)
	}
	var all []Photo
	done := map[string]bool{}
	for _, f := range files {
		if done[f] {
			continue
		}
		p := Photo{Path: f}
		if group := of[stem(f)]; len(group) > 1 && slices.ContainsFunc(group, IsRaw) {
			if p = newPhoto(group); p.Path != f && !slices.Contains(p.Also, f) {
				p = Photo{Path: f} // another image of the same name
			}
		}
		all = append(all, p)
		done[p.Path] = true
		for _, also := range p.Also {
			done[also] = true
		}
	}
	return all
}

// newPhoto merges the RAW files of a group with its best image. Other images
// stay separate, because they may differ, such as a crop.
func newPhoto(group []string) Photo {
	best := slices.MinFunc(group, func(a, b string) int { return cmp.Compare(preference(a), preference(b)) })
	p := Photo{Path: best}
	for _, f := range group {
		if f != best && IsRaw(f) {
			p.Also = append(p.Also, f)
		}
	}
	return p
}

func stem(file string) string {
	if !IsPhoto(file) {
		return file
	}
	return strings.TrimSuffix(file, filepath.Ext(file))
}
