package metadata

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

func subjects(words ...string) string {
	return packetOf(describe(append([]string{"dc:subject"}, words...)))
}

func be32(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func pngChunk(kind, data string) string {
	return be32(len(data)) + kind + data + be32(int(crc32.ChecksumIEEE([]byte(kind+data))))
}

func chunk(kind, data string) string { return be32(len(data)) + kind + data + "crc " }

func pngOf(chunks ...string) []byte {
	return []byte(pngSignature + strings.Join(chunks, "") + chunk("IEND", ""))
}

func deflated(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func profile(name, data string) string {
	return "Raw profile type " + name + "\x00\x00" + deflated(fmt.Sprintf("\n%s profile\n%8d\n%s\n", name, len(data), hex.EncodeToString([]byte(data))))
}

func webpOf(chunks ...string) []byte {
	body := "WEBP" + strings.Join(chunks, "")
	return []byte("RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body)
}

func riff(kind, data string) string {
	s := kind + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + data
	if len(data)%2 == 1 {
		s += "\x00"
	}
	return s
}

func tiffOf(order binary.AppendByteOrder, tags map[uint16]string) string {
	head := "II*\x00"
	if order == binary.AppendByteOrder(binary.BigEndian) {
		head = "MM\x00*"
	}
	keys := make([]uint16, 0, len(tags))
	for k := range tags {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dir := order.AppendUint16(nil, uint16(len(tags)))
	values, at := "", 8+2+12*len(tags)+4
	for _, k := range keys {
		v := tags[k]
		dir = order.AppendUint16(order.AppendUint16(dir, k), 1)
		dir = order.AppendUint32(dir, uint32(len(v)))
		if len(v) <= 4 {
			dir = append(dir, (v + "\x00\x00\x00\x00")[:4]...)
			continue
		}
		dir = order.AppendUint32(dir, uint32(at+len(values)))
		values += v
	}
	return head + string(order.AppendUint32(nil, 8)) + string(dir) + "\x00\x00\x00\x00" + values
}

func boxOf(kind string, parts ...string) string {
	content := strings.Join(parts, "")
	return be32(len(content)+8) + kind + content
}

// heifOf is a file with an XMP item in two extents and an EXIF item in the meta
// box.
func heifOf(xmp, exif string) []byte {
	const ftyp = 16
	infe := func(item, kind, more string) string {
		return boxOf("infe", "\x02\x00\x00\x00", "\x00"+item, "\x00\x00", kind, more)
	}
	half := len(xmp) / 2
	meta := func(at int) string {
		return boxOf("meta", "\x00\x00\x00\x00",
			boxOf("iloc", "\x01\x00\x00\x00\x44\x00\x00\x02",
				"\x00\x07\x00\x00\x00\x00\x00\x02", be32(at), be32(half), be32(at+half), be32(len(xmp)-half),
				"\x00\x08\x00\x01\x00\x00\x00\x01", be32(0), be32(len(exif)+4)),
			boxOf("iinf", "\x00\x00\x00\x00\x00\x02", infe("\x07", "mime", "\x00application/rdf+xml\x00\x00"), infe("\x08", "Exif", "\x00")),
			boxOf("idat", "\x00\x00\x00\x00", exif))
	}
	file := boxOf("ftyp", "heic\x00\x00\x00\x00") + meta(ftyp+len(meta(0))+8) + boxOf("mdat", xmp)
	return []byte(file)
}

func xp(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return string(append(b, 0, 0))
}

func extendedSegments(xmp string, parts int) []segment {
	const guid = "0123456789ABCDEF0123456789ABCDEF"
	main := packetOf(`<rdf:Description rdf:about="" xmlns:xmpNote="` + nsNote + `" xmpNote:HasExtendedXMP="` + guid + `"/>`)
	found := []segment{xmpSegment(main)}
	for i, c := range slices.Collect(slices.Chunk([]byte(xmp), (len(xmp)+parts-1)/parts)) {
		at := i * ((len(xmp) + parts - 1) / parts)
		found = append(found, segment{marker: app1, payload: []byte(signatureExtended + guid + be32(len(xmp)) + be32(at) + string(c))})
	}
	return found
}

func TestReadFileOfEveryKind(t *testing.T) {
	jpg := plainJPEG(t)
	iptc := string(iimOf(newDataset(1, 90, iimUTF8), newDataset(2, 5, "a title"), newDataset(2, 25, "Küste")))
	swapped := []byte(iptc + strings.Repeat("\x00", (4-len(iptc)%4)%4))
	for i := 0; i < len(swapped); i += 4 {
		slices.Reverse(swapped[i : i+4])
	}
	exif := tiffOf(binary.LittleEndian, map[uint16]string{tagXPKeywords: xp("sea;Küste ")})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"plain.jpg":       {jpg, ""},
		"iptc.jpg":        {withSegments(jpg, photoshopSegment(newResource(resourceIPTC, []byte(iptc)))), "Küste"},
		"latin1.jpg":      {withSegments(jpg, photoshopSegment(newResource(resourceIPTC, iimOf(newDataset(2, 25, "K\xfcste"))))), "Küste"},
		"undeclared.jpg":  {withSegments(jpg, photoshopSegment(newResource(resourceIPTC, iimOf(newDataset(2, 25, "東京"))))), "東京"},
		"xmp.jpg":         {withSegments(jpg, xmpSegment(subjects("sea", "sand & sun"))), "sea;sand & sun"},
		"exif.jpg":        {withSegments(jpg, segment{marker: app1, payload: []byte(signatureExif + exif)}), "sea;Küste"},
		"extended.jpg":    {withSegments(jpg, extendedSegments(subjects("far"), 3)...), "far"},
		"turned.jpg":      {withSegments(jpg, reversed(extendedSegments(subjects("far"), 3))...), "far"},
		"itxt.png":        {pngOf(chunk("IHDR", "x"), chunk("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+subjects("sea"))), "sea"},
		"packed.png":      {pngOf(chunk("iTXt", "XML:com.adobe.xmp\x00\x01\x00en\x00xmp\x00"+deflated(subjects("sea")))), "sea"},
		"exif.png":        {pngOf(chunk("eXIf", exif)), "sea;Küste"},
		"iptc.png":        {pngOf(chunk("zTXt", profile("iptc", string(newResource(resourceIPTC, []byte(iptc)).raw)))), "Küste"},
		"bare.png":        {pngOf(chunk("zTXt", profile("iptc", iptc))), "Küste"},
		"profile.png":     {pngOf(chunk("zTXt", profile("xmp", subjects("sea")))), "sea"},
		"app1.png":        {pngOf(chunk("zTXt", profile("APP1", signatureXMP+subjects("sea"))), chunk("zTXt", profile("exif", signatureExif+exif))), "sea;Küste"},
		"xmp.webp":        {webpOf(riff("VP8X", "1234567"), riff("EXIF", exif), riff("XMP ", subjects("boat"))), "boat;sea;Küste"},
		"little.tif":      {[]byte(tiffOf(binary.LittleEndian, map[uint16]string{tagXMP: subjects("sea"), tagIPTC: iptc})), "Küste;sea"},
		"big.dng":         {[]byte(tiffOf(binary.BigEndian, map[uint16]string{tagXMP: subjects("sea"), tagPhotoshop: string(newResource(resourceIPTC, []byte(iptc)).raw)})), "Küste;sea"},
		"swapped.tif":     {[]byte(tiffOf(binary.LittleEndian, map[uint16]string{tagIPTC: string(swapped)})), "Küste"},
		"items.heic":      {heifOf(subjects("sea", "boat"), exif), "sea;boat;Küste"},
		"uuid.cr3":        {[]byte(boxOf("ftyp", "crx \x00\x00\x00\x00") + boxOf("moov", "") + boxOf("uuid", uuidXMP, subjects("sea"))), "sea"},
		"preview.raf":     {rafOf(withSegments(jpg, xmpSegment(subjects("sea")))), "sea"},
		"a.gif":           {[]byte("GIF89a"), ""},
		"utf16 in it.jpg": {withSegments(jpg, xmpSegment(string(encoded(subjects("東京"), unicode.UTF16(unicode.BigEndian, unicode.UseBOM))))), "東京"},
	} {
		w := read(t, save(t, name, c.data))
		if got := strings.Join(w.Human, ";"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func reversed(s []segment) []segment {
	slices.Reverse(s[1:])
	return s
}

func rafOf(jpg []byte) []byte {
	head := signatureRAF + strings.Repeat("v", 84-len(signatureRAF)) + be32(100) + be32(len(jpg)) + strings.Repeat("\x00", 8)
	return []byte(head + string(jpg))
}

func TestDamageDoesNotHideOtherBlocks(t *testing.T) {
	jpg := plainJPEG(t)
	iptc := photoshopSegment(newResource(resourceIPTC, iimOf(newDataset(2, 25, "sky"))))
	xmp := xmpSegment(subjects("sea"))
	cut := append(iimOf(newDataset(2, 25, "sky")), "\x1c\x02\x19\x00\x99short"...)
	exif := tiffOf(binary.LittleEndian, map[uint16]string{tagXPKeywords: xp("boat")})
	for name, c := range map[string]struct {
		data    []byte
		want    string
		problem string
	}{
		"xmp.jpg":      {withSegments(jpg, xmpSegment("<x:xmpmeta"), iptc), "sky", "XMP"},
		"no rdf.jpg":   {withSegments(jpg, xmpSegment("<a/>"), iptc), "sky", "rdf:RDF"},
		"twice.jpg":    {withSegments(jpg, xmpSegment(packetOf(`<rdf:Description a="1" a="2"/>`)), iptc), "sky", "repeated"},
		"iptc.jpg":     {withSegments(jpg, photoshopSegment(newResource(resourceIPTC, cut)), xmp), "sky;sea", "IPTC"},
		"resource.jpg": {withSegments(jpg, iptc, segment{marker: app13, payload: []byte(signaturePhotoshop + "8BIM\x04")}, xmp), "sky;sea", "IPTC"},
		"exif.jpg":     {withSegments(jpg, segment{marker: app1, payload: []byte(signatureExif + "II*\x00\xff\xff\xff\x00")}, xmp), "sea", "EXIF"},
		"cut.jpg":      {withSegments(jpg[:2], xmp, iptc), "sky;sea", "is truncated"},
		"extended.jpg": {withSegments(jpg, append(extendedSegments(subjects("far"), 3)[:2], iptc)...), "sky", "a part is missing"},
		"chunk.png":    {pngOf(chunk("zTXt", profile("iptc", "")+"x"), chunk("zTXt", "Raw profile type xmp\x00\x00no"), chunk("eXIf", exif)), "boat", "Raw profile"},
		"cut.png":      {append(pngOf(chunk("eXIf", exif))[:len(pngSignature)+12+len(exif)], "\x00\x00\xff\xffiTXt"...), "boat", "PNG"},
		"chunk.webp":   {webpOf(riff("EXIF", exif), "XMP \xff\xff\x00\x00"), "boat", "XMP"},
		"overlap.heic": {overlapping(), "sea", "it overlaps other blocks"},
		"big.tif":      {[]byte("II+\x00\x08\x00\x00\x00\x00\x00\x00\x00"), "", "BigTIFF"},
		"no photo.jpg": {[]byte("text"), "", "not a photo"},
		"empty.jpg":    {nil, "", "the file is empty"},
		"beyond.raf":   {rafOf(jpg)[:120], "", "RAF"},
	} {
		w, problems, err := ReadFile(save(t, name, c.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(w.Human, ";"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Detail, c.problem) }) {
			t.Errorf("%s: problems %v, want %q", name, problems, c.problem)
		}
	}
}

func overlapping() []byte {
	xmp := subjects("sea")
	const n = 50
	iloc, iinf := "\x00\x00\x00\x00\x44\x00"+string(binary.BigEndian.AppendUint16(nil, n)), "\x00\x00\x00\x00"+string(binary.BigEndian.AppendUint16(nil, n))
	for i := range n {
		id := string(binary.BigEndian.AppendUint16(nil, uint16(i+1)))
		iloc += id + "\x00\x00\x00\x01" + be32(24) + be32(len(xmp))
		iinf += boxOf("infe", "\x02\x00\x00\x00", id, "\x00\x00mime\x00application/rdf+xml\x00")
	}
	return []byte(boxOf("ftyp", "heic\x00\x00\x00\x00") + boxOf("mdat", xmp) + boxOf("meta", "\x00\x00\x00\x00", boxOf("iinf", iinf), boxOf("iloc", iloc)))
}

func TestSidecarsOfBothNames(t *testing.T) {
	photo := save(t, "a.jpg", withSegments(plainJPEG(t), xmpSegment(subjects("sea"))))
	put(t, photo+".xmp", []byte(subjects("Sea", "boat")))
	bare := strings.TrimSuffix(photo, ".jpg")
	put(t, bare+".xmp", []byte(subjects("sky")))
	put(t, bare+".XMP", []byte("<x:xmpmeta"))
	w, problems, err := ReadFile(photo)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "human", w.Human, []string{"sea", "boat", "sky"})
	if len(problems) != 1 || problems[0].Path != bare+".XMP" {
		t.Errorf("problems %v", problems)
	}
	if _, _, err := ReadFile(photo + ".none"); err == nil {
		t.Error("a file that is not there")
	}
}
