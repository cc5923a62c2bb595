package dataset

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"cpar/internal/sanitize"
	"cpar/photo"
)

type Format string

const (
	Manifest   Format = "manifest"     // manifest.csv
	SAIAPR     Format = "SAIAPR TC-12" // labels of regions, the paper's keywords
	LEAR       Format = "LEAR pack"    // Corel-5k, ESP game and IAPR TC-12 as in the literature
	COCO       Format = "COCO"         // instances of objects
	OpenImages Format = "Open Images"  // labels verified by people
	IAPR       Format = "IAPR TC-12"   // descriptions in English
	LabelMe    Format = "LabelMe"      // names of outlined objects
	Embedded   Format = "embedded"     // keywords in and beside photos
)

type importer struct {
	format Format
	// find returns the folder that holds the format's files, relative to the
	// collection. It returns "" if the collection has another format.
	find func(root *os.Root) (base string)
	// read sets the rows and Warnings of r. It fails if nothing is readable.
	read func(r *reading) error
}

// A reading holds the state of one run of an importer.
type reading struct {
	*Collection
	ctx  context.Context
	root *os.Root
	base string // see importer.find
	rows []row
	// halves maps names to train or test, as published in the file halvesFrom.
	halves     map[string]string
	halvesFrom string
}

// importers are tried in this order. A manifest overrides all others. SAIAPR
// TC-12 and LEAR precede IAPR TC-12, because they have better keywords for its
// photos.
var importers = []importer{
	{Manifest, firstOf(isManifest, "."), (*reading).readManifest},
	{SAIAPR, findSAIAPR, (*reading).readSAIAPR},
	{LEAR, findLEAR, (*reading).readLEAR},
	{COCO, findCOCO, (*reading).readCOCO},
	{OpenImages, findOpenImages, (*reading).readOpenImages},
	{IAPR, findIAPR, (*reading).readIAPR},
	{LabelMe, firstOf(isLabelMe, "."), (*reading).readLabelMe},
	{Embedded, func(*os.Root) string { return "." }, (*reading).readTree},
}

// firstOf returns an importer's function `find`. That function returns the
// first of `places` for which `holds` returns true, or "".
func firstOf(holds func(root *os.Root, place string) bool, places ...string) func(*os.Root) string {
	return func(root *os.Root) string {
		for _, place := range places {
			if holds(root, place) {
				return place
			}
		}
		return ""
	}
}

