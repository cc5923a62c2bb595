package device

import (
	"errors"
	"slices"
	"testing"

	"cpar"
	"cpar/model/profile"
	"cpar/model/wordvector"
	"cpar/user"
)

func wordsOf(t *testing.T, text string) func(*user.Owner) (*user.Search, error) {
	t.Helper()
	q, err := wordvector.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *user.Owner) (*user.Search, error) { return o.SearchWords(q, nil) }
}

// TestSearchAsksAsAnnotateDoes checks that a search for a word sends as much as
// the annotation of a photo, in every scheme that keeps vectors of words, and
// that it follows an update by another device.
func TestSearchAsksAsAnnotateDoes(t *testing.T) {
	w := newWorld(t, 24)
	for _, opt := range []user.Options{{Profile: profile.Learned}, {Profile: profile.Learned, Cells: 4}, {Profile: profile.Learned, Scheme: cpar.SchemeLocal}} {
		name := opt.Scheme.String() + string(rune('0'+opt.Cells))
		d, key, c := w.device(name), user.NewKey(), w.cloud(t.TempDir())
		folder := w.build(d, key, name+".index", opt)
		w.push(d, c, folder, PushOptions{})
		second := w.device(name + " second")
		x, err := second.Open(t.Context(), c, key, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		word := w.images[0].Keywords[0]
		sent := c.sent()
		if _, err := x.Search(t.Context(), wordsOf(t, "xyzzy"), false); !errors.Is(err, cpar.ErrInput) || c.sent() != sent {
			t.Errorf("%s: an unknown word: %v, %d requests", name, err, c.sent()-sent)
		}
		photo, err := x.Annotate(t.Context(), []Photo{File(w.photos[3])}, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 1}})
		if err != nil || photo[0].Err != nil {
			t.Fatal(err, photo)
		}
		each := c.sent() - sent
		found, err := x.Search(t.Context(), wordsOf(t, word), false)
		if err != nil || found.Sent != photo[0].Sent || found.Received != photo[0].Received || c.sent() != sent+2*each {
			t.Errorf("%s: %d bytes sent and %d received in %d requests, for a photo %d and %d in %d; %v", name, found.Sent, found.Received, c.sent()-sent-each, photo[0].Sent, photo[0].Received, each, err)
		}
		if len(found.Hits) == 0 || !slices.Contains(found.Hits[0].Keywords, word) {
			t.Errorf("%s: %+v", name, found.Hits)
		}
		all, err := x.Search(t.Context(), wordsOf(t, word), true)
		if err != nil || len(all.Hits) != 24 {
			t.Errorf("%s: %d hits in all cells, %v", name, len(all.Hits), err)
		}
		if !x.Scheme().CloudSearches() {
			continue // such an index is reopened only by a new command
		}
		w.update(d, key, folder)
		w.push(d, c, folder, PushOptions{})
		if all, err = x.Search(t.Context(), wordsOf(t, word), true); err != nil || len(all.Hits) != 25 || x.Generation() != 2 {
			t.Errorf("%s: %d hits after an update, generation %d, %v", name, len(all.Hits), x.Generation(), err)
		}
	}
}
