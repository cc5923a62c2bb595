package rank

import (
	"cmp"
	"math"
	"slices"
)

// mostKnots bounds the knots of the line that corrects the logistic curve, and so the
// groups of predictions. Each group has the same number of expected words.
const mostKnots = 24

// A knot is a probability according to the curve and the share actually found.
type knot struct{ said, found float64 }

// straighten returns the rising line through groups of predictions, by pooling adjacent
// violators (Ayer and others, Annals of Mathematical Statistics 1955). It corrects what a
// curve of few terms cannot follow, such as votes beyond which more votes add nothing.
func straighten(p []float64, right []bool) []knot {
	order := make([]int, len(p))
	total := 0.0
	for i := range order {
		order[i] = i
		total += p[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	type group struct{ said, found, count float64 }
	var groups []group
	var now group
	for at, i := range order {
		now.said += p[i]
		now.count++
		if right[i] {
			now.found++
		}
		last := at == len(order)-1
		// Keep equal predictions together.
		if !last && (now.said < total/mostKnots || p[order[at+1]] == p[i]) {
			continue
		}
		// Add one prediction that is right as often as predicted, so that the share is
		// never 0 or 1.
		now.found += now.said / now.count
		now.said += now.said / now.count
		now.count++
		groups = append(groups, now)
		now = group{}
		for k := len(groups) - 1; k > 0 && groups[k].found/groups[k].count <= groups[k-1].found/groups[k-1].count; k-- {
			a, b := groups[k-1], groups[k]
			groups = append(groups[:k-1], group{a.said + b.said, a.found + b.found, a.count + b.count})
		}
	}
	var line []knot
	for _, g := range groups {
		k := knot{g.said / g.count, g.found / g.count}
		// Rounding of the quotients must not make the line fall or stay level.
		if n := len(line); n == 0 || k.said > line[n-1].said && k.found > line[n-1].found {
			line = append(line, k)
		}
	}
	return line
}

// straightened returns p corrected by the line, which starts at 0 and is level after the last knot.
func straightened(p float64, line []knot) float64 {
	var before knot
	for _, k := range line {
		if p < k.said {
			p = before.found + (p-before.said)/(k.said-before.said)*(k.found-before.found)
			return inside(p)
		}
		before = k
	}
	if len(line) > 0 {
		p = before.found
	}
	return inside(p)
}

// inside keeps a probability away from 0 and 1.
func inside(p float64) float64 { return min(max(p, 1e-12), math.Nextafter(1, 0)) }
