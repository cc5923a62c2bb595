package seed

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func testSecret(b byte) (s Secret) {
	for i := range s {
		s[i] = b + byte(i)
	}
	return s
}

// The derivation is part of the key format, so these bytes must never change.
func TestDeriveIsPinned(t *testing.T) {
	got := Derive(testSecret(0), "label", []byte("context"), Number(7))
	info := "cpar/v1/" + "\x00\x00\x00\x05label" + "\x00\x00\x00\x07context" + "\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07"
	master := testSecret(0)
	want, err := hkdf.Key(sha256.New, master[:], nil, info, 32)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[:], want) {
		t.Errorf("encoding of label and context changed: %x, want %x", got[:], want)
	}
	const pinned = "cabd7eb65a9f0ca5f176438a1cac2475e41b1e88357f9218f47c6456d80bf589"
	if h := hex.EncodeToString(got[:]); h != pinned {
		t.Errorf("derived %s, want %s", h, pinned)
	}
}

func TestDeriveIsUnambiguous(t *testing.T) {
	m := testSecret(1)
	seen := map[Secret]string{}
	for _, c := range []struct {
		label   string
		context []string
	}{
		{"", nil}, {"a", nil}, {"ab", nil}, {"ab", []string{"c"}}, {"a", []string{"bc"}},
		{"a", []string{"b", "c"}}, {"a", []string{"", "bc"}}, {"a", []string{"bc", ""}}, {"a", []string{""}},
		{"a\x00\x00\x00\x01b", nil}, {"a", []string{"b"}},
	} {
		var ctx [][]byte
		for _, x := range c.context {
			ctx = append(ctx, []byte(x))
		}
		s := m.Derive(c.label, ctx...)
		name := fmt.Sprintf("%q", c)
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s give the same secret", name, other)
		}
		seen[s] = name
	}
	if Derive(testSecret(2), "a") == Derive(testSecret(3), "a") {
		t.Error("two masters give the same secret")
	}
}

func TestSecretsPrintRedacted(t *testing.T) {
	secret := testSecret(0xa0)
	for name, v := range map[string]any{
		"secret": secret, "pointer": &secret, "exported field": struct{ S Secret }{secret},
		"slice": []Secret{secret}, "stream": New(secret), "embedded": struct {
			Redacted
			s Secret
		}{s: secret},
	} {
		var out []string
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b"} {
			out = append(out, fmt.Sprintf(verb, v))
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		out = append(out, string(j), log.String())
		for _, s := range out {
			for _, leak := range []string{"a0a1", "A0A1", "160 161", "160,161", "0xa0, 0xa1", "oKGio", "10100000"} {
				if strings.Contains(s, leak) {
					t.Errorf("%s prints as %s", name, s)
				}
			}
			if !strings.Contains(s, "redacted") {
				t.Errorf("%s prints as %s without saying redacted", name, s)
			}
		}
	}
}

func BenchmarkDerive(b *testing.B) {
	m := testSecret(0)
	for b.Loop() {
		m = Derive(m, "label")
	}
}
