package library

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cpar/model/rank"
	"cpar/user/device"
)

func frame(near []rank.Neighbour, words ...rank.Keyword) device.Annotated {
	return device.Annotated{Keywords: words, Near: near, Sent: 10, Received: 1}
}

func TestKeywordsOfVideoAreMeans(t *testing.T) {
	word := func(s string, p float64) rank.Keyword { return rank.Keyword{Word: s, Weight: 2 * p, Probability: p} }
	got := mergeFrames([]device.Annotated{
		frame([]rank.Neighbour{{Record: 1, Dis: 3}, {Record: 2, Dis: 5}}, word("sea", 0.9), word("dog", 0.8)),
		frame([]rank.Neighbour{{Record: 2, Dis: 1}}, word("sea", 0.6)),
		frame(nil, word("cat", 0.7), word("sea", 0.6)),
	})
	want := []rank.Keyword{word("sea", 0.7), word("dog", 0.8/3), word("cat", 0.7/3)}
	if !slices.EqualFunc(got.Keywords, want, func(a, b rank.Keyword) bool {
		return a.Word == b.Word && math.Abs(a.Probability-b.Probability) < 1e-9 && math.Abs(a.Weight-b.Weight) < 1e-9
	}) {
		t.Errorf("%+v", got.Keywords)
	}
	if len(got.Near) != 2 || got.Near[0].Record != 2 || got.Near[0].Dis != 1 || got.Near[1].Record != 1 || got.Sent != 30 || got.Received != 3 {
		t.Errorf("%+v", got)
	}
	// More frames of the same do not make a keyword likelier.
	same := frame(nil, word("sea", 0.4), word("dog", 0.1))
	if got := mergeFrames([]device.Annotated{same, same, same, same, same}).Keywords; math.Abs(got[0].Probability-0.4) > 1e-9 || math.Abs(got[1].Probability-0.1) > 1e-9 {
		t.Errorf("inflated: %+v", got)
	}
	refused := errors.New("refused")
	if got := mergeFrames([]device.Annotated{{Err: refused}, same}); got.Err != refused {
		t.Error(got.Err)
	}
}
