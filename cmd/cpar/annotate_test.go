package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/model/rank"
)

// An index with both structures comes from an earlier version and gets a note.
func TestIndexDecidesTheSearch(t *testing.T) {
	for name, c := range map[string]struct {
		m     cpar.Manifest
		flags searchFlags
		want  cpar.Params
		note  string
	}{
		"a forest":     {cpar.Manifest{Scheme: cpar.SchemeCPAR, Trees: 10}, searchFlags{}, cpar.Params{Scheme: cpar.SchemeCPAR}, ""},
		"lists":        {cpar.Manifest{Scheme: cpar.SchemeIVF, Lists: 3}, searchFlags{}, cpar.Params{Scheme: cpar.SchemeIVF, Search: cpar.SearchIVF}, ""},
		"both":         {cpar.Manifest{Scheme: cpar.SchemeCPAR, Trees: 10, Lists: 3}, searchFlags{}, cpar.Params{Scheme: cpar.SchemeCPAR}, "its forest is searched (depth)"},
		"both, chosen": {cpar.Manifest{Scheme: cpar.SchemeCPAR, Trees: 10, Lists: 3}, searchFlags{search: "ivf"}, cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchIVF}, ""},
		"both, as ivf": {cpar.Manifest{Scheme: cpar.SchemeCPAR, Trees: 10, Lists: 3}, searchFlags{scheme: "ivf"}, cpar.Params{Scheme: cpar.SchemeIVF, Search: cpar.SearchIVF}, ""},
		"lists only":   {cpar.Manifest{Scheme: cpar.SchemeCPAR, Lists: 3}, searchFlags{}, cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchIVF}, ""},
	} {
		c.flags.approx, c.want.L, c.want.Approx = 10, 7, 100
		if err := c.flags.parse(); err != nil {
			t.Fatal(err)
		}
		got, err := c.flags.params(&c.m, 7)
		if err != nil || got != c.want || !c.m.Serves(got) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
		if note := c.flags.note(&c.m); (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: %q", name, note)
		}
	}
}

// People read keywords by their probability. The ranking, which JSON keeps, also
// prefers rare words.
func TestKeywordsArePrintedMostProbableFirst(t *testing.T) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	ranked := []rank.Keyword{{Word: "boat", Probability: 0.948, Weight: 1.5}, {Word: "sky", Probability: 0.967, Weight: 1}, {Word: "sea", Probability: 0.3}}
	printKeywords(cmd, ranked, "")
	if want := "  sky    97 %\n  boat   95 %\n  sea    30 %\n"; out.String() != want || ranked[0].Word != "boat" {
		t.Errorf("printed %q, want %q; the ranking is %+v", out.String(), want, ranked)
	}
	out.Reset()
	printKeywords(cmd, []rank.Keyword{{Word: "sea", Weight: 3}, {Word: "sky", Weight: 2}}, "+ ")
	if want := "  + sea   3.00\n  + sky   2.00\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
