package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cpar/internal/testing/browser"
	"cpar/model/rank"
)

// listingReply is the answer to POST /api/list.
type listingReply struct {
	Listing          string
	Total, At        int
	Likely, Surveyed int
	Rows             []entry
}

// reviewed is the answer to POST /api/mark.
type reviewed struct {
	Action, Photos, Words int
	Pending               pending
}

// suggesting starts a fake of n photos whose photo i has the suggestions
// "even" or "odd", likely for every third photo, and "rare" at 12 %.
func suggesting(t *testing.T, n int) (*fake, caller) {
	t.Helper()
	f := newFake(t, n)
	for i, path := range slices.Sorted(maps.Keys(f.known)) {
		p := 0.3 + 0.001*float64(i)
		if i%3 == 0 {
			p += 0.5
		}
		f.known[path] = &Known{Asked: true, Keywords: []rank.Keyword{{Word: []string{"even", "odd"}[i%2], Probability: p}, {Word: "rare", Probability: 0.12}}}
	}
	s, _ := start(t, f)
	s.surveyAll(t.Context())
	return f, caller{t: t, s: s}
}

func listOf(c caller, f filter) listingReply {
	c.t.Helper()
	return ask[listingReply](c, "POST", "/api/list", f)
}

func TestWordsAreGroupedLikeliestFirst(t *testing.T) {
	f, c := suggesting(t, 12)
	words := ask[struct{ Words []group }](c, "GET", "/api/words", nil).Words
	want := []group{{Word: "even", Likely: 2, Maybe: 4}, {Word: "odd", Likely: 2, Maybe: 4}, {Word: "rare", Faint: 12}}
	if !slices.Equal(words, want) {
		t.Errorf("%+v, want %+v", words, want)
	}
	x := listOf(c, filter{Review: true, Word: "even"})
	if x.Total != 6 || x.Likely != 2 || !slices.IsSortedFunc(x.Rows, func(a, b entry) int { return b.Percent - a.Percent }) || !x.Rows[1].Sure || x.Rows[2].Sure {
		t.Errorf("%+v", x)
	}
	if got := listOf(c, filter{Review: true, Word: "rare"}); got.Total != 0 {
		t.Errorf("%d photos below 25 %% are not folded", got.Total)
	}
	if got := listOf(c, filter{Review: true, Word: "rare", Faint: true}); got.Total != 12 {
		t.Errorf("%d photos below 25 %% are shown", got.Total)
	}
	f.limit = 0.1 // what is likely is never folded
	if got := listOf(c, filter{Review: true, Word: "rare"}); got.Total != 12 || got.Likely != 12 {
		t.Errorf("%d likely photos below 25 %%: %+v", got.Likely, got)
	}
}

func TestActionsOnAListAndTheirUndo(t *testing.T) {
	_, c := suggesting(t, 12)
	x := listOf(c, filter{Review: true, Word: "even"})
	act := func(m marks) reviewed { m.Listing = x.Listing; return ask[reviewed](c, "POST", "/api/mark", m) }
	shown := func() (got string) {
		for _, e := range ask[[]entry](c, "GET", "/api/list/"+x.Listing+"?from=0", nil) {
			got += map[string]string{"": ".", "accept": "a", "reject": "r"}[e.Mark]
		}
		return got
	}
	for i, step := range []struct {
		marks
		want string
	}{
		{marks{Mark: "accept", Likely: true}, "aa...."},
		{marks{Mark: "reject", Only: [][2]int{{1, 2}}}, "arr..."}, // selected ones are decided anew
		{marks{Mark: "accept", Except: [][2]int{{5, 5}}}, "arraa."},
		{marks{Mark: "", Only: [][2]int{{0, 0}, {3, 9}}}, ".rr..."},
		{marks{Mark: "accept"}, "arraaa"},
	} {
		before := shown()
		r := act(step.marks)
		if got := shown(); got != step.want || r.Words == 0 {
			t.Errorf("%d: %s after %+v, want %s", i, got, r, step.want)
		}
		if u := ask[reviewed](c, "POST", "/api/unmark", map[string]int{"action": r.Action}); u.Words != r.Words || shown() != before {
			t.Errorf("%d: undone to %s, want %s: %+v", i, shown(), before, u)
		}
		if status, _ := c.call("POST", "/api/unmark", fmt.Appendf(nil, `{"action":%d}`, r.Action)); status != 422 {
			t.Errorf("%d: undone twice: %d", i, status)
		}
		act(step.marks)
	}
	if _, err := c.s.decided.markAll([]change{{"p1", "a/b", "", "accept"}, {"p2", "a/b", "", "accept"}}); err == nil {
		t.Error("a word that no photo can take is accepted")
	}
	if p := ask[pending](c, "GET", "/api/pending", nil); p != (pending{6, 4, 2}) {
		t.Errorf("%+v", p)
	}
	words := ask[struct{ Words []group }](c, "GET", "/api/words", nil).Words
	if i := slices.IndexFunc(words, func(g group) bool { return g.Word == "even" }); words[i] != (group{Word: "even", Accepted: 4, Rejected: 2}) {
		t.Errorf("%+v", words)
	}
}

