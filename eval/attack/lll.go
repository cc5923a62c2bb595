package attack

import (
	"math"
	"slices"

	simd "gonum.org/v1/gonum/floats"

	"cpar/eval/measure"
	"cpar/internal/modq"
	"cpar/user/ive"
)

// Reading records from an index alone, with no prior knowledge.
//
// The difference of two records is S⁻¹·(w·(V − V′) + e − e′), where S is the
// secret key matrix, V a record's vector, w = 2^DistanceShift the plaintext
// scale, and e noise. The noiseless slot (the element that is 1 in every
// record) is 0 in all differences. Let K differences be the rows of a K×m
// matrix D. The lattice of all D·s modulo 2⁶⁴ contains, for every element of a
// vector, the column of its K differences. Its entries have the size of w times
// the variation of z (the integer vectors), about 2²¹. A random lattice of the
// same volume has no vector that short, so LLL finds the columns, up to signs
// and small multiples of each other. Elimination then gives the row of S that
// reads an element from every record.
//
// (Lenstra, Lenstra, Lovász, Math. Ann. 261, 1982, with insertions as in
// Schnorr, Euchner, Math. Programming 66, 1994.)

// modulusBits is less than 64 so that sums fit in int64. The attack also works
// on ciphertexts reduced modulo a smaller power of 2.
const modulusBits = 58

// A differenceRows holds the differences of all records from the first,
// prepared for lattice reduction. Column c belongs to record c+1. The value of
// an element there is Σ weight[p]·rows[p][c], where weight[p] is the element's
// value in column pivots[p].
type differenceRows struct {
	rows   [][]uint64
	pivots []int
}

// newDifferenceRows chooses pivots among the first k differences. It returns
// nil if the differences are dependent.
func newDifferenceRows(records [][]uint64, k int) *differenceRows {
	m := len(records[0])
	d := &differenceRows{rows: make([][]uint64, m)}
	for j := range d.rows {
		d.rows[j] = make([]uint64, len(records)-1)
		for i := range d.rows[j] {
			d.rows[j][i] = records[i+1][j] - records[0][j]
		}
	}
	// Column reduction leaves out one row, because the noiseless slot is 0 in
	// every difference.
	for c := 0; c < k && len(d.pivots) < m-1; c++ {
		p := len(d.pivots)
		at := slices.IndexFunc(d.rows[p:], func(row []uint64) bool { return row[c]&1 == 1 })
		if at < 0 {
			continue
		}
		d.rows[p], d.rows[p+at] = d.rows[p+at], d.rows[p]
		inverse := modq.InverseOdd(d.rows[p][c])
		for i := range d.rows[p] {
			d.rows[p][i] *= inverse
		}
		for j, row := range d.rows {
			if j != p && row[c] != 0 {
				modq.Axpy(-row[c], d.rows[p], row)
			}
		}
		d.pivots = append(d.pivots, c)
	}
	if len(d.pivots) < m-1 {
		return nil
	}
	return d
}

func centred(x uint64) int64 { return int64(x<<(64-modulusBits)) >> (64 - modulusBits) }

func (d *differenceRows) basis(k int) [][]int64 {
	var out [][]int64
	for c := range k {
		if !slices.Contains(d.pivots, c) {
			row := make([]int64, k)
			row[c] = 1 << modulusBits
			out = append(out, row)
		}
	}
	for p := range d.pivots {
		row := make([]int64, k)
		for i := range row {
			row[i] = centred(d.rows[p][i])
		}
		out = append(out, row)
	}
	return out
}

// element returns the value of an element in every record minus its mean, in
// units of w. Slice v holds the element's values in the first differences.
func (d *differenceRows) element(v []int64) []int64 {
	words := make([]uint64, len(d.rows[0]))
	for p, c := range d.pivots {
		modq.Axpy(uint64(v[c]), d.rows[p], words)
	}
	out := make([]int64, 1, len(words)+1)
	for _, x := range words {
		out = append(out, int64(math.RoundToEven(math.Ldexp(float64(centred(x)), -ive.DistanceShift))))
	}
	mean := int64(math.Round(measure.Mean(out)))
	for i := range out {
		out[i] -= mean
	}
	return out
}

// elementsFromIndex returns the elements of the records' vectors, up to order,
// sign and small multiples of each other, or nil if it finds none. Vectors of
// collections with few keywords are padded with zeros, which degrades the
// result.
func elementsFromIndex(v *View, k int) [][]float64 {
	d := newDifferenceRows(v.Vectors, k)
	if d == nil {
		return nil
	}
	b := d.basis(k)
	reduce(b)
	length, longest := make([]float64, len(b)), 0.0
	for i, row := range b {
		length[i] = math.Sqrt(square(row))
		longest = max(longest, length[i])
	}
	// A second reduction separates the elements, because they are less
	// correlated over all records than over the first k.
	var elements [][]int64
	for i, row := range b {
		if length[i] >= longest/muchLonger {
			continue
		}
		if x := d.element(row); slices.ContainsFunc(x, func(y int64) bool { return y != 0 }) {
			elements = append(elements, x) // if x is 0, row is only noise
		}
	}
	if len(elements) == 0 {
		return nil
	}
	reduce(elements)
	return untangled(elements)
}

