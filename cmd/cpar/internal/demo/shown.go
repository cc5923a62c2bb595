package demo

import (
	"fmt"
	"math"
	"slices"

	"cpar/model/rank"
)

// sureFrom and maybeFrom are the minimum probabilities of sure and maybe
// keywords. Less probable keywords are not shown.
const sureFrom, maybeFrom = 0.5, 0.25

// A Keyword is a keyword shown. Correct reports whether a person gave it too.
type Keyword struct {
	rank.Keyword
	Sure    bool `json:"sure"`
	Correct bool `json:"correct"`
}

// Figure returns the probability or, without one, the weight.
func (k Keyword) Figure() string {
	if k.Probability > 0 {
		// Round down, so that nothing reaches 100 % and nothing unsure 50 %.
		return fmt.Sprintf("%.0f %%", min(99, math.Floor(100*k.Probability)))
	}
	return fmt.Sprintf("%.1f", k.Weight)
}

// marked marks sure and correct keywords. A weight is not a probability, so it
// makes no keyword sure.
func marked(keywords []rank.Keyword, truth []string) []Keyword {
	out := make([]Keyword, len(keywords))
	for i, k := range keywords {
		out[i] = Keyword{k, k.Probability >= sureFrom, slices.Contains(truth, k.Word)}
	}
	return out
}

// weighty keeps the keywords with at least half of the maximum weight, which
// about half of the near photos have.
func weighty(keywords []rank.Keyword, near int) []rank.Keyword {
	least := float64(near-1) / 2
	return slices.DeleteFunc(keywords, func(k rank.Keyword) bool { return k.Weight < least })
}

// A Count counts keywords shown and right, in total and among the sure ones.
type Count struct {
	// Probable reports whether the ranker gives probabilities. Without them
	// nothing is sure.
	Probable  bool `json:"probabilities"`
	Given     int  `json:"keywords_given"`
	Found     int  `json:"keywords_found"`
	Sure      int  `json:"sure"`
	SureRight int  `json:"sure_right"`
}

func (c *Count) add(keywords []Keyword) {
	for _, k := range keywords {
		c.Given++
		if k.Sure {
			c.Sure++
		}
		if k.Correct {
			c.Found++
		}
		if k.Correct && k.Sure {
			c.SureRight++
		}
	}
}

// Right returns the percentage of sure keywords that are right, or of all
// without probabilities.
func (c Count) Right() float64 {
	if c.Probable {
		return 100 * float64(c.SureRight) / float64(max(1, c.Sure))
	}
	return 100 * float64(c.Found) / float64(max(1, c.Given))
}

func (c Count) Text() string {
	switch {
	case c.Given == 0:
		return "nothing was likely enough"
	case !c.Probable:
		return fmt.Sprintf("%s of %s suggestions are right; weights are no probabilities", count(c.Found), count(c.Given))
	}
	text := "none is sure"
	if c.Sure > 0 {
		text = fmt.Sprintf("%s of %s sure keywords are right, %.0f %%", count(c.SureRight), count(c.Sure), c.Right())
	}
	if maybe := c.Given - c.Sure; maybe > 0 {
		text += fmt.Sprintf("; of the maybes %s of %s", count(c.Found-c.SureRight), count(maybe))
	}
	return text
}

var countHead = []string{"sure and right", "maybe and right"}

func (c Count) cells() []string {
	others := fmt.Sprintf("%s of %s", count(c.Found-c.SureRight), count(c.Given-c.Sure))
	if !c.Probable {
		return []string{"–", others + " by weight"}
	}
	return []string{fmt.Sprintf("%s of %s", count(c.SureRight), count(c.Sure)), others}
}

// A Group is a list of keywords under one heading.
type Group struct {
	Name     string
	Keywords []Keyword
}

// groups returns the non-empty groups: sure, maybe, or by weight.
func groups(keywords []Keyword) []Group {
	var sure, maybe, weighed Group
	sure.Name, maybe.Name, weighed.Name = "sure", "maybe", "by weight"
	for _, k := range keywords {
		g := &maybe
		switch {
		case k.Sure:
			g = &sure
		case k.Probability == 0:
			g = &weighed
		}
		g.Keywords = append(g.Keywords, k)
	}
	return slices.DeleteFunc([]Group{sure, maybe, weighed}, func(g Group) bool { return len(g.Keywords) == 0 })
}
