package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strings"
)

const (
	splitTrain = "train"
	splitTest  = "test"
)

// readSplitFile reads split.csv, if it exists, and compares it with the photos.
// It stores an error, which Split returns later, so that a collection with a
// damaged split can still be indexed.
func (c *Collection) readSplitFile(root *os.Root) {
	if _, err := root.Lstat(SplitName); errors.Is(err, fs.ErrNotExist) {
		return
	}
	c.splitErr = nil // split.csv overrides the halves of a LEAR pack and their error
	f, err := openRegular(root, SplitName)
	if err != nil {
		c.splitErr = err
		return
	}
	defer f.Close()

	split := map[string]string{}
	lines := map[string]int{}
	err = readTable(f, SplitName, "split", c.Dir, func(line int, name, value string, bad *Warning) {
		value = strings.ToLower(strings.TrimSpace(value))
		switch before, dup := split[name]; {
		case c.splitErr != nil:
			return
		case bad != nil:
		case value != splitTrain && value != splitTest:
			bad = newWarning(Malformed, name, "line %d: %q is neither train nor test", line, value)
		case dup && before != value:
			// If the name were in both halves, training data would leak into
			// the test.
			bad = newWarning(Malformed, name, "line %d says %s, line %d said %s", line, value, lines[name], before)
		default:
			split[name], lines[name] = value, line
			return
		}
		c.splitErr = inputError("each row is a path and train or test", "%s: %s: %s", SplitName, bad.Name, bad.Detail)
	})
	c.splitErr = cmp.Or(c.splitErr, err)
	if c.splitErr != nil {
		return
	}
	c.split, c.splitFrom = split, SplitName
	for _, it := range c.Photos {
		if split[it.Name] == "" {
			c.warn(SplitMismatch, it.Name, "not in %s: in neither half", SplitName)
		}
	}
}

// Split divides the photos by split.csv or into the published halves. Result
// `ok` is false if the collection has neither. Photos missing from split.csv
// are in neither half. Errors wrap cpar.ErrInput.
func (c *Collection) Split() (train, test []Photo, ok bool, err error) {
	if c.splitErr != nil {
		return nil, nil, false, c.splitErr
	}
	if c.split == nil {
		return nil, nil, false, nil
	}
	for _, it := range c.Photos {
		switch c.split[it.Name] {
		case splitTrain:
			train = append(train, it)
		case splitTest:
			test = append(test, it)
		}
	}
	if len(train) == 0 || len(test) == 0 {
		return nil, nil, false, inputError("name the images as the collection does",
			"%s leaves %d images to train and %d to test on", c.splitFrom, len(train), len(test))
	}
	return train, test, true, nil
}

// HeldOut puts about one in `every` photos into test. It decides by a hash of
// the photo's name relative to the opened folder, so that adding photos never
// moves others between the halves. With two or more photos, each half gets at
// least one. If `every` is below 2, `test` is empty.
//
// The paper requested 50 photos of IAPR TC-12, each with two or more related
// images, but does not list them. cpar-eval requests one tenth of the photos,
// and excludes photos with fewer related images only in the paper's protocol.
func HeldOut(c *Collection, every int) (train, test []Photo) {
	if every < 2 || len(c.Photos) < 2 {
		return append(train, c.Photos...), nil
	}
	least, minAt := ^uint64(0), 0
	out := make([]bool, len(c.Photos))
	held := 0
	for i, it := range c.Photos {
		sum := sha256.Sum256([]byte(it.Name))
		h := binary.LittleEndian.Uint64(sum[:])
		if h <= least {
			least, minAt = h, i
		}
		if h%uint64(every) == 0 {
			out[i] = true
			held++
		}
	}
	// This happens only in very small collections.
	switch held {
	case 0:
		out[minAt] = true
	case len(c.Photos):
		out[minAt] = false
	}
	for i, it := range c.Photos {
		if out[i] {
			test = append(test, it)
		} else {
			train = append(train, it)
		}
	}
	return train, test
}
