// Package dataset reads a collection of annotated images: its files, and the keywords a
// person gave each of them.
//
//	folder/manifest.csv              ─┐
//	  path,keywords                   │
//	  a.jpg,sky;sea                   │
//	folder as SAIAPR TC-12, IAPR      │
//	  TC-12, LabelMe, the LEAR packs, ├─▶ Open ─▶ Items (path, keywords) + Warnings
//	  COCO or Open Images are         │
//	  published                       │
//	folder/… of photos with keywords  │
//	  in them or beside them          │
//	  (package metadata)             ─┘
//	folder/split.csv (path,split),
//	  or halves as published          ──▶ Collection.Split, else HeldOut
//
// The table of importers says in which order the kinds are tried. The paper's own
// collection is IAPR TC-12 with the labels of SAIAPR TC-12.
//
// Nothing here decodes a picture. The output is names and keywords, checked so that the
// rest of the program need not check again:
//
//   - Name is unique, valid UTF-8, relative, slash-separated, and stays inside
//     the folder, also through symbolic links where a table names it; the file exists, and of
//     a table is not empty;
//   - every item has 1 to 31 keywords ([MaxKeywords], the capacity of the encrypted
//     block), each 1 to 128 bytes ([MaxKeywordBytes]) of Unicode NFC without
//     control characters, without repetition. Words that differ in case only are
//     one word, spelt as most photos of the collection have it.
//
// Everything skipped or shortened on the way is reported as a [Warning], and what was no
// photo to begin with in Collection.Skipped. Time is linear in what is read, and memory in
// the number of photos: large files are read as streams.
//
// Formats: RFC 4180 (CSV); Guillaumin et al., TagProp (2009), vec_read.m; Lin et al.,
// Microsoft COCO (2014); Kuznetsova et al., The Open Images Dataset V4 (2020); Grubinger et al., The IAPR benchmark (2006); Escalante et al., The segmented and
// annotated IAPR TC-12 benchmark (2010); Russell et al., LabelMe (2008).
package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/photo"
)

// These files make a folder a collection.
const (
	ManifestName = "manifest.csv"
	SplitName    = "split.csv"
)

// Item is one annotated image.
type Photo struct {
	Path     string   `json:"path"`     // absolute, as the system spells it
	Name     string   `json:"name"`     // relative to the collection, slashes
	Keywords []string `json:"keywords"` // 1 to MaxKeywords, in the owner's order
}

// Collection is the result of Open. Items are in the manifest's order, or sorted by name
// if there is none.
type Collection struct {
	Dir      string // absolute
	Format   Format // what Open took it for
	Photos   []Photo
	Warnings []Warning
	// Skipped is what lies in a folder tree and is nobody's photo: videos, thumbnails, trash.
	// Their paths are relative, with slashes.
	Skipped []photo.Skipped

	opts      Options
	split     map[string]string // name → train or test; nil if nothing says so
	splitFrom string            // what says so
	splitErr  error             // why that is unusable; Split reports it
}

// Options changes how a collection is read. The zero value is lenient.
type Options struct {
	// Strict makes Open fail instead of warn; the error is a *StrictError with every
	// warning. A Note or a Spelling alone is no failure: nothing was skipped.
	Strict bool
	// IncludePeople counts names of people, as programs find them by faces, among the
	// keywords of a folder tree. They are left out otherwise.
	IncludePeople bool
	// Machine, if not nil, says which words in a file this program has put there. They are
	// no keywords, like those that the file itself says so of.
	Machine func(path string) []string
	// Progress is told how far reading has come; it may be nil.
	Progress progress.Func
}

// Open reads the collection in the folder dir: from its manifest.csv if it has one, else
// as the data set that it is laid out as, else from the keywords in and beside its photos. It
// fails if there is no usable image at all. Errors wrap cpar.ErrInput and carry a hint
// (package hint).
func Open(ctx context.Context, dir string, opts Options) (*Collection, error) {
	abs, root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()

	c := &Collection{Dir: abs, opts: opts}
	if err := c.read(ctx, root); err != nil {
		return nil, fmt.Errorf("reading the collection %s: %w", sanitize.Text(dir), err)
	}
	if len(c.Photos) == 0 {
		return nil, c.nothingFound(dir)
	}
	c.mergeSpellings()
	c.readSplitFile(root)
	if opts.Strict && c.splitErr != nil {
		return nil, c.splitErr
	}
	if opts.Strict && slices.ContainsFunc(c.Warnings, func(w Warning) bool { return !w.Kind.harmless() }) {
		return nil, hint.Add(&StrictError{Dir: dir, Warnings: c.Warnings}, "repair these, or read the collection without --strict")
	}
	return c, nil
}

