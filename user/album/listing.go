package album

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"cpar"
	"cpar/photo"
	"cpar/photo/dataset"
	"cpar/photo/metadata"
)

// list returns the photos in `roots`, with their paths in the album, and the
// roots without photos. It fails if all are empty.
func list(ctx context.Context, roots []string, o AddOptions) (items []*item, empty []string, err error) {
	var none error
	seen, all := map[string]bool{}, &photo.Listing{}
	if o.Listed != nil {
		defer func() { o.Listed(all) }()
	}
	for _, root := range roots {
		l, err := photo.List(ctx, []string{root}, photo.Options{Exclude: o.Exclude})
		if l != nil {
			all.Photos, all.Skipped = append(all.Photos, l.Photos...), append(all.Skipped, l.Skipped...)
		}
		if err != nil && l != nil && len(l.Photos) == 0 {
			empty, none = append(empty, root), err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		base := root
		if info, err := os.Stat(root); err == nil && !info.IsDir() {
			base = filepath.Dir(root)
		}
		whole, err := filepath.Abs(base) // gives folder . its real name
		if err != nil {
			return nil, nil, fmt.Errorf("listing photos: %w: %w", cpar.ErrInput, err)
		}
		into := cmp.Or(o.Into, filepath.Base(whole))
		words, err := manifest(ctx, base)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range l.Photos {
			rel, err := filepath.Rel(base, p.Path)
			if err != nil {
				return nil, nil, fmt.Errorf("listing photos: %w: %w", cpar.ErrInput, err)
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
	if len(items) > 0 {
		none = nil
	}
	return items, empty, none
}

// manifest maps paths of photos to their keywords in the folder's manifest.csv,
// if it exists.
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

// filesOf returns the files of one exposure in the photo's folder: the photo,
// other formats such as raw, and existing sidecars. It lists a sidecar once, even
// if a file system that ignores case finds it under several names.
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
