package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func TestOpenReadsEmbeddedKeywords(t *testing.T) {
	jpg := plainJPEG(t)
	with := func(segments ...[]byte) string { return string(withSegments(jpg, segments...)) }
	dir := folder(t, map[string]string{
		"iptc.jpg":            with(iptcSegment(true, "Küste", "sky")),
		"one.jpg":             with(iptcSegment(false, "sky")),
		"latin1.jpg":          with(iptcSegment(false, "K\xfcste")),
		"undeclared.jpg":      with(iptcSegment(false, "Küste", "東京")),
		"sub/deep/xmp.JPEG":   with(xmpSegment("sea", "sand & sun")),
		"both.jpg":            with(xmpSegment("sea", "boat"), iptcSegment(true, "boat", "sky")),
		"nfd.jpg":             with(xmpSegment("Ku\u0308ste", "Küste")),
		"semicolon.jpg":       with(xmpSegment("sea;sky")),
		"none.jpg":            string(jpg),
		"other.jpg":           with(photoshopSegment(0x0425, []byte("digest of 16 B.."))),
		"broken-xmp.jpg":      with(iptcSegment(true, "sky"), segment(0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00<x:xmpmeta"))),
		"text.jpg":            "this is no picture",
		"empty.jpg":           "",
		"a.png":               "png",
		"notes.txt":           "no image",
		".hidden.jpg":         with(iptcSegment(true, "hidden")),
		".thumbnails/t.jpg":   with(iptcSegment(true, "hidden")),
		"bad\x01.jpg":         with(iptcSegment(true, "sky")),
		"badutf8\xff\xfe.jpg": with(iptcSegment(true, "sky")),
	})
	c := opened(t, dir)
	equal(t, "items", listing(c.Photos), []string{
		"both.jpg: boat;sky;sea",
		"broken-xmp.jpg: sky",
		"iptc.jpg: Küste;sky",
		"latin1.jpg: Küste",
		"nfd.jpg: Küste",
		"one.jpg: sky",
		"semicolon.jpg: sea;sky",
		"sub/deep/xmp.JPEG: sea;sand & sun",
		"undeclared.jpg: Küste;東京",
	})
	equal(t, "warnings", kindsOf(c.Warnings), []string{
		`malformed-row "bad\x01.jpg"`,
		`not-utf8 "badutf8\xff\xfe.jpg"`,
		"unreadable-file a.png",
		"unreadable-file broken-xmp.jpg",
		"unreadable-file empty.jpg",
		"no-keywords none.jpg",
		"no-keywords other.jpg",
		"unreadable-file text.jpg",
	})
	if !strings.Contains(c.Summary(), "2 images without keywords: none.jpg, other.jpg") {
		t.Errorf("summary:\n%s", c.Summary())
	}
	for _, it := range c.Photos {
		if _, err := os.Stat(it.Path); err != nil || !filepath.IsAbs(it.Path) {
			t.Errorf("item %s has the path %q: %v", it.Name, it.Path, err)
		}
	}
}

// Resources of other programs may surround the IPTC resource.
func TestEmbeddedKeywordsAmongOtherResources(t *testing.T) {
	resource := func(id, name, data string) string {
		b := "8BIM" + id + string(rune(len(name))) + name
		if len(name)%2 == 0 {
			b += "\x00"
		}
		b += "\x00\x00\x00" + string(rune(len(data))) + data // lengths below 128
		if len(data)%2 == 1 {
			b += "\x00"
		}
		return b
	}
	iptc := resource("\x04\x04", "", "\x1c\x02\x19\x00\x03sky\x1c\x02\x19\x00\x04sand")
	iptcOdd := resource("\x04\x04", "", "\x1c\x02\x19\x00\x03sky\x1c\x02\x19\x00\x05beach")
	for name, payload := range map[string]string{
		"alone":            iptc,
		"alone, odd":       iptcOdd,
		"after even":       resource("\x04\x25", "", "sixteen bytes 16") + iptc,
		"after odd":        resource("\x04\x25", "", "odd") + iptc,
		"after odd named":  resource("\x04\x25", "ab", "odd") + iptc,
		"after even named": resource("\x04\x25", "abc", "even") + iptc,
		"after odd, split": resource("\x04\x25", "ab", "odd") + iptc[:20] + "\xff" + iptc[20:],
		"padded":           iptc + "\x00\x00",
		"extended length":  resource("\x04\x04", "", "\x1c\x02\x19\x80\x04\x00\x00\x00\x03sky\x1c\x02\x19\x00\x04sand"),
		"before":           iptcOdd + resource("\x04\x25", "", "odd"),
	} {
		var segments [][]byte
		for part := range strings.SplitSeq(payload, "\xff") {
			segments = append(segments, segment(0xed, []byte("Photoshop 3.0\x00"+part)))
		}
		jpg := withSegments(plainJPEG(t), segments...)
		dir := folder(t, map[string]string{"a.jpg": string(jpg)})
		c, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.Photos) != 1 || len(c.Photos[0].Keywords) != 2 || c.Photos[0].Keywords[0] != "sky" || len(c.Warnings) > 0 {
			t.Errorf("%s: got %v, %v", name, listing(c.Photos), c.Warnings)
		}
	}
}

func TestTreeFollowsLinksToPhotos(t *testing.T) {
	jpg := string(withSegments(plainJPEG(t), iptcSegment(true, "sky")))
	outside := folder(t, map[string]string{"secret.jpg": jpg})
	dir := folder(t, map[string]string{"a.jpg": jpg, "sub/b.jpg": jpg})
	links(t, dir, map[string]string{
		"sub/loop":    "..",
		"self":        "self",
		"twice.jpg":   "a.jpg",
		"outside":     outside,
		"outside.jpg": filepath.Join(outside, "secret.jpg"),
	})
	c := opened(t, dir)
	equal(t, "items", listing(c.Photos), []string{"a.jpg: sky", "outside.jpg: sky", "sub/b.jpg: sky"})
	equal(t, "warnings", kindsOf(c.Warnings), []string{"ignored-file outside", "unreadable-file self", "ignored-file sub/loop"})

	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(t.Context(), linked, Options{}); err != nil || len(c.Photos) != 3 {
		t.Errorf("through a link to the folder: %v", err)
	}
}

func TestOpenRefusesFolders(t *testing.T) {
	dir := manifestFolder(t, "path,keywords\na.jpg,sky\n", "a.jpg")
	none := folder(t, map[string]string{"none.jpg": string(plainJPEG(t))})
	damaged := folder(t, map[string]string{"none.jpg": string(plainJPEG(t)), "empty.jpg": "", "notes.jpg": "hi"})
	asFolder := folder(t, map[string]string{"manifest.csv/a.txt": ""})
	for dir, want := range map[string]string{
		"":                                 "no folder given",
		filepath.Join(dir, "absent"):       "there is no such folder",
		filepath.Join(dir, "a.jpg"):        "not a folder",
		filepath.Join(dir, "manifest.csv"): "not the file",
		t.TempDir():                        "it holds no annotated image",
		none:                               "1 image without keywords: none.jpg",
		damaged:                            "give at least twenty of these photos keywords",
		asFolder:                           "manifest.csv is not a file",
		"nul\x00byte":                      `"nul\x00byte"`,
	} {
		_, err := Open(t.Context(), dir, Options{})
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v is no ErrInput", dir, err)
			continue
		}
		if !strings.Contains(err.Error()+"\n"+hint.Of(err), want) || hint.Of(err) == "" {
			t.Errorf("%q: want %q and a hint in\n%v", dir, want, err)
		}
	}
}

func BenchmarkOpenTree(b *testing.B) {
	jpg := string(withSegments(plainJPEG(b), iptcSegment(true, "sky", "sea"), xmpSegment("sky", "sea")))
	files := map[string]string{}
	for i := range 200 {
		files[strings.Repeat("x", i+1)+".jpg"] = jpg
	}
	dir := folder(b, files)
	for b.Loop() {
		if _, err := Open(b.Context(), dir, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
