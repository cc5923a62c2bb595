package letter

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"

	"cpar"
	"cpar/internal/modq"
)

// These are parameters of the integer vector encryption: w = 2^Shift is the
// scale of plaintexts, and e is the noise. For decryption the paper requires q
// ≫ p (moduli of ciphertexts and plaintexts) and w > 2|max(e)|. In an inner
// product, w² times the result must stay below q/2. A shift of 23 bits leaves
// 17 bits for the result.
const (
	Shift = 23
	W     = 1 << Shift // w
	Sigma = 3.2        // standard deviation of e
	MaxE  = 19
)

// A Key is a secret key S of Sec. III-B with its inverse. Use it only for
// tests, because it derives from a small seed and may be printed.
type Key struct {
	S, Inverse *Matrix
	random     *rand.ChaCha8
	count      *Dots
}

// NewKey draws S ∈ Z_q^{m×m}. It computes S⁻¹ as the product P·L·U of a
// permutation and two random triangular matrices. Modulo 2⁶⁴ every invertible
// matrix is such a product.
func NewKey(m int, seed [32]byte, count *Dots) *Key {
	random := rand.NewChaCha8(seed)
	p := rand.New(random).Perm(m)
	lower, upper := randomLower(m, random), randomLower(m, random) // upper is the transpose of U
	inverse := lower.times(upper.transpose(), nil).permuteRows(p)
	// S = U⁻¹·L⁻¹·Pᵀ. The permutation of its columns is that of the rows of
	// S⁻¹.
	columns := upper.invertLower().transpose().times(lower.invertLower(), nil).transpose()
	return &Key{S: columns.permuteRows(p).transpose(), Inverse: inverse, random: random, count: count}
}

func (k *Key) noise(m int) []int64 {
	normal := rand.New(k.random)
	e := make([]int64, m)
	for i := range e {
		e[i] = int64(math.Round(max(-MaxE, min(MaxE, Sigma*normal.NormFloat64()))))
	}
	return e
}

// Encrypt computes Eq. 1: C(V) = S⁻¹(wV + e)ᵀ. An element of V may have 23
// fractional bits, because only w·V must be an integer. Errors wrap
// cpar.ErrInput.
func (k *Key) Encrypt(v []float64) ([]uint64, error) {
	if len(v) != k.S.M {
		return nil, fmt.Errorf("encrypting %d elements with a key of %d: %w", len(v), k.S.M, cpar.ErrInput)
	}
	x := make([]uint64, len(v))
	for i, e := range k.noise(len(v)) {
		if !(math.Abs(v[i]) < 1<<(62-Shift)) {
			return nil, fmt.Errorf("encrypting element %d, which is %g: %w", i, v[i], cpar.ErrInput)
		}
		x[i] = uint64(int64(math.Round(W*v[i])) + e)
	}
	return k.Inverse.apply(x, k.count), nil
}

// seal encrypts v, or returns err if it is not nil.
func (k *Key) seal(v []float64, err error) ([]uint64, error) {
	if err != nil {
		return nil, err
	}
	return k.Encrypt(v)
}

// Decrypt computes V = ⌈(S·C(V))ᵀ/w⌋_q. It rounds V to integers.
func (k *Key) Decrypt(c []uint64) []int64 {
	out := make([]int64, len(c))
	for i, x := range k.S.apply(c, k.count) {
		out[i] = modq.RoundShift(x, Shift)
	}
	return out
}

// Evaluation returns the matrix SᵀS_s, where S is key k and S_s is key `own`.
// The cloud needs this matrix to multiply ciphertexts under the two keys. The
// paper computes it once in RKDF Encryption, but for every request in the box
// of PL1C-RF. This takes M² inner products DOT_M, which the paper's formulas leave out.
func (k *Key) Evaluation(own *Key) *Matrix { return k.S.transpose().times(own.S, k.count) }

// Inner computes Eq. 2: the inner product of two plaintexts from their
// ciphertexts. It first computes C(V_1)ᵀ·SᵀS_s·C(V_2) = (wV_1 + e_1)(wV_2 +
// e_2)ᵀ, and then divides by w² (unlike InnerPrinted). This takes M + 1 inner
// products DOT_M, as in the paper.
func Inner(evaluation *Matrix, c1, c2 []uint64, count *Dots) float64 {
	t := evaluation.apply(c2, count)
	count.add(len(c1), 1)
	return math.Ldexp(float64(int64(modq.Dot(c1, t))), -2*Shift)
}

// InnerPrinted computes Eq. 2 as printed. It divides every product of two
// elements by w and rounds it modulo q before it applies vec(SᵀS_s). It then
// divides the sum by w. If `wrap` is set, the sum is first reduced modulo q.
// The result is not the inner product, because elements of ciphertexts are
// uniform modulo q and SᵀS_s multiplies each rounding error.
func InnerPrinted(evaluation *Matrix, c1, c2 []uint64, wrap bool) float64 {
	q := new(big.Int).Lsh(big.NewInt(1), 64)
	half := big.NewInt(W / 2)
	sum, x := new(big.Int), new(big.Int)
	for i, a := range c1 {
		for j, b := range c2 {
			x.Mul(x.SetUint64(a), new(big.Int).SetUint64(b))
			x.Rsh(x.Add(x, half), Shift)
			x.Mod(x, q)
			sum.Add(sum, x.Mul(x, new(big.Int).SetUint64(evaluation.row(i)[j])))
		}
	}
	if wrap {
		return math.Ldexp(float64(int64(sum.Mod(sum, q).Uint64())), -Shift)
	}
	out, _ := new(big.Float).SetInt(sum).Float64()
	return math.Ldexp(out, -Shift)
}
