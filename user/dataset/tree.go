package dataset

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"cpar/internal/untrusted"
	"cpar/user/metadata"

	"golang.org/x/sync/errgroup"
)

// otherImages are counted and reported, so that nobody wonders where they are: keywords
// are read only from JPEG files.
var otherImages = map[string]bool{
	".png": true, ".gif": true, ".bmp": true, ".webp": true, ".tif": true, ".tiff": true,
	".heic": true, ".heif": true, ".avif": true, ".dng": true, ".cr2": true, ".nef": true, ".arw": true,
}

// readTree fills Items from the keywords inside the JPEG files of a folder tree. Names
// that begin with a dot are not the owner's photos (thumbnails, "._" files of a Mac,
// version control). Symbolic links are not followed, so the tree has no loops and no file
// twice.
func (c *Collection) readTree(root *os.Root, _ string) error {
	names, err := c.listTree(root.FS())
	if err != nil {
		return err
	}
	type found struct {
		keywords []string
		warnings []Warning
	}
	results := make([]found, len(names))
	var g errgroup.Group
	g.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for i, name := range names {
		g.Go(func() error {
			results[i].keywords, results[i].warnings = fileKeywords(root, name)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, r := range results {
		c.Warnings = append(c.Warnings, r.warnings...)
		if len(r.keywords) > 0 {
			c.Items = append(c.Items, Item{Path: filepath.Join(c.Dir, filepath.FromSlash(names[i])), Name: names[i], Keywords: r.keywords})
		}
	}
	return nil
}

// listTree lists the JPEG files below the folder in lexical order.
func (c *Collection) listTree(tree fs.FS) (names []string, err error) {
	err = c.walk(tree, ".", func(name string, d fs.DirEntry) {
		ext := strings.ToLower(path.Ext(name))
		jpeg := ext == ".jpg" || ext == ".jpeg"
		switch {
		case otherImages[ext]:
			c.warn(Ignored, name, "keywords are read from JPEG files only")
		case !jpeg:
		case !d.Type().IsRegular():
			c.warn(Unreadable, name, "not a file")
		case c.nameable(name):
			names = append(names, name)
		}
	})
	return names, err
}

// walk calls each for what lies below the folder top, in lexical order, without folders,
// links and names that begin with a dot. It fails if top cannot be listed.
func (c *Collection) walk(tree fs.FS, top string, each func(name string, d fs.DirEntry)) error {
	return fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == top {
				return inputError("check that the folder may be read", "listing %s: %w", cmp.Or(strings.TrimPrefix(top, "."), "it"), cause(err))
			}
			c.warn(Unreadable, name, "%v", cause(err))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case name == top:
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			c.warn(Ignored, name, "a symbolic link")
		default:
			each(name, d)
		}
		return nil
	})
}

// nameable warns about a file whose name cannot be that of an item.
func (c *Collection) nameable(name string) bool {
	_, forbidden := firstForbidden(name)
	switch {
	case !utf8.ValidString(name):
		c.warn(Encoding, name, "the file name")
	case forbidden:
		c.warn(Malformed, name, "the file name contains a control character")
	default:
		return true
	}
	return false
}

// fileKeywords reads the keywords of one JPEG and of its sidecars. If damage leaves
// keywords readable, it returns a warning and keeps the image.
func fileKeywords(root *os.Root, name string) ([]string, []Warning) {
	words, problems, err := metadata.ReadFile(filepath.Join(root.Name(), filepath.FromSlash(name)))
	if err != nil {
		return nil, []Warning{*newWarning(Unreadable, name, "%v", cause(err))}
	}
	keywords, warnings := cleanKeywords(words.Human, name, "")
	for _, p := range problems {
		warnings = append(warnings, *newWarning(Unreadable, name, "its metadata is damaged: %s", untrusted.Text(p.Detail)))
	}
	if len(problems) == 0 && len(keywords) == 0 {
		warnings = append(warnings, *newWarning(NoKeywords, name, ""))
	}
	return keywords, warnings
}
