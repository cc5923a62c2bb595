package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cpar/internal/sanitize"
	"cpar/photo/metadata"

	"golang.org/x/text/unicode/norm"
)

const (
	// MaxKeywords is the maximum number per photo. The encrypted block of a
	// photo has 64 bytes, which hold a count and 31 two-byte numbers.
	MaxKeywords = 31
	// MaxKeywordBytes is the maximum length of a keyword in normalised UTF-8.
	MaxKeywordBytes = 128
	separator       = ";"
)

// cleanKeywords normalises keywords and warns about each that it drops. Of
// spellings that differ only in case, it keeps the first, which mergeSpellings
// may replace. Details of warnings begin with `where`, such as "line 7: ".
func cleanKeywords(raw []string, name, where string) (kept []string, warnings []Warning) {
	seen := make(map[string]bool, len(raw))
	extra := 0
	for _, field := range raw {
		for k := range strings.SplitSeq(field, separator) {
			k, problem := cleanKeyword(k)
			if problem != "" {
				warnings = append(warnings, *newWarning(BadKeyword, name, "%s%s", where, problem))
				continue
			}
			f := fold(k)
			if k == "" || seen[f] {
				continue
			}
			seen[f] = true
			if len(kept) == MaxKeywords {
				extra++
				continue
			}
			kept = append(kept, k)
		}
	}
	if extra > 0 {
		warnings = append(warnings, *newWarning(TooMany, name, "%s%d keywords, the first %d are kept", where, MaxKeywords+extra, MaxKeywords))
	}
	return kept, warnings
}

func cleanKeyword(raw string) (k, problem string) {
	if !utf8.ValidString(raw) {
		return "", fmt.Sprintf("keyword %s is not UTF-8", sanitize.Text(raw))
	}
	k = strings.TrimSpace(norm.NFC.String(strings.TrimSpace(raw)))
	if r, bad := firstForbidden(k); bad {
		return "", fmt.Sprintf("keyword %s contains the control character %U", sanitize.Text(k), r)
	}
	if len(k) > MaxKeywordBytes {
		return "", fmt.Sprintf("keyword %s is %d bytes long, the limit is %d", sanitize.Text(k), len(k), MaxKeywordBytes)
	}
	return k, ""
}

// firstForbidden finds a character that could disturb a display, such as
// control, bidirectional and line-separating characters.
func firstForbidden(s string) (rune, bool) {
	for _, r := range s {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff',
			r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return r, true
		}
	}
	return 0, false
}

// mergeSpellings merges keywords that differ only in case into the most
// frequent spelling, so that they are learnt as one keyword.
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
	shown := map[string]string{} // by a replaced spelling
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

// fold is metadata.Fold with a fast path for ASCII.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= 0x80 {
			return metadata.Fold(word)
		}
	}
	return strings.ToLower(word)
}
