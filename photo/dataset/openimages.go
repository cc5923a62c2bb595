package dataset

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"cpar/internal/sanitize"
)

// Open Images (Kuznetsova et al. 2020) has labels, verified by people, for
// millions of photos. A user usually has a subset of the photos:
//
//	train-annotations-human-imagelabels.csv     ImageID,Source,LabelName,Confidence
//	                                            000026e7ee790996,verification,/m/04hgtk,0
//	class-descriptions.csv                      /m/04hgtk,Head
//	train/000026e7ee790996.jpg
//
// A photo's keywords are its labels of confidence 1, which a person confirmed.
// Confidence 0 means that a person denied the label. The importer also reads
// the files of releases, with a prefix (oidv6-, oidv7-), and files of labels
// with boxes, with a suffix (-boxable). The photos of "validation" and "test"
// form the test half.
const (
	labelsMark       = "-annotations-human-imagelabels"
	descriptionsMark = "class-descriptions"
)

var tablesFolders = []string{".", "annotations", "labels", "metadata", "csv"}

var findOpenImages = firstOf(func(root *os.Root, place string) bool {
	return len(tables(root, place, labelsMark)) > 0
}, ".", "openimages", "open-images", "OpenImages", "open_images")

func tables(root *os.Root, place, mark string) (files []string) {
	for _, folder := range tablesFolders {
		folder = path.Join(place, folder)
		entries, _ := fs.ReadDir(root.FS(), folder) // an unreadable folder counts as absent
		for _, e := range entries {
			if strings.Contains(e.Name(), mark) && path.Ext(e.Name()) == ".csv" && !e.IsDir() {
				files = append(files, path.Join(folder, e.Name()))
			}
		}
	}
	return files
}

func (c *reading) readOpenImages() error {
	c.halvesFrom = "the tables of labels"
	o := &openImages{reading: c, words: map[string]string{}, labels: map[string]*openImagesLabels{}, photos: map[string]string{}}
	if err := o.readDescriptions(); err != nil {
		return err
	}
	found, err := c.photosBelow(c.base)
	if err != nil {
		return err
	}
	for _, stem := range slices.Sorted(maps.Keys(found)) {
		id, name := path.Base(stem), found[stem]
		if before := o.photos[id]; before != "" {
			c.warn(Duplicate, name, "%s is the same photo", before)
			continue
		}
		o.photos[id] = name
	}
	for _, file := range tables(c.root, c.base, labelsMark) {
		if err := o.readLabels(file); err != nil {
			return err
		}
	}
	o.finish()
	return nil
}

type openImagesLabels struct {
	half, where string
	names       []string
}

type openImages struct {
	*reading
	words  map[string]string            // label to word
	photos map[string]string            // available photos by ID
	labels map[string]*openImagesLabels // by ID
	absent int                          // number of rows of unavailable photos
}

func (o *openImages) readDescriptions() error {
	files := tables(o.root, o.base, descriptionsMark)
	if len(files) == 0 {
		return inputError("download it from the source of the labels and put it beside them",
			"%s, which explains the labels of %s, is missing", path.Join(o.base, descriptionsMark+".csv"), OpenImages)
	}
	for _, file := range files {
		// Skip the header, which older files lack.
		err := o.eachRow(file, 2, func(_ int, fields []string) {
			if fields[0] != "LabelName" {
				o.words[strings.Clone(fields[0])] = strings.Clone(fields[1])
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *openImages) readLabels(file string) error {
	half := splitTest
	if strings.Contains(path.Base(file), splitTrain) {
		half = splitTrain
	}
	var columns []int // columns of photo, label and confidence, empty if the table lacks one
	header := true
	return o.eachRow(file, 1, func(line int, fields []string) {
		if header {
			header = false
			if columns = labelColumns(fields); columns == nil {
				o.warn(Malformed, file, "line %d: no header with ImageID, LabelName and Confidence; the table is left out", line)
			}
			return
		}
		if columns == nil {
			return
		}
		if len(fields) <= slices.Max(columns) {
			o.warn(Malformed, file, "line %d: %s but %d are needed", line, plural(len(fields), "column"), slices.Max(columns)+1)
			return
		}
		id, label := fields[columns[0]], fields[columns[1]]
		confidence, err := strconv.ParseFloat(fields[columns[2]], 64)
		switch {
		case err != nil:
			o.warn(Malformed, file, "line %d: %s is not a confidence", line, sanitize.Text(fields[columns[2]]))
			return
		case o.photos[id] == "":
			o.absent++
			return
		}
		l := o.labels[id]
		if l == nil {
			l = &openImagesLabels{half: half, where: fmt.Sprintf("%s line %d", path.Base(file), line)}
			o.labels[strings.Clone(id)] = l
		}
		switch {
		case l.half != half:
			o.splitErr = inputError("keep the files of one release", "%s is in both halves (%s, %s line %d)",
				sanitize.Text(o.photos[id]), l.where, path.Base(file), line)
		case confidence == 1 && !slices.Contains(l.names, label):
			l.names = append(l.names, strings.Clone(label))
		}
	})
}

func labelColumns(header []string) (columns []int) {
	for _, name := range []string{"ImageID", "LabelName", "Confidence"} {
		i := slices.IndexFunc(header, func(h string) bool { return strings.TrimPrefix(h, "\ufeff") == name })
		if i < 0 {
			return nil
		}
		columns = append(columns, i)
	}
	return columns
}

func (o *openImages) finish() {
	for _, id := range slices.Sorted(maps.Keys(o.photos)) {
		if l := o.labels[id]; l != nil {
			annotateBy(o.reading, o.photos[id], l.where, l.names, o.words, "label %s has no name in "+descriptionsMark)
			o.halves[o.photos[id]] = l.half
		}
	}
	if left := len(o.photos) - len(o.labels); left > 0 {
		o.warn(Note, labelsMark[1:], "%s without a row in these tables", plural(left, "photo"))
	}
	if o.absent > 0 {
		o.warn(Note, labelsMark[1:], "%s of photos that are not here", plural(o.absent, "row"))
	}
}

// eachRow calls `each` for every row of a table with at least the given number
// of fields. To keep a field, clone it, because a field retains its row.
func (o *openImages) eachRow(file string, fields int, each func(line int, fields []string)) error {
	f, err := openRegular(o.root, file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(o.withProgress(f, path.Base(file)), 1<<16)
	return eachRecord(in, file, func(line int, record []string, damage *csv.ParseError) error {
		switch {
		case damage != nil:
			o.warn(Malformed, file, "line %d: %v", line, damage.Err)
		case len(record) < fields:
			o.warn(Malformed, file, "line %d: %s but %d are needed", line, plural(len(record), "column"), fields)
		default:
			for i := range record {
				record[i] = strings.TrimSpace(record[i])
			}
			each(line, record)
		}
		return o.ctx.Err()
	})
}
