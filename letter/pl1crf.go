package letter

import (
	"fmt"

	"cpar"
)

// PL1C is the user's side of PL1C-RF, the box of Sec. IV-B, which compares L1
// distances and hyperplanes. It works on approximated vectors V̂ of m̂
// elements. Their squared L2 distances are the L1 distances DL1. V̂_i and Ĥ_i
// are the vector and hyperplane of an image. V̂_c and Ĥ_c belong to a request.
// r is a secret offset, r_c is the secret scale of a request, and ε is noise.
//
//	V̂_i  [ v̂_1 … v̂_m̂, r − ½Σv̂², ε, −1 ]                      m̂ + 3 elements
//	Ĥ_i  [ 0 … v̂_s … 0, r − ½v̂_s², ε′, 0 … −1 … 0 ]          2m̂ + 2, −1 at m̂ + 2 + s
//	V̂_c  [ r_c·v̂_1 … r_c·v̂_m̂, r_c, 1, ½r_c·Σv̂² ]
//	Ĥ_c  [ r_c·v̂_1 … r_c·v̂_m̂, r_c, 1, ½r_c·v̂_1² … ½r_c·v̂_m̂² ]
//
// Therefore V̂_i·V̂_cᵀ = r_c(r − ½DL1_ic) + ε_i, and Ĥ_i·Ĥ_cᵀ = r_c(r −
// ½DL1_hc) + ε′_i with DL1_hc = (v̂_is − v̂_cs)².
type PL1C struct {
	M int     // m̂
	R float64 // r, which is the same for all images
	// The keys of images are S for vectors and S′ for planes. The keys of
	// requests are S_c and S′_c.
	Vectors, Planes       *Key
	OwnVectors, OwnPlanes *Key
	key                   func(m int) *Key
}

// NewPL1C draws r and the four keys for vectors of m elements.
func NewPL1C(m int, secret [32]byte, count *Dots) *PL1C {
	key := keyMaker(secret, "PL1C-RF", count)
	p := &PL1C{M: m, R: offset(secret), Vectors: key(m + 3), Planes: key(2*m + 2), key: key}
	p.Renew()
	return p
}

// Renew draws new keys S_c and S′_c for the next request, as in the box.
func (p *PL1C) Renew() { p.OwnVectors, p.OwnPlanes = p.key(p.M+3), p.key(2*p.M+2) }

// Vector performs steps 1 and 3 of Data Encryption and returns C(V̂_i). The
// caller draws ε_i.
func (p *PL1C) Vector(v []float64, epsilon float64) ([]uint64, error) {
	return p.Vectors.seal(p.vector(v, epsilon))
}

func (p *PL1C) vector(v []float64, epsilon float64) ([]float64, error) {
	if len(v) != p.M {
		return nil, fmt.Errorf("PL1C-RF: a vector of %d elements instead of %d: %w", len(v), p.M, cpar.ErrInput)
	}
	return append(append(make([]float64, 0, p.M+3), v...), p.R-squares(v)/2, epsilon, -1), nil
}

// Plane performs steps 2 and 3 of Data Encryption. It returns C(Ĥ_i) for an
// image at a node that splits field s (an element of V̂, counted from 0), with
// noise ε′_i.
func (p *PL1C) Plane(v []float64, s int, epsilon float64) ([]uint64, error) {
	return p.Planes.seal(p.plane(v, s, epsilon))
}

// plane returns Ĥ_i. If s < 0, the node splits no field, and plane sets only r
// and ε′. Such a hyperplane has distance 0 from every request.
func (p *PL1C) plane(v []float64, s int, epsilon float64) ([]float64, error) {
	if len(v) != p.M || s >= p.M {
		return nil, fmt.Errorf("PL1C-RF: a plane of field %d of %d elements, the key is for %d: %w", s, len(v), p.M, cpar.ErrInput)
	}
	h := make([]float64, 2*p.M+2)
	h[p.M], h[p.M+1] = p.R, epsilon
	if s >= 0 {
		h[s] = v[s]
		h[p.M] -= v[s] * v[s] / 2
		h[p.M+2+s] = -1
	}
	return h, nil
}

// A PL1CRequest is the part of a request that the cloud gets. CV is C(V̂_c) and
// CH is C(Ĥ_c). SS is SᵀS_c and SSPlane is S′ᵀS′_c.
type PL1CRequest struct {
	CV, CH      []uint64
	SS, SSPlane *Matrix
	count       *Dots
}

// Evaluations returns SᵀS_c and S′ᵀS′_c for the current request keys.
func (p *PL1C) Evaluations() (ss, ssPlane *Matrix) {
	return p.Vectors.Evaluation(p.OwnVectors), p.Planes.Evaluation(p.OwnPlanes)
}

// Request performs steps 1 to 3 of Request Generation, except for the matrices.
// Parameter rc is r_c, a positive random number that the user keeps.
func (p *PL1C) Request(v []float64, rc float64) (*PL1CRequest, error) {
	vc, hc, err := p.request(v, rc)
	if err != nil {
		return nil, err
	}
	q := &PL1CRequest{count: p.Vectors.count}
	if q.CV, err = p.OwnVectors.Encrypt(vc); err != nil {
		return nil, err
	}
	q.CH, err = p.OwnPlanes.Encrypt(hc)
	return q, err
}

func (p *PL1C) request(v []float64, rc float64) (vc, hc []float64, err error) {
	if len(v) != p.M || !(rc > 0) {
		return nil, nil, fmt.Errorf("PL1C-RF: a request of %d elements instead of %d, scaled by %g: %w", len(v), p.M, rc, cpar.ErrInput)
	}
	scaled, halves := make([]float64, p.M), make([]float64, p.M)
	for i, x := range v {
		scaled[i], halves[i] = rc*x, rc*x*x/2
	}
	vc = append(append([]float64{}, scaled...), rc, 1, rc*squares(v)/2)
	hc = append(append(append([]float64{}, scaled...), rc, 1), halves...)
	return vc, hc, nil
}

// Vector decrypts V̂_a·V̂_cᵀ by Eq. 2 (type-1, step 1).
func (q *PL1CRequest) Vector(c []uint64) float64 { return Inner(q.SS, c, q.CV, q.count) }

// Plane decrypts Ĥ_a·Ĥ_cᵀ by Eq. 2 (type-2, step 1).
func (q *PL1CRequest) Plane(c []uint64) float64 { return Inner(q.SSPlane, c, q.CH, q.count) }

// Type1 returns V̂_b·V̂_cᵀ − V̂_a·V̂_cᵀ ≈ (r_c/2)(DL1_ac − DL1_bc) + (ε_b −
// ε_a). The result is negative if a is nearer to the request than b.
func (q *PL1CRequest) Type1(a, b []uint64) float64 { return q.Vector(b) - q.Vector(a) }

// Type2 returns V̂_b·V̂_cᵀ − Ĥ_a·Ĥ_cᵀ ≈ (r_c/2)(DL1_hc − DL1_bc) + (ε_b −
// ε′_a). The result is negative if the hyperplane h of image a is nearer to the
// request than b.
func (q *PL1CRequest) Type2(h, b []uint64) float64 { return q.Vector(b) - q.Plane(h) }

func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}
