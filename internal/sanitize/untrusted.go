// Package untrusted makes text from strangers safe to show: names of files, answers of a
// cloud, messages of other people's code. It must not control a terminal or flood a
// screen.
package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is the number of bytes shown.
const maxBytes = 300

// Short returns s, truncated if it is long.
func Short(s string) string {
	if len(s) <= maxBytes {
		return s
	}
	cut := maxBytes
	for cut > maxBytes-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Lines escapes what is not printable in a message of several lines, and leaves the ends of
// its lines. It is the last net: a name belongs through Text, which also keeps it on one
// line.
func Lines(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(s[:n])
		} else {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
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
