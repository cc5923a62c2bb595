// Package untrusted makes text from strangers safe to show: names of files, answers of a
// cloud, messages of other people's code. It must not control a terminal or flood a
// screen.
package untrusted

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is the number of bytes shown.
const most = 300

// Short returns s, truncated if it is long.
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

// Text is Short, but quoted as in Go if it is empty, not UTF-8, or contains anything but
// printable characters.
func Text(s string) string {
	s = Short(s)
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
