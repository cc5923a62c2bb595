package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"two\nlines, à la plage": "two\nlines, à la plage",
		"red \x1b[31m\xff\u202e": `red \x1b[31m\xff\u202e`,
		"a \"b\" \\ \ufffd":      "a \"b\" \\ \ufffd",
	} {
		if got := Lines(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"été à la plage.jpg":   "été à la plage.jpg",
		"":                     `""`,
		"two\nlines":           `"two\nlines"`,
		"red \x1b[31m":         `"red \x1b[31m"`,
		"left\u202eright":      `"left\u202eright"`,
		"\xff":                 `"\xff"`,
		strings.Repeat("a", 9): "aaaaaaaaa",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
	long := Text(strings.Repeat("é", 1000))
	if !utf8.ValidString(long) || !strings.HasSuffix(long, "é…") || len(long) > maxBytes+len("…") || len(long) < maxBytes {
		t.Errorf("a long text has %d bytes and ends in %q", len(long), long[len(long)-8:])
	}
}
