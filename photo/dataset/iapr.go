package dataset

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cpar/internal/sanitize"
)

// IAPR TC-12 describes each of 20,000 photos in a few phrases:
//
//	annotations_complete_eng/00/116.eng     ISO-8859-1, XML without a declaration
//	  <DOC><DOCNO>annotations/00/116.eng</DOCNO><TITLE>…</TITLE>
//	  <DESCRIPTION>a man on a dry slope; a lake in the background;</DESCRIPTION> …
//	  <IMAGE>images/00/116.jpg</IMAGE> …</DOC>
//	images/00/116.jpg
//
// IAPR TC-12 has no keywords. The literature (Makadia et al. 2008, 291 words)
// uses the frequent nouns of the descriptions, which a part-of-speech tagger
// finds. CPAR has no tagger and uses all words of DESCRIPTION except function
// words (descriptionWords). Photos therefore have more and rarer keywords, and
// results are not comparable with published ones. TITLE, NOTES and LOCATION are
// ignored, because they are mostly names that no image shows.
const (
	descriptionsName = "annotations_complete_eng"
	photosName       = "images"

	maxDescription = 1 << 20
)

var findIAPR = firstOf(func(root *os.Root, place string) bool {
	return isFolder(root, path.Join(place, descriptionsName))
}, ".", "iaprtc12")

func (c *reading) readIAPR() error {
	descriptions, images := path.Join(c.base, descriptionsName), path.Join(c.base, photosName)
	if !isFolder(c.root, images) {
		return inputError("both are folders of the published archive: put "+photosName+" back beside "+descriptionsName+"; a link out of the collection is not accepted",
			"%s, which holds the photos of %s, is missing", images, IAPR)
	}
	photos, err := c.photosBelow(images)
	if err != nil {
		return err
	}
	c.warn(Note, descriptions, "keywords are all words of the descriptions except function words; the literature uses only their nouns")
	err = c.walk(descriptions, func(file string, _ fs.DirEntry) {
		inside, ok := strings.CutSuffix(strings.TrimPrefix(file, descriptions+"/"), ".eng")
		if !ok {
			return // a description in another language
		}
		stem := path.Join(images, inside)
		name, ok := photos[stem]
		if !ok {
			c.warn(Missing, stem+".jpg", "described in %s", file)
			return
		}
		delete(photos, stem)
		b, err := readLimited(c.root, file, maxDescription)
		var words []string
		if err == nil {
			words, err = readDescription(b, photosName+"/"+inside)
		}
		if err != nil {
			c.warn(Unreadable, file, "%s is left out: %s", name, reason(err, file))
			return
		}
		c.annotate(name, file, words)
	})
	if err != nil {
		return err
	}
	for _, stem := range slices.Sorted(maps.Keys(photos)) {
		c.warn(NoKeywords, photos[stem], "nothing in %s describes it", descriptions)
	}
	return nil
}

// readDescription returns the keywords of an annotation. The annotation must
// not name another photo than `stem`, the name that the annotation's path
// implies.
func readDescription(b []byte, stem string) ([]string, error) {
	var doc struct {
		XMLName     struct{} `xml:"DOC"`
		Description string   `xml:"DESCRIPTION"`
		Image       string   `xml:"IMAGE"`
	}
	if err := decodeXML(b, &doc); err != nil {
		return nil, err
	}
	if image := strings.TrimSpace(doc.Image); image != "" && withoutEnding(image) != stem {
		return nil, inputError("put it where its photo is", "it describes %s", sanitize.Text(image))
	}
	return descriptionWords(doc.Description), nil
}

// descriptionWords returns the words of a text in lower case and in order,
// without function words. A word consists of at least two letters and hyphens.
func descriptionWords(text string) []string {
	text = strings.ToLower(norm.NFC.String(text))
	var words []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		word = strings.Trim(word, "-")
		if utf8.RuneCountInString(word) >= 2 && !functionWords[word] {
			words = append(words, word)
		}
	}
	return words
}

// functionWords are articles, pronouns, prepositions, conjunctions, auxiliary
// verbs, number words and common adverbs, but no nouns.
var functionWords = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(`
		a an the this that these those some any each every all both other another such no not
		i you he she it we they me him her us them his its our your their who whom whose which what one ones
		about above across after against along alongside among amongst around as at before behind below beneath beside
		besides between beyond by down during for from in inside into near next of off on onto opposite out outside over
		past per through throughout to towards toward under underneath up upon via with within without
		and or but nor so yet if than while when where because although though however
		am is are was were be been being has have had having do does did doing can could may might must shall should will would
		two three four five six seven eight nine ten few many several more most much
		also again away here there just only partly probably quite rather still then too very well
	`) {
		set[word] = true
	}
	return set
}()
