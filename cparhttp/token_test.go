package cparhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/hint"
)

func TestTokenGoesOnlyToItsServer(t *testing.T) {
	token := bearer.New()
	for url, want := range map[string]bool{
		"https://cloud.example": true, "http://127.0.0.1:1": true, "http://[::1]:1": true, "http://localhost": true,
		"http://cloud.example": false, "http://192.0.2.1": false, "http://localhost.example": false, "http://127.0.0.1.example": false,
	} {
		c, err := New(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.SetToken(token)
		if (err == nil) != want || err != nil && (!errors.Is(err, cpar.ErrInput) || hint.Of(err) == "") {
			t.Errorf("%s: %v", url, err)
		}
		if err := c.SetToken(bearer.Token{}); err != nil {
			t.Errorf("%s without a token: %v", url, err)
		}
	}
}

// The token is also removed from echoed text.
func TestTokenIsNotForwarded(t *testing.T) {
	token := bearer.New()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed: %v", r.Header)
	}))
	defer elsewhere.Close()
	said := token.Reveal()
	escaped := strings.ReplaceAll(said, "c", `\u0063`)
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/"+said, http.StatusTemporaryRedirect)
		},
		"problem": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", TypeProblem)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"code":"unauthorized","detail":"no such token: %s"}`, escaped)
		},
		"type": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", said) },
		"list": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", TypeJSON)
			fmt.Fprintf(w, `{"indexes":[{"id":"01000000000000000000000000000000","scheme":"%s","damaged":"%s"}]}`, escaped, said)
		},
	} {
		got := 0
		c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer "+said {
				got++
			}
			h(w, r)
		}))
		if err := c.SetToken(token); err != nil {
			t.Fatal(err)
		}
		list, err := c.List(t.Context())
		if got != 1 {
			t.Errorf("%s: the token came %d times", name, got)
		}
		if printed := fmt.Sprintf("%v %v %+v %#v", err, list, c, *c.base) + hint.Of(err); strings.Contains(printed, said[5:]) {
			t.Errorf("%s: %s", name, printed)
		}
		if name == "list" && err != nil || name != "list" && !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokenProblemsWrapErrCloud(t *testing.T) {
	for code, wants := range map[string]string{CodeUnauthorized: "CPAR_TOKEN_FILE", CodeScope: "scope"} {
		err := (&Problem{Status: 403, Code: code, Detail: "d"}).err()
		if !errors.Is(err, cpar.ErrCloud) || !errors.Is(err, ErrToken) || !strings.Contains(hint.Of(err), wants) {
			t.Errorf("%s: %v, %s", code, err, hint.Of(err))
		}
	}
	c := client(t, answers(TypeJSON, []byte(`{"needed":true,"scopes":["annotate","pu\u001bsh"]}`)))
	info, err := c.Token(t.Context())
	if err != nil || !info.Needed || len(info.Scopes) != 2 || strings.Contains(fmt.Sprint(info), "\x1b") {
		t.Errorf("%+v, %v", info, err)
	}
}
