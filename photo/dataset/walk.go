package dataset

import (
	"cmp"
	"context"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// walk calls each for what lies below the folder top, in lexical order, without folders,
// links and names that begin with a dot. It fails if top cannot be listed.
func (c *Collection) walk(ctx context.Context, tree fs.FS, top string, each func(name string, d fs.DirEntry)) error {
	return fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
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
func (c *Collection) checkName(name string) bool {
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
