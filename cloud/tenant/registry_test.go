package tenant

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/hint"
)

func add(t testing.TB, data, name, label string, scopes Scopes) Issued {
	t.Helper()
	made, err := (&Editor{Data: data}).Add(t.Context(), name, label, scopes, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func open(t testing.TB, data string) (*Registry, *time.Time) {
	t.Helper()
	r, err := Open(data, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	r.now = func() time.Time { return clock }
	r.guesses.now = r.now
	return r, &clock
}

func with(token bearer.Token) *http.Request {
	q := httptest.NewRequest("GET", "/", nil)
	if !token.IsZero() {
		token.SetHeader(q.Header)
	}
	return q
}

func TestAuthenticate(t *testing.T) {
	data := t.TempDir()
	r, clock := open(t, data)
	if p, err := r.Authenticate(with(bearer.Token{})); err != nil || p.Tenant != "" || !p.May(Delete) || r.Needed() {
		t.Errorf("without tenants: %+v, %v", p, err)
	}
	if p, err := r.Authenticate(with(bearer.New())); err != nil || p.Tenant != "" {
		t.Errorf("without tenants, with a token: %+v, %v", p, err)
	}
	*clock = clock.Add(2 * recheck)
	anna := add(t, data, "anna", "phone", Annotate)
	push := add(t, data, "anna", "desk", Push|Delete)
	berta := add(t, data, "berta", "all", Admin)
	if anna.Tenant.ID != push.Tenant.ID || anna.Tenant.ID == berta.Tenant.ID || !anna.New || push.New {
		t.Errorf("%+v, %+v, %+v", anna, push, berta)
	}
	for _, c := range []struct {
		made Issued
		may  Scopes
		not  Scopes
	}{{anna, Annotate, Push | Delete | Admin}, {push, Push, Annotate | Admin}, {berta, Annotate, 0}} {
		p, err := r.Authenticate(with(c.made.Token))
		if err != nil || p.Tenant != c.made.Tenant.ID || !p.May(c.may) || c.not != 0 && p.May(c.not) || p.Limits != (Default) {
			t.Errorf("%s: %+v, %v", c.made.Label, p, err)
		}
		if got := FromContext(p.NewContext(t.Context())); got != p {
			t.Errorf("in a context: %+v", got)
		}
	}
	for name, q := range map[string]*http.Request{
		"none": with(bearer.Token{}), "unknown": with(bearer.New()),
		"malformed": {Header: http.Header{"Authorization": {"Bearer cpar_x"}}},
		"basic":     {Header: http.Header{"Authorization": {"Basic YTpi"}}},
	} {
		p, err := r.Authenticate(q)
		if !errors.Is(err, ErrToken) || errors.Is(err, ErrMissing) != (name == "none") || p != (Principal{}) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if s := r.Stats(); s != (Stats{Tenants: 2, Refused: 4}) {
		t.Errorf("%+v", s)
	}
}

func TestRegistryIsReloaded(t *testing.T) {
	data := t.TempDir()
	old := add(t, data, "anna", "a", Annotate)
	r, clock := open(t, data)
	is := func(token bearer.Token, want bool) {
		t.Helper()
		if _, err := r.Authenticate(with(token)); (err == nil) != want {
			t.Errorf("%v", err)
		}
	}
	is(old.Token, true)
	made, err := (&Editor{Data: data}).Rotate(t.Context(), "anna", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	is(made.Token, true)
	is(old.Token, true)
	*clock = clock.Add(time.Hour + time.Second)
	is(old.Token, false)
	is(made.Token, true)
	next, err := (&Editor{Data: data}).Rotate(t.Context(), "anna", "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(recheck)
	is(made.Token, false)
	is(next.Token, true)
	if _, err := (&Editor{Data: data}).Remove(t.Context(), "anna", ""); err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(recheck)
	is(next.Token, false)
	is(bearer.Token{}, false)
}

// An unreadable registry may have revoked a token. A lost one must not open the
// server.
func TestDamagedRegistryRefusesAll(t *testing.T) {
	data := t.TempDir()
	made := add(t, data, "anna", "a", Annotate)
	r, clock := open(t, data)
	whole, err := os.ReadFile(path(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path(data), whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(recheck)
	for range 2 {
		if _, err := r.Authenticate(with(made.Token)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("damaged: %v", err)
		}
		*clock = clock.Add(recheck)
	}
	if err := os.WriteFile(path(data), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Authenticate(with(made.Token)); err != nil {
		t.Errorf("put back: %v", err)
	}
	if err := os.Remove(path(data)); err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(recheck)
	for _, q := range []*http.Request{with(made.Token), with(bearer.Token{})} {
		if _, err := r.Authenticate(q); !errors.Is(err, ErrToken) {
			t.Errorf("gone: %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(data, Folder, made.Tenant.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, data)
	if !again.Needed() {
		t.Error("after a start with tenants' data but without the file, no token is needed")
	}
	if beyond, err := Open(t.TempDir(), true, nil); err != nil || !beyond.Needed() {
		t.Errorf("strangers reach it: %v", err)
	}
}

func TestGuessesAreLimited(t *testing.T) {
	data := t.TempDir()
	made := add(t, data, "anna", "a", Annotate)
	r, clock := open(t, data)
	guess := func(from string) (limited bool) {
		t.Helper()
		q := with(bearer.New())
		q.RemoteAddr = from
		_, err := r.Authenticate(q)
		var g *GuessLimitError
		if limited = errors.As(err, &g); limited && g.After <= 0 || !limited && !errors.Is(err, ErrToken) {
			t.Errorf("%v", err)
		}
		return limited
	}
	for i := range 3 * guessBurst {
		if got := guess(fmt.Sprintf("192.0.2.1:%d", 1000+i)); got != (i >= guessBurst) {
			t.Errorf("guess %d: limited %v", i, got)
		}
	}
	if guess("192.0.2.2:1") {
		t.Error("a neighbour is limited")
	}
	q := with(made.Token)
	q.RemoteAddr = "192.0.2.1:7"
	if _, err := r.Authenticate(q); err != nil {
		t.Errorf("the right token from there: %v", err)
	}
	for i := range 2 * guessBurst {
		if got := guess(fmt.Sprintf("[2001:db8:1:2:%x::1]:5", i)); got != (i >= guessBurst) {
			t.Errorf("guess %d from one network: limited %v", i, got)
		}
	}
	*clock = clock.Add(time.Minute)
	if guess("192.0.2.1:1") {
		t.Error("a minute later, it is still limited")
	}
	limited := 0
	for i := range 2 * maxAddresses {
		if guess(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 9).String()) {
			limited++
		}
	}
	if n := len(r.guesses.by); n != maxAddresses || r.guesses.order.Len() != n {
		t.Errorf("%d addresses are kept; the most is %d", n, maxAddresses)
	}
	if limited < 2*maxAddresses-totalBurst-1 {
		t.Errorf("%d of %d guesses from as many addresses were limited", limited, 2*maxAddresses)
	}
}

func TestInvalidRegistriesAreRefused(t *testing.T) {
	data := t.TempDir()
	add(t, data, "anna", "a", Annotate|Push)
	add(t, data, "berta", "b", Admin)
	whole, err := os.ReadFile(path(data))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path(data)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	l, _ := decode(whole)
	replace := func(old, new string) string {
		if !strings.Contains(string(whole), old) {
			t.Fatalf("no %q in %s", old, whole)
		}
		return strings.Replace(string(whole), old, new, 1)
	}
	for name, c := range map[string]struct {
		text string
		kind error
	}{
		"empty":              {"", cpar.ErrCorrupt},
		"foreign":            {`{"tenants": []}`, cpar.ErrCorrupt},
		"cut short":          {string(whole[:len(whole)-3]), cpar.ErrCorrupt},
		"two of them":        {string(whole) + string(whole), cpar.ErrCorrupt},
		"later":              {replace(`"version": 1`, `"version": 2, "more": 1`), cpar.ErrVersion},
		"unknown member":     {replace(`"name"`, `"nickname": "x", "name"`), cpar.ErrCorrupt},
		"one name twice":     {replace(`"berta"`, `"anna"`), cpar.ErrCorrupt},
		"one id twice":       {replace(l.Tenants[1].ID, l.Tenants[0].ID), cpar.ErrCorrupt},
		"a path as id":       {replace(l.Tenants[1].ID, "../../../../../e"), cpar.ErrCorrupt},
		"one token twice":    {replace(l.Tenants[1].Tokens[0].SHA256.String(), l.Tenants[0].Tokens[0].SHA256.String()), cpar.ErrCorrupt},
		"unknown scope":      {replace(`"admin"`, `"root"`), cpar.ErrCorrupt},
		"scopes in disorder": {replace("\"annotate\",\n            \"push\"", "\"push\",\n            \"annotate\""), cpar.ErrCorrupt},
		"bad limit":          {replace(`"name": "anna"`, `"name": "anna", "burst": -2`), cpar.ErrCorrupt},
		"bad name":           {replace(`"anna"`, `"an\u001bna"`), cpar.ErrCorrupt},
	} {
		if err := os.WriteFile(path(data), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(data, false, nil)
		if !errors.Is(err, c.kind) || hint.Of(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (&Editor{Data: data}).Add(t.Context(), "carla", "c", Push, Limits{}); err == nil {
			t.Errorf("%s: a change writes over it", name)
		}
	}
	os.WriteFile(path(data), whole, 0o600)
	os.Chmod(path(data), 0o622)
	if _, err := Open(data, false, nil); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("others may write it: %v", err)
	}
	os.Remove(path(data))
	if err := os.Mkdir(path(data), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(data, false, nil); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a folder: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	data := f.TempDir()
	add(f, data, "anna", "a", Annotate|Push)
	whole, _ := os.ReadFile(path(data))
	f.Add(whole)
	f.Add([]byte(`{"format":"cpard tenants","version":1,"tenants":[]}`))
	f.Add([]byte(`{"format":"cpard tenants","version":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decode(b)
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := l.encode()
		if err != nil {
			t.Fatal(err)
		}
		if l2, err := decode(again); err != nil || fmt.Sprint(l2) != fmt.Sprint(l) {
			t.Errorf("%s is written as %s: %v", b, again, err)
		}
	})
}

func TestResolvedLimits(t *testing.T) {
	for _, k := range []struct{ in, want Limits }{
		{Limits{}, Default},
		{Limits{StorageBytes: Unlimited, RequestsPerSecond: Unlimited, Burst: Unlimited, Concurrent: Unlimited}, Limits{Burst: maxLimit}},
		{Limits{RequestsPerSecond: 100}, Limits{Default.StorageBytes, 100, 400, Default.Concurrent}},
	} {
		if got := k.in.Resolved(); got != k.want {
			t.Errorf("%+v: %+v, want %+v", k.in, got, k.want)
		}
	}
}
