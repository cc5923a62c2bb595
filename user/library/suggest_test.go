package library

import (
	"maps"
	"slices"
	"testing"

	"cpar"
	"cpar/model/rank"
)

// Suggested words are written and undone with the keywords, never learnt from,
// and cause no request.
func TestSuggestedWordsAreWrittenAndUndone(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	_, plain := w.annotate(sidecars())
	w.undo("")
	asked := w.questions()
	o := sidecars()
	calls := 0
	o.Suggests = "pier"
	o.Suggest = func(path string, known []rank.Keyword) ([]string, error) {
		calls++
		if len(known) == 0 {
			t.Errorf("%s: no keywords are reported", path)
		}
		if path == w.list[2].Path {
			return nil, cpar.ErrInput
		}
		return []string{"pier", known[0].Word}, nil
	}
	all, sum := w.annotate(o)
	if sum.Keywords >= plain.Keywords+2 || sum.Failed != 1 || all[2].Err == nil || w.questions() != asked {
		t.Errorf("%+v, without %+v; %d questions", sum, plain, w.questions()-asked)
	}
	for _, r := range all[:2] {
		if !slices.Contains(r.Added, "pier") || !slices.Contains(w.words(r.Path), "pier") || !slices.Contains(w.lib.Machine(r.Path), "pier") {
			t.Errorf("%+v has %q", r, w.words(r.Path))
		}
	}
	calls = 0
	if again, _ := w.annotate(o); calls != 1 || !again[0].Finished {
		t.Errorf("%d photos were looked at again", calls)
	}
	runs, err := w.lib.Runs()
	if err != nil || len(runs) != 2 {
		t.Errorf("a run that changed nothing is listed: %+v, %v", runs, err)
	}
	o.Suggests, calls = "boat", 0
	if _, sum := w.annotate(o); calls != 3 || sum.Run != "" || sum.Keywords != 0 {
		t.Errorf("other words: %d photos were looked at, %+v", calls, sum)
	}
	w.undo("")
	if !maps.Equal(before, w.tree()) {
		t.Error("not as before")
	}
}

// Without an index, the suggested words alone are written and undone, and no
// request is sent.
func TestSuggestNeedsNoIndex(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	o := sidecars()
	o.Suggests = "own"
	o.Suggest = func(path string, known []rank.Keyword) ([]string, error) {
		if len(known) > 0 {
			t.Errorf("%s has %v", path, known)
		}
		if path == w.list[1].Path {
			return nil, cpar.ErrInput
		}
		return []string{"pier"}, nil
	}
	suggest := func() (all []Result, sum Summary) {
		w.lib = w.open()
		sum, err := w.lib.Suggest(t.Context(), w.list, o, func(r Result) { all = append(all, r) })
		if err != nil {
			t.Fatal(err)
		}
		return all, sum
	}
	all, sum := suggest()
	if sum.Written != 2 || sum.Failed != 1 || sum.Known != 0 || all[1].Err == nil || !slices.Equal(w.words(w.list[0].Path), []string{"pier"}) {
		t.Errorf("%+v, %+v", sum, all)
	}
	if _, sum := suggest(); sum.Written != 0 || sum.Run != "" {
		t.Errorf("a second run: %+v", sum)
	}
	if w.undo(""); !maps.Equal(before, w.tree()) {
		t.Error("not as before")
	}
	if n := w.questions(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
