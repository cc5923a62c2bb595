package catalogue

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cpar"
	"cpar/user/album/blobs"
)

// A column is a sequence of numbers and bytes of one kind. Columns compress better
// than rows.
type column []byte

func (c *column) uint(x uint64) { *c = binary.AppendUvarint(*c, x) }
func (c *column) int(x int64)   { *c = binary.AppendVarint(*c, x) }
func (c *column) text(s string) { c.uint(uint64(len(s))); *c = append(*c, s...) }

// The columns of a segment, in the order of docs/FORMAT.md.
const (
	colStrings = iota
	colCounts
	colFolders
	colNames
	colFiles
	colModified
	colObjects
	colTimes
	colSizes
	colCameras
	colPlaces
	colKeywords
	colRemoved
	colPins
	colPinDigests
	colUnpinned
	colAncestors
	colContents // missing in albums of version 1
	columns
)

// maxHeight is the maximum height in pixels of a photo in a row.
const maxHeight = 1<<20 - 1

// A writer encodes rows as columns. It encodes values that change little from row
// to row as differences.
type writer struct {
	col     [columns]column
	strings map[string]uint64
	name    string
	last    struct{ folder, size, time, modified, lat, lon int64 }
}

// word returns the number of a string in the dictionary, and adds a new string.
func (w *writer) word(s string) uint64 {
	n, ok := w.strings[s]
	if !ok {
		n = uint64(len(w.strings))
		w.strings[s] = n
		w.col[colStrings].text(s)
	}
	return n
}

func delta(last *int64, x int64) int64 {
	d := x - *last
	*last = x
	return d
}

// shared writes the length of a name's common prefix with the previous name, and
// the rest.
func (w *writer) shared(c int, name string) {
	n := 0
	for n < len(name) && n < len(w.name) && name[n] == w.name[n] {
		n++
	}
	w.col[c].uint(uint64(n))
	w.col[c].text(name[n:])
	w.name = name
}

func (w *writer) photo(p *Photo) {
	w.col[colFolders].int(delta(&w.last.folder, int64(w.word(p.Folder))))
	w.shared(colNames, p.Name)
	w.col[colNames].int(p.Trashed)
	w.col[colFiles].uint(uint64(len(p.Files)))
	for _, f := range p.Files {
		rest, follows := strings.CutPrefix(f.Name, p.Name)
		if !follows {
			rest = "/" + f.Name
		}
		w.col[colFiles].uint(w.word(rest))
		w.col[colFiles].int(f.Size)
		second := time.Unix(0, f.Modified).Unix() // rounds down before 1970, too
		w.col[colModified].int(delta(&w.last.modified, second))
		w.col[colModified].uint(uint64(f.Modified - second*1e9))
		digits := f.Object[max(0, len(f.Object)-32):]
		if raw, err := hex.DecodeString(digits); err == nil && len(raw) == 16 && hex.EncodeToString(raw) == digits {
			w.col[colFiles].uint(w.word(strings.TrimSuffix(f.Object, digits)) + 1)
			w.col[colObjects] = append(w.col[colObjects], raw...)
		} else {
			w.col[colFiles].uint(0)
			w.col[colFiles].text(f.Object)
		}
	}
	w.col[colTimes].int(delta(&w.last.time, p.Time))
	w.col[colSizes].int(delta(&w.last.size, int64(p.Width)<<24|int64(p.Height)&maxHeight<<4|int64(p.Orientation)&15))
	w.col[colCameras].uint(w.word(p.Camera))
	if p.Place == nil {
		w.col[colPlaces].uint(0)
	} else {
		w.col[colPlaces].uint(1)
		w.col[colPlaces].int(delta(&w.last.lat, int64(p.Place.Lat)))
		w.col[colPlaces].int(delta(&w.last.lon, int64(p.Place.Lon)))
	}
	w.col[colKeywords].uint(uint64(len(p.Keywords)))
	for _, k := range p.Keywords {
		w.col[colKeywords].uint(w.word(k.Word)<<2 | uint64(k.Source))
		if k.Source == Suggested {
			w.col[colKeywords].uint(uint64(k.Probability))
		}
	}
	if p.Content == [len(p.Content)]byte{} {
		w.col[colContents].uint(0)
	} else {
		w.col[colContents].uint(1)
		w.col[colContents] = append(w.col[colContents], p.Content[:]...)
	}
}

