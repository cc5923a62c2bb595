package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func sidecar(properties ...string) string {
	kinds := map[string]string{"dc:subject": "Bag", "lr:hierarchicalSubject": "Bag", "digiKam:TagsList": "Seq", "cpar:Words": "Bag", "cpar:Accepted": "Bag"}
	var b strings.Builder
	b.WriteString("<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>" +
		"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about=''" +
		" xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:lr='http://ns.adobe.com/lightroom/1.0/'" +
		" xmlns:digiKam='http://www.digikam.org/ns/1.0/' xmlns:cpar='urn:cpar:xmp:1.0/'>")
	for _, p := range properties {
		name, values, _ := strings.Cut(p, ": ")
		fmt.Fprintf(&b, "<%s><rdf:%s>", name, kinds[name])
		for v := range strings.SplitSeq(values, ", ") {
			b.WriteString("<rdf:li>" + v + "</rdf:li>")
		}
		fmt.Fprintf(&b, "</rdf:%s></%s>", kinds[name], name)
	}
	b.WriteString("</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>")
	return b.String()
}

func TestOpenLibrary(t *testing.T) {
	jpg := string(plainJPEG(t))
	tagged := string(withSegments(plainJPEG(t), iptcSegment(true, "sky")))
	files := map[string]string{
		"both.jpg": tagged, "both.jpg.xmp": sidecar("dc:subject: sea"), "both.xmp": sidecar("dc:subject: sand, sky"),
		"tree.jpg": jpg, "tree.xmp": sidecar("lr:hierarchicalSubject: Places|Italy|Rome, Animals|Dog"),
		"kam.jpg": jpg, "kam.jpg.xmp": sidecar("digiKam:TagsList: Places/Rome, People/Ada"),
		"machine.jpg": jpg, "machine.jpg.xmp": sidecar("dc:subject: boat, harbour", "lr:hierarchicalSubject: auto|boat", "cpar:Words: boat"),
		"only.jpg": jpg, "only.jpg.xmp": sidecar("dc:subject: boat", "digiKam:TagsList: auto/boat", "cpar:Words: boat"),
		"face.jpg": jpg, "face.jpg.xmp": sidecar("digiKam:TagsList: People/Ada"),
		"run.jpg": tagged, "plain.jpg": jpg,
		"shot.jpg": tagged, "shot.CR2": tiffFile(), "shot.CR2.xmp": sidecar("dc:subject: hill"),
		"film.mov": "film", "@eaDir/both.jpg": tagged, "odd.orf": "raw",
	}
	dir := folder(t, files)
	machine := func(path string) []string {
		if strings.HasSuffix(path, "run.jpg") {
			return []string{"SKY"}
		}
		return nil
	}
	c, err := Open(t.Context(), dir, Options{Machine: machine})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "items", listing(c.Photos), []string{"both.jpg: sky;sea;sand", "kam.jpg: Rome", "machine.jpg: harbour", "shot.jpg: sky;hill", "tree.jpg: Rome;Dog"})
	equal(t, "warnings", details(c.Warnings), []string{
		"ignored-file odd.orf: a kind of photo that is not read",
		"no-keywords face.jpg: only names of people, which are left out",
		"no-keywords only.jpg: only suggestions that you have not accepted",
		"no-keywords plain.jpg",
		"no-keywords run.jpg: only suggestions that you have not accepted",
	})
	if s := c.Summary(); !strings.HasPrefix(s, "left out: 1 video: film.mov\nleft out: 1 folder of thumbnails\n1 file or link ignored: odd.orf (a kind of photo that is not read)\n4 images without keywords: ") {
		t.Errorf("summary:\n%s", s)
	}

	if !slices.Equal(c.People, []Frequency{{"Ada", 2}}) {
		t.Errorf("names left out: %v", c.People)
	}
	if n := c.LeftOut(); n != 5 {
		t.Errorf("%d photos left out, want the 5 of the warnings", n)
	}

	c, err = Open(t.Context(), dir, Options{IncludePeople: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.People != nil {
		t.Errorf("names left out: %v", c.People)
	}
	equal(t, "items with people", listing(c.Photos), []string{"both.jpg: sky;sea;sand", "face.jpg: Ada", "kam.jpg: Rome;Ada", "machine.jpg: harbour",
		"run.jpg: sky", "shot.jpg: sky;hill", "tree.jpg: Rome;Dog"})

	delete(files, "odd.orf")
	for _, name := range []string{"face.jpg", "only.jpg", "plain.jpg"} {
		delete(files, name)
		delete(files, name+".xmp")
	}
	if _, err := Open(t.Context(), folder(t, files), Options{Strict: true}); err != nil {
		t.Error(err)
	}
	_, err = Open(t.Context(), folder(t, map[string]string{"film.mov": "film"}), Options{})
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "it holds no annotated image: unusable input\nleft out: 1 video: film.mov") {
		t.Errorf("nothing but a film: %v", err)
	}
}

