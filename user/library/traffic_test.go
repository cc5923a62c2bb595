package library

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/model/rank"
	"cpar/photo/metadata"
)

// TestTrafficIsFunctionOfPhotos annotates the same photos with no keyword, with
// many, and with failing writers. The server's view is the order, path and size
// of requests. A clock that counts changed files represents the gaps.
func TestTrafficIsFunctionOfPhotos(t *testing.T) {
	none, embedded, wordless := sidecars(), sidecars(), sidecars()
	none.MinProbability = 1
	embedded.Where = metadata.Embedded
	wordless.Suggest = func(string, []rank.Keyword) ([]string, error) { return nil, errors.New("no words") }
	var first []string
	for _, c := range []struct {
		name    string
		o       Options
		written int
		// spoil runs before the first request.
		spoil func(w *world)
	}{
		{"many keywords", sidecars(), 40, nil},
		{"many keywords, embedded", embedded, 40, nil},
		{"no keyword", none, 0, nil},
		{"no words", wordless, 0, nil},
		{"files that cannot be written", sidecars(), 0, func(w *world) {
			for _, p := range w.list {
				w.write(filepath.Join(p.Path+".xmp", "in the way"), nil)
			}
		}},
		{"a journal that cannot be written", sidecars(), 0, func(w *world) {
			logs := filepath.Join(w.dev.State, "library", w.key.Fingerprint(), "logs")
			if err := errors.Join(os.RemoveAll(logs), os.WriteFile(logs, nil, 0o600)); err != nil {
				t.Error(err)
			}
		}},
	} {
		w := newWorld(t, 40) // three batches
		var saw []string
		start := w.tree()
		x := w.index()
		w.seen = func(r *http.Request) {
			if saw == nil && c.spoil != nil {
				c.spoil(w)
				start = w.tree()
			}
			clock := 0
			for path, now := range w.tree() {
				if now != start[path] {
					clock++
				}
			}
			saw = append(saw, fmt.Sprintf("%d: %s %s, %d bytes", clock, r.Method, r.URL.Path, r.ContentLength))
		}
		sum, err := w.lib.Annotate(t.Context(), x, w.list, c.o, func(Result) {})
		if sum.Written != c.written || (err != nil) != strings.HasPrefix(c.name, "a journal") {
			t.Errorf("%s: %+v, %v", c.name, sum, err)
		}
		if first == nil {
			first = saw
		}
		if !slices.Equal(saw, first) || len(saw) < 3 {
			t.Errorf("%s: the server sees\n\t%s\nand not\n\t%s", c.name, strings.Join(saw, "\n\t"), strings.Join(first, "\n\t"))
		}
	}
}
