package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/hint"
)

func TestSameComparesAddresses(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://cloud.example", "https://CLOUD.example:443/", true},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/", true},
		{"https://cloud.example/below", "https://cloud.example/below/", true},
		{"https://cloud.example", "http://cloud.example", false},
		{"https://cloud.example", "https://cloud.example:8443", false},
		{"https://cloud.example", "https://cloud.example.evil", false},
		{"https://cloud.example/a", "https://cloud.example/b", false},
		{"https://cloud.example", "://", false},
	} {
		if Same(c.a, c.b) != c.want || Same(c.b, c.a) != c.want {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
}

func TestReadTokenChecksAndHidesToken(t *testing.T) {
	token := bearer.New()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("  "+token.Reveal()+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadToken(path)
	if err != nil || got.Reveal() != token.Reveal() {
		t.Errorf("%v", err)
	}
	a := Access{Cloud: "https://cloud.example", Token: got}
	if c, err := a.Client(); err != nil || strings.Contains(fmt.Sprintf("%+v %#v %+v", a, a, c), token.Reveal()[5:]) {
		t.Errorf("%v; or it is printed", err)
	}
	a.Cloud = "http://cloud.example"
	if _, err := a.Client(); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("plain HTTP to another machine: %v", err)
	}
	os.WriteFile(path, []byte(token.Reveal()[:40]), 0o600)
	if _, err := ReadToken(path); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), token.Reveal()[5:15]) {
		t.Errorf("cut short: %v", err)
	}
	if _, err := ReadToken(path + ".not"); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("missing: %v", err)
	}
}

func TestBadCertificateFilesAreRejected(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, a := range []Access{{CA: junk}, {CA: junk + ".not"}, {Cert: junk}, {Key: junk}, {Cert: junk, Key: junk}} {
		a.Cloud = "https://cloud.example"
		if _, err := a.Client(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%+v: %v", a, err)
		}
	}
}
