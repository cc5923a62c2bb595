package metadata

import (
	"slices"
	"strings"

	"github.com/beevik/etree"
)

type target struct {
	xmp     *packet
	iptc    *iim // nil for a sidecar
	changed bool
}

func (t *target) read() source {
	s := t.xmp.read()
	if t.iptc != nil {
		s.flat = append(t.iptc.keywords(), s.flat...)
	}
	return s
}

// copies holds people's keywords in the notation of each list. Programs read
// only the first list that they find, so a new list repeats the words of the
// others.
type copies struct{ flat, paths, tags []string }

func (s *source) copies() copies {
	w := s.keywords()
	human, people := newWordSet(w.Human...), newWordSet(w.People...)
	flat := newWordSet()
	for _, k := range append(s.flat[:len(s.flat):len(s.flat)], w.Human...) {
		if human.has(k) || people.has(k) {
			flat.add(k)
		}
	}
	c := copies{flat: flat.list}
	parts := newWordSet()
	for _, p := range s.paths {
		if p.below(autoRoots) || p.below(internalRoots) {
			continue
		}
		for _, part := range p.parts {
			parts.add(part)
		}
		c.paths = append(c.paths, strings.Join(p.parts, "|"))
		c.tags = append(c.tags, tagPath(p.parts...))
	}
	for _, k := range flat.list {
		if !parts.has(k) {
			c.paths = append(c.paths, k)
			c.tags = append(c.tags, tagPath(k))
		}
	}
	return c
}

