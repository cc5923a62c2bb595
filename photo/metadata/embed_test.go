package metadata

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"cpar/internal/hint"
)

var skySea = Change{Suggest: []string{"sky", "Küste"}, Run: "r1"}

func blocksOf(t testing.TB, data []byte) (*header, *target) {
	t.Helper()
	segments, err := readSegments(bytes.NewReader(data), func(byte) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	h := &header{segments: segments}
	target, err := h.target()
	if err != nil {
		t.Fatal(err)
	}
	return h, target
}

// All segments except XMP and IPTC must survive.
func TestEmbeddedIsLossless(t *testing.T) {
	plain := plainJPEG(t)
	filled := segment{marker: 0xfe, fill: 3, payload: []byte("a comment")}
	jfif := segment{marker: app0, payload: []byte("JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00")}
	exif := segment{marker: app1, payload: []byte(signatureExif + tiffOf(binary.BigEndian, map[uint16]string{270: "a description"}))}
	icc := segment{marker: app2, payload: []byte("ICC_PROFILE\x00\x01\x01profile")}
	xmp := xmpSegment(subjects("mine"))
	title := newDataset(2, 5, "a title")
	iptc := func(sets ...dataset) resource { return newResource(resourceIPTC, iimOf(sets...)) }
	odd := resource{0x03ed, []byte("8BIM\x03\xed\x02ab\x00\x00\x00\x00\x03odd\x00"), nil}
	long := newResource(0x0bb7, bytes.Repeat([]byte("photoshop"), 7200))
	for name, c := range map[string]struct {
		segments []segment
		order    []byte // markers before the scan's tables
	}{
		"plain":               {nil, []byte{app1, app13}},
		"with EXIF":           {[]segment{jfif, exif, icc, filled}, []byte{app0, app1, app1, app13, app2, 0xfe}},
		"with XMP":            {[]segment{jfif, icc, xmp}, []byte{app0, app2, app1, app13}},
		"with IPTC":           {[]segment{photoshopSegment(odd, iptc(title)), filled}, []byte{app1, app13, 0xfe}},
		"with other resource": {[]segment{photoshopSegment(odd, long)}, []byte{app1, app13}},
		"with a full segment": {[]segment{photoshopSegment(odd, newResource(0x0bb7, bytes.Repeat([]byte("photoshop"), 7275)))}, []byte{app1, app13, app13}},
		"two segments":        {[]segment{photoshopSegment(long), icc, photoshopSegment(odd, iptc(title))}, []byte{app1, app13, app2, app13}},
		"a foreign APP13":     {[]segment{{marker: app13, payload: []byte("Adobe_CM\x00")}}, []byte{app1, app13, app13}},
		"continued": {func() []segment {
			var all []byte
			for _, r := range []resource{odd, long, iptc(title, newDataset(2, 120, strings.Repeat("long text ", 200))), odd} {
				all = append(all, r.raw...)
			}
			var s []segment
			for _, p := range split(all) {
				s = append(s, segment{marker: app13, payload: p})
			}
			return s
		}(), []byte{app1, app13, app13}},
	} {
		data := withSegments(plain, c.segments...)
		photo := save(t, "a.jpg", data)
		e := do(t, photo, Embedded, Append, skySea)
		now := get(t, photo)
		h, target := blocksOf(t, now)
		if want := len(plain) - 2; !bytes.Equal(now[len(now)-want:], plain[2:]) {
			t.Errorf("%s: the picture changed", name)
		}
		var markers []byte
		var foreign, wantForeign [][]byte
		for _, s := range h.segments[:len(c.order)] {
			markers = append(markers, s.marker)
		}
		if !bytes.Equal(markers, c.order) {
			t.Errorf("%s: segments % x, want % x", name, markers, c.order)
		}
		keep := func(segments []segment) (kept [][]byte) {
			for _, s := range segments {
				if !s.is(app1, signatureXMP) && !s.is(app13, signaturePhotoshop) {
					kept = append(kept, s.bytes())
				}
			}
			return kept
		}
		foreign, wantForeign = keep(h.segments[:len(c.order)]), keep(c.segments)
		if !slices.EqualFunc(foreign, wantForeign, bytes.Equal) {
			t.Errorf("%s: other segments changed", name)
		}
		resources := func(data []byte) (found [][]byte) {
			h, _ := blocksOf(t, data)
			for _, p := range h.resourceSegments {
				for _, r := range p.resources {
					if r.id != resourceIPTC {
						found = append(found, r.raw)
					}
				}
			}
			return found
		}
		if !slices.EqualFunc(resources(now), resources(data), bytes.Equal) {
			t.Errorf("%s: other resources changed", name)
		}
		equal(t, name+": IPTC", target.iptc.keywords(), append(target.iptc.keywords()[:len(target.iptc.keywords())-2:len(target.iptc.keywords())-2], "sky", "Küste"))
		if w := read(t, photo); !slices.Equal(w.Machine, skySea.Suggest) {
			t.Errorf("%s: machine %q", name, w.Machine)
		}
		left, err := Retract(photo, "r1", e.Added)
		if err != nil {
			t.Fatal(err)
		}
		if err := left.Apply(false); err != nil {
			t.Fatal(err)
		}
		if back := get(t, photo); name != "with XMP" && name != "continued" && !bytes.Equal(back, data) {
			t.Errorf("%s: after taking the words out, %d bytes, not %d", name, len(back), len(data))
		}
		if err := left.Undo().Apply(false); err != nil {
			t.Fatal(err)
		}
		if err := e.Undo().Apply(false); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(get(t, photo), data) {
			t.Errorf("%s: undo left other bytes", name)
		}
	}
}

func TestEmbeddedCharacterSets(t *testing.T) {
	for name, c := range map[string]struct {
		sets []dataset
		want []string // values of 2:25
		utf8 bool
	}{
		"none":           {nil, []string{"sky", "K\xc3\xbcste", "東京"}, true},
		"declared":       {[]dataset{newDataset(1, 90, iimUTF8), newDataset(2, 25, "sand")}, []string{"sand", "sky", "K\xc3\xbcste", "東京"}, true},
		"plain":          {[]dataset{newDataset(2, 0, "\x00\x02"), newDataset(2, 25, "sand"), newDataset(2, 120, "text")}, []string{"sand", "sky", "K\xc3\xbcste", "東京"}, true},
		"Latin-1":        {[]dataset{newDataset(2, 25, "sand"), newDataset(2, 120, "K\xfcche")}, []string{"sand", "sky", "K\xfcste"}, false},
		"undeclared":     {[]dataset{newDataset(2, 25, "sand"), newDataset(2, 120, "Küche")}, []string{"sand", "sky", "K\xc3\xbcste", "東京"}, false},
		"another":        {[]dataset{newDataset(1, 90, "\x1b.A"), newDataset(2, 25, "sand")}, []string{"sand", "sky"}, false},
		"in its place":   {[]dataset{newDataset(2, 5, "title"), newDataset(2, 80, "me"), newDataset(7, 1, "x")}, []string{"sky", "K\xc3\xbcste", "東京"}, true},
		"a long keyword": {[]dataset{newDataset(1, 90, iimUTF8), newDataset(2, 25, strings.Repeat("x", 64))}, []string{strings.Repeat("x", 64), "sky", "K\xc3\xbcste", "東京"}, true},
	} {
		var segments []segment
		if c.sets != nil {
			segments = append(segments, photoshopSegment(newResource(resourceIPTC, iimOf(c.sets...))))
		}
		photo := save(t, "a.jpg", withSegments(plainJPEG(t), segments...))
		do(t, photo, Embedded, Append, Change{Suggest: []string{"sky", "Küste", "東京", strings.Repeat("y", 65)}, Run: "r"})
		_, target := blocksOf(t, get(t, photo))
		var values []string
		for _, d := range target.iptc.sets {
			if d.isKeyword() {
				values = append(values, string(d.value))
			}
		}
		equal(t, name, values, c.want)
		if target.iptc.utf8 != c.utf8 {
			t.Errorf("%s: UTF-8 declared: %v", name, target.iptc.utf8)
		}
		if !slices.IsSortedFunc(target.iptc.sets, func(a, b dataset) int { return int(a.record)<<8 + int(a.number) - int(b.record)<<8 - int(b.number) }) {
			t.Errorf("%s: datasets out of order", name)
		}
		equal(t, name+": XMP has all", read(t, photo).Machine, []string{"sky", "Küste", "東京", strings.Repeat("y", 65)})
	}
}

// A mismatched digest is not repaired.
func TestIPTCDigestStaysTrue(t *testing.T) {
	iptc := iimOf(newDataset(2, 25, "mine"))
	right, wrong := md5.Sum(iptc), md5.Sum(nil)
	for _, was := range [][16]byte{right, wrong} {
		photo := save(t, "a.jpg", withSegments(plainJPEG(t), photoshopSegment(newResource(resourceDigest, was[:]), newResource(resourceIPTC, iptc))))
		do(t, photo, Embedded, Append, skySea)
		h, target := blocksOf(t, get(t, photo))
		want := wrong
		if was == right {
			want = md5.Sum(target.iptc.bytes())
		}
		if got := h.resourceSegments[0].resources[0].data; !bytes.Equal(got, want[:]) {
			t.Errorf("digest %x, want %x", got, want)
		}
	}
}

func mpfSegment(order binary.AppendByteOrder, sizes, offsets []int) segment {
	var entries []byte
	for i := range sizes {
		entries = order.AppendUint32(entries, 0x030000)
		entries = order.AppendUint32(entries, uint32(sizes[i]))
		entries = order.AppendUint32(entries, uint32(offsets[i]))
		entries = append(entries, 0, 0, 0, 0)
	}
	b := order.AppendUint32([]byte("MM\x00*"), 8)
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b = order.AppendUint32([]byte("II*\x00"), 8)
	}
	b = order.AppendUint16(b, 1)
	b = order.AppendUint16(order.AppendUint16(b, 0xb002), 7)
	b = order.AppendUint32(order.AppendUint32(b, uint32(len(entries))), 26)
	b = append(append(b, 0, 0, 0, 0), entries...)
	return segment{marker: app2, payload: append([]byte(signatureMPF), b...)}
}

