package dataset

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// places finds photos by the end of their path. Published annotations name photos as
// they lay on their authors' disks, and people unpack the photos elsewhere.
type pathIndex struct {
	names map[string]string   // by path without ending
	bases map[string][]string // paths without ending, by the last element
}

// newPathIndex takes names by their paths without ending, as photosBelow has them.
func newPathIndex(names map[string]string) *pathIndex {
	p := &pathIndex{names: names, bases: make(map[string][]string, len(names))}
	for _, stem := range slices.Sorted(maps.Keys(names)) {
		p.bases[path.Base(stem)] = append(p.bases[path.Base(stem)], stem)
	}
	return p
}

// find returns the name of the photo that an annotation names, with or without its ending;
// "" if there is none, or none that can be told from others. Of photos with that last element
// the one is meant whose path agrees with most elements before it.
func (p *pathIndex) find(named string) (name string, several bool) {
	named = withoutEnding(strings.ReplaceAll(named, `\`, "/"))
	elements := strings.Split(path.Clean("/" + named)[1:], "/")
	candidates := p.bases[elements[len(elements)-1]]
	best, agree := "", 0
	for _, stem := range candidates {
		n := commonSuffixLen(strings.Split(stem, "/"), elements)
		switch {
		case n > agree:
			best, agree, several = stem, n, false
		case n == agree:
			several = true
		}
	}
	if several || best == "" {
		return "", several
	}
	return p.names[best], false
}

// agreement counts the elements that two paths have in common at their ends.
func commonSuffixLen(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