// appendBinary encodes a segment: the length of each column, then the columns.
func (s *segment) appendBinary(b []byte) []byte {
	w := writer{strings: map[string]uint64{}}
	counts := &w.col[colCounts]
	counts.uint(uint64(len(s.photos)))
	for _, p := range s.photos {
		w.photo(p)
	}
	w.name = ""
	counts.uint(uint64(len(s.removed)))
	for _, k := range s.removed {
		w.shared(colRemoved, k.Path)
		w.col[colRemoved].int(k.Trashed)
	}
	w.name, w.last.time = "", 0
	counts.uint(uint64(len(s.pins)))
	for _, name := range slices.Sorted(maps.Keys(s.pins)) {
		p := s.pins[name]
		w.shared(colPins, name)
		w.col[colPins].int(p.Size)
		w.col[colPins].int(delta(&w.last.time, p.Time))
		w.col[colPinDigests] = append(w.col[colPinDigests], p.Digest[:]...)
	}
	w.name = ""
	counts.uint(uint64(len(s.unpinned)))
	for _, name := range s.unpinned {
		w.shared(colUnpinned, name)
	}
	w.col[colAncestors] = append(w.col[colAncestors], s.ancestors...)
	counts.uint(uint64(len(w.strings)))
	for _, c := range w.col {
		b = binary.AppendUvarint(b, uint64(len(c)))
	}
	for _, c := range w.col {
		b = append(b, c...)
	}
	return b
}

// A reader decodes columns. After the first failure it returns zero values.
type reader struct {
	col     [columns]column
	columns int // number of columns in the segment
	strings []string
	name    string
	last    struct{ folder, size, time, modified, lat, lon int64 }
	err     error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", cpar.ErrCorrupt, fmt.Sprintf(format, args...))
	}
}

func (r *reader) uint(c int) uint64 {
	x, n := binary.Uvarint(r.col[c])
	if n <= 0 {
		r.fail("column %d is cut off", c)
		r.col[c] = nil
		return 0
	}
	r.col[c] = r.col[c][n:]
	return x
}

func (r *reader) int(c int) int64 {
	x := r.uint(c)
	return int64(x>>1) ^ -int64(x&1)
}

func (r *reader) bytes(c int, n uint64) []byte {
	if n > uint64(len(r.col[c])) {
		r.fail("column %d is cut off", c)
		return make([]byte, min(n, 64))
	}
	b := r.col[c][:n]
	r.col[c] = r.col[c][n:]
	return b
}

func (r *reader) text(c int) string {
	b := r.bytes(c, r.uint(c))
	if !utf8.Valid(b) {
		r.fail("a string is not UTF-8")
	}
	return string(b)
}

func (r *reader) sum(last *int64, c int) int64 {
	*last += r.int(c)
	return *last
}

func (r *reader) word(n uint64) string {
	if n >= uint64(len(r.strings)) {
		r.fail("there is no string %d", n)
		return ""
	}
	return r.strings[n]
}

func (r *reader) shared(c int) string {
	n := r.uint(c)
	if n > uint64(len(r.name)) {
		r.fail("a name shares %d bytes with one of %d", n, len(r.name))
		n = 0
	}
	r.name = r.name[:n] + string(r.bytes(c, r.uint(c)))
	return r.name
}

// count reads the number of items in column c from column `of`. It fails if column
// c has fewer bytes than items.
func (r *reader) count(of, c int) int {
	n := r.uint(of)
	if n > uint64(len(r.col[c])) {
		r.fail("%d items do not fit into column %d", n, c)
		return 0
	}
	return int(n)
}

