package dataset

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
)

func eng(id, description string) string {
	return "<DOC>\n<DOCNO>annotations/" + id + ".eng</DOCNO>\n<TITLE>Godchild Cristian Patricio</TITLE>\n<DESCRIPTION>" + description +
		"</DESCRIPTION>\n<NOTES></NOTES>\n<LOCATION>Quilotoa, Ecuador</LOCATION>\n<DATE>April 2002</DATE>\n<IMAGE>images/" + id + ".jpg</IMAGE>\n<THUMBNAIL>thumbnails/" + id + ".jpg</THUMBNAIL>\n</DOC>\n"
}

func iaprFiles(t testing.TB) map[string]string {
	jpg := string(plainJPEG(t))
	return map[string]string{
		"annotations_complete_eng/00/116.eng":  eng("00/116", "a man on a dry slope; a lake and a brown, bald mountain in the background;"),
		"annotations_complete_eng/01/1000.eng": eng("01/1000", "a dark-skinned boy wearing a woolly hat, leaning on a grey wall; the boy's two hats"),
		"annotations_complete_ger/00/116.ger":  "<DOC></DOC>",
		"images/00/116.jpg":                    jpg,
		"images/01/1000.jpg":                   jpg,
		"thumbnails/00/116.jpg":                jpg,
	}
}

var (
	iaprItems = []string{"images/00/116.jpg: man;dry;slope;lake;brown;bald;mountain;background",
		"images/01/1000.jpg: dark-skinned;boy;wearing;woolly;hat;leaning;grey;wall;hats"}
	iaprNote = "note annotations_complete_eng: keywords are all words of the descriptions except function words; the literature uses only their nouns"
)

