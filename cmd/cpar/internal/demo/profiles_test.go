package demo

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cpar/encoder"
	"cpar/model/rank"
)

func found(first, second []int) *Result {
	r := &Result{Profiles: []Profile{{Name: "first"}, {Name: "second"}}}
	for i := range first {
		r.HeldOut = append(r.HeldOut, HeldOut{Suggestions: []Suggestion{{Found: first[i]}, {Found: second[i]}}})
		r.Profiles[0].Found += first[i]
		r.Profiles[1].Found += second[i]
	}
	return r
}

func repeated(n int, pattern ...int) []int {
	var out []int
	for range n {
		out = append(out, pattern...)
	}
	return out
}

func TestProfileFigures(t *testing.T) {
	s := newSuggestion("paper", []rank.Keyword{{Word: "sky"}, {Word: "sea"}, {Word: "tree"}}, []string{"tree", "sky", "boat"})
	if s.Found != 2 || !s.Keywords[0].Correct || s.Keywords[1].Correct || !s.Keywords[2].Correct {
		t.Errorf("%+v", s)
	}
	p := Profile{Photos: 40, Tally: Tally{True: 140, Count: Count{Probable: true, Given: 200, Found: 84, Sure: 80, SureRight: 60}}}
	if got, want := p.Line(), "finds 2.1 of 3.5 keywords; 60 of 80 sure keywords are right, 75 %; of the maybes 24 of 120"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if p.Share() != 60 {
		t.Errorf("share %v, want 60", p.Share())
	}
	if got := (Profile{}).Line(); strings.Contains(got, "NaN") {
		t.Errorf("of nothing: %s", got)
	}
	var sum Tally
	sum.add(s, []string{"tree", "sky", "boat"})
	sum.add(s, []string{"tree", "sky", "boat"})
	if sum.Found != 4 || sum.True != 6 || sum.Given != 6 || sum.Words != 2 {
		t.Errorf("%+v", sum)
	}
	if got := len(p.Cells()); got != len(profileHead) {
		t.Errorf("%d cells under %d heads", got, len(profileHead))
	}
}

// Differences 1, 0, 0, 0 have mean 1/4, variance 1/4 and standard error
// √(1/16).
func TestChanceByHand(t *testing.T) {
	if got := found([]int{1, 2, 0, 3}, []int{2, 2, 0, 3}).Chance(); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("chance %v, want 0.5", got)
	}
	if got := found([]int{1}, []int{4}).Chance(); got != 0 {
		t.Errorf("of one photo %v", got)
	}
}

func TestBestIsNotChance(t *testing.T) {
	for _, c := range []struct {
		first, second []int
		want          int
	}{
		{repeated(20, 1, 1), repeated(20, 2, 1), 1},
		{repeated(20, 2, 1), repeated(20, 1, 1), 0},
		{repeated(20, 1, 1), repeated(20, 1, 1), -1},
		{repeated(10, 0, 3), append(repeated(9, 3, 0), 3, 1), -1},
		{repeated(enough-1, 1), repeated(enough-1, 2), -1},
	} {
		if got := found(c.first, c.second).best(); got != c.want {
			t.Errorf("%v and %v: profile %d finds most, want %d", c.first, c.second, got, c.want)
		}
	}
}

func TestComparedProfiles(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "[]"},
		{Options{Network: new(encoder.Encoder)}, "[]"},
		{Options{Data: "photos"}, "[learned]"},
		{Options{Data: "photos", Network: new(encoder.Encoder)}, "[learned network]"},
	} {
		got := c.o.compared()
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, want %s", c.o, got, c.want)
		}
		for _, kind := range got {
			if names[kind] == "" {
				t.Errorf("profile %v has no plain name", kind)
			}
		}
	}
	if a := (&Result{network: true}).Advice(); a != "" {
		t.Errorf("all profiles are there: %s", a)
	}
}