func (r *reader) photo(p *Photo) {
	p.Folder = r.word(uint64(r.sum(&r.last.folder, colFolders)))
	p.Name, p.Trashed = r.shared(colNames), r.int(colNames)
	p.Files = make([]File, r.count(colFiles, colFiles))
	for i := range p.Files {
		f := &p.Files[i]
		f.Name = r.word(r.uint(colFiles))
		if alone, ok := strings.CutPrefix(f.Name, "/"); ok {
			f.Name = alone
		} else {
			f.Name = p.Name + f.Name
		}
		f.Size = r.int(colFiles)
		f.Modified = r.sum(&r.last.modified, colModified)*1e9 + int64(r.uint(colModified))
		if prefix := r.uint(colFiles); prefix > 0 {
			f.Object = r.word(prefix-1) + hex.EncodeToString(r.bytes(colObjects, 16))
		} else {
			f.Object = r.text(colFiles)
		}
	}
	p.Time = r.sum(&r.last.time, colTimes)
	size := r.sum(&r.last.size, colSizes)
	p.Width, p.Height, p.Orientation = int(size>>24), int(size>>4&maxHeight), uint8(size&15)
	p.Camera = r.word(r.uint(colCameras))
	if r.uint(colPlaces) > 0 {
		p.Place = &Place{int32(r.sum(&r.last.lat, colPlaces)), int32(r.sum(&r.last.lon, colPlaces))}
	}
	if n := r.count(colKeywords, colKeywords); n > 0 {
		p.Keywords = make([]Keyword, n)
	}
	for i := range p.Keywords {
		x := r.uint(colKeywords)
		k := Keyword{Word: r.word(x >> 2), Source: Source(x & 3)}
		if k.Source > Suggested {
			r.fail("a keyword has source %d", k.Source)
		}
		if k.Source == Suggested {
			k.Probability = uint8(r.uint(colKeywords))
		}
		p.Keywords[i] = k
	}
	if r.columns > colContents && r.uint(colContents) > 0 {
		copy(p.Content[:], r.bytes(colContents, uint64(len(p.Content))))
	}
}

func readSegment(b []byte) (*segment, error) {
	r := &reader{}
	var lengths [columns]uint64
	// A segment of version 1 lacks the last column and its length.
	for total := uint64(0); r.columns < colContents || r.columns < columns && total != uint64(len(b)); r.columns++ {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("%w: a segment is cut off", cpar.ErrCorrupt)
		}
		lengths[r.columns], b = n, b[size:]
		total += n
	}
	for i, n := range lengths {
		if n > uint64(len(b)) {
			return nil, fmt.Errorf("%w: a segment is cut off", cpar.ErrCorrupt)
		}
		r.col[i], b = b[:n:n], b[n:]
	}
	if len(b) > 0 {
		r.fail("%d bytes left over", len(b))
	}
	photos := r.count(colCounts, colFolders)
	removed, pins, unpinned := r.count(colCounts, colRemoved), r.count(colCounts, colPins), r.count(colCounts, colUnpinned)
	for range r.count(colCounts, colStrings) {
		r.strings = append(r.strings, r.text(colStrings))
	}
	s := &segment{photos: make([]*Photo, photos), pins: make(map[string]blobs.Pin, pins)}
	rows := make([]Photo, photos)
	for i := range rows {
		r.photo(&rows[i])
		s.photos[i] = &rows[i]
		if r.err != nil {
			return nil, r.err
		}
	}
	r.name = ""
	for range removed {
		s.removed = append(s.removed, Key{r.shared(colRemoved), r.int(colRemoved)})
	}
	r.name, r.last.time = "", 0
	for range pins {
		name := r.shared(colPins)
		if !blobs.ValidName(name) {
			r.fail("a blob has an invalid name")
		}
		s.pins[name] = blobs.Pin{Size: r.int(colPins), Time: r.sum(&r.last.time, colPins), Digest: [16]byte(r.bytes(colPinDigests, 16))}
	}
	r.name = ""
	for range unpinned {
		s.unpinned = append(s.unpinned, r.shared(colUnpinned))
	}
	if s.ancestors = r.col[colAncestors]; len(s.ancestors)%ancestorBytes != 0 {
		r.fail("ancestors of %d bytes", len(s.ancestors))
	}
	r.col[colAncestors] = nil
	for i, c := range r.col {
		if len(c) > 0 {
			r.fail("column %d has %d bytes left over", i, len(c))
		}
	}
	return s, r.err
}
