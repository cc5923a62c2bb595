package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"cpar/internal/exitcode"
)

func TestReadHidden(t *testing.T) {
	for typed, want := range map[string]string{
		"open sesame\r":                "open sesame",
		"open sesame\nmore":            "open sesame",
		"\r":                           "",
		"opn\x7f\x08pen sésamé\x7fe\r": "open sésame",
		"\x7f\x7fa\r":                  "a",
		"wrong\x15right\r":             "right",
		"a\x04b\r":                     "ab",
	} {
		if got, err := readHidden(iotest.OneByteReader(strings.NewReader(typed))); err != nil || got != want {
			t.Errorf("typed %q: read %q, %v, want %q", typed, got, err, want)
		}
	}
	for typed, want := range map[string]error{"abc\x03": exitcode.ErrInterrupted, "\x04": io.EOF, "abc": io.EOF, "": io.EOF} {
		if got, err := readHidden(strings.NewReader(typed)); !errors.Is(err, want) || got != "" {
			t.Errorf("typed %q: read %q, %v, want %v", typed, got, err, want)
		}
	}
}