// Summary groups and counts what was skipped and the warnings, one line per kind.
func (c *Collection) Summary() string {
	skipped := (&photo.Listing{Skipped: c.Skipped}).Summary()
	return strings.Trim(skipped+"\n"+Summary(c.Warnings), "\n")
}

func openFolder(dir string) (string, *os.Root, error) {
	// An empty name would silently mean the working directory.
	if dir == "" {
		return "", nil, inputError("pass the folder that holds the images", "opening a collection: no folder given")
	}
	shown := sanitize.Text(dir)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("opening the collection %s: %w: %w", shown, cpar.ErrInput, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, inputError("check the spelling and the folder you are in", "opening the collection %s: there is no such folder", shown)
	case err != nil:
		return "", nil, inputError("check that the folder may be read", "opening the collection %s: %w", shown, cause(err))
	case !info.IsDir():
		hint := "pass the folder that holds the images"
		if strings.HasSuffix(strings.ToLower(abs), ".csv") {
			hint = "pass the folder that holds " + ManifestName + ", not the file"
		}
		return "", nil, inputError(hint, "opening the collection %s: not a folder", shown)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return "", nil, inputError("check that the folder may be read", "opening the collection %s: %w", shown, cause(err))
	}
	return abs, root, nil
}

// nothingFound distinguishes an empty folder from one whose rows were all refused.
func (c *Collection) nothingFound(dir string) error {
	shown := sanitize.Text(dir)
	if len(c.Warnings) == 0 {
		instead := strings.TrimSuffix("\n"+c.Summary(), "\n")
		return hint.Add(fmt.Errorf("reading the collection %s: it holds no annotated image: %w%s", shown, cpar.ErrInput, instead),
			"name a folder of photos that have keywords, or put a %s with the columns path,keywords into it", ManifestName)
	}
	return hint.Add(fmt.Errorf("reading the collection %s: no usable image: %w\n%s",
		shown, cpar.ErrInput, c.Summary()), "repair these first")
}

// readManifestFile fills Items from manifest.csv and checks each file it names.
func (c *Collection) readManifestFile(_ context.Context, root *os.Root, _ string) error {
	f, err := openRegular(root, ManifestName)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, warnings, err := readManifest(f, c.Dir)
	if err != nil {
		return err
	}
	c.Warnings = append(c.Warnings, warnings...)
	c.resolveRows(root, rows)
	return nil
}

// resolveRows makes items of the rows whose files are usable.
func (c *Collection) resolveRows(root *os.Root, rows []row) {
	c.Photos = make([]Photo, 0, len(rows))
	for _, r := range rows {
		name, w := resolve(root, c.Dir, r)
		if w != nil {
			c.Warnings = append(c.Warnings, *w)
			continue
		}
		c.Photos = append(c.Photos, Photo{Path: filepath.Join(c.Dir, filepath.FromSlash(name)), Name: name, Keywords: r.keywords})
	}
}

// resolve finds the file of a row. Manifest and disk may use different Unicode forms of a
// name (a collection that was on a Mac), so it tries both.
func resolve(root *os.Root, dir string, r row) (string, *Warning) {
	var first error
	for _, name := range slices.Compact([]string{r.name, norm.NFC.String(r.name), norm.NFD.String(r.name)}) {
		info, err := root.Stat(filepath.FromSlash(name))
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		switch {
		case !info.Mode().IsRegular():
			return "", newWarning(Unreadable, r.name, "%s: not a file", r.where)
		case info.Size() == 0:
			return "", newWarning(Unreadable, r.name, "%s: the file is empty", r.where)
		}
		return name, nil
	}
	if errors.Is(first, fs.ErrNotExist) {
		return "", newWarning(Missing, r.name, "%s", r.where)
	}
	// os.Root refuses links that lead out of the folder. If the same path opens without
	// it, that was the reason, and no other failure.
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.name))); err == nil {
		return "", newWarning(Outside, r.name, "%s: a symbolic link leads out of the collection", r.where)
	}
	return "", newWarning(Unreadable, r.name, "%s: %v", r.where, cause(first))
}

// openRegular opens a file of the collection. It refuses folders and pipes, where reading
// would fail oddly or block for ever.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, inputError("rename it, or replace it by the file", "%s is not a file", name)
	}
	var f *os.File
	if err == nil {
		f, err = root.Open(name)
	}
	if err != nil {
		return nil, inputError("check that the file may be read", "opening %s: %w", name, cause(err))
	}
	return f, nil
}

// cause strips the path from an error that is shown beside it.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// inputError is an ErrInput with advice.
func inputError(advice, format string, args ...any) error {
	return hint.Add(fmt.Errorf("%w: %w", fmt.Errorf(format, args...), cpar.ErrInput), "%s", advice)
}
