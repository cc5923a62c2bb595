package dataset

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// photoEndings are what Photos takes from a folder.
var photoEndings = []string{".jpg", ".jpeg", ".png", ".gif", ".webp", ".tif", ".tiff", ".bmp"}

// Photos lists the photos in files and folders, whether or not they have keywords. A
// file that is named is taken whatever its name. From a folder come the files, also in
// folders below, that end like an image; names that begin with a dot are no photos
// (thumbnails, "._" files of a Mac), and what cannot be listed is a warning.
func Photos(paths []string) (photos []string, warnings []Warning, err error) {
	for _, root := range paths {
		info, err := os.Stat(root)
		if err != nil {
			return nil, nil, fmt.Errorf("looking for photos: %w: %s: %w", cpar.ErrInput, root, cause(err))
		}
		if !info.IsDir() {
			photos = append(photos, root)
			continue
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			hidden := path != root && strings.HasPrefix(d.Name(), ".")
			switch {
			case err != nil && path == root:
				return err
			case err != nil:
				warnings = append(warnings, *newWarning(Unreadable, path, "%v", cause(err)))
				return fs.SkipDir
			case hidden && d.IsDir():
				return fs.SkipDir
			case !hidden && d.Type().IsRegular() && slices.Contains(photoEndings, strings.ToLower(filepath.Ext(path))):
				photos = append(photos, path)
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("looking for photos: %w: %s: %w", cpar.ErrInput, root, cause(err))
		}
	}
	if len(photos) == 0 {
		return nil, warnings, hint.Add(fmt.Errorf("looking for photos: %w: there is none in %s", cpar.ErrInput, strings.Join(paths, ", ")),
			"files ending in %s count", strings.Join(photoEndings, " "))
	}
	return photos, warnings, nil
}
