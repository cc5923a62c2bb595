package dataset

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"cpar/internal/sanitize"
)

// SAIAPR TC-12 labels every outlined region of 20,000 photos with one of 276
// hierarchical labels:
//
//	benchmark/wlist.txt                     253⇥sky-blue
//	benchmark/saiapr_tc-12/00/labels.txt    25 1 253     photo, region, label
//	benchmark/saiapr_tc-12/00/images/25.jpg
//
// A photo's keywords are the distinct labels of its regions, as in the paper's
// Table 1. A photo has fewer keywords than the paper states: 99,535 regions
// give five per photo. The paper's mean of 5.7 matches the noun list of the
// literature (iapr.go). The published archive unpacks to
// saiaprtc12ok/benchmark.
const (
	wordListName = "wlist.txt"
	labelsName   = "labels.txt"
	regionsName  = "saiapr_tc-12"

	// These limits far exceed the files of 276 labels and of the regions of 500
	// photos.
	maxWordList = 1 << 20
	maxLabels   = 16 << 20
)

// findSAIAPR accepts the word list or the regions alone, and the folder
// saiapr_tc-12 itself, so that readSAIAPR can report the missing part.
func findSAIAPR(root *os.Root) string {
	place := firstOf(func(root *os.Root, place string) bool {
		return isFile(root, path.Join(place, wordListName)) || isFolder(root, path.Join(place, regionsName))
	}, ".", "benchmark", "saiaprtc12ok", "saiaprtc12ok/benchmark",
		"iaprtc12/benchmark", "iaprtc12/saiaprtc12ok", "iaprtc12/saiaprtc12ok/benchmark")(root)
	if place == "" && isFile(root, "00/"+labelsName) && isFolder(root, "00/images") {
		return "."
	}
	return place
}

func (c *reading) readSAIAPR() error {
	list := path.Join(c.base, wordListName)
	b, err := readLimited(c.root, list, maxWordList)
	if errors.Is(err, fs.ErrNotExist) {
		return inputError("it lies beside the folder "+regionsName+" in the published archive: put it back, and name the folder that holds both",
			"%s, which explains the labels of %s, is missing", list, SAIAPR)
	}
	if err != nil {
		return err
	}
	words := c.readWordList(decodeText(b), list)
	if len(words) == 0 {
		return inputError("each line is a number, a tab and a name; unpack it again", "%s names no label", list)
	}
	regions := path.Join(c.base, regionsName)
	if !isFolder(c.root, regions) {
		regions = c.base
	}
	if err := c.readRegions(regions, words); err != nil {
		return err
	}
	if place := findIAPR(c.root); place != "" {
		c.warn(Note, path.Join(place, descriptionsName), "these descriptions are not read, because the labels of %s are there too", SAIAPR)
	}
	return nil
}

func (c *reading) readRegions(regions string, words map[int]string) error {
	folders, err := c.subfolders(regions)
	if err != nil {
		return err
	}
	labelled := false
	for _, folder := range folders {
		if _, err := strconv.Atoi(folder); err != nil {
			continue // another folder, such as matlab
		}
		folder = path.Join(regions, folder)
		file := path.Join(folder, labelsName)
		b, err := readLimited(c.root, file, maxLabels)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.warn(Missing, file, "without it the photos of %s are left out", folder)
		case err != nil:
			c.warn(Unreadable, file, "the photos of %s are left out: %s", folder, reason(err, file))
		default:
			labelled = true
			if err := c.labelledPhotos(folder, c.readLabels(decodeText(b), file), words); err != nil {
				return err
			}
		}
	}
	if !labelled {
		return inputError("each of its folders 00 to 40 needs its own, beside images: unpack the published archive again, all of its parts",
			"no folder in %s has a %s, which lists what the photos of %s show", regions, labelsName, SAIAPR)
	}
	return nil
}

func (c *reading) labelledPhotos(folder string, labels []photoLabels, words map[int]string) (err error) {
	images := path.Join(folder, "images")
	photos := map[string]string{}
	if isFolder(c.root, images) {
		if photos, err = c.photosBelow(images); err != nil {
			return err
		}
	}
	for _, p := range labels {
		stem := path.Join(images, strconv.Itoa(p.photo))
		name, ok := photos[stem]
		if !ok {
			c.warn(Missing, stem+".jpg", "%s", p.where)
			continue
		}
		delete(photos, stem)
		annotateBy(c, name, p.where, p.labels, words, "label %s has no name in "+wordListName)
	}
	for _, stem := range slices.Sorted(maps.Keys(photos)) {
		c.warn(NoKeywords, photos[stem], "%s has no region for it", labelsName)
	}
	return nil
}

// readWordList reads lines of a number and a name. It skips numbers without a
// name, like other programs.
func (c *Collection) readWordList(text, file string) map[int]string {
	words := map[int]string{}
	eachLine(text, func(line int, fields []string) {
		id, ok := wholeNumber(fields[0])
		name := strings.Join(fields[1:], " ")
		switch before, dup := words[id]; {
		case !ok:
			c.warn(Malformed, file, "line %d: %s is not a label number", line, sanitize.Text(fields[0]))
		case dup && before != name:
			c.warn(Malformed, file, "line %d: label %d is %s already", line, id, sanitize.Text(before))
		case name != "":
			words[id] = name
		}
	})
	return words
}

type photoLabels struct {
	photo  int
	where  string
	labels []int
}

func (c *Collection) readLabels(text, file string) (photos []photoLabels) {
	at := map[int]int{}
	known := map[[2]int]bool{} // photo and label
	eachLine(text, func(line int, fields []string) {
		var numbers [3]int
		ok := len(fields) == len(numbers)
		for i := range numbers {
			if ok {
				numbers[i], ok = wholeNumber(fields[i])
			}
		}
		if !ok {
			c.warn(Malformed, file, "line %d: %s is not a photo, a region and a label", line, sanitize.Text(strings.Join(fields, " ")))
			return
		}
		photo, label := numbers[0], numbers[2]
		i, seen := at[photo]
		if !seen {
			i = len(photos)
			at[photo] = i
			photos = append(photos, photoLabels{photo: photo, where: labelsName + " line " + strconv.Itoa(line)})
		}
		if !known[[2]int{photo, label}] {
			known[[2]int{photo, label}] = true
			photos[i].labels = append(photos[i].labels, label)
		}
	})
	return photos
}

func eachLine(text string, each func(line int, fields []string)) {
	line := 0
	for s := range strings.Lines(text) {
		line++
		if fields := strings.Fields(s); len(fields) > 0 {
			each(line, fields)
		}
	}
}

// wholeNumber parses a nonnegative integer, possibly printed as 1.1200000e+02.
func wholeNumber(s string) (int, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > math.MaxInt32 || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}
