package attack

import (
	"math"
	"slices"

	"cpar"
	"cpar/eval/measure"
)

// Spacing: how far apart are the split values of a field (a dimension of the
// feature vectors)? The attacks estimate the position of every split value, up
// to a scale and an offset per field. For each pair of adjacent gaps, they
// guess which gap is wider. A random guess is right for half of the pairs.

// positionsByPlanes reads positions from a request that reveals its distances
// from the split planes. Every plane's score is a multiple of the secret factor
// r_p. The attack uses the greatest common divisor of the scores in place of
// r_p.
func positionsByPlanes(s *Observation) []float64 {
	var rp int64
	for _, p := range s.Planes {
		rp = gcd(rp, p)
	}
	return measure.Map(s.Planes, func(p int64) float64 { return -float64(p / max(rp, 1)) })
}

// positionsByShape uses only the order of the splits. It assumes that a field's
// splits are normally distributed, with wider gaps at the ends.
func positionsByShape(v *View) []float64 {
	out := make([]float64, len(v.Cuts))
	for first := 0; first < len(v.Cuts); {
		last := first
		for last < len(v.Cuts) && v.Cuts[last].Field == v.Cuts[first].Field {
			last++
		}
		for i := first; i < last; i++ {
			out[i] = normalQuantile(float64(i-first+1) / float64(last-first+1))
		}
		first = last
	}
	return out
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// positionsByRequests counts the requests below each split, which takes only
// order comparisons. It assumes that a field's values are normally distributed
// over photos.
func positionsByRequests(v *View) []float64 {
	out := make([]float64, len(v.Cuts))
	sorted := map[uint16][]uint64{}
	for i, c := range v.Cuts {
		list, there := sorted[c.Field]
		if !there {
			for _, s := range v.Observations {
				list = append(list, s.Order[c.Field])
			}
			slices.Sort(list)
			sorted[c.Field] = list
		}
		short, _ := slices.BinarySearch(list, uint64(c.Order)+1)
		out[i] = normalQuantile((float64(short) + 0.5) / (float64(len(list)) + 1))
	}
	return out
}

// judgeGaps compares estimated with true gaps. It ignores pairs of equal true
// gaps. A pair with equal estimates counts as half right.
func judgeGaps(attack, scheme string, known int, cuts []cpar.Plane, places, truth []float64) Row {
	right, trials, undecided := 0, 0, 0
	for i := 2; i < len(cuts); i++ {
		if cuts[i].Field != cuts[i-2].Field {
			continue
		}
		want := (truth[i] - truth[i-1]) - (truth[i-1] - truth[i-2])
		got := (places[i] - places[i-1]) - (places[i-1] - places[i-2])
		if want == 0 {
			continue
		}
		trials++
		switch {
		case got == 0:
			undecided++
		case got > 0 == (want > 0):
			right++
		}
	}
	return proportion(attack, scheme, known, right+undecided/2, trials, 0.5)
}

// judgeExact counts the gaps between adjacent splits that were read exactly.
// The baseline guesses the most common gap every time.
func judgeExact(attack, scheme string, known int, cuts []cpar.Plane, places, truth []float64) Row {
	right, trials := 0, 0
	common := map[float64]int{}
	for i := 1; i < len(cuts); i++ {
		if cuts[i].Field != cuts[i-1].Field {
			continue
		}
		trials++
		common[truth[i]-truth[i-1]]++
		if places[i]-places[i-1] == truth[i]-truth[i-1] {
			right++
		}
	}
	most := 0
	for _, n := range common {
		most = max(most, n)
	}
	return proportion(attack, scheme, known, right, trials, float64(most)/float64(max(trials, 1)))
}

// offsetByPlanes reads the secret offset r from several requests that reveal
// planes. Each request sends r_s·r, where r_s is its secret scale. The greatest
// common divisor is r unless all r_s share a factor.
func offsetByPlanes(v *View) int64 {
	var r int64
	for _, s := range v.Observations {
		r = gcd(r, int64(s.Offset))
	}
	return r
}

// scalesByScores estimates the scale r_s of every request from its scores,
// given the offset r. It assumes that the mean distance (`dis`, in units of F)
// is the same for all similar photos.
func scalesByScores(v *View, unit, offset, dis float64) []float64 {
	return measure.Map(v.Observations, func(s *Observation) float64 {
		return min(2047, max(1024, math.Round(measure.Mean(s.Scores)/(unit*dis-offset))))
	})
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}
