package f32

import "math"

// These functions map every value of `in` to a value of `out`, which may be the
// same slice. The plain versions compute the same steps as the kernels but
// round differently on processors without fused multiply-add. The stated errors
// are bounds for the values that the tests compare with package math.

// Exp computes eˣ, within 2 units in the last place (less precise for results
// below 10⁻³⁸).
func Exp(out, in []float32) { apply(expOf, out, in) }

// Erf computes the error function, within 2·10⁻⁷ relative.
func Erf(out, in []float32) { apply(erfOf, out, in) }

// Tanh computes the hyperbolic tangent, within 3·10⁻⁷ relative.
func Tanh(out, in []float32) { apply(tanhOf, out, in) }

// Sigmoid computes 1/(1+e⁻ˣ), within 3·10⁻⁷ relative plus 2·10⁻¹⁸. Its results
// exceed 10⁻¹⁸, because products of smaller ones could be subnormal, which is
// slow.
func Sigmoid(out, in []float32) { apply(sigmoidOf, out, in) }

// Gelu computes x·Φ(x) = x/2·(1 + erf(x/√2)), within 2·10⁻⁷·|x|. Below −5,
// where x·Φ(x) is smaller than that bound, the result is 0 or nearly 0.
func Gelu(out, in []float32) { apply(geluOf, out, in) }

// apply runs f on whole registers of `in`, then on the padded remainder.
func apply(f function, out, in []float32) {
	out = out[:len(in)]
	lanes := active.tiling().lanes
	whole := len(in) &^ (lanes - 1)
	active.apply(f, out[:whole], in[:whole])
	if whole == len(in) {
		return
	}
	var own [16]float32
	copy(own[:], in[whole:])
	active.apply(f, own[:lanes], own[:lanes])
	copy(out[whole:], own[:])
}

// A function is an index of plainFunctions and of a level's kernels.
type function int

const (
	expOf function = iota
	erfOf
	tanhOf
	sigmoidOf
	geluOf
	numFunctions
)

var plainFunctions = [numFunctions]func(float32) float32{exp, erf, tanh, sigmoid, gelu}

func applyPlain(f function, out, in []float32) {
	for i, x := range in {
		out[i] = plainFunctions[f](x)
	}
}

const (
	log2E = 1.44269504
	// ln 2 in two parts. Multiples of the first, which is short, are exact.
	ln2High, ln2Low = 0.693359375, -2.12194440e-4
)

// exp computes 2ⁿ·eʳ with |r| ≤ ln 2 / 2 and the polynomial for eʳ of Moshier's
// Cephes library.
func exp(x float32) float32 {
	if x != x {
		return x
	}
	x = clip(x, -104, 89) // e⁸⁹ is infinite, e⁻¹⁰⁴ is 0
	n := float32(math.RoundToEven(float64(x * log2E)))
	x -= n * ln2High
	x -= n * ln2Low
	y := ((((1.9875691500e-4*x+1.3981999507e-3)*x+8.3334519073e-3)*x+4.1665795894e-2)*x+1.6666665459e-1)*x + 5.0000001201e-1
	y = y*(x*x) + x + 1
	// 2ⁿ in two factors, because n may exceed the exponents of float32.
	half := int32(n) >> 1
	return y * power2(half) * power2(int32(n)-half)
}

func power2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// erf computes x plus an odd polynomial, or for large |x| 1 minus the
// exponential of a polynomial (minimax approximation by N. Juffa).
func erf(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	s := x * x
	if t < 0.927734375 {
		y := ((((-5.96761703e-4*s+4.99119423e-3)*s-2.67681349e-2)*s+1.12819925e-1)*s-3.76125336e-1)*s + 1.28379166e-1
		return y*x + x
	}
	y := -1.72853470e-5*t + 3.83197126e-4
	y = y*s + (-3.88396438e-3*t + 2.42546219e-2)
	y = ((y*t-1.06777877e-1)*t-6.34846687e-1)*t - 1.28717512e-1
	y = 1 - exp(y*t-t)
	return float32(math.Copysign(float64(y), float64(x)))
}

// tanh computes x plus an odd polynomial (Cephes), or for large |x| 1 −
// 2/(e²ˣ+1).
func tanh(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	if t < 0.625 {
		s := x * x
		y := (((-5.70498872745e-3*s+2.06390887954e-2)*s-5.37397155531e-2)*s+1.33314422036e-1)*s - 3.33332819422e-1
		return y*s*x + x
	}
	y := 1 - 2/(exp(t+t)+1)
	return float32(math.Copysign(float64(y), float64(x)))
}

func sigmoid(x float32) float32 { return 1 / (1 + exp(min(-x, 41))) }

func gelu(x float32) float32 {
	half := 0.5 * x
	return half*erf(x*(math.Sqrt2/2)) + half
}
