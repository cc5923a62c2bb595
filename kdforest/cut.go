package kdforest

import "math"

// cut moves records with a coordinate ≤ `value` to the front and returns their
// number.
func (g *grower[T]) cut(records []uint32, dim int, value T) (left int) {
	g.beyond = g.beyond[:0]
	for _, r := range records {
		if g.points[r][dim] > value {
			g.beyond = append(g.beyond, r)
			continue
		}
		records[left] = r // Records with equal values go left.
		left++
	}
	copy(records[left:], g.beyond)
	return left
}

// cutValue returns a value that leaves at least one record on each side. The
// records must differ in dimension `dim`. SplitMean takes the value nearest the
// mean that leaves at least an eighth of the records on each side, or else the
// least skewed value. SplitMedian takes the middle of the gap that divides most
// evenly.
func (g *grower[T]) cutValue(records []uint32, dim int) T {
	g.sortValues(records, dim)
	m := len(g.values)
	mean := g.mean()
	allowed := -1
	if g.opt.Split == SplitMean {
		allowed = m - 2*(m/8)
	}
	best, skewed, off := 0, m+1, math.Inf(1)
	for k := 1; k < m; k++ { // k records go left
		short, beyond := g.values[k-1], g.values[k]
		if short == beyond {
			continue
		}
		skew, away := max(2*k-m, m-2*k), 0.0
		if skew <= allowed {
			skew = allowed
			away = max(float64(short)-mean, mean-float64(beyond), 0)
		}
		// Among gaps at equal distance, prefer the gap that contains the mean.
		holds := skew == allowed && float64(short) <= mean
		if skew < skewed || skew == skewed && (away < off || away == off && holds) {
			best, skewed, off = k, skew, away
		}
	}
	short, beyond := g.values[best-1], g.values[best]
	target := mean
	if g.opt.Split == SplitMedian || mean < float64(short) || mean >= float64(beyond) {
		target = float64(short)/2 + float64(beyond)/2
	}
	// Rounding must not leave the gap: short ≤ value < beyond.
	if target >= float64(short) && target < float64(beyond) {
		if value := T(target); value >= short && value < beyond {
			return value
		}
	}
	return short
}
