// Package sanitize makes untrusted text safe to print. File names, answers of a
// cloud and messages of other programs must not control a terminal or fill the
// screen.
package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxBytes = 300

// Short truncates s to maxBytes.
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

// Lines escapes unprintable characters in a message of several lines. Callers
// should pass names through Text first, because Text also keeps them on one
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

// Text truncates s like Short and then quotes it as in Go if it is empty, not
// UTF-8, or contains unprintable characters.
func Text(s string) string {
	s = Short(s)
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
