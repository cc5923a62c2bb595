package metadata

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

func FuzzReadBlocks(f *testing.F) {
	jpg := plainJPEG(f)
	iptc := iimOf(newDataset(1, 90, iimUTF8), newDataset(2, 25, "Küste"))
	exif := tiffOf(binary.LittleEndian, map[uint16]string{tagXPKeywords: xp("sea"), tagXMP: subjects("sky")})
	for _, data := range [][]byte{
		jpg,
		withSegments(jpg, xmpSegment(subjects("sea")), photoshopSegment(newResource(resourceIPTC, iptc))),
		withSegments(jpg, extendedSegments(subjects("far"), 2)...),
		withSegments(jpg, segment{marker: app1, payload: []byte(signatureExif + exif)}),
		pngOf(chunk("eXIf", exif), chunk("iTXt", "XML:com.adobe.xmp\x00\x01\x00\x00\x00"+deflated(subjects("sea"))), chunk("zTXt", profile("iptc", string(iptc)))),
		webpOf(riff("EXIF", exif), riff("XMP ", subjects("boat"))),
		[]byte(exif),
		[]byte(tiffOf(binary.BigEndian, map[uint16]string{tagIPTC: string(iptc), tagPhotoshop: string(newResource(resourceIPTC, iptc).raw)})),
		heifOf(subjects("sea"), exif),
		overlapping(),
		rafOf(jpg),
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := readBlocks(bytes.NewReader(data), int64(len(data)), "a.jpg")
		w := s.keywords()
		for _, list := range [][]string{w.Human, w.Machine, w.Rejected, w.People} {
			for i, k := range list {
				if k == "" || !utf8.ValidString(k) || slices.ContainsFunc(list[:i], sameWord(k)) {
					t.Errorf("word %q of %q", k, list)
				}
			}
		}
	})
}

// FuzzPacket adds and removes words, and checks that all else stays.
func FuzzPacket(f *testing.F) {
	for _, text := range foreign {
		f.Add([]byte(text), "sky")
	}
	f.Add(encoded(subjects("mine"), unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)), "Küste")
	f.Add([]byte(packetOf(describe([]string{"dc:subject", "sky"}, []string{"cpar:Words", "sky"}, []string{"lr:hierarchicalSubject", "auto|sky"}))), "sky")
	f.Fuzz(func(t *testing.T, data []byte, word string) {
		p, err := parsePacket(data)
		word, bad := clean(word)
		if err != nil || bad != nil {
			return
		}
		old := map[property][]string{}
		for _, pr := range []property{subject, hierarchical, tagsList} {
			old[pr] = p.list(pr)
		}
		target := &target{xmp: p}
		all := target.read()
		target.change(all, Change{Suggest: []string{word}, Run: "r"})
		out, err := p.bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parsePacket(out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		for pr, values := range old {
			for _, v := range values {
				if !slices.Contains(again.list(pr), v) {
					t.Errorf("%v lost %q, has %q", pr, v, again.list(pr))
				}
			}
		}
		if target.changed {
			s := again.read()
			if w := s.keywords(); !slices.ContainsFunc(w.Machine, sameWord(word)) {
				t.Errorf("machine %q without %q", w.Machine, word)
			}
			target.retract("r", []string{word})
			s = target.read()
			if w := s.keywords(); slices.ContainsFunc(w.Machine, sameWord(word)) {
				t.Errorf("%q is left in %q", word, w.Machine)
			}
		}
	})
}

func FuzzChangeJPEG(f *testing.F) {
	jpg := plainJPEG(f)
	iptc := newResource(resourceIPTC, iimOf(newDataset(2, 25, "mine")))
	for _, segments := range [][]segment{
		nil,
		{xmpSegment(subjects("mine")), photoshopSegment(iptc, newResource(resourceDigest, make([]byte, 16)))},
		{photoshopSegment(iptc), photoshopSegment(newResource(1, []byte("odd")))},
		{mpfSegment(binary.BigEndian, []int{100, 200}, []int{0, 300}), xmpSegment(subjects("mine"))},
		extendedSegments(subjects("far"), 2),
	} {
		f.Add(withSegments(jpg, segments...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := changeJPEG(bytes.NewReader(data), int64(len(data)), func(t *target) []string { return t.change(t.read(), skySea) })
		if err != nil || e == nil {
			return
		}
		rest, ok := bytes.CutPrefix(data, e.Old)
		if !ok || e.Before != sha256.Sum256(data) {
			t.Fatal("the edit is not of this file")
		}
		now := append(e.New, rest...)
		if e.After != sha256.Sum256(now) {
			t.Error("the digest is not that of the result")
		}
		s, problems := readBlocks(bytes.NewReader(now), int64(len(now)), "a.jpg")
		w := s.keywords()
		for _, word := range e.Added {
			if !slices.ContainsFunc(w.Machine, sameWord(word)) {
				t.Errorf("machine %q without %q, problems %v", w.Machine, word, problems)
			}
		}
	})
}
