package sealed

import (
	"math/rand/v2"
	"testing"

	"cpar/internal/lattice"
)

// chiSquare is χ² of the upper four bits with 15 degrees of freedom. Uniform
// words exceed 60 once in 4 million cases. Unmasked noise or messages give
// about the number of words.
func chiSquare(words []uint64) (chi float64) {
	var bins [16]float64
	for _, x := range words {
		bins[x>>43]++ // of 47 bits
	}
	each := float64(len(words)) / 16
	for _, n := range bins {
		chi += (n - each) * (n - each) / each
	}
	return chi
}

func coefficients(p lattice.Params, matrix []byte) (all []uint64) {
	for b := range p.Blocks() {
		w := make([]uint64, p.Ring().N)
		p.Gather(w, matrix, b)
		p.Ring().Interpolate(w)
		all = append(all, w...)
	}
	return all
}

func words(b []byte) []uint64 {
	w := make([]uint64, len(b)/lattice.WordBytes)
	lattice.Words(w, b)
	return w
}

func difference(a, b []uint64) []uint64 {
	d := make([]uint64, len(a))
	for i := range a {
		d[i] = lattice.Fast.Sub(a[i], b[i])
	}
	return d
}

// Encryptions of the plainest and the longest vectors, and differences of
// encryptions of one vector, must look uniform.
func TestCiphertextsLookUniform(t *testing.T) {
	p := balanced(t, lattice.Params{LogN: 11, Dim: 300, Block: 128, LogT: 15, RecordNorm: 120, RequestNorm: 120, Addend: 1000})
	k := testKey(t, p)
	r := rand.New(rand.NewPCG(1, 2))
	zero := make([]int16, p.Dim)
	for name, v := range map[string][]int16{"zero": zero, "long": gaussianVector(r, p.Dim, p.RecordNorm)} {
		var vectors [][]int16
		for range p.Records() {
			vectors = append(vectors, v)
		}
		var matrices, requests [][]uint64
		var addends []uint64
		for range 2 {
			g, err := k.Encrypt(vectors, make([]int64, len(vectors)), fresh())
			if err != nil {
				t.Fatal(err)
			}
			_, q, err := k.NewRequest(v, fresh())
			if err != nil {
				t.Fatal(err)
			}
			matrices = append(matrices, coefficients(p, g.Matrix))
			requests = append(requests, coefficients(p, q.Matrix))
			addends = append(addends, words(g.Addends)...)
		}
		for range 40 {
			g, err := k.Encrypt(vectors[:1], []int64{0}, fresh())
			if err != nil {
				t.Fatal(err)
			}
			addends = append(addends, words(g.Addends)...)
		}
		one := matrices[0][:lattice.Fast.N]
		for what, words := range map[string][]uint64{
			"a group": matrices[0], "a request": requests[0], "addends": addends,
			"one group written twice":            difference(matrices[0], matrices[1]),
			"two requests for one vector":        difference(requests[0], requests[1]),
			"two blocks of a group":              difference(one, matrices[0][lattice.Fast.N:2*lattice.Fast.N]),
			"two blocks of a request":            difference(requests[0][:lattice.Fast.N], requests[0][lattice.Fast.N:2*lattice.Fast.N]),
			"a record and a request of one sort": difference(one, requests[0][:lattice.Fast.N]),
		} {
			if chi := chiSquare(words); chi > 60 {
				t.Errorf("%s vectors: %s: χ² = %.0f", name, what, chi)
			}
		}
	}
}
