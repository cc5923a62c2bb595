package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/cparhttp"
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

// TestSearchAsksAsAnnotateDoes checks that a search for a word sends the same
// number of bytes as the annotation of a photo, in every scheme that keeps vectors
// of words, and that it follows an update by another device.
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

// A withholding cloud answers requests for a manifest with the generations of a
// schedule, and repeats the last one. It fails certain requests.
type withholding struct {
	generations []*site
	schedule    []int
	fails       map[int]error // by number of the answer
	now         *site
	asked       []string
	answers     int
}

func (h *withholding) List(ctx context.Context) ([]cparhttp.IndexInfo, error) {
	return h.generations[0].List(ctx)
}

func (h *withholding) Manifest(ctx context.Context, id cpar.IndexID) (*cpar.Manifest, error) {
	h.now = h.generations[h.schedule[0]]
	h.schedule = h.schedule[min(1, len(h.schedule)-1):]
	h.asked = append(h.asked, "manifest")
	return h.now.Manifest(ctx, id)
}

func (h *withholding) Segment(ctx context.Context, id cpar.IndexID, s cpar.Segment, w io.Writer) error {
	h.asked = append(h.asked, "segment "+s.Digest.String())
	return h.now.Segment(ctx, id, s, w)
}

func (h *withholding) answer(requests, size int) error {
	h.answers++
	h.asked = append(h.asked, fmt.Sprintf("%d requests of %d bytes", requests, size))
	return h.fails[h.answers]
}

func (h *withholding) Annotate(ctx context.Context, q *cpar.Request) (*cpar.Reply, cparhttp.Stats, error) {
	if err := h.answer(1, len(q.Opaque)); err != nil {
		return nil, cparhttp.Stats{}, err
	}
	return h.now.Annotate(ctx, q)
}

func (h *withholding) AnnotateBatch(ctx context.Context, all []*cpar.Request) ([]*cpar.Reply, []cparhttp.Stats, error) {
	if err := h.answer(len(all), len(all[0].Opaque)); err != nil {
		return nil, nil, err
	}
	return h.now.AnnotateBatch(ctx, all)
}

func (h *withholding) URL() string { return h.generations[0].URL() }

// TestSearchAsksAsAnnotateDoesOfWithholdingCloud compares the requests of a search
// and of the annotation of a photo when the cloud shows a new generation after every
// request, returns to an old one, rejects requests or fails.
func TestSearchAsksAsAnnotateDoesOfWithholdingCloud(t *testing.T) {
	w := newWorld(t, 24)
	d, key, c := w.device("one"), user.NewKey(), w.cloud(t.TempDir())
	folder := w.build(d, key, "index", user.Options{Profile: profile.Learned, Cells: 4})
	word := w.images[0].Keywords[0]
	var generations []*site
	for n := range 4 {
		switch n {
		case 1, 2:
			w.update(d, key, folder)
		case 3: // no photo has the word any more
			var with [][32]byte
			for _, p := range w.images {
				if slices.Contains(p.Keywords, word) {
					with = append(with, p.Content)
				}
			}
			_, before, err := d.ToUpdate(key, folder)
			if err == nil {
				_, err = user.Remove(t.Context(), key, folder, with, user.UpdateOptions{})
			}
			if err == nil {
				err = d.Made(key, folder, before)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w.push(d, c, folder, PushOptions{})
		generations = append(generations, c.before())
	}
	x, err := w.device("other").Open(t.Context(), c, key, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	features, err := File(w.photos[3]).Features(x.Owner)
	if err != nil {
		t.Fatal(err)
	}
	rejected, lost := fmt.Errorf("%w: rejected", cpar.ErrInput), fmt.Errorf("%w: lost", cpar.ErrCloud)
	r := rand.New(rand.NewPCG(4, 4))
	for n := range 30 {
		schedule, fails := []int{0, 1, 1, 2, 2, 3, 3}, map[int]error{}
		switch {
		case n >= 6:
			for i := range schedule {
				schedule[i] = min(3, r.IntN(6)*(i+1)/4)
			}
			fails[1+r.IntN(4)] = []error{rejected, lost}[r.IntN(2)]
		case n > 0:
			fails[1+n/2] = []error{rejected, lost}[n%2]
		}
		exact := n%3 == 2
		var asked [2][]string
		for i, what := range []string{"annotate", "search"} {
			h := &withholding{generations: generations, schedule: schedule, fails: fails}
			x, err := w.device(fmt.Sprint(what, n)).Open(t.Context(), h, key, OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if what == "annotate" {
				_, err = x.Annotate(t.Context(), []Photo{Extracted("a", features)}, AnnotateOptions{AllCells: exact, Ranking: user.Ranking{MaxKeywords: 1}})
			} else if schedule[0] < 3 {
				_, err = x.Search(t.Context(), wordsOf(t, word), exact)
			} else {
				_, err = x.Search(t.Context(), func(o *user.Owner) (*user.Search, error) {
					return o.SearchWords(wordvector.Query{{Word: w.images[1].Keywords[0], Weight: 1}}, nil)
				}, exact)
			}
			asked[i] = h.asked
			_ = err
		}
		if !slices.Equal(asked[0], asked[1]) {
			t.Errorf("schedule %v, failures %v: a photo asks for\n%v, words for\n%v", schedule, fails, asked[0], asked[1])
		}
	}
}
