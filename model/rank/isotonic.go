package rank

import (
	"cmp"
	"math"
	"slices"
)

// The isotonic correction is a line with at most maxKnots knots, one per group
// of predictions. Each group has about the same expected number of right words,
// at least minExpected, because fewer would bend the line by chance.
const (
	maxKnots    = 24
	minExpected = 60
	fewGroups   = 10 // fewer groups reveal no more than the curve's level, so they give no correction
)

type knot struct{ predicted, observed float64 }

type group struct{ predicted, observed, count float64 }

// fitIsotonic returns a rising line through the observed shares of right
// predictions, by pooling adjacent violators (Ayer and others, Annals of
// Mathematical Statistics 1955). It corrects deviations that a curve of few
// terms cannot follow.
func fitIsotonic(p []float64, right []bool) []knot {
	expected := 0.0
	for _, v := range p {
		expected += v
	}
	if expected < fewGroups*minExpected {
		return nil
	}
	groups := pooled(p, right)
	var line []knot
	for _, g := range groups {
		line = rising(line, knot{g.predicted / g.count, g.observed / g.count})
	}
	// Beyond the last group's mean, keep its ratio of observed to predicted
	// right words, or of wrong words if that gives less.
	if n := len(line); n > 0 {
		last, most := line[n-1], slices.Max(p)
		line = rising(line, knot{most, min(last.observed/last.predicted*most, 1-(1-last.observed)/(1-last.predicted)*(1-most))})
	}
	return line
}

// rising appends a knot unless the line would fall or stay level.
func rising(line []knot, k knot) []knot {
	if n := len(line); n == 0 || k.predicted > line[n-1].predicted && k.observed > line[n-1].observed {
		return append(line, k)
	}
	return line
}

// pooled groups predictions so that later groups are right more often.
func pooled(p []float64, right []bool) (groups []group) {
	order := make([]int, len(p))
	total := 0.0
	for i := range order {
		order[i] = i
		total += p[i]
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(p[a], p[b]), a-b) })
	enough := max(total/(maxKnots-1), minExpected)
	var now group
	for at, i := range order {
		now.predicted += p[i]
		now.count++
		if right[i] {
			now.observed++
		}
		last := at == len(order)-1
		if !last && (now.predicted < enough || p[order[at+1]] == p[i]) {
			continue
		}
		// Shrinking towards the prediction limits the effect of chance and
		// keeps the share strictly between 0 and 1.
		now = group{now.predicted + minExpected, now.observed + minExpected, now.count * (1 + minExpected/now.predicted)}
		groups = append(groups, now)
		now = group{}
		for k := len(groups) - 1; k > 0 && groups[k].observed/groups[k].count <= groups[k-1].observed/groups[k-1].count; k-- {
			a, b := groups[k-1], groups[k]
			groups = append(groups[:k-1], group{a.predicted + b.predicted, a.observed + b.observed, a.count + b.count})
		}
	}
	return groups
}

// applyIsotonic returns p corrected by the line, which starts at 0 and is level
// after the last knot.
func applyIsotonic(p float64, line []knot) float64 {
	var before knot
	for _, k := range line {
		if p < k.predicted {
			p = before.observed + (p-before.predicted)/(k.predicted-before.predicted)*(k.observed-before.observed)
			return clampProbability(p)
		}
		before = k
	}
	if len(line) > 0 {
		p = before.observed
	}
	return clampProbability(p)
}

func clampProbability(p float64) float64 { return min(max(p, 1e-12), math.Nextafter(1, 0)) }
