package user

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func TestNewKeyAllowsWhatHides(t *testing.T) {
	if got, want := NewKey().Policy().Schemes(), []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal}; !slices.Equal(got, want) {
		t.Errorf("a new key allows %v, want %v", got, want)
	}
	if got := NewKey(cpar.SchemeCAPIA).Policy().Schemes(); !slices.Equal(got, []cpar.Scheme{cpar.SchemeCAPIA, cpar.SchemeSealed, cpar.SchemeLocal}) {
		t.Errorf("with capia it allows %v", got)
	}
	if got := testKey().Policy().Schemes(); !slices.Equal(got, cpar.Schemes()) {
		t.Errorf("with all it allows %v", got)
	}
}

func TestPolicyIsASet(t *testing.T) {
	p := Policy(0).With(cpar.SchemeLocal).With(cpar.SchemeCPAR, cpar.SchemeLocal)
	for _, s := range cpar.Schemes() {
		if want := s == cpar.SchemeLocal || s == cpar.SchemeCPAR; p.Allows(s) != want {
			t.Errorf("%v is allowed: %v", s, !want)
		}
	}
	for _, s := range []cpar.Scheme{0, 6, 15, 16, 200, 255} {
		if testKey().Policy().Allows(s) {
			t.Errorf("%v, an unknown scheme, is allowed", s)
		}
	}
	if len(Policy(0).Schemes()) != 0 || Policy(0).String() != "" {
		t.Errorf("nothing is %v", Policy(0).Schemes())
	}
}

// TestRestrictedNeverWidens checks that Restricted intersects the policies and
// leaves the key unchanged.
func TestRestrictedNeverWidens(t *testing.T) {
	for a := range Policy(1 << 6) {
		for b := range Policy(1 << 6) {
			key := &Key{allows: a}
			for _, s := range cpar.Schemes() {
				if got := key.Restricted(b).Policy().Allows(s); got != (a.Allows(s) && b.Allows(s)) {
					t.Fatalf("%v of %v and %v: %v", s, a, b, got)
				}
			}
			if key.Policy() != a {
				t.Fatal("the key was changed")
			}
		}
	}
	key := testKey()
	if r := key.Restricted(DefaultPolicy()); r.secret != key.secret || r.Fingerprint() != key.Fingerprint() {
		t.Error("it is another key")
	}
}

func TestPolicyAsText(t *testing.T) {
	for p := range Policy(1 << 5) {
		p &= testKey().Policy() // the bits of schemes
		got, err := ParsePolicy(p.String())
		if err != nil || got != p {
			t.Errorf("%q is read as %q, %v", p, got, err)
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again Policy
		if err := json.Unmarshal(b, &again); err != nil || again != p || string(b) != `"`+p.String()+`"` {
			t.Errorf("%s is read as %q, %v", b, again, err)
		}
	}
	for _, text := range []string{"local,sealed", "sealed local", " sealed,  local,,sealed "} {
		if p, err := ParsePolicy(text); err != nil || p != DefaultPolicy() {
			t.Errorf("%q is read as %q, %v", text, p, err)
		}
	}
	for _, text := range []string{"seald", "sealed;local", "auto"} {
		p, err := ParsePolicy(text)
		if !errors.Is(err, cpar.ErrInput) || p != 0 {
			t.Errorf("%q is read as %q, %v", text, p, err)
		}
		var q Policy
		if err := json.Unmarshal([]byte(`"`+text+`"`), &q); err == nil {
			t.Errorf("%q is read from JSON as %q", text, q)
		}
	}
}

func TestCheckGivesAHint(t *testing.T) {
	key := NewKey()
	for _, s := range cpar.Schemes() {
		err := key.Check(s)
		if Hides(s) {
			if err != nil {
				t.Errorf("%v: %v", s, err)
			}
			continue
		}
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), fmt.Sprint("scheme ", s, ", which shows the cloud the distances")) ||
			!strings.Contains(err.Error(), "sealed, local") || !strings.Contains(hint.Of(err), fmt.Sprint("cpar key allow ", s)) {
			t.Errorf("%v: %v; hint %q", s, err, hint.Of(err))
		}
		if err := NewKey(s).Check(s); err != nil {
			t.Errorf("%v, allowed: %v", s, err)
		}
	}
}

func TestFingerprintNamesTheSeed(t *testing.T) {
	key := NewKey()
	f := key.Fingerprint()
	if b, err := hex.DecodeString(f); err != nil || len(b) != 16 {
		t.Errorf("fingerprint %q", f)
	}
	if f != key.Fingerprint() || f != (&Key{secret: key.secret}).Fingerprint() {
		t.Error("one seed has two fingerprints")
	}
	if f == NewKey().Fingerprint() {
		t.Error("two keys have one fingerprint")
	}
	if seed := hex.EncodeToString(key.secret[:]); strings.Contains(seed, f) || strings.Contains(seed, f[:8]) || strings.Contains(f, seed[:8]) {
		t.Error("the fingerprint is part of the seed")
	}
	// The first bit of the seed affects the whole fingerprint.
	other := &Key{secret: key.secret}
	other.secret[0] ^= 0x80
	same := 0
	for i := range f {
		if f[i] == other.Fingerprint()[i] {
			same++
		}
	}
	if same > 12 { // 2 of 32 are expected
		t.Errorf("%d of 32 digits stayed", same)
	}
}
