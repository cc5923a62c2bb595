package dataset

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cpar/photo/metadata"
)

// unify makes one word of those that differ in case only, in the whole collection: Dog,
// DOG and dog are one, shown as most photos have it. Whoever learns from three words
// learns each from a third of the photos.
func (c *Collection) mergeSpellings() {
	type spelling struct{ photos, first int }
	spellings := map[string]map[string]*spelling{} // by folded word
	folded := map[string]string{}
	at := 0
	for _, it := range c.Photos {
		for _, k := range it.Keywords {
			f, known := folded[k]
			if !known {
				f = fold(k)
				folded[k] = f
				if spellings[f] == nil {
					spellings[f] = map[string]*spelling{}
				}
				spellings[f][k] = &spelling{first: at}
			}
			spellings[f][k].photos++
			at++
		}
	}
	shown := map[string]string{} // by a spelling that is not shown
	for _, f := range slices.Sorted(maps.Keys(spellings)) {
		of := spellings[f]
		if len(of) == 1 {
			continue
		}
		all := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
			return cmp.Or(cmp.Compare(of[b].photos, of[a].photos), cmp.Compare(of[a].first, of[b].first))
		})
		for _, other := range all[1:] {
			shown[other] = all[0]
		}
		c.warn(Spelling, all[0], "also %s", strings.Join(all[1:], ", "))
	}
	if len(shown) == 0 {
		return
	}
	for _, it := range c.Photos {
		for i, k := range it.Keywords {
			it.Keywords[i] = cmp.Or(shown[k], k)
		}
	}
}

// fold is metadata.Fold, quick for most words.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= 0x80 {
			return metadata.Fold(word)
		}
	}
	return strings.ToLower(word)
}
