package ui

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/internal/scene"
)

// A caller is the page or an attacker.
type caller struct {
	t testing.TB
	s *Server
	// alter changes the request that a browser would send.
	alter func(*http.Request)
}

func (c caller) call(method, path string, body []byte) (status int, answer []byte) {
	c.t.Helper()
	r, err := http.NewRequest(method, "http://"+c.s.host+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set(tokenHeader, c.s.token)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == "POST" {
		r.Header.Set("Origin", "http://"+c.s.host)
	}
	if c.alter != nil {
		c.alter(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	for name, value := range headers {
		if resp.Header.Get(name) != value {
			c.t.Errorf("%s %s: header %s is %q", method, path, name, resp.Header.Get(name))
		}
	}
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// ask makes a call that must succeed.
func ask[T any](c caller, method, path string, body any) (v T) {
	c.t.Helper()
	var b []byte
	if raw, ok := body.([]byte); ok {
		b = raw
	} else if body != nil {
		b, _ = json.Marshal(body)
	}
	status, answer := c.call(method, path, b)
	if status != http.StatusOK {
		c.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
	return v
}

// Other tests compare the policy with itself, so this one spells it out.
func TestContentSecurityPolicy(t *testing.T) {
	want := "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if policy != want {
		t.Errorf("the policy is %s", policy)
	}
	for name, want := range map[string]string{"Content-Security-Policy": want, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		if headers[name] != want {
			t.Errorf("%s: %q", name, headers[name])
		}
	}
	if a, b := newToken(), newToken(); len(a) != 43 || a == b {
		t.Errorf("tokens %q, %q", a, b)
	}
}

// calls lists one call of each kind.
func calls(id string) map[string]string {
	return map[string]string{
		"GET /api/settings": "", "GET /api/photos": "", "GET /api/runs": "", "GET /api/find?word=x": "", "GET /api/cloud/" + id: "", "GET /api/picture/" + id: "",
		"GET /api/sidecar/" + id: "", "POST /api/look": `{"ids":[]}`, "POST /api/annotate": `{"ids":[]}`,
		"POST /api/decide": `{"id":"` + id + `","word":"x","mark":"add"}`, "POST /api/write": `{"id":"` + id + `"}`, "POST /api/undo": `{"run":"x"}`,
		"POST /api/settings": `{}`, "POST /api/list": `{}`, "GET /api/list/x": "", "GET /api/words": "", "GET /api/complete?prefix=x": "", "GET /api/unreadable": "",
		"POST /api/mark": `{"listing":"x","mark":"accept"}`, "POST /api/unmark": `{"action":1}`, "GET /api/pending": "", "POST /api/drop": "x",
	}
}

// opened returns the headers of a browser that opens an address.
func opened(from, into string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("Origin")
		for name, value := range map[string]string{"Sec-Fetch-Site": from, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": into} {
			r.Header.Set(name, value)
		}
	}
}

// API calls need the token, the right host and the right origin. The page needs
// the right host and refuses frames.
func TestGuardRefusesForeignRequests(t *testing.T) {
	f := newFake(t, 2)
	s, _ := start(t, f)
	id := s.photos.all[0].id
	for what, c := range map[string]struct {
		alter  func(*http.Request)
		status int
		page   bool // the page is refused, too
	}{
		"no token":           {func(r *http.Request) { r.Header.Del(tokenHeader) }, 401, false},
		"another token":      {func(r *http.Request) { r.Header.Set(tokenHeader, newToken()) }, 401, false},
		"part of the token":  {func(r *http.Request) { r.Header.Set(tokenHeader, s.token[:42]) }, 401, false},
		"a token in a query": {func(r *http.Request) { r.Header.Del(tokenHeader); r.URL.RawQuery = "token=" + s.token }, 401, false},
		"another name":       {func(r *http.Request) { r.Host = "attacker.example" }, 421, true},
		"localhost":          {func(r *http.Request) { r.Host = "localhost" + s.host[strings.Index(s.host, ":"):] }, 421, true},
		"no port":            {func(r *http.Request) { r.Host = "127.0.0.1" }, 421, true},
		"another origin":     {func(r *http.Request) { r.Header.Set("Origin", "https://attacker.example") }, 403, true},
		"an opaque origin":   {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, true},
		"another port":       {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403, true},
		"a page elsewhere":   {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, true},
		"another port's":     {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403, true},
		"in a frame":         {opened("cross-site", "iframe"), 403, true},
		"opened in a tab":    {opened("cross-site", "document"), 403, false},
		"typed":              {opened("none", "document"), 403, false},
	} {
		by := caller{t, s, c.alter}
		for line, body := range calls(id) {
			method, path, _ := strings.Cut(line, " ")
			if status, answer := by.call(method, path, []byte(body)); status != c.status {
				t.Errorf("%s: %s: %d %s", what, line, status, answer)
			}
		}
		if status, _ := by.call("GET", "/", nil); status == http.StatusOK == c.page {
			t.Errorf("%s: the page: %d", what, status)
		}
	}
	if f.asked > 0 || len(f.runs) > 0 || !s.decided.of(id).empty() {
		t.Error("a refused caller caused a change")
	}
	// Calls by the page succeed.
	for line, body := range calls(id) {
		method, path, _ := strings.Cut(line, " ")
		if status, answer := (caller{t, s, nil}).call(method, path, []byte(body)); status >= 500 || status == 401 || status == 403 {
			t.Errorf("%s: %d %s", line, status, answer)
		}
	}
}

func TestOnlyPageFilesAreServed(t *testing.T) {
	f := newFake(t, 2)
	if err := os.WriteFile(filepath.Join(f.dir, "secret.txt"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	for _, path := range []string{"/", "/js/main.js", "/base.css"} {
		if status, _ := c.call("GET", path, nil); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range []string{"/js", "/js/", "/page/index.html", "/server.go", "/../server.go", "/%2e%2e/server.go", "/api/", "/api/nothing",
		"/api/picture/harbour%2f00.jpg", "/api/picture/..%2fsecret.txt", "/api/picture/" + strings.ReplaceAll(f.dir, "/", "%2f"), "/api/picture/p", "/api/sidecar/" + s.photos.all[0].id} {
		if status, answer := c.call("GET", path, nil); status == http.StatusOK {
			t.Errorf("%s: %d %.80s", path, status, answer)
		}
	}
	for line := range calls("x") {
		method, path, _ := strings.Cut(line, " ")
		if _, both := calls("x")["GET "+path]; both {
			continue
		}
		if method = map[string]string{"GET": "POST", "POST": "GET"}[method]; method == "GET" {
			continue // responds as for a missing page
		}
		if status, _ := c.call(method, path, nil); status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d", method, path, status)
		}
	}
}

func TestLinksOutsideFolderAreNotFollowed(t *testing.T) {
	f := newFake(t, 2)
	s, _ := start(t, f)
	p := s.photos.all[0]
	outside := filepath.Join(t.TempDir(), "outside.jpg")
	if err := os.Rename(p.path, outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, p.path); err != nil {
		t.Skip(err)
	}
	c := caller{t: t, s: s}
	for _, line := range []string{"GET /api/picture/" + p.id, "POST /api/write"} {
		method, path, _ := strings.Cut(line, " ")
		if status, answer := c.call(method, path, []byte(`{"id":"`+p.id+`"}`)); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %.80s", line, status, answer)
		}
	}
	if v := ask[[]view](c, "POST", "/api/look", ids{[]string{p.id}})[0]; len(v.Problems) == 0 {
		t.Errorf("looked at: %+v", v)
	}
	if err := s.photos.fill(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if all, skipped := s.photos.list(); len(all) != 1 || !strings.Contains(skipped, "left out: 1 that lead") {
		t.Errorf("a link out of the folder is listed: %d, %q", len(all), skipped)
	}
	// The folder of a photo becomes a link.
	if err := os.RemoveAll(filepath.Join(f.dir, "hills")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(f.dir, "hills")); err != nil {
		t.Fatal(err)
	}
	q, _ := s.photos.place(filepath.Join(f.dir, "hills", "outside.jpg"))
	if _, err := s.photos.read(q); err == nil {
		t.Error("a folder that is a link was followed")
	}
}

func TestBodiesAreBounded(t *testing.T) {
	f := newFake(t, 1)
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	long := `{"ids":["` + strings.Repeat("x", maxBodyBytes) + `"]}`
	if status, answer := c.call("POST", "/api/look", []byte(long)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %.80s", status, answer)
	}
	many, _ := json.Marshal(ids{make([]string, maxAtOnce+1)})
	for body, want := range map[string]int{string(many): 422, `{"ids":[1]}`: 422, `{"paths":["/etc"]}`: 422, `nonsense`: 422, ``: 422} {
		for _, path := range []string{"/api/look", "/api/annotate"} {
			if status, answer := c.call("POST", path, []byte(body)); status != want {
				t.Errorf("%s of %.40s: %d %.80s", path, body, status, answer)
			}
		}
	}
	for _, word := range []string{"", "  ", "a\nb", "a\x00", "\xff", strings.Repeat("a", maxWordBytes+1)} {
		b, _ := json.Marshal(oneMark{s.photos.all[0].id, word, "add"})
		if strings.Contains(word, "\xff") {
			continue // sends no JSON
		}
		if status, answer := c.call("POST", "/api/decide", b); status != 422 {
			t.Errorf("keyword %.10q: %d %.80s", word, status, answer)
		}
	}
}

// Decisions wait, ignore spelling variants, and are written once.
func TestDecisionsWaitUntilWritten(t *testing.T) {
	f := newFake(t, 2)
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	p := s.photos.all[0]
	truth := f.truth[p.path]
	if v := ask[[]view](c, "POST", "/api/look", ids{[]string{p.id}})[0]; v.Asked || len(v.Words) > 0 || v.Pending {
		t.Errorf("before: %+v", v)
	}
	ask[[]outcome](c, "POST", "/api/annotate", ids{[]string{p.id}})
	decide := func(word, how string) view { return ask[view](c, "POST", "/api/decide", oneMark{p.id, word, how}) }
	decide(truth[0], "accept")
	decide(truth[1], "reject")
	decide(truth[1], "")
	decide(truth[1], "reject")
	decide("Café", "add")
	decide("café", "add") // another Unicode composition of the same word
	v := decide(strings.ToUpper(fakeWord), "add")
	if !v.Pending || len(v.Added) != 1 || v.Words[0].Mark != "accept" || v.Words[1].Mark != "reject" {
		t.Errorf("decided: %+v", v)
	}
	for _, w := range v.Words {
		if w.Word == fakeWord && w.Mark != "accept" {
			t.Error("a word that was suggested and added is not accepted")
		}
	}
	w := ask[Written](c, "POST", "/api/write", map[string]string{"id": p.id})
	if w.File == "" || w.Run == "" {
		t.Errorf("written: %+v", w)
	}
	v = ask[[]view](c, "POST", "/api/look", ids{[]string{p.id}})[0]
	if v.Pending || !has(v.Yours, "café") || !has(v.Yours, truth[0]) || !has(v.Yours, fakeWord) || !has(v.Rejected, truth[1]) {
		t.Errorf("after: %+v", v)
	}
	for _, w := range v.Words {
		if has(v.Yours, w.Word) || has(v.Rejected, w.Word) {
			t.Errorf("%s is offered again", w.Word)
		}
	}
	found := ask[struct {
		IDs       []string
		Elsewhere int
	}](c, "GET", "/api/find?word=caf%C3%A9", nil)
	if len(found.IDs) != 1 || found.IDs[0] != p.id || found.Elsewhere != 1 {
		t.Errorf("found: %+v", found)
	}
	if u := ask[Undone](c, "POST", "/api/undo", map[string]string{"run": w.Run}); u.Restored != 1 {
		t.Errorf("undone: %+v", u)
	}
	if status, _ := c.call("POST", "/api/undo", []byte(`{"run":""}`)); status != 422 {
		t.Errorf("undoing nothing: %d", status)
	}
}

func TestDecisionDuringWriteWaits(t *testing.T) {
	f := newFake(t, 1)
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	p := s.photos.all[0]
	truth := f.truth[p.path]
	ask[[]outcome](c, "POST", "/api/annotate", ids{[]string{p.id}})
	decide := func(word, how string) { ask[view](c, "POST", "/api/decide", oneMark{p.id, word, how}) }
	decide(truth[0], "accept")
	decide(truth[1], "accept")
	decide("before", "add")
	f.writing = func() {
		decide("meanwhile", "add")
		decide(truth[1], "reject") // changed
		decide(truth[0], "accept") // unchanged
	}
	ask[Written](c, "POST", "/api/write", map[string]string{"id": p.id})
	d := s.decided.of(p.id)
	if len(d.Accept) > 0 || !slices.Equal(d.Reject, truth[1:2]) || !slices.Equal(d.Add, []string{"meanwhile"}) {
		t.Errorf("waiting: %+v", d)
	}
	f.writing = nil
	ask[Written](c, "POST", "/api/write", map[string]string{"id": p.id})
	if !s.decided.of(p.id).empty() || len(s.decided.by) > 0 {
		t.Error("a written decision still waits")
	}
}

// A photo is identified by its image. Other photos stay in memory.
func TestDroppedPhotoIsIdentifiedByImage(t *testing.T) {
	f := newFake(t, 4)
	s, _ := start(t, f)
	p := s.photos.all[2]
	data, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) caller {
		return caller{t, s, func(r *http.Request) { r.Header.Set("X-Cpar-Name", name) }}
	}
	type found struct {
		ID             string
		Matched, Whole bool
	}
	for _, name := range []string{filepath.Base(p.path), "another.jpg", "..%2F..%2Fx", ""} {
		if got := ask[found](named(name), "POST", "/api/drop", data); got.ID != p.id || !got.Matched {
			t.Errorf("%s: %+v", name, got)
		}
	}
	stranger, _, err := scene.RenderJPEG(12, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := ask[found](named("a%2Fb%2Fsummer%20%C3%A9t%C3%A9.jpg"), "POST", "/api/drop", stranger)
	if got.Matched || !got.Whole {
		t.Fatalf("a stranger: %+v", got)
	}
	c := caller{t: t, s: s}
	if out := ask[[]outcome](c, "POST", "/api/annotate", ids{[]string{got.ID}}); out[0].Error != "" {
		t.Errorf("%+v", out)
	}
	v := ask[view](c, "POST", "/api/decide", oneMark{got.ID, "summer", "add"})
	if v.Name != "summer été.jpg" || !v.Dropped || !v.Asked || len(v.Words) == 0 || len(v.Added) != 1 {
		t.Errorf("%+v", v)
	}
	if status, b := c.call("GET", "/api/sidecar/"+got.ID, nil); status != http.StatusOK || !strings.Contains(string(b), "summer") {
		t.Errorf("its sidecar: %d %s", status, b)
	}
	if status, _ := c.call("POST", "/api/write", []byte(`{"id":"`+got.ID+`"}`)); status != http.StatusNotFound {
		t.Errorf("a stranger was written: %d", status)
	}
	for range maxDropped {
		ask[found](c, "POST", "/api/drop", append(stranger, 0)) // trailing bytes
	}
	if status, _ := c.call("GET", "/api/sidecar/"+got.ID, nil); status != http.StatusNotFound {
		t.Errorf("an old stranger is remembered: %d", status)
	}
	if status, answer := named("junk.jpg").call("POST", "/api/drop", []byte("junk")); status != http.StatusOK {
		t.Errorf("junk: %d %s", status, answer)
	} else if out := ask[[]outcome](c, "POST", "/api/annotate", ids{[]string{strings.Split(string(answer), `"`)[3]}}); out[0].Error == "" || !out[0].Unusable {
		t.Errorf("junk was annotated, or is a failure: %+v", out[0])
	}
}
