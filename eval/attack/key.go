package attack

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"cpar"
	"cpar/eval/estimate"
	"cpar/internal/modq"
	"cpar/user/ive"
)

// Recovering the key S, a secret matrix, from records.
//
// A record's ciphertext is C = S⁻¹(w·V + e), where V is its vector, w =
// 2^RecordShift is the plaintext scale and e is noise. Let s be row j of S.
// Then ⟨s, C⟩ = w·V[j] + e[j]. Each record with known C and V gives an equation
// in the m elements of s (64-bit words). Without the noise e, m equations give
// the row by elimination. With noise, the equations are LWE samples with
// modulus 2⁶⁴ and an error with standard deviation 3.2. Elimination then fails,
// and lattice reduction succeeds at a cost that this file estimates.

const toyDim = 48

// eliminate solves `rows`·x = `right` modulo 2⁶⁴ for every column of `right`.
// `rows` is k×m, `right` is k×t, and the result is t×m. The pivot of a column
// is a word with the fewest factors of 2. A pivot with v such factors
// determines an unknown only modulo 2^(64−v). In this case eliminate returns
// the smallest value. It returns nil if the rows are dependent. The result is
// meaningless if there is no solution.
func eliminate(rows, right [][]uint64) [][]uint64 {
	k, m, t := len(rows), len(rows[0]), len(right[0])
	a := make([][]uint64, k)
	for i := range a {
		a[i] = append(append(make([]uint64, 0, m+t), rows[i]...), right[i]...)
	}
	for c := range m {
		at, v := c, 64
		for i := c; i < k && v > 0; i++ {
			if zeros := bits.TrailingZeros64(a[i][c]); zeros < v {
				at, v = i, zeros
			}
		}
		if v == 64 {
			return nil
		}
		a[c], a[at] = a[at], a[c]
		inverse := modq.InverseOdd(a[c][c] >> v)
		for _, row := range a[c+1:] {
			if row[c] != 0 {
				modq.Axpy(-(row[c]>>v)*inverse, a[c][c:], row[c:])
			}
		}
	}
	out := make([][]uint64, t)
	for j := range out {
		x := make([]uint64, m)
		for c := m - 1; c >= 0; c-- {
			v := bits.TrailingZeros64(a[c][c])
			rest := a[c][m+j] - modq.Dot(a[c][c+1:m], x[c+1:])
			x[c] = (rest >> v) * modq.InverseOdd(a[c][c]>>v) & (1<<(64-v) - 1)
		}
		out[j] = x
	}
	return out
}

// eliminateToy solves for S in a small dimension, toyDim, and decrypts other
// records with the result.
func eliminateToy(noiseless bool) (Row, error) {
	const known, fresh = toyDim + 16, 100
	p := ive.Params{Dim: toyDim, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift}
	key, err := ive.NewKey([32]byte{'t', 'o', 'y'}, p)
	if err != nil {
		return Row{}, fmt.Errorf("making a toy key: %w", err)
	}
	noise, name := ive.NewNoise([32]byte{1}), "key-elimination"
	if noiseless {
		noise, name = ive.InsecureNoNoise([32]byte{1}), "key-elimination-noiseless"
	}
	rng := rand.New(rand.NewPCG(5, 6))
	plain, right, cipher := make([][]int64, known+fresh), make([][]uint64, known+fresh), make([][]uint64, known+fresh)
	for i := range plain {
		plain[i], right[i], cipher[i] = make([]int64, toyDim), make([]uint64, toyDim), make([]uint64, toyDim)
		for j := range plain[i] {
			plain[i][j] = rng.Int64N(401) - 200
			right[i][j] = uint64(plain[i][j]) << p.RecordShift // w·V, because the attacker does not know e
		}
		if err := key.EncryptRecord(cipher[i], plain[i], noise); err != nil {
			return Row{}, fmt.Errorf("encrypting a toy record: %w", err)
		}
	}
	s := eliminate(cipher[:known], right[:known])
	read := count(fresh, func(i int) bool {
		all := s != nil
		for j := range s {
			all = all && modq.RoundShift(modq.Dot(s[j], cipher[known+i]), p.RecordShift) == plain[known+i][j]
		}
		return all
	})
	return proportion(name, cpar.SchemeCPAR.String(), known, read, fresh, 0), nil
}

// noiselessRow finds one row s of S from the index alone. The last element of
// every record is 1 without noise (vectorlayout.Budget.NoiselessSlot), so ⟨s,
// C⟩ = w for all records. It returns nil if there are too few records.
func noiselessRow(v *View) (row []uint64, used int) {
	m := len(v.Vectors[0])
	used = m + 16 // 16 spare records, because rows may be dependent
	if used >= len(v.Vectors) {
		return nil, used
	}
	s := eliminate(v.Vectors[:used], slices.Repeat([][]uint64{{1 << ive.DistanceShift}}, used))
	if s == nil {
		return nil, used
	}
	return s[0], used
}

// judgeNoiselessRow counts the unused records for which the row gives w. A
// wrong row gives w with probability 2⁻⁶⁴.
func judgeNoiselessRow(v *View, row []uint64, used int) Row {
	unused := v.Vectors[used:]
	right := count(len(unused), func(i int) bool { return row != nil && modq.Dot(row, unused[i]) == 1<<ive.DistanceShift })
	return proportion("key-quiet-row", v.Scheme, 0, right, len(unused), 0)
}

// latticeRows estimates the cost of finding S from records of m 64-bit words.
// The first `dims` elements are z, the projected features. Their root mean
// square is `typical`.
func latticeRows(scheme string, m, dims, records int, typical float64) []Row {
	known := estimate.LWE{Dim: m, LogQ: 64, Sigma: noiseSigma, MaxSamples: max(records, 4*m)}.Primal()
	// Without known plaintext, the attacker searches for short combinations of the
	// ciphertexts. The rows of S are such combinations, because they give elements
	// of w·V + e. Of these elements, those in z are the smallest.
	dense := estimate.Dense(m, dims, 64, math.Ldexp(typical, ive.DistanceShift))
	return []Row{
		{Attack: "key-lattice-estimate", Scheme: scheme, Known: known.Samples, Estimate: &known},
		{Attack: "key-lattice-estimate", Scheme: scheme, Known: 0, Estimate: &dense},
	}
}

const (
	noiseSigma = 3.2
	// typicalElement is the typical size of an element of z. Its square is a
	// vector's L1 distance from the baseline (the zero of the embedding): about
	// four units of 499.5 quantisation levels.
	typicalElement = 45
)
