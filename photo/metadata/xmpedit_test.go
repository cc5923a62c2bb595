package metadata

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// foreign holds sidecars of other programs, whose properties must survive.
var foreign = map[string]string{
	"as darktable": `<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:exif="http://ns.adobe.com/exif/1.0/"
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:darktable="http://darktable.sf.net/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:lr="http://ns.adobe.com/lightroom/1.0/"
   exif:DateTimeOriginal="2026:01:02 03:04:05"
   xmp:Rating="4"
   darktable:xmp_version="5"
   darktable:raw_params="0&#10;1">
   <darktable:history>
    <rdf:Seq>
     <rdf:li
      darktable:num="0"
      darktable:operation="exposure"
      darktable:params="gz02eJxjYGBg"/>
    </rdf:Seq>
   </darktable:history>
   <dc:subject>
    <rdf:Seq>
     <rdf:li>mine</rdf:li>
     <rdf:li>darktable</rdf:li>
    </rdf:Seq>
   </dc:subject>
   <lr:hierarchicalSubject>
    <rdf:Seq>
     <rdf:li>Things|mine</rdf:li>
     <rdf:li>darktable|format|jpg</rdf:li>
    </rdf:Seq>
   </lr:hierarchicalSubject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>`,
	"an attribute": packetOf(`  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:subject="mine" dc:format='image/jpeg'/>
`),
	"a single value in its language": packetOf(`  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:subject xml:lang="en">mine</dc:subject>
   <dc:title><rdf:Alt><rdf:li xml:lang="x-default">T &amp; U</rdf:li></rdf:Alt></dc:title>
  </rdf:Description>
`),
	"several descriptions, items in languages": packetOf(`  <rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/"><!-- kept --><xmp:Rating>3</xmp:Rating></rdf:Description>
  <rdf:Description rdf:about="" xmlns:d="http://purl.org/dc/elements/1.1/">
   <d:subject>
    <rdf:Seq>
     <rdf:li xml:lang="en">mine</rdf:li>
    </rdf:Seq>
   </d:subject>
  </rdf:Description>
`),
	"qualified items": packetOf(`  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:q="urn:q">
   <dc:subject><rdf:Bag><rdf:li rdf:parseType="Resource"><rdf:value>mine</rdf:value><q:by>me</q:by></rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
`),
	"other prefixes": `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:lr="urn:not-lightroom" xmlns:cpar="urn:not-ours" lr:x="1" cpar:y="2"><subject xmlns="http://purl.org/dc/elements/1.1/"><rdf:Bag><rdf:li><![CDATA[mine]]></rdf:li></rdf:Bag></subject></rdf:Description></rdf:RDF>`,
	"no description": packetOf(""),
	"one line":       strings.ReplaceAll(packetOf(`<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>mine</rdf:li></rdf:Bag></dc:subject></rdf:Description>`), "\n", ""),
}

func TestForeignSidecarsKeepWhatTheyHave(t *testing.T) {
	forms := map[string]encoding.Encoding{"": unicode.UTF8, ", marked": unicode.UTF8BOM,
		", UTF-16": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), ", UTF-16 big": unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
		", UTF-16 unmarked": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
	for name, text := range foreign {
		for suffix, f := range forms {
			old := encoded(text, f)
			photo := save(t, "a.jpg", plainJPEG(t))
			put(t, photo+".xmp", old)
			human := read(t, photo).Human
			e := do(t, photo, Sidecar, Follow, Change{Suggest: []string{"sky", "<&>"}, Run: "r1"})
			if e.Created || !bytes.Equal(e.Old, old) {
				t.Fatalf("%s%s: not an edit of it", name, suffix)
			}
			w := read(t, photo)
			equal(t, name+suffix+": human", w.Human, human)
			equal(t, name+suffix+": machine", w.Machine, []string{"sky", "<&>"})
			now := get(t, photo+".xmp")
			if _, got, err := decodeForm(now); err != nil || got != f {
				t.Errorf("%s%s: now in form %v, %v", name, suffix, got, err)
			}
			plain, _, _ := decodeForm(now)
			for _, kept := range []string{"exif:DateTimeOriginal=\"2026:01:02 03:04:05\"", "gz02eJxjYGBg", "0&#xA;1", "image/jpeg", "T &amp; U", "<!-- kept -->",
				`xml:lang="en"`, "<q:by>me</q:by>", `lr:x="1" cpar:y="2"`, "<![CDATA[mine]]>", "darktable|format|jpg", "<?xpacket end=\"w\"?>"} {
				if strings.Contains(strings.ReplaceAll(text, "&#10;", "&#xA;"), kept) && !bytes.Contains(plain, []byte(kept)) {
					t.Errorf("%s%s: %s is lost in\n%s", name, suffix, kept, plain)
				}
			}
			left, err := Retract(photo+".xmp", "r1", e.Added)
			if err != nil {
				t.Fatal(err)
			}
			back, _, _ := decodeForm(left.New)
			if bytes.Contains(back, []byte("sky")) || bytes.Contains(back, []byte(nsOwn)) || bytes.Contains(back, []byte("auto")) {
				t.Errorf("%s%s: something of ours is left:\n%s", name, suffix, back)
			}
			if err := e.Undo().Apply(false); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(get(t, photo+".xmp"), old) {
				t.Errorf("%s%s: undo left other bytes", name, suffix)
			}
		}
	}
}

