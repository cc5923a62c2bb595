package ui

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cpar/internal/testing/browser"
	"cpar/model/rank"
	"cpar/user/device"
	"cpar/user/vocabulary"
)

func wordsOf(c caller) (words []string) {
	c.t.Helper()
	c.s.surveyAll(c.t.Context())
	for _, g := range ask[struct{ Words []group }](c, "GET", "/api/words", nil).Words {
		words = append(words, g.Word)
	}
	slices.Sort(words)
	return words
}

func find(t *testing.T, v rulesView, word string) mapped {
	t.Helper()
	i := slices.IndexFunc(v.Words, func(m mapped) bool { return m.Word == word })
	if i < 0 {
		t.Fatalf("no word %s in %+v", word, v.Words)
	}
	return v.Words[i]
}

// The page changes the vocabulary by the rule and by the text. Each change is one
// generation of the index, which the cloud has at once, and reviews show the
// mapped words without another request.
func TestVocabularyChangesThroughTheAPI(t *testing.T) {
	h := newHouse(t, rank.KindCalibrated)
	s, _ := startBackend(t, h, h.dir)
	c := caller{t: t, s: s}
	all, _ := s.photos.list()
	ask[[]outcome](c, "POST", "/api/annotate", ids{[]string{all[0].id}})
	before, asked, generation := wordsOf(c), h.asked, h.index.Generation()
	if len(before) < 2 {
		t.Fatalf("too few suggestions: %q", before)
	}
	one, other := before[0], before[1]

	v := ask[rulesView](c, "POST", "/api/vocabulary", rulesChange{Rule: &vocabulary.Rule{Word: one, Synonym: "quay", Parents: "place"}})
	if m := find(t, v, one); !m.Ruled || !m.Known || !slices.Equal(m.Written, []string{"quay", "place"}) {
		t.Errorf("%+v", m)
	}
	v = ask[rulesView](c, "POST", "/api/vocabulary", rulesChange{Rule: &vocabulary.Rule{Word: other, Never: true}})
	if m := find(t, v, other); len(m.Written) > 0 || v.Rules != (vocabulary.Counts{Synonyms: 1, Parents: 1, Never: 1}) {
		t.Errorf("%+v, %+v", m, v.Rules)
	}
	after := wordsOf(c)
	if !slices.Contains(after, "quay") || slices.Contains(after, one) || slices.Contains(after, other) || h.asked != asked {
		t.Errorf("reviewed are %q after %q, with %d requests more", after, before, h.asked-asked)
	}
	if got := h.index.Generation(); got != generation+2 {
		t.Errorf("two changes lead from generation %d to %d", generation, got)
	}
	x, err := h.o.Device.Open(t.Context(), h.o.Client, h.o.Key, device.OpenOptions{})
	if err != nil || string(x.Vocabulary().Text()) != v.Text {
		t.Fatalf("the cloud has %q, %v", x.Vocabulary().Text(), err)
	}

	v = ask[rulesView](c, "POST", "/api/vocabulary/undo", nil)
	if v.Rules != (vocabulary.Counts{Synonyms: 1, Parents: 1}) || !slices.Contains(wordsOf(c), other) {
		t.Errorf("undone: %+v", v.Rules)
	}
	text := ""
	if v = ask[rulesView](c, "POST", "/api/vocabulary", rulesChange{Text: &text}); v.Text != "" || !slices.Equal(wordsOf(c), before) {
		t.Errorf("without a vocabulary: %q, %q", v.Text, wordsOf(c))
	}

	refused := func(why string, change any) {
		t.Helper()
		b, _ := json.Marshal(change)
		if status, answer := c.call("POST", "/api/vocabulary", b); status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), why) {
			t.Errorf("%s is answered with %d %s", b, status, answer)
		}
	}
	circle := "[synonyms]\n\nhound = 'hound'"
	refused("line 3: ", rulesChange{Text: &circle})
	refused("an empty word", rulesChange{Rule: &vocabulary.Rule{}})
	refused("no change", rulesChange{})
	ask[view](c, "POST", "/api/decide", oneMark{all[0].id, one, "accept"})
	refused("wait to be written", rulesChange{Text: &text})
	h.o.Key = nil
	refused("wait to be written", rulesChange{Text: &text})
	s.decided.forget(all[0].id, s.decided.of(all[0].id))
	refused("not on this device", rulesChange{Text: &text})
}

// The page shows the rules, changes them by form and by text, and names the line
// of a mistake.
func TestVocabularyPage(t *testing.T) {
	f := newFake(t, 2)
	_, address := start(t, f)
	p := browser.New(t)
	p.Open(address)
	p.Await(`document.querySelectorAll('.wall a[href]').length === 2`)
	p.Text(`location.hash = '#/vocabulary/duck'`)
	p.Await(`document.getElementById('rule-word')?.value === 'duck'`)
	p.Text(`document.getElementById('rule-parents').focus()`)
	p.Press("b", "i", "r", "d", "Enter")
	p.Await(`document.querySelector('.mapped td')?.textContent === 'duck, bird'`)
	p.Await(`document.activeElement.id === 'rule-word'`)
	if v, _ := f.Rules(); !slices.Equal(v.Words([]string{"duck"}), []string{"duck", "bird"}) {
		t.Errorf("the vocabulary is %s", v.Text())
	}
	p.Text(`document.getElementById('as-text').open = true`)
	p.Text(`document.getElementById('toml').value = 'never = ["dune"]\n[parents]\nduck = "duck"'`)
	p.Text(`document.getElementById('toml-save').click()`)
	p.Await(`document.getElementById('refused')?.textContent.includes('line 3: ')`)
	if got := p.Text(`(() => { const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd) })()`); got != `duck = "duck"` {
		t.Errorf("the line of the mistake is %q", got)
	}
	p.Text(`document.getElementById('toml').value = 'never = ["dune"]'`)
	p.Text(`document.getElementById('toml-save').click()`)
	p.Await(`!document.getElementById('refused') && document.querySelector('.mapped td').textContent === 'duck'`)
	p.Text(`[...document.querySelectorAll('.head button')].at(-1).click()`)
	p.Await(`document.getElementById('toml').value.includes('bird')`)
	f.mu.Lock()
	f.fixed = "The folder of this index is not on this device."
	f.mu.Unlock()
	p.Text(`location.hash = '#/vocabulary'`)
	p.Await(`document.querySelector('.problem')?.textContent.startsWith('The folder') && !document.querySelector('main form.rule')`)
	if got := append(p.Complaints(), p.Strangers()...); len(got) != 1 || !strings.Contains(got[0], "422") {
		t.Errorf("complaints besides the refusal: %q", got)
	}
}