// Offsets must be right before and after the edit.
func TestMultiPictureOffsets(t *testing.T) {
	plain, second := plainJPEG(t), withSegments(plainJPEG(t), segment{marker: 0xfe, payload: []byte("the second")})
	place := func(data []byte) (header int, list []byte) {
		header = bytes.Index(data, []byte(signatureMPF)) + 4
		return header, data[header:]
	}
	for name, order := range map[string]binary.AppendByteOrder{"big": binary.BigEndian, "little": binary.LittleEndian} {
		for at, segments := range map[string]func(mpf segment) []segment{
			"behind": func(m segment) []segment { return []segment{xmpSegment(subjects("mine")), m} },
			"before": func(m segment) []segment { return []segment{m, xmpSegment(subjects("mine"))} },
		} {
			first := withSegments(plain, segments(mpfSegment(order, []int{0, 0}, []int{0, 0}))...)
			header, _ := place(first)
			first = withSegments(plain, segments(mpfSegment(order, []int{len(first), len(second)}, []int{0, len(first) - header}))...)
			photo := save(t, "a.jpg", append(first, second...))
			e := do(t, photo, Embedded, Append, skySea)
			now := get(t, photo)
			header, list := place(now)
			size, offset := number(order, list[26+4:]), number(order, list[26+16+8:])
			if !bytes.Equal(now[header+offset:], second) || size != len(now)-len(second) {
				t.Errorf("%s, %s: the first has %d bytes, the second is at %d of %d", name, at, size, header+offset, len(now)-len(second))
			}
			left, err := Retract(photo, "r1", e.Added)
			if err != nil {
				t.Fatal(err)
			}
			left.Apply(false)
			now = get(t, photo)
			header, list = place(now)
			if !bytes.Equal(now[header+number(order, list[26+16+8:]):], second) {
				t.Errorf("%s, %s: lost after taking the words out", name, at)
			}
		}
	}
	broken := mpfSegment(binary.BigEndian, []int{1}, []int{0})
	broken.payload = broken.payload[:20]
	refused(t, withSegments(plain, broken), "list of images")
}

