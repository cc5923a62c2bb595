// Package untrusted makes text that strangers wrote fit to be shown: names of
// files, what a cloud answers, messages of other people's code. None of it may act
// on a terminal or fill a screen.
package untrusted

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is how many bytes of a text are shown.
const most = 300

// Short is s, cut where it is long.
func Short(s string) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Text is Short, and quoted as in Go if it is empty, not UTF-8, or holds anything
// but printable characters.
func Text(s string) string {
	s = Short(s)
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
