package dataset

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/internal/sanitize"
)

func plainJPEG(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func withSegments(jpg []byte, segments ...[]byte) []byte {
	out := slices.Clone(jpg[:2])
	for _, s := range segments {
		out = append(out, s...)
	}
	return append(out, jpg[2:]...)
}

func segment(marker byte, payload []byte) []byte {
	out := []byte{0xff, marker}
	out = binary.BigEndian.AppendUint16(out, uint16(len(payload)+2))
	return append(out, payload...)
}

// iptcSegment is an APP13 segment as in IIM 4.2. utf8 declares the character
// set (1:90).
func iptcSegment(utf8 bool, keywords ...string) []byte {
	var iim []byte
	put := func(record, dataset byte, value string) {
		iim = append(iim, 0x1c, record, dataset)
		iim = binary.BigEndian.AppendUint16(iim, uint16(len(value)))
		iim = append(iim, value...)
	}
	if utf8 {
		put(1, 90, "\x1b%G")
	}
	put(2, 5, "a title that is no keyword")
	for _, k := range keywords {
		put(2, 25, k)
	}
	return photoshopSegment(0x0404, iim)
}

func photoshopSegment(id uint16, data []byte) []byte {
	b := append([]byte("Photoshop 3.0\x00"), "8BIM"...)
	b = binary.BigEndian.AppendUint16(b, id)
	b = append(b, 0, 0) // empty name, padded
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	if len(data)%2 == 1 {
		b = append(b, 0)
	}
	return segment(0xed, b)
}

func xmpSegment(keywords ...string) []byte {
	var b strings.Builder
	b.WriteString("http://ns.adobe.com/xap/1.0/\x00<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?>" +
		"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>" +
		"<rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:other='http://example.com/'>" +
		"<other:subject>no keyword</other:subject><dc:subject><rdf:Bag>")
	for _, k := range keywords {
		b.WriteString("<rdf:li>")
		xml.EscapeText(&b, []byte(k))
		b.WriteString("</rdf:li>")
	}
	b.WriteString("</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>")
	return segment(0xe1, []byte(b.String()))
}

func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func manifestFolder(t testing.TB, manifest string, names ...string) string {
	files := map[string]string{ManifestName: manifest}
	for _, n := range names {
		files[n] = "picture"
	}
	return folder(t, files)
}

// links maps names in folder dir to the targets of links, which replace files.
func links(t *testing.T, dir string, targets map[string]string) {
	t.Helper()
	for name, target := range targets {
		os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
}

func opened(t *testing.T, dir string) *Collection {
	t.Helper()
	c, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func kindsOf(ws []Warning) []string {
	var out []string
	for _, w := range ws {
		out = append(out, string(w.Kind)+" "+sanitize.Text(w.Name))
	}
	return out
}

func listing(items []Photo) []string {
	var out []string
	for _, it := range items {
		out = append(out, it.Name+": "+strings.Join(it.Keywords, separator))
	}
	return out
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
