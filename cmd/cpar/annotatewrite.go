package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/encoder/zeroshot"
	"cpar/internal/durable"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/photo/video"
	"cpar/user/library"
)

// photos lists the photos in files and folders. The argument "-" reads names
// from standard input.
func (f *annotateFlags) photos(cmd *cobra.Command, args []string) ([]photo.Photo, error) {
	var roots []string
	for _, a := range args {
		if a != "-" {
			roots = append(roots, a)
			continue
		}
		named, err := readList(cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		roots = append(roots, named...)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("looking for photos: %w: standard input names none", cpar.ErrInput)
	}
	o := photo.Options{Exclude: f.write.exclude, Videos: !f.words.own && video.Available()}
	l, err := listPhotos(cmd, roots, o)
	if l == nil {
		return nil, err
	}
	if !o.Videos && !f.words.own && slices.ContainsFunc(l.Skipped, func(s photo.Skipped) bool { return s.Reason == photo.Video && photo.IsVideo(s.Path) }) {
		fmt.Fprintln(cmd.ErrOrStderr(), "hint: with ffmpeg on the path, cpar annotates videos, too")
	}
	return l.Photos, err
}

// readList reads names, one per line or each terminated by a zero byte as in
// the output of find -print0.
func readList(r io.Reader) (names []string, err error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading the list of photos: %w: %w", cpar.ErrInput, err)
	}
	for name := range strings.FieldsFuncSeq(string(all), func(c rune) bool { return c == 0 || c == '\n' }) {
		if name = strings.TrimSuffix(name, "\r"); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// placeFlags select where and how keywords are written to photos, and which
// photos are skipped.
type placeFlags struct {
	to, style string
	keepTime  bool
	exclude   []string
}

func (f *placeFlags) add(c *cobra.Command, usual, what string) {
	c.Flags().StringVar(&f.to, "write", usual, what)
	c.Flags().StringVar(&f.style, "sidecar-style", string(metadata.Follow), "how sidecars are named: append (photo.jpg.xmp), adobe (photo.xmp) or follow-existing (the existing one, otherwise append)")
	c.Flags().BoolVar(&f.keepTime, "keep-mtime", false, "keep the modification time of changed files")
	c.Flags().StringArrayVar(&f.exclude, "exclude", nil, "leave out files and folders that match this `pattern`, such as 'draft*' (repeatable)")
}

func (f *placeFlags) parse(places ...string) error {
	if last := len(places) - 1; !slices.Contains(places, f.to) {
		return hint.Add(exitcode.UsageError(fmt.Errorf("--write %s; there are %s and %s", sanitize.Text(f.to), strings.Join(places[:last], ", "), places[last])),
			"most photo programs read sidecars: --write sidecar")
	}
	if !slices.Contains([]metadata.Style{metadata.Append, metadata.Adobe, metadata.Follow}, metadata.Style(f.style)) {
		return exitcode.UsageError(fmt.Errorf("--sidecar-style %s; there are append, adobe and follow-existing", sanitize.Text(f.style)))
	}
	return nil
}

// writeFlags select where annotate writes keywords: photos, a CSV file, or
// nowhere.
type writeFlags struct {
	placeFlags
	out     string
	counted bool // whether the user set the number of keywords
}

const toCSV = "csv"

func (f *writeFlags) add(c *cobra.Command) {
	f.placeFlags.add(c, "", "write keywords: sidecar, embedded or csv; by default they are printed")
	c.Flags().StringVar(&f.out, "out", "", "the `file` of --write csv")
}

func (f *writeFlags) where() metadata.Where {
	if f.to == toCSV {
		return ""
	}
	return metadata.Where(f.to)
}

func (f *writeFlags) parse(dryRun bool) error {
	if f.to != "" {
		if err := f.placeFlags.parse(string(metadata.Sidecar), string(metadata.Embedded), toCSV); err != nil {
			return err
		}
	}
	switch {
	case dryRun && f.to == "":
		return hint.Add(usageOf("--dry-run without --write: nothing is written anyway"), "add --write sidecar, or leave --dry-run out")
	case f.to == toCSV && f.out == "":
		return hint.Add(usageOf("--write csv, and no file was named"), "pass --out FILE")
	case f.to != toCSV && f.out != "":
		return hint.Add(usageOf("--out is the file of --write csv"), "add --write csv, or leave --out out")
	case f.to == toCSV:
		return f.checkOut()
	}
	return nil
}

// csvHeader identifies files written by annotate, because --out must not
// replace any other file.
var csvHeader = []string{"path", "keywords", "probabilities"}

func (f *writeFlags) checkOut() error {
	file, err := os.Open(f.out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w: %w", sanitize.Text(f.out), cpar.ErrStorage, err)
	}
	defer file.Close()
	if head, err := csv.NewReader(file).Read(); err == nil && slices.Equal(head, csvHeader) {
		return nil
	}
	return hint.Add(fmt.Errorf("writing %s: %w: it exists, and annotate has not written it", sanitize.Text(f.out), cpar.ErrInput), "name another file")
}

// writeCSV writes the photos that have keywords to a file in the form of a
// manifest.csv and returns their number. Paths below the file's folder become
// relative. `more` holds words to append to each photo's keywords, without
// probabilities.
func writeCSV(file string, all []library.Result, more []photoWords) (n int, err error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(csvHeader) // cannot fail in memory
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return 0, fmt.Errorf("writing %s: %w: %w", sanitize.Text(file), cpar.ErrInput, err)
	}
	for i, r := range all {
		var besides []zeroshot.Score
		if i < len(more) {
			besides = more[i].words
		}
		if len(r.Keywords)+len(besides) == 0 {
			continue
		}
		n++
		path, err := filepath.Abs(r.Path)
		if err != nil {
			return 0, fmt.Errorf("writing %s: %w: %w", sanitize.Text(file), cpar.ErrInput, err)
		}
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		var list, sure []string
		for _, k := range r.Keywords {
			list = append(list, k.Word)
			if k.Probability > 0 {
				sure = append(sure, strconv.FormatFloat(k.Probability, 'f', 3, 64))
			}
		}
		for _, s := range besides {
			list = append(list, s.Word)
		}
		_ = w.Write([]string{filepath.ToSlash(path), strings.Join(list, ";"), strings.Join(sure, ";")})
	}
	w.Flush()
	return n, durable.WriteFile(file, b.Bytes(), 0o644)
}
