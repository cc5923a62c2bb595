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
			t.Errorf("%s: no keywords are told of", path)
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
