package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
)

// A watched store records which blobs are read.
type watched struct {
	blobs.Store
	mu   sync.Mutex
	read map[string]int
}

func (w *watched) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	w.mu.Lock()
	w.read[name]++
	w.mu.Unlock()
	return w.Store.Get(ctx, name, offset, length)
}

// taken returns the numbers of parts and of other blobs that were read since the
// last call.
func (w *watched) taken() (parts, others int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.read {
		if strings.HasPrefix(name, catalogue.ThumbPrefix) {
			parts++
		} else {
			others++
		}
	}
	w.read = map[string]int{}
	return parts, others
}

type queried struct {
	Listing string
	Total   int
	Wrong   string
	Spans   []span
	Rows    []shot
}

// The server sees which thumbnail parts (blobs) a session reads, and when it
// reads an original, but nothing of searches.
func TestServerSeesPartsOfShownMonths(t *testing.T) {
	m := newAlbum(t, 2000)
	m.synced(t, "two")
	w := &watched{Store: m.store, read: map[string]int{}}
	s, _, _ := startAlbum(t, m.over(t, "two", w))
	c := caller{t: t, s: s}
	all := ask[queried](c, "POST", "/api/list", map[string]string{"query": ""})
	found := ask[queried](c, "POST", "/api/list", map[string]string{"query": "sea -boat 2013..2026"})
	if parts, others := w.taken(); parts+others > 0 || found.Total == 0 {
		t.Errorf("a search read %d parts and %d other blobs, and found %d photos", parts, others, found.Total)
	}
	picture := func(i int, size string) []byte {
		t.Helper()
		status, b := c.call("GET", "/api/picture/"+all.Rows[i].ID+"?size="+size, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", all.Rows[i].Name, status, b)
		}
		return b
	}
	for i := range realPhotos {
		picture(i, "small")
	}
	if parts, others := w.taken(); parts != 1 || others > 0 {
		t.Errorf("one month read %d parts and %d other blobs", parts, others)
	}
	got := ask[struct{ Pictures [][]byte }](c, "POST", "/api/pictures", ids{[]string{all.Rows[1].ID, "pAAAA", all.Rows[0].ID}}).Pictures
	if len(got) != 3 || !bytes.Equal(got[0], picture(1, "small")) || got[1] != nil || !bytes.Equal(got[2], picture(0, "small")) {
		t.Errorf("%d pictures at once differ from single ones", len(got))
	}
	for range 2 {
		picture(realPhotos, "small")
		picture(realPhotos+1, "medium")
	}
	if parts, others := w.taken(); parts != 2 || others > 0 {
		t.Errorf("two sizes of a month read %d parts and %d other blobs", parts, others)
	}
	want, err := os.ReadFile(filepath.Join(m.root, "summer", all.Rows[0].Name))
	if err != nil || !bytes.Equal(picture(0, "original"), want) {
		t.Errorf("the original differs, %v", err)
	}
	if parts, others := w.taken(); parts > 0 || others == 0 {
		t.Errorf("an original read %d parts and %d other blobs", parts, others)
	}
}

func TestTimelineHasSpansOfMonths(t *testing.T) {
	m := newAlbum(t, 2000)
	s, live, _ := startAlbum(t, m.synced(t, "two"))
	c := caller{t: t, s: s}
	all := ask[queried](c, "POST", "/api/list", map[string]string{})
	at := 0
	seen := map[string]bool{}
	for _, span := range all.Spans {
		if seen[span.Month] || span.Photos == 0 {
			t.Errorf("month %q comes twice, or has %d photos", span.Month, span.Photos)
		}
		seen[span.Month] = true
		for _, p := range live.View().Photos[at : at+span.Photos] {
			if month := (&timeline{[]*catalogue.Photo{p}}).spans()[0].Month; month != span.Month {
				t.Fatalf("%s is of %s in the span of %s", p.Name, month, span.Month)
			}
		}
		at += span.Photos
	}
	if at != all.Total || all.Total != 2000+realPhotos || all.Spans[len(all.Spans)-1].Month != "" {
		t.Errorf("%d photos in spans, want %d; the last span is %+v", at, all.Total, all.Spans[len(all.Spans)-1])
	}
	if rows := ask[[]shot](c, "GET", "/api/list/"+all.Listing+"?from=1990", nil); len(rows) != 22 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestAlbumRefusesBadRequests(t *testing.T) {
	m := newAlbum(t, 50)
	s, live, _ := startAlbum(t, m.synced(t, "two"))
	c := caller{t: t, s: s}
	all := ask[queried](c, "POST", "/api/list", map[string]string{})
	for name, want := range map[string]struct {
		method, path string
		body         any
		status       int
	}{
		"an unknown photo":     {"GET", "/api/picture/pAAAA?size=small", nil, 404},
		"a path":               {"GET", "/api/picture/summer%2fP10400.jpg?size=file", nil, 404},
		"an unknown list":      {"POST", "/api/tag", tagging{Listing: "l", Only: [][2]int{{0, 1}}, Add: []string{"x"}}, 404},
		"a word with a slash":  {"POST", "/api/tag", tagging{Listing: all.Listing, Only: [][2]int{{0, 1}}, Add: []string{"a/b"}}, 422},
		"an edit never made":   {"POST", "/api/untag", map[string]int{"action": 7}, 422},
		"an unknown field":     {"POST", "/api/list", map[string]string{"folder": "x"}, 422},
		"a page of folders":    {"POST", "/api/write", map[string]bool{"all": true}, 405},
		"too large a request":  {"POST", "/api/tag", tagging{Listing: all.Listing, Add: []string{strings.Repeat("x", maxBodyBytes)}}, 413},
		"a number that is not": {"GET", "/api/list/" + all.Listing + "?from=x", nil, 422},
	} {
		body, err := json.Marshal(want.body)
		if err != nil {
			t.Fatal(err)
		}
		if status, b := c.call(want.method, want.path, body); status != want.status {
			t.Errorf("%s: %d %s, want %d", name, status, b, want.status)
		}
	}
	wrong := ask[queried](c, "POST", "/api/list", map[string]string{"query": "sea ("})
	if wrong.Wrong != "column 6: a word is missing" {
		t.Errorf("an incomplete query: %+v", wrong)
	}
	for _, p := range live.View().Photos {
		if p.Has("x") || p.Has("a/b") {
			t.Error("a refused request changed the album")
		}
	}
}

func TestTypedQueryFindsBeginnings(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "se": "(se or se*)", "dog se": "dog (se or se*)", "dog se ": "dog (se or se*)", "-par": "-(par or par*)", "(dog or ca": "(dog or (ca or ca*)", "dog or": "dog or", "not": "not",
		"2024": "2024", "dog 2024-0": "dog 2024-0", "well-kn": "(well-kn or well-kn*)", "..2024": "..2024", `"sea"`: `"sea"`, "camera:ca": "camera:ca", "sea*": "sea*", "(dog)": "(dog)", "-": "-",
	} {
		if got := typed(text); got != want {
			t.Errorf("%q is searched as %q, want %q", text, got, want)
		}
	}
}
