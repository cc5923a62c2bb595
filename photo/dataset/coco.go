package dataset

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cpar/internal/sanitize"
)

// COCO (Lin et al. 2014) labels the objects of 80 categories in its photos:
//
//	annotations/instances_train2017.json
//	  {"images": [{"id": 9, "file_name": "000000000009.jpg", …}, …],
//	   "annotations": [{"image_id": 9, "category_id": 51, "segmentation": …}, …],
//	   "categories": [{"id": 51, "name": "bowl", …}, …], …}
//	train2017/000000000009.jpg
//
// A photo's keywords are the distinct categories of its objects. The published
// files have half a gigabyte, mostly outlines, so they are read as a stream.
// The photos in instances_val… form the test half.
const (
	instancesFolder = "annotations"
	instancesStart  = "instances_"

	// The outline of a crowd takes some hundred kilobytes.
	maxElement = 8 << 20
)

var findCOCO = firstOf(func(root *os.Root, place string) bool {
	return len(instanceFiles(root, place)) > 0
}, ".", "coco", "COCO")

func instanceFiles(root *os.Root, place string) (files []string) {
	entries, _ := fs.ReadDir(root.FS(), path.Join(place, instancesFolder)) // an unreadable folder counts as absent
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), instancesStart) && path.Ext(e.Name()) == ".json" && !e.IsDir() {
			files = append(files, path.Join(place, instancesFolder, e.Name()))
		}
	}
	return files
}

func (c *reading) readCOCO() error {
	c.halvesFrom = path.Join(c.base, instancesFolder)
	for _, file := range instanceFiles(c.root, c.base) {
		set := strings.TrimSuffix(strings.TrimPrefix(path.Base(file), instancesStart), ".json")
		half := splitTest
		if strings.HasPrefix(set, splitTrain) {
			half = splitTrain
		}
		f, err := openRegular(c.root, file)
		if err != nil {
			return err
		}
		in := newInstances()
		err = in.read(c.ctx, c.withProgress(f, path.Base(file)))
		f.Close()
		switch {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case err != nil:
			c.warn(Unreadable, file, "%v; the entries before it are kept", err)
		}
		folder := photosOfSet(c.root, c.base, set)
		if folder == "" {
			c.warn(Missing, path.Join(c.base, set), "the photo folder of %s; photos left out: %d", path.Base(file), len(in.photos))
			continue
		}
		c.instances(in, folder, half, path.Base(file))
	}
	return nil
}

func photosOfSet(root *os.Root, base, set string) string {
	for _, place := range []string{set, path.Join("images", set), path.Join("data", set), "images"} {
		if place = path.Join(base, place); isFolder(root, place) {
			return place
		}
	}
	return ""
}

func (c *reading) instances(in *instances, folder, half, where string) {
	for _, id := range in.order {
		p := in.photos[id]
		if p.file == "" {
			c.warn(Malformed, where, "photo %s has objects and no file_name", sanitize.Text(string(id)))
			continue
		}
		name := path.Join(folder, strings.ReplaceAll(p.file, `\`, "/"))
		_, forbidden := firstForbidden(name)
		switch {
		case forbidden:
			c.warn(Malformed, name, "%s: the name contains a control character", where)
			continue
		case !filepath.IsLocal(filepath.FromSlash(name)) || !strings.HasPrefix(name, strings.TrimPrefix(folder+"/", "./")):
			c.warn(Outside, p.file, "%s", where)
			continue
		case c.halves[name] != "":
			c.warn(Duplicate, name, "%s", where)
			continue
		}
		c.halves[name] = half
		annotateBy(c, name, where, p.categories, in.words, "category %s has no name")
	}
}

// cocoID is a number or, in third-party files in COCO's format, a string.
type cocoID string

func (id *cocoID) UnmarshalJSON(b []byte) error {
	*id = cocoID(strings.Trim(string(b), `"`))
	return nil
}

type cocoPhoto struct {
	file       string
	categories []cocoID // distinct, in the order of the objects
}

type instances struct {
	photos map[cocoID]*cocoPhoto
	order  []cocoID
	words  map[cocoID]string
}

func newInstances() *instances {
	return &instances{photos: map[cocoID]*cocoPhoto{}, words: map[cocoID]string{}}
}

func (in *instances) photo(id cocoID) *cocoPhoto {
	p := in.photos[id]
	if p == nil {
		p = &cocoPhoto{}
		in.photos[id] = p
		in.order = append(in.order, id)
	}
	return p
}

// read reads the lists of images, annotations and categories. Entries before an
// error are kept.
func (in *instances) read(ctx context.Context, r io.Reader) error {
	limited := &elementReader{r: bufio.NewReaderSize(r, 1<<16), left: maxElement}
	d := json.NewDecoder(limited)
	if err := expect(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return damaged(err)
		}
		list, ok := in.lists()[fmt.Sprint(key)]
		if !ok {
			limited.left = maxElement
			if err := skipValue(ctx, d, limited); err != nil {
				return err
			}
			continue
		}
		if err := expect(d, '['); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
		for d.More() {
			limited.left = maxElement
			if err := list(d); err != nil {
				return fmt.Errorf("%v: %w", key, damaged(err))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if err := expect(d, ']'); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
	}
	return expect(d, '}')
}

func (in *instances) lists() map[string]func(*json.Decoder) error {
	type photo struct {
		ID   cocoID `json:"id"`
		File string `json:"file_name"`
	}
	type object struct {
		Photo    cocoID `json:"image_id"`
		Category cocoID `json:"category_id"`
	}
	type category struct {
		ID   cocoID `json:"id"`
		Name string `json:"name"`
	}
	return map[string]func(*json.Decoder) error{
		"images": element(func(e photo) { in.photo(e.ID).file = e.File }),
		"annotations": element(func(e object) {
			if p := in.photo(e.Photo); !slices.Contains(p.categories, e.Category) {
				p.categories = append(p.categories, e.Category)
			}
		}),
		"categories": element(func(e category) { in.words[e.ID] = e.Name }),
	}
}

func element[T any](take func(T)) func(*json.Decoder) error {
	return func(d *json.Decoder) error {
		var e T
		err := d.Decode(&e)
		if err == nil {
			take(e)
		}
		return err
	}
}

func skipValue(ctx context.Context, d *json.Decoder, limited *elementReader) error {
	depth := 0
	for {
		t, err := d.Token()
		if err != nil {
			return damaged(err)
		}
		limited.left = maxElement
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func expect(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return damaged(err)
	}
	if t != want {
		return fmt.Errorf("its JSON is damaged: %v where %v belongs", sanitize.Text(fmt.Sprint(t)), want)
	}
	return nil
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("its JSON ends too early")
	}
	if errors.Is(err, errElement) {
		return err
	}
	return fmt.Errorf("its JSON is damaged: %w", err)
}

var errElement = fmt.Errorf("one element has more than %d bytes", maxElement)

// elementReader bounds the size of an element, because the decoder buffers
// whole elements.
type elementReader struct {
	r    io.Reader
	left int
}

func (e *elementReader) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, errElement
	}
	n, err := e.r.Read(b[:min(len(b), e.left)])
	e.left -= n
	return n, err
}