// Everything that waits is written as one run, and one undo reverts it.
func TestWriteAllIsOneRun(t *testing.T) {
	f, c := suggesting(t, 12)
	all := listOf(c, filter{})
	if status, _ := c.call("POST", "/api/mark", []byte(`{"listing":"`+all.Listing+`","mark":"reject"}`)); status != 422 {
		t.Errorf("everything was rejected: %d", status)
	}
	r := ask[reviewed](c, "POST", "/api/mark", marks{Listing: all.Listing, Mark: "accept", Likely: true})
	if r.Photos != 4 || r.Words != 4 {
		t.Fatalf("%+v", r)
	}
	before := maps.Clone(f.known)
	w := ask[Written](c, "POST", "/api/write", map[string]bool{"all": true})
	if len(f.runs) != 1 || w.Run != f.runs[0].ID || w.Files != 4 || w.Photos != 4 || len(w.Failed) > 0 || w.Pending != (pending{}) {
		t.Errorf("%+v, runs %+v", w, f.runs)
	}
	for path, k := range f.known {
		if len(k.Machine) > 0 || len(k.Yours) > 1 {
			t.Errorf("%s: %+v", path, k)
		}
	}
	if got := listOf(c, filter{Show: "untagged"}).Total; got != 8 {
		t.Errorf("%d without keywords", got)
	}
	ask[Undone](c, "POST", "/api/undo", map[string]string{"run": w.Run})
	if got := listOf(c, filter{Show: "untagged"}).Total; got != 12 || !maps.EqualFunc(before, f.known, func(a, b *Known) bool { return a == b }) {
		t.Errorf("%d without keywords after undo", got)
	}
}

