// Package formatdoc reads the examples of docs/FORMAT.md, so that tests can
// compare them with the encoders.
package formatdoc

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// Examples returns the bytes of each example of a page by name. An example is a
// fenced block that starts with "```hex NAME". Each of its lines consists of
// bytes and a remark.
func Examples(t testing.TB, page string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	out, name := map[string][]byte{}, ""
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```hex "):
			name = strings.TrimSpace(strings.TrimPrefix(line, "```hex "))
			out[name] = []byte{}
		case strings.HasPrefix(line, "```"):
			name = ""
		case name != "":
			digits, _, _ := strings.Cut(line, "#")
			b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
			if err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			out[name] = append(out[name], b...)
		}
	}
	return out
}
