package attack

import (
	"math"
	"slices"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/modq"
	"cpar/user/ive"
)

// Recovering the key S, a secret matrix, from known vectors and scores, without
// lattice reduction.
//
// A record is C = S⁻¹·A with A = w·V + e, where V is its vector, w =
// 2^DistanceShift is the plaintext scale, and e is noise. A request is t = Sᵀ·T
// with T = w·V_s + e_s. Therefore ⟨C, t⟩ = ⟨A, T⟩ exactly, in integers. With
// known vectors, the attacker recovers the requests (request.go), whose
// projected features z_s and secret scale r_s are integers. The remainder ⟨A,
// T⟩ − w²·⟨V, V_s⟩ is, in units of w,
//
//	⟨e, V_s⟩ + ⟨V, e_s⟩ + (a multiple of r_s) + (a constant)
//
// For one record and many requests this remainder is linear in e, and e_s acts
// as noise. V_s is far larger than V, so a least-squares fit of e has an error
// well below 1. Rounding then gives e and A exactly, and elimination gives the
// rows of S that belong to z. The attack needs about 1.5 times as many requests
// as a record has words, and as many known vectors.

const spreadEpsilon = 3 * ive.EpsilonBound

// solveUnit calls solveRequests for vectors of length 1. Scaling a solution to
// length 1 determines r_s.
func solveUnit(v *View, known []int, vectors []*projected) ([]solved, error) {
	out, err := solveRequests(v, known, vectors)
	if err != nil {
		return nil, err
	}
	for i, s := range out {
		by := math.Copysign(lengthUnit/simd.Norm(s.z, 2), s.scale)
		simd.Scale(by, s.z)
		out[i].scale /= by
	}
	return out, nil
}

type exactRequest struct {
	seen  *Observation
	z     []int64
	scale int64
}

// exactRequests returns the requests whose distances from the known vectors
// match the scores up to ε (a random element of each record). It updates
// `disturbed`, the estimated effect of ε on the known records' scores.
func exactRequests(v *View, known []int, vectors []*projected, disturbed []float64) ([]exactRequest, error) {
	clean := &View{Scheme: v.Scheme, StoredIndex: v.StoredIndex}
	for _, s := range v.Observations {
		scores := make([]float64, v.Records)
		for k, i := range known {
			scores[i] = s.Scores[i] - disturbed[k]
		}
		clean.Observations = append(clean.Observations, &Observation{Scores: scores})
	}
	got, err := solveUnit(clean, known, vectors)
	if err != nil {
		return nil, err
	}
	var out []exactRequest
	left := make([]float64, len(known))
	sums := make([]float64, len(known))
	for j, s := range got {
		a := exactRequest{seen: v.Observations[j], z: make([]int64, len(s.z))}
		along, square := 0.0, 0.0
		for i, x := range s.z {
			rounded := math.Round(x)
			a.z[i] = int64(rounded)
			along += x * rounded
			square += rounded * rounded
		}
		if !(square > 0) || math.Abs(s.scale) > 2*ive.MaxScale {
			continue
		}
		a.scale = int64(math.Round(s.scale * along / square))
		for k, i := range known {
			left[k] = v.Observations[j].Scores[i] - float64(a.score(vectors[k]))
		}
		if slices.Max(left)-slices.Min(left) > 2.2*spreadEpsilon {
			continue
		}
		out = append(out, a)
		simd.AddConst(-measure.Mean(left), left)
		simd.Add(sums, left)
	}
	for k := range disturbed {
		disturbed[k] = sums[k] / float64(max(len(out), 1))
	}
	return out, nil
}

// score returns r_s·‖z − z_s‖² for a record's z.
func (a *exactRequest) score(p *projected) int64 {
	sum := int64(0)
	for i, x := range p.z {
		d := int64(x) - a.z[i]
		sum += d * d
	}
	return a.scale * sum
}