func TestFilters(t *testing.T) {
	f, c := suggesting(t, 12)
	all, _ := c.s.photos.list()
	f.known[all[0].path].Yours = []string{"Garden"}
	c.s.lookAgain(all[0])
	for body, want := range map[string]int{
		`{}`: 12, `{"show":"untagged"}`: 11, `{"show":"likely"}`: 4, `{"show":"maybe"}`: 8, `{"show":"undecided"}`: 12,
		`{"word":"EVEN"}`: 6, `{"word":"garden"}`: 1, `{"word":"gard"}`: 0, `{"folder":"hills"}`: 6, `{"folder":"hills","word":"even","show":"likely"}`: 1,
		`{"from":"2020-01-01"}`: 12, `{"to":"2020-01-01"}`: 0,
	} {
		if got := ask[listingReply](c, "POST", "/api/list", []byte(body)); got.Total != want || len(got.Rows) != want {
			t.Errorf("%s: %d photos, want %d", body, got.Total, want)
		}
	}
	if got := listOf(c, filter{At: all[7].id}); got.At != 7 {
		t.Errorf("photo 7 is at %d", got.At)
	}
	for _, body := range []string{`{"show":"x"}`, `{"from":"yesterday"}`, `{"review":true}`} {
		if status, answer := c.call("POST", "/api/list", []byte(body)); status != 422 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, _ := c.call("GET", "/api/list/lnothing?from=0", nil); status != http.StatusNotFound {
		t.Errorf("an unknown list: %d", status)
	}
}

func TestCompletionOffersTheUsersWords(t *testing.T) {
	f, c := suggesting(t, 6)
	all, _ := c.s.photos.list()
	for i, words := range [][]string{{"dog", "duck"}, {"Dog"}, {"duck"}, {"duck"}} {
		f.known[all[i].path].Yours = words
		c.s.lookAgain(all[i])
	}
	for prefix, want := range map[string]string{"d": "duck Dog Dune", "DU": "duck Dune", "x": "", "harbour": "harbour"} {
		got := strings.Join(ask[struct{ Words []string }](c, "GET", "/api/complete?prefix="+prefix, nil).Words, " ")
		if !strings.EqualFold(got, want) {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
}

func TestUnreadableFilesHaveReasons(t *testing.T) {
	f, c := suggesting(t, 2)
	all, _ := c.s.photos.list()
	c.s.survey.outcome(all[0].id, fmt.Errorf("reading the photo: it ends early"))
	got := ask[struct{ Files []leftOut }](c, "GET", "/api/unreadable", nil).Files
	if want := append([]leftOut{{all[0].name, "reading the photo: it ends early"}}, f.Skipped()...); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestSettingsThatThePageChanges(t *testing.T) {
	f, c := suggesting(t, 1)
	right := 80
	ask[map[string]any](c, "POST", "/api/settings", Choice{Right: &right})
	if len(f.chosen) != 1 || *f.chosen[0].Right != 80 {
		t.Errorf("%+v", f.chosen)
	}
	h := newHouse(t, rank.KindCalibrated)
	h.o.ThresholdOf = func(right float64) float64 { return right / 2 }
	for body, ok := range map[string]bool{`{"right":90}`: true, `{"right":0}`: false, `{"where":"embedded","style":"adobe","keep_mtime":true}`: true, `{"where":"csv"}`: false, `{"style":"x"}`: false} {
		var choice Choice
		if err := json.Unmarshal([]byte(body), &choice); err != nil {
			t.Fatal(err)
		}
		if err := h.Choose(choice); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
	if s := h.Settings(); s.Threshold != 45 || s.Right != 90 || s.Where != "embedded" || s.Style != "adobe" || !s.KeepMtime {
		t.Errorf("%+v", s)
	}
}

// Cards are selected by click, Shift, drag and keyboard. Each action on them is
// undone by one key.
func TestReviewOfOneWord(t *testing.T) {
	_, c := suggesting(t, 12)
	p := browser.New(t)
	p.Open("http://" + c.s.host + "/#token=" + c.s.token)
	p.Await(`document.querySelector('.wall a[href]')`)
	p.Text(`location.hash = '#/words/even'`)
	p.Await(`document.querySelectorAll('.wall [role=option] .sure').length === 2`)
	p.Text(`window.card = (i) => document.querySelectorAll('.wall [role=option]')[i]`)
	selected := func(want string) {
		t.Helper()
		p.Await(fmt.Sprintf(`[...document.querySelectorAll('.wall [role=option]')].map((li) => li.matches('[aria-selected=true]') ? 'x' : '.').join('') === %q`, want))
	}
	marked := func(want string) {
		t.Helper()
		p.Await(fmt.Sprintf(`[...document.querySelectorAll('.wall [role=option]')].map((li) => li.dataset.mark?.[0] ?? '.').join('') === %q`, want))
	}
	p.Text(`card(1).click()`)
	selected(".x....")
	p.Text(`card(3).dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }))`)
	selected(".xxx..")
	p.Text(`card(2).click()`)
	selected(".x.x..")
	p.Press("Escape")
	selected("......")
	p.Text(`card(0).focus()`)
	p.Press(" ")
	p.Text(`['ArrowRight', 'ArrowRight'].forEach((key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey: true, bubbles: true, cancelable: true })))`)
	selected("xxx...")
	if got := p.Text(`document.activeElement === card(2)`); got != "true" {
		t.Error("the focus does not follow the keys")
	}
	p.Press("Escape")
	p.Text(`(() => {
		const at = (i) => { const r = card(i).getBoundingClientRect(); return { clientX: r.left + r.width / 2, clientY: r.top + r.height / 3, bubbles: true, button: 0, pointerType: 'mouse' }; };
		card(1).dispatchEvent(new PointerEvent('pointerdown', at(1)));
		dispatchEvent(new PointerEvent('pointermove', at(2)));
		dispatchEvent(new PointerEvent('pointerup', at(2)));
		card(2).dispatchEvent(new MouseEvent('click', { bubbles: true })); // the browser sends it after a drag
	})()`)
	selected(".xx...")
	p.Press("e")
	marked("a..aaa")
	p.Press("r") // nothing is left, so the page goes on
	p.Await(`document.querySelector('main h1').textContent === 'odd' && location.hash === '#/words/odd'`)
	p.Text(`location.hash = '#/words/even'`)
	p.Await(`document.querySelector('main h1').textContent === 'even'`)
	marked("arraaa")
	p.Press("u")
	marked("a..aaa")
	p.Press("u")
	marked("......")
	if got := append(p.Complaints(), p.Strangers()...); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}
