package metadata

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func plainJPEG(t testing.TB) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 24, 16))
	for i := range m.Pix {
		m.Set(i%24, i/24%16, color.RGBA{uint8(i), uint8(i * 7), uint8(i * 3), 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func withSegments(jpg []byte, segments ...segment) []byte {
	out := slices.Clone(jpg[:2])
	for _, s := range segments {
		out = append(out, s.bytes()...)
	}
	return append(out, jpg[2:]...)
}

func xmpSegment(packet string) segment {
	return segment{marker: app1, payload: []byte(signatureXMP + packet)}
}

func photoshopSegment(resources ...resource) segment {
	payload := []byte(signaturePhotoshop)
	for _, r := range resources {
		payload = append(payload, r.raw...)
	}
	return segment{marker: app13, payload: payload}
}

func iimOf(sets ...dataset) []byte { return (&iim{sets: sets}).bytes() }

func save(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, data)
	return path
}

func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func do(t testing.TB, photo string, w Where, s Style, c Change) *Edit {
	t.Helper()
	e, err := Plan(photo, w, s, c)
	if err != nil {
		t.Fatal(err)
	}
	if e == nil {
		t.Fatalf("nothing to do for %+v", c)
	}
	if err := e.Apply(false); err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t testing.TB, photo string) Keywords {
	t.Helper()
	w, problems, err := ReadFile(photo)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v %v", problems, err)
	}
	return w
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

const (
	packetHead = `<?xpacket begin="` + "\ufeff" + `" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
`
	packetTail = ` </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>`
)

func packetOf(descriptions string) string { return packetHead + descriptions + packetTail }