func square(row []int64) (sum float64) {
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	return sum
}

// untangled subtracts integer multiples of elements from each other while this
// lowers their variance. This separates them, because the elements of a learnt
// projection are hardly correlated.
func untangled(list [][]int64) [][]float64 {
	n := len(list)
	elements := make([][]float64, n)
	for i, x := range list {
		elements[i] = measure.Map(x, func(y int64) float64 { return float64(y) })
		simd.AddConst(-measure.Mean(elements[i]), elements[i])
	}
	for changed := true; changed; {
		changed = false
		for j := range n {
			variance := simd.Dot(elements[j], elements[j])
			for i := range n {
				by := 0.0
				if i != j && variance > 0 {
					by = math.Round(simd.Dot(elements[i], elements[j]) / variance)
				}
				if by == 0 {
					continue
				}
				changed = true
				simd.AddScaled(elements[i], -by, elements[j])
			}
		}
	}
	return elements
}

// maxSpread exceeds the standard deviation of any element of a vector of length
// 1, scaled by lengthUnit, unless there are only a few elements. The other
// slots vary more, so the bound excludes them: Σz² varies by rounding, and ε is
// random.
const maxSpread = 0.45 * lengthUnit

// nearestFromIndex returns for each record the most similar other record. It
// returns nil if it finds no elements.
func nearestFromIndex(v *View, k int) []int {
	rows := make([][]float64, v.Records)
	for _, x := range elementsFromIndex(v, k) {
		if simd.Dot(x, x) > maxSpread*maxSpread*float64(len(x)) {
			continue
		}
		for i, y := range x {
			rows[i] = append(rows[i], y)
		}
	}
	if len(rows[0]) == 0 {
		return nil
	}
	return nearestOthers(rows)
}

func nearestOthers(rows [][]float64) []int {
	half := measure.Map(rows, func(row []float64) float64 { return simd.Dot(row, row) / 2 })
	out := make([]int, len(rows))
	for i, row := range rows {
		best := math.Inf(-1)
		for j, other := range rows {
			if closeness := simd.Dot(row, other) - half[j]; i != j && closeness > best {
				best, out[i] = closeness, j
			}
		}
	}
	return out
}

func judgeNearest(attack string, v *View, got []int, truth []*projected) Row {
	nearest := nearestOthers(measure.Map(truth, func(p *projected) []float64 { return p.row()[:len(p.z)] }))
	right := count(len(nearest), func(i int) bool { return got != nil && got[i] == nearest[i] })
	return proportion(attack, v.Scheme, 0, right, len(truth), 1/float64(len(truth)-1))
}

// muchLonger is a lower bound on the ratio of the longest vector in a reduced
// basis to the vectors that are elements.
const muchLonger = 6

func reduce(b [][]int64) {
	const delta = 0.99
	n := len(b)
	width := len(b[0])
	f, mu, r := make([][]float64, n), make([][]float64, n), make([][]float64, n)
	toFloat := func(k int) {
		for i, x := range b[k] {
			f[k][i] = float64(x)
		}
	}
	for i := range b {
		f[i], mu[i], r[i] = make([]float64, width), make([]float64, n), make([]float64, n)
		toFloat(i)
	}
	s := make([]float64, n+1)
	r[0][0] = simd.Dot(f[0], f[0])
	for k := 1; k < n; {
		for changed, pass := true, 0; changed && pass < 200; pass++ {
			for j := range k {
				x := simd.Dot(f[k], f[j]) - simd.Dot(mu[j][:j], r[k][:j])
				r[k][j] = x
				mu[k][j] = x / r[j][j]
			}
			changed = false
			for j := k - 1; j >= 0; j-- {
				by := math.Round(mu[k][j])
				if math.Abs(mu[k][j]) < 0.51 || by == 0 {
					continue
				}
				changed = true
				whole := int64(by)
				row := b[j]
				to := b[k][:len(row)]
				for i, x := range row {
					to[i] -= whole * x
				}
				simd.AddScaled(mu[k][:j], -by, mu[j][:j])
			}
			if changed {
				toFloat(k)
			}
		}
		s[0] = simd.Dot(f[k], f[k])
		for j := range k {
			s[j+1] = s[j] - mu[k][j]*r[k][j]
		}
		if delta*r[k-1][k-1] <= s[k-1] {
			r[k][k] = max(s[k], 1e-3)
			k++
			continue
		}
		at := k - 1
		for at > 0 && delta*r[at-1][at-1] > s[at-1] {
			at--
		}
		moved, movedF, movedMu, movedR := b[k], f[k], mu[k], r[k]
		copy(b[at+1:k+1], b[at:k])
		copy(f[at+1:k+1], f[at:k])
		copy(mu[at+1:k+1], mu[at:k])
		copy(r[at+1:k+1], r[at:k])
		b[at], f[at], mu[at], r[at] = moved, movedF, movedMu, movedR
		r[at][at] = s[at]
		k = at + 1
	}
}
