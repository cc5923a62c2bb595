package metadata

import (
	"bytes"
	"slices"
	"testing"
	"unicode/utf8"
)

// FuzzReadBlocks reads photos of every kind.
func FuzzReadBlocks(f *testing.F) {
	jpg := plainJPEG(f)
	f.Add(jpg)
	f.Add(withSegments(jpg,
		xmpSegment(packetOf(`<rdf:Description xmlns:dc="`+nsDC+`" dc:subject="sea"/>`)),
		photoshopSegment(newResource(resourceIPTC, iimOf(newDataset(1, 90, iimUTF8), newDataset(2, 25, "Küste"))))))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := readBlocks(bytes.NewReader(data), int64(len(data)), "a.jpg")
		w := s.words()
		for _, list := range [][]string{w.Human, w.Machine, w.Rejected, w.People} {
			for i, k := range list {
				if k == "" || !utf8.ValidString(k) || slices.ContainsFunc(list[:i], is(k)) {
					t.Errorf("word %q of %q", k, list)
				}
			}
		}
	})
}
