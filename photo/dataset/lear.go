package dataset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"cpar/internal/sanitize"
)

// The LEAR packs (Guillaumin et al., TagProp, 2009) are the form in which the
// annotation literature shares Corel-5k, the ESP game and IAPR TC-12 (with the
// nouns of its descriptions as keywords). Each half, train and test, has these
// files:
//
//	corel5k_dictionary.txt        a word per line
//	corel5k_train_list.txt        a photo per line, without extension: 1000/1000
//	corel5k_train_annot.hvecs     a row per photo: the number of words, then 0 or 1 per
//	                              word, all uint16, little-endian
//
// Packs contain no photos. The importer finds photos anywhere in the collection
// by the end of their path.
const (
	annotationsEnd = "_annot.hvecs"
	listEnd        = "_list.txt"

	// These limits far exceed 291 words or 20,000 photos.
	maxDictionary = 4 << 20
	maxList       = 64 << 20
)

var dictionaryEnds = []string{"_dictionary.txt", "_words.txt"}

var learHalves = []string{splitTrain, splitTest}

// findLEAR detects a pack by the annotations of either half and returns their
// path up to the underscore, such as corel5k.20091111/corel5k. It searches the
// collection's folder and the subfolders that are named after an archive.
func findLEAR(root *os.Root) string {
	places := []string{"."}
	entries, _ := fs.ReadDir(root.FS(), ".") // an unreadable folder counts as absent
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && (strings.HasSuffix(name, ".20091111") || slices.Contains([]string{"corel5k", "espgame", "iaprtc12"}, name)) {
			places = append(places, name)
		}
	}
	for _, place := range places {
		entries, _ := fs.ReadDir(root.FS(), place)
		for _, e := range entries {
			for _, half := range learHalves {
				if pack, ok := strings.CutSuffix(e.Name(), "_"+half+annotationsEnd); ok && pack != "" {
					return path.Join(place, pack)
				}
			}
		}
	}
	return ""
}

func (c *reading) readLEAR() error {
	pack := c.base
	words, file, err := readDictionary(c.root, pack)
	if err != nil {
		return err
	}
	photos, err := c.photosBelow(".")
	if err != nil {
		return err
	}
	c.halvesFrom = "the lists of " + path.Base(pack)
	p := learPack{reading: c, words: words, file: file, photos: newPathIndex(photos)}
	for _, half := range learHalves {
		list, annotations := pack+"_"+half+listEnd, pack+"_"+half+annotationsEnd
		if !isFile(c.root, list) && !isFile(c.root, annotations) {
			c.warn(Missing, list, "the half %s is left out", half)
			continue
		}
		if err := p.readHalf(half, list, annotations); err != nil {
			return err
		}
	}
	if left := len(photos) - len(p.halves); left > 0 {
		c.warn(Note, path.Base(pack), "%s of the folder in neither list", plural(left, "photo"))
	}
	return nil
}

func readDictionary(root *os.Root, pack string) ([]string, string, error) {
	for _, end := range dictionaryEnds {
		b, err := readLimited(root, pack+end, maxDictionary)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		words := strings.Split(strings.TrimRight(strings.ReplaceAll(decodeText(b), "\r", ""), "\n"), "\n")
		if len(words) == 1 && strings.TrimSpace(words[0]) == "" {
			return nil, "", inputError("each line is a word; unpack it again", "%s names no word", pack+end)
		}
		return words, pack + end, nil
	}
	return nil, "", inputError("it is part of the pack: put it back beside "+path.Base(pack)+"_train"+annotationsEnd,
		"%s, which explains the annotations, is missing", pack+dictionaryEnds[0])
}

type learPack struct {
	*reading
	words  []string
	file   string // the dictionary's file
	photos *pathIndex
}

