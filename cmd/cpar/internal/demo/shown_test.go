package demo

import (
	"fmt"
	"testing"

	"cpar"
	"cpar/model/rank"
	"cpar/user"
)

func TestHeroIsTheDefaultScheme(t *testing.T) {
	if searches[0].name != hero || searches[0].params.Scheme != user.DefaultScheme || hero != user.DefaultScheme.String() {
		t.Errorf("%+v is shown, the default is %v", searches[0], user.DefaultScheme)
	}
	seen := map[cpar.Scheme]bool{}
	for _, how := range searches {
		seen[how.params.Scheme] = true
	}
	if len(seen) != len(cpar.Schemes()) {
		t.Errorf("%d schemes are measured, want %d", len(seen), len(cpar.Schemes()))
	}
	p := Photo{Answers: []Answer{{Search: peer, Sent: 1}, {Search: hero, Sent: 2}}}
	if p.answer(hero).Sent != 2 || p.answer("none").Sent != 0 {
		t.Errorf("%+v", p.answer(hero))
	}
}

func TestSureAndMaybe(t *testing.T) {
	words := []rank.Keyword{{Word: "sky", Probability: 0.997}, {Word: "sea", Probability: 0.5}, {Word: "boat", Probability: 0.49}}
	shown := marked(words, []string{"sky", "boat"})
	got := ""
	for _, g := range groups(shown) {
		got += g.Name
		for _, k := range g.Keywords {
			got += fmt.Sprintf(" %s %s %t,", k.Word, k.Figure(), k.Correct)
		}
	}
	if want := "sure sky 99 % true, sea 50 % false,maybe boat 49 % true,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c := Count{Probable: true}
	c.add(shown)
	if want := (Count{true, 3, 2, 2, 1}); c != want || c.Right() != 50 {
		t.Errorf("%+v, want %+v", c, want)
	}
	if got, want := c.Text(), "1 of 2 sure keywords are right, 50 %; of the maybes 1 of 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (Count{Probable: true}).Text(); got != "nothing was likely enough" {
		t.Error(got)
	}
	if got := (Count{Probable: true, Given: 3}).Text(); got != "none is sure; of the maybes 0 of 3" {
		t.Error(got)
	}
}

// No weight is shown as certain, and keywords of few neighbours are hidden.
func TestWeightsAreNoProbabilities(t *testing.T) {
	shown := marked(weighty([]rank.Keyword{{Word: "sky", Weight: 9}, {Word: "sea", Weight: 4.5}, {Word: "boat", Weight: 4.4}}, 10), []string{"sea"})
	g := groups(shown)
	if len(shown) != 2 || len(g) != 1 || g[0].Name != "by weight" || shown[0].Sure || shown[0].Figure() != "9.0" {
		t.Errorf("%+v", g)
	}
	var c Count
	c.add(shown)
	if got, want := c.Text(), "1 of 2 suggestions are right; weights are no probabilities"; got != want || c.Right() != 50 {
		t.Errorf("%s, want %s", got, want)
	}
	if got := weighty([]rank.Keyword{{Word: "sky", Weight: 1}}, 1); len(got) != 1 {
		t.Error("the only neighbour has no say")
	}
	if got := groups(nil); len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}