// Retraction restores the original text if its layout is ours.
func TestRetractLeavesTheLayout(t *testing.T) {
	for name, text := range foreign {
		p, err := parsePacket([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := p.bytes()
		target := &target{xmp: p}
		all := target.read()
		added := target.change(all, Change{Suggest: []string{"sky", "sea"}, Run: "r"})
		target.changed = false
		target.retract("r", added)
		got, _ := p.bytes()
		if name == "an attribute" || name == "a single value in its language" || name == "no description" || name == "other prefixes" {
			continue // converted lists, descriptions and declarations stay
		}
		strip := strings.NewReplacer(` xmlns:digiKam="`+nsDigiKam+`"`, "", ` xmlns:lr="`+nsLightroom+`"`, "", ` xmlns:dc="`+nsDC+`"`, "")
		if strip.Replace(string(got)) != strip.Replace(string(want)) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestSidecarThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"cut":      packetOf("<rdf:Description>"),
		"no RDF":   "<x/>",
		"latin 1":  "<x>\xff</x>",
		"entities": `<!DOCTYPE x [<!ENTITY a "b">]>` + packetOf(`<rdf:Description a="&a;"/>`),
		"deep":     strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100),
		"twice":    packetOf(`<rdf:Description rdf:about="" rdf:about=""/>`),
		"UTF-32":   "\xff\xfe\x00\x00<\x00\x00\x00",
	} {
		photo := save(t, "a.jpg", plainJPEG(t))
		put(t, photo+".xmp", []byte(text))
		e, err := Plan(photo, Sidecar, Follow, Change{Suggest: []string{"sky"}})
		if e != nil || err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v %v", name, e, err)
		}
	}
}

// A new list would hide others from programs that stop at the first.
func TestNewListsCopyHumanKeywords(t *testing.T) {
	jpg := withSegments(plainJPEG(t), xmpSegment(packetOf(describe(
		[]string{"dc:subject", "mine", "Anna", "Rome"}, []string{"lr:hierarchicalSubject", "Places|Italy|Rome", "People|Anna", "darktable|format|jpg"}))))
	photo := save(t, "a.jpg", jpg)
	e := do(t, photo, Sidecar, Append, Change{Suggest: []string{"sky"}, Run: "r"})
	p, err := parsePacket(e.New)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "subject", p.list(subject), []string{"mine", "Anna", "Rome", "sky"})
	equal(t, "hierarchical", p.list(hierarchical), []string{"Places|Italy|Rome", "People|Anna", "mine", "auto|sky"})
	equal(t, "tags", p.list(tagsList), []string{"Places/Italy/Rome", "People/Anna", "mine", "auto/sky"})
	equal(t, "words", p.list(ownWords), []string{"sky"})
	left, err := Retract(e.Path, "r", e.Added)
	if err != nil || left == nil || left.New != nil {
		t.Errorf("after all words are gone, the sidecar stays: %v %v", left, err)
	}
	put(t, e.Path, []byte(strings.Replace(string(e.New), `rdf:about=""`, `rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="5"`, 1)))
	left, err = Retract(e.Path, "r", e.Added)
	if err != nil || !bytes.Contains(left.New, []byte(`xmp:Rating="5"`)) || bytes.Contains(left.New, []byte("Rome")) {
		t.Errorf("a rating: %v\n%s", err, left.New)
	}
}

