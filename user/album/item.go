package album

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"cpar"
	"cpar/photo"
	"cpar/photo/decode"
	"cpar/photo/metadata"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
	"cpar/user/album/thumbs"
)

type item struct {
	folder, name string
	files        []string
	words        []string         // the photo's keywords in manifest.csv
	same         bool             // whether the album has these files unchanged
	bare         bool             // whether the album lacks the photo's thumbnails
	old, row     *catalogue.Photo // catalogue entries: the current one or nil, and the new one
	images       *thumbs.Images
	packs        []string
	size         int64
	mended       bool
	err          error
}

// errUnreadable marks the error of a photo that Add leaves out.
var errUnreadable = fmt.Errorf("reading the photo: %w", cpar.ErrInput)

// store stores an item's files and creates its row.
func (i *item) store(ctx context.Context, r *repository.Repository, o AddOptions) error {
	i.row = &catalogue.Photo{Folder: i.folder, Name: i.name}
	var image []byte
	for at, name := range i.files {
		f, b, mended, err := storeFile(ctx, r, name, at == 0)
		if err != nil {
			return err
		}
		if at == 0 {
			image = b
		}
		i.mended = i.mended || mended
		i.row.Files = append(i.row.Files, f)
	}
	facts, err := metadata.ReadFacts(i.files[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	i.row.Time, i.row.Camera, i.row.Orientation = facts.Time, facts.Camera, facts.Orientation
	i.row.Width, i.row.Height = facts.Width, facts.Height
	if facts.Place != nil && o.PlaceDigits >= 0 {
		unit := math.Pow10(o.PlaceDigits)
		round := func(x float64) int32 { return int32(math.Round(math.Round(x*unit) / unit * 1e5)) }
		i.row.Place = &catalogue.Place{Lat: round(facts.Place[0]), Lon: round(facts.Place[1])}
	}
	k, _, err := metadata.ReadFile(i.files[0]) // damaged blocks are ignored
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	add := func(words []string, from catalogue.Source) {
		for _, w := range words {
			if !i.row.Has(w) {
				i.row.Keywords = append(i.row.Keywords, catalogue.Keyword{Word: w, Source: from})
			}
		}
	}
	for _, words := range append([][]string{k.Human, k.People, i.words}, k.Paths...) {
		add(words, catalogue.Human)
	}
	add(k.Machine, catalogue.Suggested)
	if i.bare = i.old == nil || thumbs.KeyOf(i.old) != thumbs.KeyOf(i.row); !i.bare {
		i.row.Content = i.old.Content
	}
	i.complete(image)
	return nil
}

// storeFile stores a file. It fails if the file changes meanwhile. Result mended is
// set if the server had lost a part of the file. If `whole` is set, result b holds
// the stored bytes, or nil if the file is too large to decode.
func storeFile(ctx context.Context, r *repository.Repository, name string, whole bool) (f catalogue.File, b []byte, mended bool, err error) {
	file, err := os.Open(name)
	if err != nil {
		return f, nil, mended, fmt.Errorf("%w: %w", errUnreadable, photo.Cause(err))
	}
	defer file.Close()
	before, err := file.Stat()
	if err == nil && !before.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil && before.Size() == 0 && photo.IsPhoto(name) {
		err = errors.New("it is empty")
	}
	if err != nil {
		return f, nil, mended, fmt.Errorf("%w: %w", errUnreadable, photo.Cause(err))
	}
	source := &fileReader{ReadSeeker: file}
	if whole {
		if b, err = decode.ReadFile(name); err == nil {
			source.ReadSeeker = bytes.NewReader(b)
		}
	}
	object, size, mended, err := put(ctx, r, source)
	if source.err != nil && !mended {
		return f, nil, mended, fmt.Errorf("%w: %w", errUnreadable, photo.Cause(source.err))
	}
	if err != nil {
		return f, nil, mended, err
	}
	after, err := os.Stat(name)
	if err != nil || after.Size() != size || !after.ModTime().Equal(before.ModTime()) {
		return f, nil, mended, fmt.Errorf("%w: it changed while it was read", errUnreadable)
	}
	return catalogue.File{Name: filepath.Base(name), Size: size, Modified: before.ModTime().UnixNano(), Object: object}, b, mended, nil
}

// A fileReader records an error of reading a file, to distinguish it from an error
// of the server.
type fileReader struct {
	io.ReadSeeker
	err error
}

func (r *fileReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
