package main

import (
	"strings"
	"testing"

	"cpar"
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