func TestOpenIAPR(t *testing.T) {
	for _, place := range []string{"", "iaprtc12/"} {
		c, err := Open(t.Context(), folder(t, at(place, iaprFiles(t))), Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{place + iaprItems[0], place + iaprItems[1]}
		equal(t, "items in "+place, listing(c.Photos), want)
		equal(t, "warnings", details(c.Warnings), []string{strings.Replace(iaprNote, "annot", place+"annot", 1)})
		if c.Format != IAPR || !strings.Contains(c.Summary(), "the literature uses only their nouns") {
			t.Errorf("format %q, summary %s", c.Format, c.Summary())
		}
	}
	both := with(at("saiaprtc12ok/benchmark/", saiaprFiles(t)))
	for name, content := range iaprFiles(t) {
		both[name] = content
	}
	c, err := Open(t.Context(), folder(t, both), Options{Strict: true})
	if err != nil || c.Format != SAIAPR || len(c.Photos) != len(saiaprItems) {
		t.Fatalf("%+v, %v", c, err)
	}
	equal(t, "warnings", details(c.Warnings), []string{"note annotations_complete_eng: these descriptions are not read, because the labels of SAIAPR TC-12 are there too"})
}

func TestDamagedIAPR(t *testing.T) {
	jpg := string(plainJPEG(t))
	whole := iaprFiles(t)
	const file = "annotations_complete_eng/01/1000.eng"
	left := func(why string) []string {
		return []string{iaprNote, "unreadable-file " + file + ": images/01/1000.jpg is left out: " + why}
	}
	for _, tc := range []struct {
		name, annotation, keywords string
		warnings                   []string
	}{
		{"latin accents", eng("01/1000", "se\xf1oras in a caf\xe9 \x96 caf\xc9"), "señoras;café", nil},
		{"utf-8", eng("01/1000", "sen\u0303oras"), "señoras", nil},
		{"declared", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n" + eng("01/1000", "a caf\xe9"), "café", nil},
		{"not escaped", eng("01/1000", "rock & roll &eacute;t&eacute; &unknown; A&B"), "rock;roll;été;unknown", nil},
		{"no image element", "<DOC><DESCRIPTION>a lake</DESCRIPTION></DOC>", "lake", nil},
		{"long", eng("01/1000", strings.Repeat("x", MaxKeywordBytes+1)+" lake"), "lake", []string{iaprNote,
			"bad-keyword images/01/1000.jpg: " + file + ": keyword " + strings.Repeat("x", MaxKeywordBytes+1) + " is 129 bytes long, the limit is 128"}},
		{"nothing but function words", eng("01/1000", "a, on the; two of them - b"), "", []string{iaprNote, "no-keywords images/01/1000.jpg: " + file}},
		{"truncated", eng("01/1000", "a lake")[:70], "", left("its XML is damaged: XML syntax error on line 3: unexpected EOF")},
		{"empty", "", "", left("its XML is damaged: EOF")},
		{"another element", "<HTML>x</HTML>", "", left("its XML is damaged: expected element type <DOC> but have <HTML>")},
		{"another charset", "<?xml version=\"1.0\" encoding=\"Big5\"?>" + eng("01/1000", "a"), "", left("its XML is damaged: xml: opening charset \"Big5\": save it in UTF-8")},
		{"another photo", eng("01/1001", "a lake"), "", left("it describes images/01/1001.jpg")},
		{"a photo outside", eng("../../secret", "a lake"), "", left("it describes images/../../secret.jpg")},
		{"large", strings.Repeat(" ", maxDescription+1), "", left("it has more than 1048576 bytes")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := opened(t, folder(t, with(whole, file, tc.annotation)))
			items := iaprItems[:1]
			if tc.keywords != "" {
				items = []string{iaprItems[0], "images/01/1000.jpg: " + tc.keywords}
			}
			equal(t, "items", listing(c.Photos), items)
			if tc.warnings == nil {
				tc.warnings = []string{iaprNote}
			}
			equal(t, "warnings", details(c.Warnings), tc.warnings)
		})
	}
	c := opened(t, folder(t, with(whole, "images/02/2000.jpg", jpg, "annotations_complete_eng/03/3000.eng", eng("03/3000", "a lake"), "images/00/._116.jpg", "mac")))
	equal(t, "items", listing(c.Photos), iaprItems)
	equal(t, "warnings", details(c.Warnings), []string{iaprNote, "missing-file images/03/3000.jpg: described in annotations_complete_eng/03/3000.eng",
		"no-keywords images/02/2000.jpg: nothing in annotations_complete_eng describes it"})

	_, err := Open(t.Context(), folder(t, map[string]string{file: whole[file]}), Options{})
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "images, which holds the photos of IAPR TC-12, is missing") || !strings.Contains(hint.Of(err), "put images back") {
		t.Errorf("without images: %v", err)
	}
}

// Keywords are lower-case words of two letters or more.
func FuzzIAPRAnnotation(f *testing.F) {
	for _, s := range []string{eng("00/116", "a man on a dry slope; caf\xe9"), "<DOC><DESCRIPTION>A-B &amp; c</DESCRIPTION>", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><DOC></DOC>", "<DOC><IMAGE>../x.jpg</IMAGE></DOC>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		words, err := readDescription(data, "images/00/116")
		if err != nil {
			checkPrintable(t, []Warning{*newWarning(Unreadable, "a.eng", "%v", err)})
			if words != nil {
				t.Fatalf("%q and %v", words, err)
			}
			return
		}
		for _, w := range words {
			if functionWords[w] || utf8.RuneCountInString(w) < 2 || w != strings.Trim(w, "- ") || strings.ContainsAny(w, " ;<>") {
				t.Fatalf("keyword %q", w)
			}
		}
		keywords, warnings := cleanKeywords(words, "a.jpg", "")
		checkKeywords(t, keywords)
		checkPrintable(t, warnings)
		// Only the limits may remove a word.
		if len(warnings) == 0 && slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(keywords, w) }) {
			t.Fatalf("%q became %q without a warning", words, keywords)
		}
	})
}
