package dataset

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// pathIndex finds photos by the end of their path, because published
// annotations refer to paths on their authors' disks.
type pathIndex struct {
	names map[string]string   // by path without extension
	bases map[string][]string // paths without extension, by the last element
}

// newPathIndex takes names by path without extension, as photosBelow returns
// them.
func newPathIndex(names map[string]string) *pathIndex {
	p := &pathIndex{names: names, bases: make(map[string][]string, len(names))}
	for _, stem := range slices.Sorted(maps.Keys(names)) {
		p.bases[path.Base(stem)] = append(p.bases[path.Base(stem)], stem)
	}
	return p
}

// find returns the photo with the longest common path suffix, in whole
// elements, with or without extension. It returns "" if there is none, and sets
// several if the match is ambiguous.
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

func commonSuffixLen(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
