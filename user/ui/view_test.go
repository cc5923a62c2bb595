package ui

import (
	"encoding/json"
	"fmt"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/rank"
)

// Keywords that the photo has or that were rejected are left out.
func TestSuggestionsOmitPresentAndRejected(t *testing.T) {
	f := newFake(t, 1)
	s, _ := start(t, f)
	known := &Known{Yours: []string{"Sea"}, Rejected: []string{"BOAT"}, Machine: []string{"pier", "sky"}, Keywords: []rank.Keyword{
		{Word: "sea", Probability: 0.9}, {Word: "sky", Probability: 0.8}, {Word: "boat", Probability: 0.7}, {Word: "sand", Probability: 0.5}, {Word: "fog", Probability: 0.499},
		{Word: "ant", Probability: 0.001}, {Word: "day", Probability: 0.9999}}}
	var got []string
	for _, w := range s.suggestions(known, Decision{Accept: []string{"FOG"}, Reject: []string{"sand"}}) {
		got = append(got, fmt.Sprintf("%s %d %v %v %q", w.Word, w.Percent, w.Sure, w.Written, w.Mark))
	}
	want := `[day 99 true false "" sky 80 true true "" sand 50 true false "reject" pier 0 true true "" fog 50 false false "accept" ant 1 false false ""]`
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	// Without probabilities no keyword is sure.
	for _, w := range s.suggestions(&Known{Keywords: []rank.Keyword{{Word: "sea", Weight: 8}, {Word: "sky", Weight: 2}}}, Decision{}) {
		if w.Sure || w.Percent != 0 || w.Bar != map[string]int{"sea": 100, "sky": 25}[w.Word] {
			t.Errorf("%+v", w)
		}
	}
}

// The head of the page counts the same files as the list behind its link.
func TestHeadCountsFilesLeftOut(t *testing.T) {
	f := newFake(t, 2)
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	s.survey.outcome(s.photos.all[0].id, cpar.ErrInput)
	var listed struct{ Total int }
	_, answer := c.call("GET", "/api/unreadable", nil)
	if err := json.Unmarshal(answer, &listed); err != nil || listed.Total != 1+len(f.Skipped()) {
		t.Fatalf("%s, %v", answer, err)
	}
	for path, body := range map[string]string{"list": "{}", "pending": ""} {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		var head struct {
			LeftOut int `json:"left_out"`
		}
		if _, answer := c.call(method, "/api/"+path, []byte(body)); json.Unmarshal(answer, &head) != nil || head.LeftOut != listed.Total {
			t.Errorf("%s: %s, want %d left out", path, answer, listed.Total)
		}
	}
}

func TestFailuresHaveHints(t *testing.T) {
	f := newFake(t, 2)
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	f.fail = hint.Add(fmt.Errorf("asking: %w", cpar.ErrCloud), "is it running?")
	status, answer := c.call("POST", "/api/annotate", []byte(`{"ids":["`+s.photos.all[0].id+`"]}`))
	if status != 502 || string(answer) != `{"error":"asking: cloud failure","hint":"is it running?"}`+"\n" {
		t.Errorf("%d %s", status, answer)
	}
	if status, _ := c.call("POST", "/api/annotate", []byte(`{"ids":["pnothing"]}`)); status != 404 {
		t.Errorf("an unknown photo: %d", status)
	}
	f.fail = nil
	if o := ask[[]outcome](c, "POST", "/api/annotate", ids{}); len(o) != 0 {
		t.Errorf("of nothing: %+v", o)
	}
}

func TestNearestNeighbourHasLongestBar(t *testing.T) {
	got := neighbours([]rank.Neighbour{{Dis: -0.1}, {Dis: 0}, {Dis: 0.5}})
	if got[0].Bar != 100 || got[1].Bar != 100 || got[2].Bar != 0 {
		t.Errorf("%+v", got)
	}
	got = neighbours([]rank.Neighbour{{Dis: 0.4, Keywords: nil}, {Dis: 0.8}})
	if got[0].Bar != 100 || got[1].Bar != 50 || got[0].Keywords == nil {
		t.Errorf("%+v", got)
	}
}
