package letter

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
)

// These are the sizes of the secrets r (offset), r_c and r_s (scales) and ε
// (noise). The paper does not state them, so they are converted from package
// vectorlayout to units of distance. The L1 part of Dis is at most 12 and its
// divergence is at most 7.
const (
	minR, maxR   = 10.5, 11          // r
	minRC, maxRC = 1 << 10, 1 << 11  // r_c and r_s
	maxEpsilon   = (1 << 14) / 647e3 // |ε| is at most 0.025, so that r_c ≫ ε as the paper requires
)

func generator(secret [32]byte, purpose string) *rand.Rand {
	return rand.New(rand.NewChaCha8(derive(secret, purpose)))
}

func derive(secret [32]byte, purpose string) [32]byte {
	return sha256.Sum256(append(secret[:], purpose...))
}

func keyMaker(secret [32]byte, purpose string, count *Dots) func(m int) *Key {
	n := 0
	return func(m int) *Key {
		n++
		return NewKey(m, derive(secret, fmt.Sprint(purpose, n)), count)
	}
}

// offset returns r. It has few fractional bits, so that w·r is an integer.
func offset(secret [32]byte) float64 {
	r := generator(secret, "r")
	return math.Ldexp(math.Round(math.Ldexp(minR+(maxR-minR)*r.Float64(), 16)), -16)
}

func epsilon(r *rand.Rand) float64 { return maxEpsilon * (2*r.Float64() - 1) }

func scale(r *rand.Rand) float64 { return minRC + (maxRC-minRC)*r.Float64() }
