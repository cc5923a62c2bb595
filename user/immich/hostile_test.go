package immich

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/testing/immichtest"
)

func TestNewClientRejectsUnsafeAddress(t *testing.T) {
	for _, bad := range []string{"", "photos.example", "http://photos.example", "http://192.168.1.5:2283", "https://me:secret@photos.example", "https://photos.example?x=1", "https://photos.example#x", "file:///etc", "http://localhost.evil.example", "http://a b"} {
		if _, err := NewClient(bad, "key"); !errors.Is(err, cpar.ErrInput) || strings.Contains(fmt.Sprint(err, hint.Of(err)), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for in, want := range map[string]string{"https://photos.example/api/": "https://photos.example", "http://127.0.0.1:2283": "http://127.0.0.1:2283",
		"http://localhost:2283/api": "http://localhost:2283", "http://[::1]:1": "http://[::1]:1", "https://x/immich/": "https://x/immich"} {
		c, err := NewClient(in, "key")
		if err != nil || c.Address() != want {
			t.Errorf("%q: %v, %v", in, c.Address(), err)
		}
	}
	for _, bad := range []string{"", "a b", "a\nb", "é"} {
		if _, err := NewClient("https://x", bad); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("key %q: %v", bad, err)
		}
	}
}

func TestClientDoesNotPrintKey(t *testing.T) {
	c, err := NewClient("https://photos.example", "much-secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, *c); strings.Contains(s, "much") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
}

// answers returns a library whose server has one handler.
func answers(t *testing.T, h http.HandlerFunc) (*Library, *int) {
	w := newWorld(t)
	calls := new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls++
		h(w, r)
	}))
	t.Cleanup(s.Close)
	w.url = s.URL
	return NewLibrary(w.newClient(immichtest.Key), w.journal), calls
}

// paging is a server with endless pages, each with one photo, none for 0.
func paging(photo func(page int) int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Page int }
		if json.NewDecoder(r.Body).Decode(&q) != nil {
			return
		}
		items := ""
		if n := photo(q.Page); n > 0 {
			items = `{"id":"` + immichtest.ID(1, n) + `","type":"VIDEO"}`
		}
		fmt.Fprintf(w, `{"assets":{"items":[%s],"nextPage":"%d"}}`, items, q.Page+1)
	}
}