func TestAcceptAndReject(t *testing.T) {
	for _, where := range []Where{Sidecar, Embedded} {
		photo := save(t, "a.jpg", withSegments(plainJPEG(t), xmpSegment(subjects("mine"))))
		e := do(t, photo, where, Append, Change{Suggest: []string{"sky", "sea", "car", "Mine"}, Run: "r1"})
		equal(t, "added", e.Added, []string{"sky", "sea", "car"})
		e = do(t, photo, where, Append, Change{Accept: []string{"SKY"}, Reject: []string{"car", "mine"}, Add: []string{"boat", "sea"}, Run: "r2"})
		equal(t, "added by hand", e.Added, []string{"boat"})
		w := read(t, photo)
		human := slices.Clone(w.Human)
		slices.Sort(human)
		equal(t, "human", human, []string{"boat", "mine", "sea", "sky"})
		equal(t, "machine", w.Machine, nil)
		equal(t, "rejected", w.Rejected, []string{"car"})
		if e, err := Plan(photo, where, Append, Change{Suggest: []string{"car", "sky", "Boat"}}); e != nil || err != nil {
			t.Errorf("refused and standing words again: %v %v", e, err)
		}
		if left, err := Retract(e.Path, "r1", []string{"sky", "sea", "car"}); left != nil || err != nil {
			t.Errorf("%s: accepted words go: %v", where, err)
		}
		left, err := Retract(e.Path, "r2", e.Added)
		if err != nil || left == nil {
			t.Fatalf("%s: %v %v", where, left, err)
		}
		if err := left.Apply(false); err != nil {
			t.Fatal(err)
		}
		if w := read(t, photo); slices.Contains(w.Human, "boat") || !slices.Contains(w.Human, "sky") {
			t.Errorf("%s: after taking back the second run: %q", where, w.Human)
		}
		do(t, photo, where, Append, Change{Reject: []string{"sky"}})
		if w := read(t, photo); slices.Contains(w.Human, "sky") || !slices.Contains(w.Rejected, "sky") && !slices.Contains(w.Rejected, "SKY") {
			t.Errorf("%s: rejected after all: %q, %q", where, w.Human, w.Rejected)
		}
	}
}

// digiKam copies keywords into lists of its own.
func TestRetractAfterDigiKam(t *testing.T) {
	categories := `<Categories><Category Assigned="0">auto<Category Assigned="1">sky</Category></Category><Category Assigned="1">mine</Category></Categories>`
	photo := save(t, "a.jpg", plainJPEG(t))
	put(t, photo+".xmp", []byte(packetOf(describe([]string{"dc:subject", "sky", "mine"}, []string{"digiKam:TagsList", "auto/sky", "mine"},
		[]string{"MicrosoftPhoto:LastKeywordXMP", "auto/sky", "mine"}, []string{"lr:hierarchicalSubject", "auto|sky", "mine"},
		[]string{"mediapro:CatalogSets", "auto|sky", "mine"}, []string{"acdsee:categories", categories}))))
	e, err := Retract(photo+".xmp", "r", []string{"sky"})
	if err != nil || e == nil {
		t.Fatal(e, err)
	}
	if bytes.Contains(e.New, []byte("sky")) || bytes.Count(e.New, []byte("mine")) != 6 {
		t.Errorf("left:\n%s", e.New)
	}
}

func TestPlanRefuses(t *testing.T) {
	photo := save(t, "a.jpg", plainJPEG(t))
	for name, c := range map[string]Change{
		"control": {Suggest: []string{"a\x1b[m"}}, "empty": {Add: []string{" "}}, "long": {Add: []string{strings.Repeat("x", 129)}},
		"bytes": {Accept: []string{"\xff"}}, "list": {Add: []string{"a;b"}}, "run": {Suggest: []string{"sky"}, Run: "\x00"},
	} {
		if e, err := Plan(photo, Sidecar, Append, c); e != nil || err == nil {
			t.Errorf("%s: %v %v", name, e, err)
		}
	}
	if _, err := Plan(photo, "elsewhere", Append, Change{}); err == nil {
		t.Error("elsewhere")
	}
	if _, err := Plan(photo, Sidecar, "own", Change{}); err == nil {
		t.Error("a style of its own")
	}
	if e, err := Plan(photo, Sidecar, Append, Change{}); e != nil || err != nil {
		t.Errorf("nothing asked: %v %v", e, err)
	}
}

func TestStyleNamesSidecar(t *testing.T) {
	for _, c := range []struct {
		style Style
		there string
		want  string
	}{
		{Append, "", "a.jpg.xmp"}, {Append, "a.xmp", "a.jpg.xmp"}, {Append, "a.jpg.XMP", "a.jpg.XMP"},
		{Adobe, "", "a.xmp"}, {Adobe, "a.jpg.xmp", "a.xmp"}, {Adobe, "a.XMP", "a.XMP"},
		{Follow, "", "a.jpg.xmp"}, {Follow, "a.xmp", "a.xmp"}, {Follow, "a.jpg.xmp", "a.jpg.xmp"},
	} {
		photo := save(t, "a.jpg", plainJPEG(t))
		folder := strings.TrimSuffix(photo, "a.jpg")
		if c.there != "" {
			put(t, folder+c.there, []byte(subjects("mine")))
		}
		e := do(t, photo, Sidecar, c.style, Change{Suggest: []string{"sky"}})
		if e.Path != folder+c.want || e.Created != (c.there != c.want) {
			t.Errorf("%s beside %q: %s, created %v", c.style, c.there, e.Path, e.Created)
		}
	}
}

func encoded(text string, e encoding.Encoding) []byte {
	b, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		panic(err) // these encodings hold all of Unicode
	}
	return b
}
