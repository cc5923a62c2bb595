package bearer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func TestTokens(t *testing.T) {
	a, b := New(), New()
	if a.Reveal() == b.Reveal() || len(a.Reveal()) != 63 || !strings.HasPrefix(a.Reveal(), "cpar_") {
		t.Fatalf("%q and %q", a.Reveal(), b.Reveal())
	}
	got, err := Parse(a.Reveal())
	if err != nil || got.Reveal() != a.Reveal() || got.Digest() != a.Digest() || a.Digest() == b.Digest() {
		t.Errorf("%v", err)
	}
	h := http.Header{}
	a.SetHeader(h)
	if got, err := FromHeader(h); err != nil || got.Reveal() != a.Reveal() {
		t.Errorf("a wrong header: %v", err)
	}
}

// Typing errors are detected without a cloud, and the message does not repeat
// the token.
func TestParseRejectsTypingErrors(t *testing.T) {
	token := New().Reveal()
	for i := range len(token) {
		for _, other := range "a7-A " {
			text := token[:i] + string(other) + token[i+1:]
			if text == token {
				continue
			}
			_, err := Parse(text)
			if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
				t.Fatalf("character %d as %q: %v", i, other, err)
			}
			if strings.Contains(fmt.Sprint(err, hint.Of(err)), token[10:20]) {
				t.Fatalf("the error shows the token: %v", err)
			}
		}
	}
	for i := range len(token) - 1 {
		swapped := token[:i] + token[i+1:i+2] + token[i:i+1] + token[i+2:]
		if _, err := Parse(swapped); err == nil && swapped != token {
			t.Errorf("characters %d and %d swapped", i, i+1)
		}
	}
	for _, text := range []string{"", "cpar_", token + "a", token[:62], token + "\n", token[:30] + "\r\n" + token[32:], strings.ToUpper(token)} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestHeaders(t *testing.T) {
	token := New()
	for value, want := range map[string]bool{
		"Bearer " + token.Reveal(): true, "bearer  " + token.Reveal(): true,
		token.Reveal(): false, "Basic " + token.Reveal(): false, "Bearer": false, "": false, "Bearer " + token.Reveal() + " x": false,
	} {
		_, err := FromHeader(http.Header{"Authorization": {value}})
		if (err == nil) != want || errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", value, err)
		}
	}
	if _, err := FromHeader(http.Header{}); !errors.Is(err, ErrNone) {
		t.Errorf("no header: %v", err)
	}
	// A proxy and this program could disagree about which of two headers
	// counts.
	if _, err := FromHeader(http.Header{"Authorization": {"Bearer " + token.Reveal(), "Bearer " + New().Reveal()}}); err == nil {
		t.Error("two headers")
	}
}

func TestTokenPrintsRedacted(t *testing.T) {
	token := New()
	held := struct {
		Token  Token
		In     map[string]any
		hidden Token
	}{token, map[string]any{"t": &token}, token}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if s := fmt.Sprintf(verb, held) + fmt.Sprintf(verb, token); strings.Contains(s, token.Reveal()[5:15]) || !strings.Contains(s, "redacted") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
	b, err := json.Marshal(held)
	if err != nil || strings.Contains(string(b), token.Reveal()[5:15]) {
		t.Errorf("JSON: %s, %v", b, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(New().Reveal())
	f.Add("cpar_")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := Parse(text); err == nil && token.Reveal() != text {
			t.Errorf("%q is read as another", text)
		}
	})
}
