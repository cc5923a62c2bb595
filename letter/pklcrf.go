package letter

import (
	"fmt"
	"math"

	"cpar"
)

// PKLC is the user's side of PKLC-RF, the box of Sec. IV-C, which compares
// Kullback-Leibler divergences of vectors and of hyperplanes. It encrypts
// vectors V_i and hyperplanes H_i of images, and the vector V_c of a request. r
// is a secret offset, r_c is the secret scale of a request, and ε is noise.
// Where log 0 counts as 0,
//
//	V_i  [ v_1 … v_m, v_1·log v_1 … v_m·log v_m, r, ε ]                  2m + 2 elements
//	H_i  [ 0 … v_s … 0, 0 … v_s·log v_s … 0, r, ε′ ]
//	V_c  [ −r_c·log v_1 … −r_c·log v_m, G(v_1) … G(v_m), r_c, −1 ]      G(v) = r_c, or 0 for v = 0
//
// Therefore V_i·V_cᵀ = r_c(DKL_ic + r) − ε_i. For H_i the product is the same
// with DKL_hc, the single term v_s·log(v_s/v_cs), in place of DKL_ic.
type PKLC struct {
	M       int
	R       float64
	Vectors *Key // S, for vectors and hyperplanes
	Own     *Key // S_c, for requests
	key     func(m int) *Key
}

// NewPKLC draws the keys for histograms of m bins. For equal secrets, r is the
// same as in PL1C-RF.
func NewPKLC(m int, secret [32]byte, count *Dots) *PKLC {
	key := keyMaker(secret, "PKLC-RF", count)
	p := &PKLC{M: m, R: offset(secret), Vectors: key(2*m + 2), key: key}
	p.Renew()
	return p
}

// Renew draws a new key S_c for the next request, as in the box.
func (p *PKLC) Renew() { p.Own = p.key(2*p.M + 2) }

// Vector performs Data Encryption of a histogram and returns C(V_i). The caller
// draws ε_i.
func (p *PKLC) Vector(v []float64, epsilon float64) ([]uint64, error) {
	return p.Vectors.seal(p.vector(v, epsilon))
}

func (p *PKLC) vector(v []float64, epsilon float64) ([]float64, error) {
	if len(v) != p.M {
		return nil, fmt.Errorf("PKLC-RF: a histogram of %d bins instead of %d: %w", len(v), p.M, cpar.ErrInput)
	}
	out := append(make([]float64, 0, 2*p.M+2), v...)
	for _, x := range v {
		out = append(out, x*logOrZero(x))
	}
	return append(out, p.R, epsilon), nil
}

// Plane performs Data Encryption of the hyperplane of bin s and returns C(H_i).
// Bins are counted from 0. The noise is ε′_i.
func (p *PKLC) Plane(v []float64, s int, epsilon float64) ([]uint64, error) {
	return p.Vectors.seal(p.plane(v, s, epsilon))
}

// plane returns H_i. If s < 0, there is no bin, and plane sets only r and ε′.
func (p *PKLC) plane(v []float64, s int, epsilon float64) ([]float64, error) {
	if len(v) != p.M || s >= p.M {
		return nil, fmt.Errorf("PKLC-RF: a plane of bin %d of %d bins, the key is for %d: %w", s, len(v), p.M, cpar.ErrInput)
	}
	h := make([]float64, 2*p.M+2)
	if s >= 0 {
		h[s], h[p.M+s] = v[s], v[s]*logOrZero(v[s])
	}
	h[2*p.M], h[2*p.M+1] = p.R, epsilon
	return h, nil
}

// A PKLCRequest is the part of a request that the cloud gets. CV is C(V_c), and
// SS is SᵀS_c.
type PKLCRequest struct {
	CV    []uint64
	SS    *Matrix
	count *Dots
}

// Evaluation returns SᵀS_c for the current request key.
func (p *PKLC) Evaluation() *Matrix { return p.Vectors.Evaluation(p.Own) }

// Request performs steps 1 and 2 of Request Generation, except for the matrix.
// Parameter rc is r_c.
func (p *PKLC) Request(v []float64, rc float64) (*PKLCRequest, error) {
	c, err := p.Own.seal(p.request(v, rc))
	return &PKLCRequest{CV: c, count: p.Own.count}, err
}

func (p *PKLC) request(v []float64, rc float64) ([]float64, error) {
	if len(v) != p.M || !(rc > 0) {
		return nil, fmt.Errorf("PKLC-RF: a request of %d bins instead of %d, scaled by %g: %w", len(v), p.M, rc, cpar.ErrInput)
	}
	logs, g := make([]float64, p.M), make([]float64, p.M)
	for i, x := range v {
		logs[i] = -rc * logOrZero(x)
		if x != 0 {
			g[i] = rc
		}
	}
	return append(append(logs, g...), rc, -1), nil
}

// Inner decrypts V_a·V_cᵀ, or H_a·V_cᵀ, by Eq. 2 (step 1 of both types).
func (q *PKLCRequest) Inner(c []uint64) float64 { return Inner(q.SS, c, q.CV, q.count) }

// Compare returns V_a·V_cᵀ − V_b·V_cᵀ = r_c(DKL_ac − DKL_bc) + (ε_b − ε_a).
// Ciphertext a is that of a vector (type-1) or of a hyperplane (type-2). The
// result is negative if a is nearer to the request than b.
func (q *PKLCRequest) Compare(a, b []uint64) float64 { return q.Inner(a) - q.Inner(b) }

func logOrZero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Log(x)
}

// CoordinateBound returns the divergence of the two-bin histogram (h, 1−h) from
// (c, 1−c). It is a lower bound for whole histograms, because merging bins
// never increases a divergence. The paper prunes with the term h·log(h/c),
// which is not a bound.
func CoordinateBound(h, c float64) float64 {
	return h*math.Log(h/c) + (1-h)*math.Log((1-h)/(1-c))
}
