package dataset

import (
	"path/filepath"
	"strings"
	"testing"
)

// A leading ! marks a deleted object.
func outlined(filename string, objects ...string) string {
	var b strings.Builder
	b.WriteString("<annotation><filename>" + filename + "</filename><folder>elsewhere</folder><source><submittedBy>a person</submittedBy></source>")
	for _, o := range objects {
		name, gone := strings.CutPrefix(o, "!")
		deleted := "0"
		if gone {
			deleted = "1"
		}
		b.WriteString("<object><name>" + name + "</name><deleted>" + deleted + "</deleted><verified>0</verified>" +
			"<polygon><username>name</username><pt><x>1</x><y>2</y></pt></polygon></object>")
	}
	return b.String() + "<imagesize><nrows>8</nrows><ncols>8</ncols></imagesize></annotation>\n"
}

func labelMeFiles(t testing.TB) map[string]string {
	jpg := string(plainJPEG(t))
	return map[string]string{
		"Annotations/street/a.xml":          outlined("\na.jpg\n", "car", "tree", "!dog", " car ", "traffic\n  light"),
		"Annotations/users/me/beach/b.xml":  outlined("b.jpg", "sea", "sand & sun"),
		"Annotations/street/readme.txt":     "text",
		"Images/street/a.jpg":               jpg,
		"Images/users/me/beach/b.JPG":       jpg,
		"Images/users/me/beach/Thumbs.db":   "db",
		"Masks/street/a.png":                "png",
		"Annotations/users/me/beach/._b.xm": "mac",
	}
}

var labelMeItems = []string{"Images/street/a.jpg: car;tree;traffic light", "Images/users/me/beach/b.JPG: sea;sand & sun"}

func TestOpenLabelMe(t *testing.T) {
	c, err := Open(t.Context(), folder(t, labelMeFiles(t)), Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "items", listing(c.Photos), labelMeItems)
	if c.Format != LabelMe || len(c.Warnings) > 0 {
		t.Errorf("format %q, %v", c.Format, c.Warnings)
	}
}

func TestDamagedLabelMe(t *testing.T) {
	jpg := string(plainJPEG(t))
	whole := labelMeFiles(t)
	const file = "Annotations/street/a.xml"
	none := "no-keywords Images/street/a.jpg: no usable annotation for it in Annotations"
	for _, tc := range []struct {
		name, annotation, keywords string
		warnings                   []string
	}{
		{"no file name", "<annotation><object><name>car</name></object></annotation>", "car", nil},
		{"renamed photo", outlined("original.jpg", "car"), "car", nil},
		{"other ending", outlined("a.jpeg", "car"), "car", nil},
		{"latin accents", outlined("a.jpg", "\xe1rbol"), "árbol", nil},
		{"several in one", outlined("a.jpg", "car; tree", ";", ""), "car;tree", nil},
		{"all deleted", outlined("a.jpg", "!car"), "", []string{"no-keywords Images/street/a.jpg: " + file}},
		{"control characters", outlined("a.jpg", "c\u202ear", "tree"), "tree", []string{"bad-keyword Images/street/a.jpg: " + file + `: keyword "c\u202ear" contains the control character U+202E`}},
		{"escape", outlined("../../x.jpg", "car"), "", []string{"outside-collection ../../x.jpg: in " + file + ": the name of a photo has no folder", none}},
		{"escape on windows", outlined(`..\..\x.jpg`, "car"), "", []string{`outside-collection ..\..\x.jpg: in ` + file + ": the name of a photo has no folder", none}},
		{"absolute", outlined("/etc/passwd", "car"), "", []string{"outside-collection /etc/passwd: in " + file + ": the name of a photo has no folder", none}},
		{"parent", outlined("..", "car"), "car", nil},
		{"truncated", outlined("a.jpg", "car")[:100], "", []string{"unreadable-file " + file + ": its photo is left out: its XML is damaged: XML syntax error on line 1: unexpected EOF", none}},
		{"no annotation", "<html/>", "", []string{"unreadable-file " + file + ": its photo is left out: its XML is damaged: expected element type <annotation> but have <html>", none}},
		{"nul", outlined("a.jpg", "\x00"), "", []string{"unreadable-file " + file + ": its photo is left out: its XML is damaged: XML syntax error on line 1: illegal character code U+0000", none}},
		{"large", strings.Repeat(" ", maxAnnotation+1), "", []string{"unreadable-file " + file + ": its photo is left out: it has more than 33554432 bytes", none}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := opened(t, folder(t, with(whole, file, tc.annotation)))
			items := labelMeItems[1:]
			if tc.keywords != "" {
				items = []string{"Images/street/a.jpg: " + tc.keywords, labelMeItems[1]}
			}
			equal(t, "items", listing(c.Photos), items)
			equal(t, "warnings", details(c.Warnings), tc.warnings)
		})
	}
	c := opened(t, folder(t, with(whole, "Images/street/c.jpg", jpg, "Annotations/street/d.xml", outlined("d.jpg", "car"), "Annotations/street/e.xml", outlined("", "car"),
		"Annotations/street/again.xml", outlined("a.jpg", "bus"))))
	equal(t, "items", listing(c.Photos), labelMeItems)
	equal(t, "warnings", details(c.Warnings), []string{"duplicate-path Images/street/a.jpg: annotated in Annotations/street/again.xml, first in Annotations/street/a.xml",
		"missing-file Images/street/d.jpg: annotated in Annotations/street/d.xml", "missing-file Images/street/e.jpg: annotated in Annotations/street/e.xml",
		"no-keywords Images/street/c.jpg: no usable annotation for it in Annotations"})
}

func TestLabelMeStaysInside(t *testing.T) {
	outside := folder(t, labelMeFiles(t))
	dir := folder(t, with(labelMeFiles(t), "Annotations/street/c.xml", outlined("c.jpg", "car")))
	links(t, dir, map[string]string{
		"Images/street/c.jpg":      filepath.Join(outside, "Images/street/a.jpg"),
		"Annotations/street/d.xml": filepath.Join(outside, "Annotations/street/a.xml"),
		"Annotations/away":         filepath.Join(outside, "Annotations/street"),
	})
	c := opened(t, dir)
	equal(t, "items", listing(c.Photos), labelMeItems)
	equal(t, "warnings", details(c.Warnings), []string{"ignored-file Images/street/c.jpg: a symbolic link", "ignored-file Annotations/away: a symbolic link",
		"missing-file Images/street/c.jpg: annotated in Annotations/street/c.xml", "ignored-file Annotations/street/d.xml: a symbolic link"})
}

func FuzzLabelMe(f *testing.F) {
	for _, s := range []string{outlined("a.jpg", "car", "!dog", "traffic\n light"), outlined("../../x.jpg", "\xe1rbol"), "<annotation>", "<annotation><object><name>a</name><name>b</name><deleted> 1 </deleted></object></annotation>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readAnnotation(data)
		if err != nil {
			checkPrintable(t, []Warning{*newWarning(Unreadable, "a.xml", "%v", err)})
			if a.objects != nil {
				t.Fatalf("%+v and %v", a, err)
			}
			return
		}
		checkPrintable(t, []Warning{*newWarning(Outside, a.filename, "")})
		keywords, warnings := cleanKeywords(a.objects, "a.jpg", "")
		checkKeywords(t, keywords)
		checkPrintable(t, warnings)
	})
}
