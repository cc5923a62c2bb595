package immich

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cpar/user/device"
)

// A watched index records what the cloud sees: the number and order of
// requests, with a clock that counts the calls to Immich between them.
type watched struct {
	*words
	clock *atomic.Int32
	saw   []string
}

func (x *watched) Annotate(ctx context.Context, photos []device.Photo, o device.AnnotateOptions) ([]device.Annotated, error) {
	var names []string
	for _, p := range photos {
		names = append(names, p.Name)
	}
	x.saw = append(x.saw, fmt.Sprintf("%d: %s", x.clock.Load(), strings.Join(names, " ")))
	return x.words.Annotate(ctx, photos, o)
}

// TestTrafficIsFunctionOfPhotos tags the same photos with no keyword, with many,
// and with an Immich that refuses tags or is slow. A second run must not ask
// about photos whose tags are missing.
func TestTrafficIsFunctionOfPhotos(t *testing.T) {
	const photos = 3*group + 5
	refuse := func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		rw.WriteHeader(http.StatusForbidden)
		return true
	}
	var first []string
	for _, c := range []struct {
		name, line string
		before     func(http.ResponseWriter, *http.Request) bool
		fails      bool
	}{
		{"no keyword", "", nil, false},
		{"many keywords", "dog beach sea hill", nil, false},
		{"no right to tag", "dog beach", refuse, true},
		{"no right to tag, and nothing to tag", "", refuse, false},
	} {
		w := newWorld(t, slices.Repeat([]string{c.line}, photos)...)
		x := &watched{words: w.index, clock: new(atomic.Int32)}
		w.Before = func(rw http.ResponseWriter, r *http.Request) bool {
			x.clock.Add(1)
			return c.before != nil && c.before(rw, r)
		}
		for range 2 {
			_, err := w.library().Annotate(t.Context(), x, Options{})
			if (err != nil) != c.fails {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if first == nil {
			first = x.saw
		}
		if !slices.Equal(x.saw, first) || len(x.saw) != 4 {
			t.Errorf("%s: the cloud sees\n\t%s\nand not\n\t%s", c.name, clip(x.saw), clip(first))
		}
		if c.fails {
			w.Before = nil
			s := w.annotate(Options{})
			if s.Known != 0 || s.Done != photos || s.Tags != 2*photos || len(x.saw) != 4 || len(w.index.asked) != photos {
				t.Errorf("%s, allowed later: %+v, asked about %d", c.name, s, len(w.index.asked))
			}
		}
	}
}

func clip(lines []string) string {
	short := make([]string, len(lines))
	for i, l := range lines {
		short[i] = fmt.Sprintf("%.60s… (%d photos)", l, strings.Count(l, " "))
	}
	return strings.Join(short, "\n\t")
}