// readHalf reads the list and the annotations of a half row by row, so that
// rows before a truncation are valid.
func (p *learPack) readHalf(half, list, annotations string) error {
	b, err := readLimited(p.root, list, maxList)
	if err != nil {
		return err
	}
	f, err := openRegular(p.root, annotations)
	if err != nil {
		return err
	}
	defer f.Close()
	vectors := &hvecsReader{r: bufio.NewReaderSize(f, 1<<16), dimension: len(p.words)}
	line := 0
	var damage error
	for entry := range strings.Lines(decodeText(b)) {
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		line++
		entry = strings.TrimSpace(entry)
		set, err := vectors.next()
		if errors.Is(err, errDimension) && line == 1 {
			return inputError("the files of a pack belong together: unpack it again", "%s, while %s has %s", err, p.file, plural(len(p.words), "word"))
		}
		if err != nil {
			damage = err
			break
		}
		if entry == "" {
			p.warn(Malformed, list, "line %d is empty", line)
			continue
		}
		p.annotateEntry(entry, half, fmt.Sprintf("%s line %d", path.Base(list), line), set)
	}
	switch {
	case damage == io.EOF:
		p.warn(Malformed, annotations, "it ends before the photo of line %d of %s; this photo and the rest are left out", line, path.Base(list))
	case damage != nil:
		p.warn(Malformed, annotations, "row %d: %v; this row and the rest are left out", line, damage)
	default:
		if _, err := vectors.next(); err != io.EOF {
			p.warn(Malformed, annotations, "it has more rows than %s has lines; the extra rows are left out", path.Base(list))
		}
	}
	return nil
}

func (p *learPack) annotateEntry(entry, half, where string, set []int) {
	name, several := p.photos.find(entry)
	switch before := p.halves[name]; {
	case several:
		p.warn(Missing, entry, "%s: several photos have this name", where)
		return
	case name == "":
		p.warn(Missing, entry, "%s", where)
		return
	case before == half:
		p.warn(Duplicate, name, "%s", where)
		return
	case before != "":
		// If the photo were in both halves, training data would leak into the
		// test.
		p.splitErr = inputError("unpack the lists again", "%s is in both halves (%s)", sanitize.Text(name), where)
		return
	}
	p.halves[name] = half
	raw := make([]string, 0, len(set))
	for _, i := range set {
		if strings.TrimSpace(p.words[i]) == "" {
			p.warn(BadKeyword, name, "%s: word %d has no name in %s", where, i+1, p.file)
			continue
		}
		raw = append(raw, p.words[i])
	}
	p.annotate(name, where, raw)
}

var errDimension = errors.New("the number of words differs")

type hvecsReader struct {
	r         io.Reader
	dimension int
	row       []byte
}

// next returns the indices of the next row's nonzero elements in ascending
// order, or io.EOF after the last row.
func (v *hvecsReader) next() ([]int, error) {
	var head [2]byte
	switch _, err := io.ReadFull(v.r, head[:]); err {
	case nil:
	case io.EOF:
		return nil, io.EOF
	default:
		return nil, errors.New("it ends within the row")
	}
	if d := int(binary.LittleEndian.Uint16(head[:])); d != v.dimension {
		return nil, fmt.Errorf("%w: the row is for %s", errDimension, plural(d, "word"))
	}
	if v.row == nil {
		v.row = make([]byte, 2*v.dimension)
	}
	if _, err := io.ReadFull(v.r, v.row); err != nil {
		return nil, errors.New("it ends within the row")
	}
	var set []int
	for i := range v.dimension {
		if v.row[2*i] != 0 || v.row[2*i+1] != 0 {
			set = append(set, i)
		}
	}
	return set, nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// pathIndex finds photos by the end of their path, because published
// annotations refer to paths on their authors' disks.
type pathIndex struct {
	names map[string]string   // by path without extension
	bases map[string][]string // paths without extension, by the last element
}

// newPathIndex takes the result of photosBelow.
func newPathIndex(names map[string]string) *pathIndex {
	p := &pathIndex{names: names, bases: make(map[string][]string, len(names))}
	for _, stem := range slices.Sorted(maps.Keys(names)) {
		p.bases[path.Base(stem)] = append(p.bases[path.Base(stem)], stem)
	}
	return p
}

// find returns the photo whose path has the longest suffix of whole elements in
// common with path `named`, ignoring extensions. It returns "" if no photo
// matches. Result `several` reports an ambiguous match.
func (p *pathIndex) find(named string) (name string, several bool) {
	named = withoutEnding(strings.ReplaceAll(named, `\`, "/"))
	elements := strings.Split(path.Clean("/" + named)[1:], "/")
	candidates := p.bases[elements[len(elements)-1]]
	best, agree := "", 0
	for _, stem := range candidates {
		n := commonSuffixLen(strings.Split(stem, "/"), elements)
		switch {
		case n > agree:
			best, agree, several = stem, n, false
		case n == agree:
			several = true
		}
	}
	if several || best == "" {
		return "", several
	}
	return p.names[best], false
}

func commonSuffixLen(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
