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
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"cpar/internal/sanitize"
	"cpar/photo"
)

// Format identifies the importer of a collection.
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
	// find returns the folder of the format's files, relative to the
	// collection, or "" if the collection has another format.
	find func(root *os.Root) (base string, err error)
	// read fills Photos and Warnings. An error means that nothing is readable.
	read func(c *Collection, ctx context.Context, root *os.Root, base string) error
}

// importers are tried in this order. manifest.csv comes first, so that an owner
// can override the rest. SAIAPR TC-12 and the LEAR packs precede IAPR TC-12,
// whose photos they annotate: the former has the labels of the paper's Table 1,
// the latter the nouns used in the literature.
var importers = []importer{
	{Manifest, findManifest, (*Collection).readManifestFile},
	{SAIAPR, findSAIAPR, (*Collection).readSAIAPR},
	{LEAR, findLEAR, (*Collection).readLEAR},
	{COCO, findCOCO, (*Collection).readCOCO},
	{OpenImages, findOpenImages, (*Collection).readOpenImages},
	{IAPR, findIAPR, (*Collection).readIAPR},
	{LabelMe, findLabelMe, (*Collection).readLabelMe},
	{Embedded, func(*os.Root) (string, error) { return ".", nil }, (*Collection).readTree},
}

func (c *Collection) read(ctx context.Context, root *os.Root) error {
	for _, im := range importers {
		base, err := im.find(root)
		if err != nil {
			return err
		}
		if base != "" {
			c.Format = im.format
			return im.read(c, ctx, root, base)
		}
	}
	panic("dataset: the last importer takes any folder")
}

// findManifest does not follow links, because a broken link is a damaged
// manifest rather than a missing one.
func findManifest(root *os.Root) (string, error) {
	_, err := root.Lstat(ManifestName)
	switch {
	case err == nil:
		return ".", nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	}
	return "", fmt.Errorf("looking for %s: %w", ManifestName, err)
}

// isFile and isFolder follow links inside the collection. They return false for
// unreadable entries, about which the importer of folder trees warns.
func isFile(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.IsDir()
}

func (c *Collection) subfolders(root *os.Root, folder string) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return nil, inputError("check that the folder may be read", "listing %s: %w", folder, cause(err))
	}
	var names []string
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.Type()&fs.ModeSymlink != 0:
			c.warn(Ignored, name, "a symbolic link")
		case e.IsDir():
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// photosBelow returns the photos below a folder by their path without
// extension, because annotations and disk disagree on "jpg" and "JPG".
func (c *Collection) photosBelow(ctx context.Context, root *os.Root, folder string) (map[string]string, error) {
	found := map[string]string{}
	err := c.walk(ctx, root.FS(), folder, func(name string, d fs.DirEntry) {
		stem := withoutEnding(name)
		switch {
		case stem == name: // not a photo
		case !d.Type().IsRegular():
			c.warn(Unreadable, name, "not a file")
		case !c.checkName(name):
		case found[stem] != "":
			c.warn(Duplicate, name, "%s differs in its ending only", path.Base(found[stem]))
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

func (c *Collection) annotated(rows []row, name, where string, raw []string) []row {
	keywords, warnings := cleanKeywords(raw, name, where+": ")
	c.Warnings = append(c.Warnings, warnings...)
	if len(keywords) == 0 {
		c.warn(NoKeywords, name, "%s", where)
		return rows
	}
	return append(rows, row{where: where, name: name, keywords: keywords})
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
		return nil, inputError("check that the file may be read", "reading %s: %w", name, cause(err))
	case int64(len(b)) > limit:
		return nil, inputError("check that it is the published file", "%s has more than %d bytes", name, limit)
	}
	return b, nil
}

// decodeText returns UTF-8 text. Invalid UTF-8 is taken for Windows-1252, the
// de facto meaning of ISO-8859-1. Latin text beyond ASCII is hardly ever valid
// UTF-8 by chance.
func decodeText(b []byte) string {
	if !utf8.Valid(b) {
		b, _ = charmap.Windows1252.NewDecoder().Bytes(b) // maps every byte
	}
	return strings.TrimPrefix(string(b), "\ufeff")
}

// decodeXML parses the first element of a file. It accepts bare ampersands and
// HTML entities, because annotations were written by hand or by scripts without
// escaping.
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
