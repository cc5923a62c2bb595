// Package dataset reads a collection of annotated photos: their files, and the
// keywords that people gave them.
//
//	folder/manifest.csv              ─┐
//	  path,keywords                   │
//	  a.jpg,sky;sea                   │
//	folder in the published layout of │
//	  SAIAPR TC-12, IAPR TC-12,       ├─▶ Open ─▶ Photos (path, keywords) + Warnings
//	  LabelMe, LEAR, COCO or          │
//	  Open Images                     │
//	folder/… of photos with keywords  │
//	  in or beside the files          │
//	  (package metadata)             ─┘
//	folder/split.csv (path,split),
//	  or the published halves         ──▶ Collection.Split, otherwise HeldOut
//
// Open tries the formats in the order of variable `importers`. The paper's
// collection is IAPR TC-12 with the labels of SAIAPR TC-12.
//
// Package dataset decodes no images. It validates names and keywords, so that
// the rest of the program can rely on these properties:
//
//   - Name is unique, valid UTF-8, relative, and slash-separated. The file is
//     inside the folder, even if a table names a symbolic link. It exists and,
//     if a table names it, is not empty.
//   - Every photo has 1 to 31 keywords ([MaxKeywords], the capacity of the
//     encrypted block), each 1 to 128 bytes ([MaxKeywordBytes]) of NFC text without
//     control characters. Keywords are distinct. Words that differ only in case
//     are merged into the most frequent spelling of the collection.
//
// A [Warning] reports everything that was skipped or shortened.
// Collection.Skipped lists files that are not photos.
//
// Formats: RFC 4180 (CSV), Guillaumin et al., TagProp (2009), vec_read.m, Lin
// et al., Microsoft COCO (2014), Kuznetsova et al., The Open Images Dataset V4
// (2020), Grubinger et al., The IAPR benchmark (2006), Escalante et al., The
// segmented and annotated IAPR TC-12 benchmark (2010), Russell et al., LabelMe
// (2008).
package dataset

import (
	"cmp"
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

const (
	ManifestName = "manifest.csv"
	SplitName    = "split.csv"
)

type Photo struct {
	Path     string   `json:"path"`     // absolute, in the system's notation
	Name     string   `json:"name"`     // relative to the collection, with slashes
	Keywords []string `json:"keywords"` // 1 to MaxKeywords, in the owner's order
}

// Collection is the result of Open. Photos are in the manifest's order, or
// sorted by name without a manifest.
type Collection struct {
	Dir      string // absolute
	Format   Format // the importer that Open chose
	Photos   []Photo
	Warnings []Warning
	// Skipped lists files of a folder tree that are not photos, such as videos,
	// thumbnails and trash. Its paths are relative and slash-separated.
	Skipped []photo.Skipped
	// People lists names of people that were left out, with their numbers of
	// photos, most frequent first.
	People []Frequency

	opts      Options
	split     map[string]string // name → train or test, nil without a split
	splitFrom string            // the source of the split
	splitErr  error             // the reason why the split is unusable, returned by Split
}

// Options changes how a collection is read. The zero value is lenient.
type Options struct {
	// Strict makes Open fail with a *StrictError if anything was skipped.
	Strict bool
	// IncludePeople counts names of people, from face regions, among the
	// keywords of a folder tree.
	IncludePeople bool
	// Untagged includes photos without keywords.
	Untagged bool
	// Machine, if not nil, returns the keywords that this program suggested for
	// a file. Like suggestions that are marked in the file, they do not count
	// as keywords.
	Machine  func(path string) []string
	Progress progress.Func
}

// Open reads the collection in folder dir. It reads manifest.csv, otherwise a
// known data set, otherwise the keywords in and beside photos. It fails if no
// photo is usable. Errors wrap cpar.ErrInput and carry a hint.
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
	if opts.Untagged {
		c.includeUntagged()
	}
	if len(c.Photos) == 0 {
		return nil, c.nothingFound(dir)
	}
	c.mergeSpellings()
	c.readSplitFile(root)
	if opts.Strict && c.splitErr != nil {
		return nil, c.splitErr
	}
	if opts.Strict && slices.ContainsFunc(c.Warnings, Warning.lost) {
		return nil, hint.Add(&StrictError{Dir: dir, Warnings: c.Warnings}, "repair these, or read the collection without --strict")
	}
	return c, nil
}

// Summary counts the omissions and warnings, one line per kind.
func (c *Collection) Summary() string {
	skipped := (&photo.Listing{Skipped: c.Skipped}).Summary()
	return strings.Trim(skipped+"\n"+Summary(c.Warnings), "\n")
}

func openFolder(dir string) (string, *os.Root, error) {
	// filepath.Abs maps "" to the working directory.
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
		return "", nil, inputError("check that the folder may be read", "opening the collection %s: %w", shown, photo.Cause(err))
	case !info.IsDir():
		hint := "pass the folder that holds the images"
		if strings.HasSuffix(strings.ToLower(abs), ".csv") {
			hint = "pass the folder that holds " + ManifestName + ", not the file"
		}
		return "", nil, inputError(hint, "opening the collection %s: not a folder", shown)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return "", nil, inputError("check that the folder may be read", "opening the collection %s: %w", shown, photo.Cause(err))
	}
	return abs, root, nil
}

func (c *Collection) nothingFound(dir string) error {
	shown := sanitize.Text(dir)
	if len(c.Warnings) == 0 {
		instead := strings.TrimSuffix("\n"+c.Summary(), "\n")
		return hint.Add(fmt.Errorf("reading the collection %s: it holds no annotated image: %w%s", shown, cpar.ErrInput, instead),
			"name a folder of photos that have keywords, or put a %s with the columns path,keywords into it", ManifestName)
	}
	advice := "repair these first"
	switch {
	case !slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.Kind == NoKeywords }):
	case len(c.People) > 0:
		advice = "these photos have names of people only; pass --include-people to use them as keywords"
	default:
		advice = "give at least twenty of these photos keywords in a photo program, or list them in a " + ManifestName +
			" with the columns path,keywords; until then, the image network suggests words of its own: cpar annotate --own-words FOLDER"
	}
	return hint.Add(fmt.Errorf("reading the collection %s: no usable image: %w\n%s",
		shown, cpar.ErrInput, c.Summary()), "%s", advice)
}

// resolve finds the file of a row. It tries both Unicode normal forms, because
// a Mac may have written the manifest or the files.
func resolve(root *os.Root, dir string, r row) (string, *Warning) {
	var first error
	for _, name := range slices.Compact([]string{r.name, norm.NFC.String(r.name), norm.NFD.String(r.name)}) {
		info, err := root.Stat(filepath.FromSlash(name))
		if err != nil {
			first = cmp.Or(first, err)
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
	// os.Root rejects links that lead out of the folder. If the file exists
	// without os.Root, this was the reason.
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.name))); err == nil {
		return "", newWarning(Outside, r.name, "%s: a symbolic link leads out of the collection", r.where)
	}
	return "", newWarning(Unreadable, r.name, "%s: %v", r.where, photo.Cause(first))
}

// openRegular opens a file of the collection. It rejects folders and pipes.
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
		return nil, inputError("check that the file may be read", "opening %s: %w", name, photo.Cause(err))
	}
	return f, nil
}

func inputError(advice, format string, args ...any) error {
	return hint.Add(fmt.Errorf("%w: %w", fmt.Errorf(format, args...), cpar.ErrInput), "%s", advice)
}
