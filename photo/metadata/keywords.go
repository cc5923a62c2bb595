package metadata

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// autoRoot is the root of machine keywords in hierarchies.
const autoRoot = "auto"

// internalRoots are case-folded roots that programs reserve for internal use.
var internalRoots = map[string]bool{"darktable": true, "_digikam_internal_tags_": true}

// faceRoots are case-folded roots below which programs and users put names of
// people: People, as in digiKam and Lightroom, and its translations.
var faceRoots = map[string]bool{
	"people": true, "person": true, "persons": true, "faces": true, "face": true,
	"personen": true, "menschen": true, "leute": true, "gesichter": true,
	"personnes": true, "visages": true, "gens": true, "personas": true, "gente": true, "caras": true,
	"persone": true, "volti": true, "pessoas": true, "rostos": true, "mensen": true, "gezichten": true,
	"ludzie": true, "osoby": true, "lidé": true, "люди": true, "лица": true, "人物": true, "人": true, "人々": true,
}

// IsFaceRoot reports whether names of people are put below root `word`.
func IsFaceRoot(word string) bool { return faceRoots[Fold(word)] }

// IsPersonNoun reports whether a word is an ordinary noun for people, such as
// "child", and not a name.
func IsPersonNoun(word string) bool { return personNouns[Fold(word)] }

// A path is a keyword with its position in a hierarchy, such as Places|Rome.
type path struct {
	parts []string
	rest  string // the value without its first part
}

// newPath splits a value at sep. In names, digiKam writes a slash as a
// backslash.
func newPath(value, sep string) path {
	unescape := func(s string) string {
		if sep == "/" {
			s = strings.ReplaceAll(s, `\`, "/")
		}
		return norm.NFC.String(strings.TrimSpace(s))
	}
	var p path
	for part := range strings.SplitSeq(value, sep) {
		if part = unescape(part); part != "" {
			p.parts = append(p.parts, part)
		}
	}
	if len(p.parts) > 1 {
		_, rest, _ := strings.Cut(strings.TrimLeft(strings.TrimSpace(value), sep), sep)
		p.rest = unescape(rest)
	}
	return p
}

func (p path) below(roots map[string]bool) bool {
	return len(p.parts) > 1 && roots[Fold(p.parts[0])]
}

// placed reports whether a person chose the position of the word. darktable
// creates a top-level path for each flat keyword, so a top-level path does not
// count if the word is also below auto.
func (p path) placed(marked *wordSet) bool {
	return len(p.parts) > 1 || !marked.has(p.leaf())
}

func (p path) leaf() string { return p.parts[len(p.parts)-1] }

var autoRoots = map[string]bool{autoRoot: true}

// A source holds the uninterpreted keywords of metadata blocks.
type source struct {
	flat   []string
	paths  []path
	people []string // names of marked faces

	// The fields below are from namespace urn:cpar:xmp:1.0/.
	machine, accepted, rejected []string
	given                       []string // words that a person added with this program
	copied                      []string // copies between lists, as "list value"
	run                         string
}

func (s *source) add(other source) {
	s.flat = append(s.flat, other.flat...)
	s.paths = append(s.paths, other.paths...)
	s.people = append(s.people, other.people...)
	s.machine = append(s.machine, other.machine...)
	s.accepted = append(s.accepted, other.accepted...)
	s.rejected = append(s.rejected, other.rejected...)
	s.given = append(s.given, other.given...)
	s.copied = append(s.copied, other.copied...)
	if other.run != "" {
		s.run = other.run
	}
}

type wordSet struct {
	seen map[string]bool
	list []string
}

func newWordSet(words ...string) *wordSet {
	s := &wordSet{seen: map[string]bool{}}
	for _, w := range words {
		s.add(w)
	}
	return s
}

func (s *wordSet) add(word string) bool {
	word = norm.NFC.String(strings.TrimSpace(word))
	f := Fold(word)
	if f == "" || s.seen[f] {
		return false
	}
	s.seen[f] = true
	s.list = append(s.list, word)
	return true
}

func (s *wordSet) has(word string) bool { return s.seen[Fold(word)] }

func (s *source) marked() *wordSet {
	words := newWordSet()
	for _, p := range s.paths {
		if p.below(autoRoots) {
			words.add(p.rest)
		}
	}
	return words
}

func (s *source) keywords() Keywords {
	var (
		people   = newWordSet()
		machine  = newWordSet(s.machine...)
		accepted = newWordSet(s.accepted...)
		leaves   = newWordSet() // words that a person placed in a hierarchy
		standing = newWordSet(s.flat...)
		inner    = newWordSet() // inner nodes of hierarchies, not keywords
		outer    = newWordSet() // nodes of other hierarchies
		marked   = s.marked()
		paths    [][]string
	)
	for _, name := range s.people {
		if !personNouns[Fold(name)] {
			people.add(name)
		}
	}
	for _, p := range s.paths {
		switch {
		case p.below(autoRoots):
			machine.add(p.rest)
			standing.add(p.rest)
			inner.add(p.parts[0])
		case p.below(internalRoots):
			for _, part := range p.parts {
				inner.add(part)
			}
		case p.below(faceRoots) && !personNouns[Fold(p.leaf())]:
			people.add(p.leaf())
			outer.add(p.parts[0])
		default:
			if len(p.parts) > 1 {
				paths = append(paths, p.parts)
			}
			if p.placed(marked) {
				leaves.add(p.leaf())
			}
			standing.add(p.leaf())
			for _, part := range p.parts {
				outer.add(part)
			}
		}
	}

	human := newWordSet()
	for _, w := range append(s.flat[:len(s.flat):len(s.flat)], leaves.list...) {
		switch {
		case people.has(w):
		case inner.has(w) && !outer.has(w): // darktable also lists each inner node as a flat keyword
		case machine.has(w) && !accepted.has(w) && !leaves.has(w):
		default:
			human.add(w)
		}
	}
	rejected := newWordSet()
	for _, w := range s.rejected {
		if !human.has(w) {
			rejected.add(w)
		}
	}
	left := newWordSet()
	for _, w := range machine.list {
		switch {
		case human.has(w), people.has(w), rejected.has(w):
		case standing.has(w):
			left.add(w)
		case len(standing.list) > 0:
			// The word is only in CPAR's own list, so another program removed
			// it elsewhere.
			rejected.add(w)
		}
	}
	w := Keywords{Human: human.list, Machine: left.list, Rejected: rejected.list, People: people.list, Paths: paths}
	if len(w.Machine) > 0 {
		w.Run = s.run
	}
	return w
}