// keyByScores finds the rows of S that belong to z, the projected features. A
// row is nil if its element of z is 0 in all known vectors. The result is nil
// if there are too few requests or vectors.
func keyByScores(v *View, known []int, vectors []*projected) ([][]uint64, error) {
	disturbed := make([]float64, len(known))
	var requests []exactRequest
	for range 3 {
		var err error
		if requests, err = exactRequests(v, known, vectors, disturbed); err != nil {
			return nil, err
		}
	}
	m := len(v.Vectors[0])
	var slots []int
	for i := range vectors[0].z {
		if slices.ContainsFunc(vectors, func(p *projected) bool { return p.z[i] != 0 }) {
			slots = append(slots, i)
		}
	}
	const spare = 16
	if len(requests) < len(slots)+spare || len(known) < m+spare {
		return nil, nil
	}
	noise, unsure, err := recordNoise(v, known, vectors, requests, slots)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(known))
	simd.ArgsortStable(unsure, order) // the most certain estimates come first
	rows, right := make([][]uint64, m+spare), make([][]uint64, m+spare)
	for i, k := range order[:m+spare] {
		rows[i] = v.Vectors[known[k]]
		for j, slot := range slots {
			for _, shift := range shifts {
				right[i] = append(right[i], uint64(int64(vectors[k].z[slot])<<ive.DistanceShift+noise[k][j]+shift))
			}
		}
	}
	found := eliminate(rows, right)
	if found == nil {
		return nil, nil
	}
	key := make([][]uint64, len(vectors[0].z))
	for j, slot := range slots {
		for i := range shifts {
			row := found[j*len(shifts)+i]
			if !slices.ContainsFunc(order, func(k int) bool {
				return modq.RoundShift(modq.Dot(row, v.Vectors[known[k]]), ive.DistanceShift) != int64(vectors[k].z[slot])
			}) {
				key[slot] = row
			}
		}
	}
	return key, nil
}

// shifts holds corrections of an element's mean noise, because the true mean
// over the known records may not be exactly 0.
var shifts = []int64{0, -1, 1}

// recordNoise estimates the noise e of each known record. `unsure[k]` is the
// largest rounding error of an element for record `known[k]`.
func recordNoise(v *View, known []int, vectors []*projected, requests []exactRequest, slots []int) (e [][]int64, unsure []float64, err error) {
	rows := make([][]float64, len(requests))
	y := mat.NewDense(len(requests), len(known), nil)
	rest := make([]int64, len(known))
	for j, a := range requests {
		for _, slot := range slots {
			rows[j] = append(rows[j], float64(-2*a.scale*a.z[slot]))
		}
		rows[j] = append(rows[j], float64(a.scale))
		q, err := cpar.DecodeRequest(a.seen.Request)
		if err != nil {
			return nil, nil, err
		}
		for k, i := range known {
			// These integers have 63 bits. Subtracting the first record's
			// integer removes r_s·r, which all records share. Fewer than 53
			// bits remain.
			rest[k] = int64(modq.Dot(v.Vectors[i], q.Vector)) - a.score(vectors[k])<<(2*ive.DistanceShift)
			y.Set(j, k, math.Ldexp(float64(rest[k]-rest[0]), -ive.DistanceShift))
		}
	}
	x, err := leastSquares(rows, y)
	if err != nil {
		return nil, nil, err
	}
	e, unsure = make([][]int64, len(known)), make([]float64, len(known))
	for j := range slots {
		// The noise e_s adds nearly the same shift to e in all records. The
		// records show the fractional part of the shift. The integer part is
		// chosen so that e has mean 0.
		var sin, cos float64
		for k := range known {
			s, c := math.Sincos(2 * math.Pi * x.At(j, k))
			sin, cos = sin+s, cos+c
		}
		shift, mean := math.Atan2(sin, cos)/(2*math.Pi), 0.0
		for k := range known {
			mean += math.Round(x.At(j, k)-shift) / float64(len(known))
		}
		for k := range known {
			exact := x.At(j, k) - shift
			e[k] = append(e[k], int64(math.Round(exact)-math.Round(mean)))
			unsure[k] = max(unsure[k], math.Abs(exact-math.Round(exact)))
		}
	}
	return e, unsure, nil
}

func judgeKey(v *View, known []int, key [][]uint64, truth []*projected) Row {
	others := complement(v.Records, known)
	right := count(len(others), func(i int) bool {
		all, c, z := key != nil, v.Vectors[others[i]], truth[others[i]].z
		for slot, row := range key {
			all = all && (row == nil && z[slot] == 0 || row != nil && modq.RoundShift(modq.Dot(row, c), ive.DistanceShift) == int64(z[slot]))
		}
		return all
	})
	return proportion("key-by-scores", v.Scheme, len(known), right, len(others), 0)
}