func tagPath(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = strings.ReplaceAll(p, "/", `\`)
	}
	return strings.Join(escaped, "/")
}

// add appends `value` to list pr, after `copies` if the list is new.
func (t *target) add(pr property, copies []string, value string) {
	if !t.xmp.has(pr) {
		for _, v := range t.xmp.append(pr, copies...) {
			t.xmp.append(ownCopied, pr.String()+" "+v)
		}
	}
	if len(t.xmp.append(pr, value)) > 0 {
		t.changed = true
	}
}

func (t *target) addFlat(c copies, word string) {
	if !newWordSet(t.xmp.list(subject)...).has(word) {
		t.add(subject, c.flat, word)
	}
	if t.iptc == nil || newWordSet(t.iptc.keywords()...).has(word) {
		return
	}
	first, declared, absent := len(t.iptc.keywords()) == 0, t.iptc.utf8, len(t.iptc.sets) == 0
	if first {
		for _, k := range c.flat {
			if t.iptc.append(k) {
				t.xmp.append(ownCopied, iptcMark+" "+k)
			}
		}
	}
	if t.iptc.append(word) {
		t.changed = true
	}
	switch {
	case absent && len(t.iptc.sets) > 0:
		t.xmp.append(ownCopied, madeMark)
	case !declared && t.iptc.utf8:
		t.xmp.append(ownCopied, charsetMark)
	}
}

// These values in cpar:Copied mark changes to IPTC.
const (
	iptcMark    = "iptc"
	charsetMark = "iptc:charset" // the UTF-8 declaration was added with a word
	madeMark    = "iptc:made"    // the block was created
)

func (t *target) remove(pr property, drop func(string) bool) {
	if len(t.xmp.remove(pr, drop)) > 0 {
		t.changed = true
	}
}

func sameWord(word string) func(string) bool {
	f := Fold(word)
	return func(v string) bool { return Fold(v) == f }
}

// atRoot returns a predicate for paths below root "auto" if `machine` is set,
// otherwise for paths at the top level.
func atRoot(sep string, machine bool, match func(string) bool) func(string) bool {
	return func(v string) bool {
		p := newPath(v, sep)
		if machine {
			return p.below(autoRoots) && match(p.rest)
		}
		return len(p.parts) == 1 && match(p.parts[0])
	}
}

func (t *target) unmark(match func(string) bool) {
	t.remove(ownWords, match)
	for _, h := range hierarchies {
		t.remove(h.property, atRoot(h.sep, true, match))
	}
	t.removeCategories(match)
}

// hierarchies are the lists of hierarchical keywords. digiKam copies the lists
// that it reads into the last three.
var hierarchies = []struct {
	property
	sep string
}{
	{hierarchical, "|"},
	{tagsList, "/"},
	{property{nsMicrosoft, "MicrosoftPhoto", "LastKeywordXMP", "Bag"}, "/"},
	{property{nsMicrosoft0, "MicrosoftPhoto", "LastKeywordXMP", "Bag"}, "/"},
	{property{nsMediaPro, "mediapro", "CatalogSets", "Bag"}, "|"},
}

// change applies c to the target and returns the added words. `all` holds the
// keywords of the photo and its sidecars.
func (t *target) change(all source, c Change) (added []string) {
	w := all.keywords()
	own := t.read()
	person := newWordSet(append(w.Human, w.People...)...)
	accepted := newWordSet(all.accepted...)
	rejected := newWordSet(w.Rejected...)
	machine := newWordSet(w.Machine...)
	here := newWordSet(append(own.machine, own.marked().list...)...)
	copies := all.copies()

	take := func(word string) { // handles a word that a person gave or accepted
		t.remove(ownRejected, sameWord(word))
		if person.has(word) {
			return
		}
		person.add(word)
		if machine.has(word) || here.has(word) {
			t.unmark(sameWord(word))
			t.xmp.append(ownAccepted, word)
			t.changed = true
		} else {
			added = append(added, word)
			t.xmp.append(ownGiven, word)
		}
		t.addFlat(copies, word)
		for _, h := range []property{hierarchical, tagsList} {
			if t.xmp.has(h) {
				t.add(h, nil, joinPath(h, word))
			}
		}
	}
	for _, word := range append(c.Accept, c.Add...) {
		take(word)
	}
	for _, word := range c.Reject {
		if rejected.has(word) || person.has(word) && !accepted.has(word) {
			continue
		}
		rejected.add(word)
		t.unmark(sameWord(word))
		if here.has(word) || accepted.has(word) {
			t.removeFlat(sameWord(word))
			t.remove(hierarchical, atRoot("|", false, sameWord(word)))
			t.remove(tagsList, atRoot("/", false, sameWord(word)))
		}
		t.remove(ownAccepted, sameWord(word))
		t.remove(ownGiven, sameWord(word))
		t.xmp.append(ownRejected, word)
		t.changed = true
	}
	for _, word := range c.Suggest {
		if person.has(word) || rejected.has(word) || !here.add(word) {
			continue
		}
		added = append(added, word)
		t.addFlat(copies, word)
		t.add(hierarchical, copies.paths, joinPath(hierarchical, autoRoot, word))
		t.add(tagsList, copies.tags, joinPath(tagsList, autoRoot, word))
		t.xmp.append(ownWords, word)
		t.xmp.setText(ownRun, c.Run)
	}
	if t.changed && len(t.xmp.list(ownWords)) == 0 {
		t.xmp.setText(ownRun, "")
	}
	return added
}

func joinPath(pr property, parts ...string) string {
	if pr == tagsList {
		return tagPath(parts...)
	}
	return strings.Join(parts, "|")
}

func (t *target) removeFlat(match func(string) bool) {
	t.remove(subject, match)
	if t.iptc != nil && t.iptc.remove(match) {
		t.changed = true
	}
}

// retract removes the words of a run, except words that a person accepted or
// put into a hierarchy.
func (t *target) retract(run string, words []string) {
	own := t.read()
	given := newWordSet(own.given...)
	kept, marked := newWordSet(own.accepted...), own.marked()
	for _, h := range hierarchies[:2] {
		for _, v := range t.xmp.list(h.property) {
			p := newPath(v, h.sep)
			ours := len(p.parts) == 1 && given.has(p.parts[0]) || slices.Contains(own.copied, h.String()+" "+v)
			if len(p.parts) > 0 && !p.below(autoRoots) && !ours && p.placed(marked) {
				kept.add(p.leaf())
			}
		}
	}
	gone := newWordSet()
	for _, w := range words {
		if !kept.has(w) {
			gone.add(w)
		}
	}
	t.unmark(gone.has)
	t.removeFlat(gone.has)
	for _, h := range hierarchies[:2] {
		t.remove(h.property, atRoot(h.sep, false, gone.has))
	}
	t.remove(ownGiven, gone.has)
	if own.run == run {
		t.remove(ownRun, func(string) bool { return true })
	}
	if left := t.read(); t.changed && len(left.keywords().Machine) == 0 && len(left.given) == 0 {
		t.removeCopies(left.copied)
	}
}

func (t *target) removeCopies(copied []string) {
	for _, c := range copied {
		list, value, _ := strings.Cut(c, " ")
		exactly := func(v string) bool { return v == value }
		switch {
		case list == subject.String():
			t.remove(subject, exactly)
		case list == hierarchical.String():
			t.remove(hierarchical, exactly)
		case list == tagsList.String():
			t.remove(tagsList, exactly)
		case list == iptcMark && t.iptc != nil:
			t.iptc.remove(exactly)
		case list == charsetMark && t.iptc != nil:
			t.iptc.undeclare()
		case list == madeMark && t.iptc != nil:
			t.iptc.clear()
		}
	}
	t.remove(ownCopied, func(string) bool { return true })
}

// removeCategories removes machine keywords from ACDSee's tree, into which
// digiKam copies them.
func (t *target) removeCategories(match func(string) bool) {
	pr := property{nsACDSee, "acdsee", "categories", ""}
	values := t.xmp.list(pr)
	if len(values) != 1 {
		return
	}
	doc := etree.NewDocument()
	doc.ReadSettings.MaxDepth = maxXMPDepth
	if strings.Count(values[0], "<") > maxXMPTags || doc.ReadFromString(values[0]) != nil || doc.Root() == nil {
		return
	}
	found := false
	for _, root := range doc.Root().ChildElements() {
		if Fold(root.Text()) != autoRoot {
			continue
		}
		for _, c := range root.ChildElements() {
			if match(c.Text()) && len(c.ChildElements()) == 0 {
				root.RemoveChild(c)
				found = true
			}
		}
		if len(root.ChildElements()) == 0 {
			doc.Root().RemoveChild(root)
		}
	}
	if !found {
		return
	}
	text := ""
	if len(doc.Root().ChildElements()) > 0 {
		text, _ = doc.WriteToString() // an in-memory write cannot fail
	}
	t.xmp.setText(pr, text)
	t.changed = true
}