// read uses the first importer that recognises the folder. Only a manifest
// keeps its order. Other photos are sorted by name.
func (c *Collection) read(ctx context.Context, root *os.Root) error {
	r := &reading{Collection: c, ctx: ctx, root: root, halves: map[string]string{}}
	at := slices.IndexFunc(importers, func(im importer) bool {
		r.base = im.find(root)
		return r.base != ""
	})
	c.Format = importers[at].format // the last importer accepts any folder
	if err := importers[at].read(r); err != nil {
		return err
	}
	if c.Format != Manifest {
		slices.SortFunc(r.rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	}
	halves := map[string]bool{}
	for _, row := range r.rows {
		name, w := resolve(root, c.Dir, row)
		if w != nil {
			c.Warnings = append(c.Warnings, *w)
			continue
		}
		c.Photos = append(c.Photos, Photo{Path: filepath.Join(c.Dir, filepath.FromSlash(name)), Name: name, Keywords: row.keywords})
		halves[r.halves[name]] = true
	}
	if halves[splitTrain] && halves[splitTest] {
		c.split, c.splitFrom = r.halves, r.halvesFrom
	}
	return nil
}

// isManifest follows no links, because a broken link is a damaged manifest.
func isManifest(root *os.Root, _ string) bool {
	_, err := root.Lstat(ManifestName)
	return !errors.Is(err, fs.ErrNotExist)
}

// isFile and isFolder follow links inside the collection. For unreadable
// entries they return false. The importer of folder trees warns about these
// entries.
func isFile(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.IsDir()
}

func (r *reading) subfolders(folder string) ([]string, error) {
	entries, err := fs.ReadDir(r.root.FS(), folder)
	if err != nil {
		return nil, inputError("check that the folder may be read", "listing %s: %w", folder, photo.Cause(err))
	}
	var names []string
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.Type()&fs.ModeSymlink != 0:
			r.warn(Ignored, name, "a symbolic link")
		case e.IsDir():
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// photosBelow maps paths without extension to the photos below a folder. Some
// annotations have "jpg" where the file has "JPG".
func (r *reading) photosBelow(folder string) (map[string]string, error) {
	found := map[string]string{}
	err := r.walk(folder, func(name string, d fs.DirEntry) {
		stem := withoutEnding(name)
		switch {
		case stem == name: // not a photo
		case !d.Type().IsRegular():
			r.warn(Unreadable, name, "not a file")
		case !r.checkName(name):
		case found[stem] != "":
			r.warn(Duplicate, name, "%s differs only in its extension", path.Base(found[stem]))
		default:
			found[stem] = name
		}
	})
	return found, err
}

func withoutEnding(name string) string {
	if photo.IsPhoto(name) {
		return strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}

// annotate adds a photo with the usable keywords in `raw`, and reports whether
// there are any.
func (r *reading) annotate(name, where string, raw []string) bool {
	keywords, warnings := cleanKeywords(raw, name, where+": ")
	r.Warnings = append(r.Warnings, warnings...)
	if len(keywords) == 0 {
		r.warn(NoKeywords, name, "%s", where)
		return false
	}
	r.rows = append(r.rows, row{where: where, name: name, keywords: keywords})
	return true
}

// annotateBy does the same as annotate for labels. Map `words` translates them
// to keywords, and `nameless` is the warning about a label that it lacks.
func annotateBy[L comparable](r *reading, name, where string, labels []L, words map[L]string, nameless string) {
	var raw []string
	for _, label := range labels {
		if word, ok := words[label]; ok {
			raw = append(raw, word)
		} else {
			r.warn(BadKeyword, name, "%s: "+nameless, where, sanitize.Text(fmt.Sprint(label)))
		}
	}
	r.annotate(name, where, raw)
}

func (c *Collection) warn(k Kind, name, format string, args ...any) {
	c.Warnings = append(c.Warnings, *newWarning(k, name, format, args...))
}

func (c *Collection) withProgress(f *os.File, name string) io.Reader {
	info, err := f.Stat()
	if err != nil || c.opts.Progress == nil || info.Size() < 16<<20 {
		return f
	}
	return &progressReader{r: f, tell: func(read int64) {
		c.opts.Progress.Report("reading "+sanitize.Text(name), int(read>>20), int(info.Size()>>20))
	}}
}

type progressReader struct {
	r    io.Reader
	read int64
	tell func(read int64)
}

func (w *progressReader) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	before := w.read
	w.read += int64(n)
	if w.read>>20 > before>>20 || err != nil {
		w.tell(w.read)
	}
	return n, err
}

func readLimited(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, inputError("check that the file may be read", "reading %s: %w", name, photo.Cause(err))
	case int64(len(b)) > limit:
		return nil, inputError("check that it is the published file", "%s has more than %d bytes", name, limit)
	}
	return b, nil
}

// decodeText returns UTF-8 text. It decodes invalid UTF-8 as Windows-1252, the
// usual meaning of ISO-8859-1, because text in that encoding is hardly ever
// valid UTF-8 unless it is ASCII.
func decodeText(b []byte) string {
	if !utf8.Valid(b) {
		b, _ = charmap.Windows1252.NewDecoder().Bytes(b) // maps every byte
	}
	return strings.TrimPrefix(string(b), "\ufeff")
}

// decodeXML parses the first element of a file. It accepts bare ampersands and
// HTML entities, which hand-written annotations contain.
func decodeXML(b []byte, into any) error {
	d := xml.NewDecoder(strings.NewReader(decodeText(b)))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(charset string, r io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "iso-8859-1", "latin1", "windows-1252", "us-ascii", "ascii":
			return r, nil // already decoded
		}
		return nil, errors.New("save it in UTF-8")
	}
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("its XML is damaged: %w", err)
	}
	return nil
}