func tiffFile() string { return "II*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00" }

func TestSpellingsAreMerged(t *testing.T) {
	const manifest = "path,keywords\na.jpg,Dog;DOG;sea\nb.jpg,dog\nc.jpg,dog;STRASSE;Sea\nd.jpg,DOG;straße\n"
	c, err := Open(t.Context(), manifestFolder(t, manifest, "a.jpg", "b.jpg", "c.jpg", "d.jpg"), Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "items", listing(c.Photos), []string{"a.jpg: dog;sea", "b.jpg: dog", "c.jpg: dog;STRASSE;sea", "d.jpg: dog;STRASSE"})
	equal(t, "warnings", details(c.Warnings), []string{"spellings dog: also Dog, DOG", "spellings sea: also Sea", "spellings STRASSE: also straße"})
	if want := "3 words written in several ways, each taken as one: dog (also Dog, DOG), sea (also Sea), STRASSE (also straße)"; c.Summary() != want {
		t.Errorf("summary:\n%s\nwant\n%s", c.Summary(), want)
	}
	jpg := func(words ...string) string { return string(withSegments(plainJPEG(t), iptcSegment(true, words...))) }
	c = opened(t, folder(t, map[string]string{"a.jpg": jpg("Dog"), "b.jpg": jpg("DOG", "dog"), "c.jpg": jpg("DOG")}))
	equal(t, "items", listing(c.Photos), []string{"a.jpg: DOG", "b.jpg: DOG", "c.jpg: DOG"})
	// The limit counts words, not spellings.
	var many []string
	for i := range MaxKeywords {
		many = append(many, fmt.Sprintf("k%02d", i), fmt.Sprintf("K%02d", i))
	}
	c, err = Open(t.Context(), manifestFolder(t, "path,keywords\na.jpg,"+strings.Join(many, ";")+"\n", "a.jpg"), Options{Strict: true})
	if err != nil || len(c.Photos[0].Keywords) != MaxKeywords {
		t.Fatalf("%v", err)
	}
	if slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.Kind == TooMany }) {
		t.Error(c.Summary())
	}
	c, err = Open(t.Context(), manifestFolder(t, "path,keywords\na.jpg,"+strings.Join(many, ";")+";one more\n", "a.jpg"), Options{})
	if want := "1 image with more than 31 keywords, of which the first 31 count: a.jpg"; err != nil || c.Summary() != want {
		t.Errorf("%v, summary %s", err, c.Summary())
	}
}

// Deletion relies on this.
func TestUncertainWarningsMayHidePhotos(t *testing.T) {
	c := &Collection{Format: Manifest, Photos: []Photo{{Name: "kept.jpg"}}}
	for _, k := range kinds {
		c.Warnings = append(c.Warnings, Warning{Kind: k.kind, Name: "kept.jpg"}, Warning{Kind: k.kind, Name: "other"})
	}
	equal(t, "of a manifest", details(c.Uncertain()), []string{"outside-collection other", "malformed-row other", "not-utf8 other",
		"duplicate-path other", "unreadable-file other", "ignored-file other", "bad-keyword other"})
	c = &Collection{Format: SAIAPR, Warnings: []Warning{{Kind: Missing, Name: "01/1.jpg"}, {Kind: Missing, Name: "01/labels.txt"}}}
	equal(t, "of a layout", details(c.Uncertain()), []string{"missing-file 01/labels.txt"})
}
