package dataset

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"cpar/photo"
	"cpar/photo/metadata"

	"golang.org/x/sync/errgroup"
)

// readTree reads the keywords in and beside the photos of a folder tree. It
// does not read the databases of photo programs, which can all write keywords
// to files.
func (c *reading) readTree() error {
	listing, err := photo.List(c.ctx, []string{c.Dir}, photo.Options{})
	switch {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case listing == nil:
		return inputError("check that the folder may be read", "listing it: %w", err)
	}
	c.warnSkipped(listing.Skipped)
	all := slices.DeleteFunc(listing.Photos, func(p photo.Photo) bool { return !c.checkName(c.name(p.Path)) })

	results := make([]photoKeywords, len(all))
	var done atomic.Int64
	g, ctx := errgroup.WithContext(c.ctx)
	g.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for i, p := range all {
		g.Go(func() error {
			results[i] = c.readKeywords(p)
			c.opts.Progress.Report("keywords", int(done.Add(1)), len(all))
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	named := map[string]int{}
	for i, r := range results {
		for _, w := range r.people {
			named[w]++
		}
		c.Warnings = append(c.Warnings, r.warnings...)
		if len(r.keywords) > 0 {
			c.Photos = append(c.Photos, Photo{Path: all[i].Path, Name: c.name(all[i].Path), Keywords: r.keywords})
		}
	}
	c.People = frequencies(named)
	slices.SortFunc(c.Photos, func(a, b Photo) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// warnSkipped warns about skipped files that users would call photos and about
// entries that may hide photos.
func (c *Collection) warnSkipped(skipped []photo.Skipped) {
	for _, s := range skipped {
		s.Path = c.name(s.Path)
		switch s.Reason {
		case photo.Unreadable:
			c.warn(Unreadable, s.Path, "%s", s.Detail)
		case photo.OtherKind:
			c.warn(Ignored, s.Path, "a kind of photo that is not read")
		case photo.Link:
			c.warn(Ignored, s.Path, "a link to a folder")
		default:
			c.Skipped = append(c.Skipped, s)
		}
	}
}

func (c *Collection) name(file string) string {
	rel, err := filepath.Rel(c.Dir, file)
	if err != nil {
		return filepath.ToSlash(file) // cannot happen, because both paths are absolute and on one disk
	}
	return filepath.ToSlash(rel)
}

type photoKeywords struct {
	keywords []string
	people   []string // names that were left out
	warnings []Warning
}

// readKeywords reads the keywords in and beside all files of p. Machine
// keywords are excluded, because learning from the program's own answers would
// reinforce them.
func (c *Collection) readKeywords(p photo.Photo) (t photoKeywords) {
	name := c.name(p.Path)
	var human, people []string
	machine := map[string]bool{}
	suggested, damaged := false, false
	for _, file := range append([]string{p.Path}, p.Also...) {
		words, problems, err := metadata.ReadFile(file)
		if err != nil {
			t.warnings = append(t.warnings, *newWarning(Unreadable, c.name(file), "%v", photo.Cause(err)))
			damaged = true
		}
		for _, p := range problems {
			t.warnings = append(t.warnings, *newWarning(Unreadable, c.name(p.Path), "its keywords cannot be read: %s", p.Detail))
			damaged = true
		}
		human, people = append(human, words.Human...), append(people, words.People...)
		suggested = suggested || len(words.Machine) > 0
		if c.opts.Machine != nil {
			for _, w := range c.opts.Machine(file) {
				machine[metadata.Fold(w)] = true
			}
		}
	}
	if c.opts.IncludePeople {
		human = append(human, people...)
	} else {
		t.people, _ = cleanKeywords(people, name, "")
	}
	before := len(human)
	human = slices.DeleteFunc(human, func(w string) bool { return machine[metadata.Fold(w)] })
	suggested = suggested || len(human) < before

	var warnings []Warning
	t.keywords, warnings = cleanKeywords(human, name, "")
	t.warnings = append(t.warnings, warnings...)
	switch {
	case len(t.keywords) > 0 || damaged:
	case suggested:
		t.warnings = append(t.warnings, *newWarning(NoKeywords, name, "only suggestions that you have not accepted"))
	case len(people) > 0:
		t.warnings = append(t.warnings, *newWarning(NoKeywords, name, "only names of people, which are left out"))
	default:
		t.warnings = append(t.warnings, *newWarning(NoKeywords, name, ""))
	}
	return t
}

// walk calls `each` for the regular files below folder `top` in lexical order,
// except hidden files. It fails if `top` cannot be listed.
func (c *reading) walk(top string, each func(name string, d fs.DirEntry)) error {
	return fs.WalkDir(c.root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err != nil {
			if name == top {
				return inputError("check that the folder may be read", "listing %s: %w", cmp.Or(strings.TrimPrefix(top, "."), "it"), photo.Cause(err))
			}
			c.warn(Unreadable, name, "%v", photo.Cause(err))
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