func number(order binary.AppendByteOrder, b []byte) int {
	if order == binary.AppendByteOrder(binary.BigEndian) {
		return int(binary.BigEndian.Uint32(b))
	}
	return int(binary.LittleEndian.Uint32(b))
}

func refused(t *testing.T, data []byte, why string) {
	t.Helper()
	photo := save(t, "a.jpg", data)
	e, err := Plan(photo, Embedded, Append, skySea)
	if e != nil || err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("want a refusal for %q: %v %v", why, e, err)
	}
	if !bytes.Equal(get(t, photo), data) {
		t.Error("the photo changed")
	}
}

func TestEmbedRejectsUnknownTrailers(t *testing.T) {
	plain := plainJPEG(t)
	progressive := withSegments(plain, segment{marker: 0xfe, payload: []byte("\xff\xd9")})
	for name, trailer := range map[string]string{
		"none": "", "zeros": strings.Repeat("\x00", 999), "a film": "\x00\x00\x00\x18ftypmp42 and so on", "Samsung's": "blocks SEFT", "Canon's": "CANON OPTIONAL DATA\x00…",
	} {
		data := append(slices.Clone(progressive), trailer...)
		photo := save(t, "a.jpg", data)
		do(t, photo, Embedded, Append, skySea)
		if now := get(t, photo); !bytes.HasSuffix(now, data[len(progressive)-len(plain)+2:]) {
			t.Errorf("%s: what follows changed", name)
		}
	}
	refused(t, append(slices.Clone(plain), plain...), "follow the image")
	refused(t, append(slices.Clone(plain), "AXS!"...), "follow the image")
}