func TestHostileServerIsRefused(t *testing.T) {
	page := func(items string) string { return `{"assets":{"items":` + items + `,"nextPage":null}}` }
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   error
		says   string
		calls  int
	}{
		"garbage":               {say(200, "<html>"), cpar.ErrCloud, "not a page of a search", 1},
		"nothing":               {say(200, ""), cpar.ErrCloud, "not a page of a search", 1},
		"an id that is a path":  {say(200, page(`[{"id":"../../api-keys","type":"IMAGE"}]`)), cpar.ErrCloud, "cannot be read", 1},
		"no id":                 {say(200, page(`[{"type":"IMAGE"}]`)), cpar.ErrCloud, "without id", 1},
		"not a list":            {say(200, page(`{}`)), cpar.ErrCloud, "not a list", 1},
		"too long a list":       {say(200, page("["+strings.Repeat(`{"id":"`+immichtest.ID(1, 1)+`"},`, pageSize)+`{}]`)), cpar.ErrCloud, "more than 1000", 1},
		"round and round":       {say(200, `{"assets":{"items":[],"nextPage":"1"}}`), cpar.ErrCloud, "page after page 1", 1},
		"a page that is none":   {say(200, `{"assets":{"items":[],"nextPage":"x"}}`), cpar.ErrCloud, "page after page 1", 1},
		"more than it may send": {say(200, strings.Repeat(" ", maxAnswer+1)), cpar.ErrCloud, "more than 32 MB", 1},
		"no key":                {say(401, `{"message":"Invalid API key"}`), cpar.ErrInput, "refuses the API key: Invalid API key", 1},
		"a weak key":            {say(403, `{"message":"Missing required permission: asset.read"}`), cpar.ErrInput, "Missing required permission: asset.read", 1},
		"escapes":               {say(403, `{"message":"\u001b[31m"}`), cpar.ErrInput, `"\x1b[31m"`, 1},
		"not found":             {say(404, "nginx"), cpar.ErrInput, "it does not exist", 1},
		"busy":                  {say(429, ""), cpar.ErrCloud, "status 429", tries},
		"down":                  {say(503, ""), cpar.ErrCloud, "status 503", tries},
		"a teapot":              {say(418, ""), cpar.ErrCloud, "status 418", 1},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, cpar.ErrInput, "redirects the request", 1},
		"a name without end": {say(200, page(`[{"id":"`+immichtest.ID(1, 1)+`","originalFileName":"`+strings.Repeat("a", longestText+1)+`"}]`)), cpar.ErrCloud, "name or checksum of more than 4096", 1},
		"the same for ever":  {paging(func(int) int { return 1 }), cpar.ErrCloud, "page 2 has nothing new", 2},
		"nothing for ever":   {paging(func(int) int { return 0 }), cpar.ErrCloud, "page 1 has nothing new", 1},
		"others for ever":    {paging(func(p int) int { return p }), cpar.ErrCloud, "more than 2000 pages", maxPages},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		}, cpar.ErrCloud, "broke off", tries},
	} {
		t.Run(name, func(t *testing.T) {
			l, calls := answers(t, c.answer)
			_, err := l.Annotate(t.Context(), &words{}, Options{})
			if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) || strings.Contains(fmt.Sprint(err), immichtest.Key) || strings.Contains(fmt.Sprint(err), "cloud failure") {
				t.Errorf("%v, want %q", err, c.says)
			}
			if *calls != c.calls {
				t.Errorf("%d calls, want %d", *calls, c.calls)
			}
		})
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	l, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100000000000")
		w.WriteHeader(429)
	})
	var waits []time.Duration
	l.client.pause = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	if _, err := l.client.tags(t.Context()); err == nil || len(waits) != tries-1 || waits[0] != maxPause {
		t.Errorf("%v, %v", waits, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l.client.pause = func(context.Context, time.Duration) error { stop(); return ctx.Err() }
	if _, err := l.client.tags(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestMissingPermissionIsNamed(t *testing.T) {
	for _, p := range []string{"asset.read", "asset.view", "tag.read", "tag.create", "tag.asset"} {
		w := newWorld(t, "dog")
		for i, may := range w.May {
			if may == p {
				w.May[i] = "other"
			}
		}
		_, err := w.library().Annotate(t.Context(), w.index, Options{})
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "Missing required permission: "+p) || !strings.Contains(hint.Of(err), p) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestPlainHTTPStaysOnLoopback(t *testing.T) {
	c, err := NewClient("http://localhost:1", "key")
	if err != nil {
		t.Fatal(err)
	}
	tr := c.http.Transport.(*http.Transport)
	if tr.Proxy != nil {
		t.Error("a proxy would see the key")
	}
	conn, err := tr.DialContext(t.Context(), "udp", "192.0.2.1:9") // sends no packet
	if err == nil {
		conn.Close()
		t.Error("another machine was reached")
	}
}

func TestLiveImmich(t *testing.T) {
	address, key := os.Getenv("CPAR_LIVE_IMMICH"), os.Getenv("CPAR_LIVE_IMMICH_KEY")
	if address == "" || key == "" {
		t.Skip("set CPAR_LIVE_IMMICH to the address of an Immich and CPAR_LIVE_IMMICH_KEY to its key; photos are read, and nothing is written")
	}
	c, err := NewClient(address, key)
	if err != nil {
		t.Fatal(err)
	}
	photos, err := c.photos(t.Context(), Filter{Taken: time.Now().AddDate(0, -6, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.tags(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d photos of the last six months", len(photos))
	if len(photos) > 0 {
		if _, err := c.tagsOf(t.Context(), photos[0].ID); err != nil {
			t.Error(err)
		}
		if b, err := c.preview(t.Context(), photos[0].ID); err != nil || len(b) == 0 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		if photos[0].Name == "" || photos[0].Checksum == "" {
			t.Errorf("a photo without name or checksum: %+v", photos[0])
		}
	}
}

// Responses are read within bounds or refused.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"assets":{"items":[{"id":"`+immichtest.ID(1, 1)+`","type":"IMAGE","originalFileName":"a","checksum":"b"}],"nextPage":"2"}}`), 1)
	f.Add([]byte(`[{"id":"`+immichtest.ID(1, 1)+`","value":"auto/dog","parentId":"`+immichtest.ID(1, 2)+`"}]`), 2)
	f.Add([]byte(`{"id":"`+immichtest.ID(1, 1)+`","tags":[{"value":"a"}]}`), 1)
	f.Add([]byte(`[{"id":"`+immichtest.ID(1, 1)+`","success":false,"error":"duplicate"}]`), 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		assets, next, err := decodePage(b, n)
		if err == nil && next != 0 && next <= n || len(assets) > pageSize || err == nil && len(assets) > len(b) {
			t.Errorf("%d photos and page %d after %d", len(assets), next, n)
		}
		for _, a := range assets {
			if !uuid.MatchString(string(a.ID)) && err == nil {
				t.Errorf("id %q", a.ID)
			}
		}
		if values, err := decodeTagsOf(b); err == nil && len(values) > len(b) {
			t.Errorf("%d tags of %d bytes", len(values), len(b))
		}
		if tags, err := decodeTags(b); err == nil {
			for _, tag := range tags {
				if !uuid.MatchString(string(tag.ID)) {
					t.Errorf("id %q", tag.ID)
				}
			}
		}
		if out, err := list[outcome](b, 3); err == nil && len(out) > 3 {
			t.Errorf("%d outcomes of 3", len(out))
		}
	})
}
