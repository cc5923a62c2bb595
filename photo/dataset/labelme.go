package dataset

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// LabelMe is a tool with which people outline and name objects in photos:
//
//	Annotations/FOLDER/NAME.xml
//	  <annotation><filename>NAME.jpg</filename>
//	    <object><name>car</name><deleted>0</deleted>…</object>…</annotation>
//	Images/FOLDER/NAME.jpg
//
// A photo's keywords are the distinct names of its objects, as typed, without
// deleted objects. FOLDER may be a path.
const (
	annotationsName = "Annotations"
	imagesName      = "Images"

	// maxAnnotation suffices for a thousand objects, each outlined by a
	// thousand points of 30 bytes.
	maxAnnotation = 32 << 20
)

var errFound = errors.New("found")

func isLabelMe(root *os.Root, _ string) bool {
	if !isFolder(root, annotationsName) || !isFolder(root, imagesName) {
		return false
	}
	// Look for XML, because folders of private photos may have these names.
	err := fs.WalkDir(root.FS(), annotationsName, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.Type().IsRegular() && path.Ext(name) == ".xml" {
			return errFound
		}
		return nil
	})
	return err == errFound
}

func (c *reading) readLabelMe() error {
	photos, err := c.photosBelow(imagesName)
	if err != nil {
		return err
	}
	annotatedBy := map[string]string{}
	err = c.walk(annotationsName, func(file string, _ fs.DirEntry) {
		if path.Ext(file) != ".xml" {
			return
		}
		b, err := readLimited(c.root, file, maxAnnotation)
		var a annotation
		if err == nil {
			a, err = readAnnotation(b)
		}
		if err != nil {
			c.warn(Unreadable, file, "its photo is left out: %s", reason(err, file))
			return
		}
		if strings.ContainsAny(a.filename, `/\`) {
			c.warn(Outside, a.filename, "in %s: the name of a photo has no folder", file)
			return
		}
		inside := strings.TrimPrefix(path.Dir(file), annotationsName)
		own := strings.TrimSuffix(path.Base(file), ".xml")
		named := path.Join(imagesName+inside, cmp.Or(a.filename, own+".jpg"))
		stem := withoutEnding(named)
		if photos[stem] == "" {
			stem = path.Join(imagesName+inside, own)
		}
		name := photos[stem]
		switch first := annotatedBy[stem]; {
		case name == "":
			c.warn(Missing, named, "annotated in %s", file)
		case first != "":
			c.warn(Duplicate, name, "annotated in %s, first in %s", file, first)
		default:
			annotatedBy[stem] = file
			c.annotate(name, file, a.objects)
		}
	})
	if err != nil {
		return err
	}
	for _, stem := range slices.Sorted(maps.Keys(photos)) {
		if annotatedBy[stem] == "" {
			c.warn(NoKeywords, photos[stem], "no usable annotation for it in %s", annotationsName)
		}
	}
	return nil
}

type annotation struct {
	filename string
	objects  []string
}

func readAnnotation(b []byte) (a annotation, err error) {
	var doc struct {
		XMLName  struct{} `xml:"annotation"`
		Filename string   `xml:"filename"`
		Objects  []struct {
			Name    string `xml:"name"`
			Deleted string `xml:"deleted"`
		} `xml:"object"`
	}
	if err := decodeXML(b, &doc); err != nil {
		return a, err
	}
	a.filename = strings.TrimSpace(doc.Filename)
	for _, o := range doc.Objects {
		if strings.TrimSpace(o.Deleted) != "1" {
			a.objects = append(a.objects, strings.Join(strings.Fields(o.Name), " "))
		}
	}
	return a, nil
}