func TestEmbeddedRefuses(t *testing.T) {
	plain := plainJPEG(t)
	for why, data := range map[string][]byte{
		"it is not a JPEG":           pngOf(),
		"XMP":                        withSegments(plain, xmpSegment("<x")),
		"IPTC":                       withSegments(plain, segment{marker: app13, payload: []byte(signaturePhotoshop + "8BIM\x04\x04\x00\x00\x00\x00\x00\x09cut")}),
		"2 IPTC blocks":              withSegments(plain, photoshopSegment(newResource(resourceIPTC, nil), newResource(resourceIPTC, nil))),
		"it is truncated":            plain[:40],
		"is in extended XMP":         withSegments(plain, extendedSegments(subjects("far"), 2)...),
		"extended XMP: a part":       withSegments(plain, extendedSegments(subjects("far"), 2)[:2]...),
		"bytes, but only 65502 fit":  withSegments(plain, xmpSegment(packetOf(describe([]string{"dc:title", strings.Repeat("x", 64300)})))),
		"does not begin with a mark": append(slices.Clone(plain[:2]), "text"...),
	} {
		refused(t, data, why)
	}
	photo := save(t, "a.png", pngOf())
	_, err := Plan(photo, Embedded, Append, skySea)
	if !errors.Is(err, ErrNotEmbeddable) || !strings.Contains(hint.Of(err), "sidecar") {
		t.Errorf("a PNG: %v, hint %q", err, hint.Of(err))
	}
}

// Extended XMP without keywords stays, and padding is used up.
func TestEmbeddedUsesPadding(t *testing.T) {
	segments := extendedSegments(packetOf(`<rdf:Description rdf:about="" xmlns:u="urn:u" u:x="1"/>`), 2)
	photo := save(t, "a.jpg", withSegments(plainJPEG(t), segments...))
	do(t, photo, Embedded, Append, skySea)
	now := get(t, photo)
	for _, s := range segments[1:] {
		if !bytes.Contains(now, s.bytes()) {
			t.Error("extended XMP changed")
		}
	}
	padded := strings.Replace(subjects("mine"), "<?xpacket end", strings.Repeat(" ", 64000)+"\n<?xpacket end", 1)
	photo = save(t, "a.jpg", withSegments(plainJPEG(t), xmpSegment(padded)))
	do(t, photo, Embedded, Append, skySea)
	equal(t, "machine", read(t, photo).Machine, skySea.Suggest)
}
