package scorevector

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/ive"
)

// A split plane H divides the records at one level of one field, a dimension of the
// original feature vectors. Pruning needs the request's distance from the plane:
//
//	H        [ 0 … 1 at the field's position … 0,    −(level − centre_f) ]
//	request  [ r_p·(level_s[f] − centre_f) for each f,  r_p ]
//	score    r_p·(level_s[f] − level), exact
//
// The vectors cover the fields that some tree splits, the paper's set SF.
// centre_f is a reference level of field f, and r_p is a secret factor drawn
// per request. Unlike scores of distances, plane scores contain no secret
// offset and no random term, because the server must read their sign. Exact
// means that the rounded score equals the integer for every input and every
// noise, so the encrypted search takes the same path as the plaintext search.
//
// Exactness needs noise below one half. With encryption noise |e| ≤ 19,
// plaintext scales 2²⁸ (record) and 2¹⁷ (request), r_p ≤ 255 and levels 0…999,
// the score errs by at most the sum of
//
//	the request's noise  19·(1 + 999)/2¹⁷                 = 0.145
//	the record's noise   19·255·(Σ|level_s − centre| + 1)/2²⁸  < 0.355 up to a sum of 19,669
//	both                 361·(|SF| + 1)/2⁴⁵               < 10⁻⁸
//
// Subtracting the centres makes levels small. Σ|x| ≤ 6 holds for a photo's six
// L1-normalised vectors, and therefore for means of photos. With 999/2 = 499.5
// levels per unit and 1.5 levels of rounding in each of 864 fields, Σ ≤
// 12·499.5 + 1296 = 7,290. For other centres, Request checks the sum.
//
// The 64-bit word of a score is below (255·999 + ½)·2⁴⁵ = 2^62.96.
const (
	PlaneRecordShift  = 28
	PlaneRequestShift = 17
	// PlaneScaleBits sets the range of r_p, which is uniform in [2⁷, 2⁸).
	PlaneScaleBits = 7
	MaxPlaneScale  = 1<<(PlaneScaleBits+1) - 1
)

// PlaneFactor multiplies a plane's distance in levels before it is compared
// with a distance estimated through the Johnson–Lindenstrauss (JL) projection.
// The estimate falls below the true L1 distance half the time. At m̂ = 1296
// projected coordinates, it falls below 0.75 of the true distance with
// probability at most exp(−648·(log(4/3) − 1/4)) = 3·10⁻¹¹.
const PlaneFactor = 0.75

// A PlaneBudget is a checked layout of planes under which scores are exact.
type PlaneBudget struct {
	seed.Redacted       // secret, because the centres are learnt from the collection
	centres       []int // reference levels, one for each split field, shared by planes and requests
	beta          int
	limit         int64
}

// NewPlanes returns the budget for planes at levels 0…beta. Parameter `centres` holds
// one reference level for each split field. Errors wrap cpar.ErrInput.
func NewPlanes(centres []int, beta int) (*PlaneBudget, error) {
	if len(centres) < 1 || beta < 1 || beta > 1<<16 {
		return nil, fmt.Errorf("making a plane budget: %d fields of %d levels: %w", len(centres), beta, cpar.ErrInput)
	}
	p := &PlaneBudget{centres: slices.Clone(centres), beta: beta}
	for f, c := range centres {
		if err := p.inRange(c); err != nil {
			return nil, fmt.Errorf("making a plane budget: centre of field %d: %w", f, err)
		}
	}
	cipher := p.Cipher()
	if err := cipher.Fits(MaxPlaneScale*float64(beta), 0.5); err != nil {
		return nil, fmt.Errorf("making a plane budget: %w", err)
	}
	// The record's noise grows with the sum of levels. It may use what the
	// other two terms leave of the permitted one half.
	fixed := cipher.WorstNoise(1+float64(beta), 0)
	perLevel := cipher.WorstNoise(0, MaxPlaneScale) - cipher.WorstNoise(0, 0)
	p.limit = int64((0.5-1e-9-fixed)/perLevel) - 1
	if p.limit < int64(beta) {
		return nil, fmt.Errorf("making a plane budget: scores of %d levels would not be exact: %w", beta, cpar.ErrInput)
	}
	return p, nil
}

func (p *PlaneBudget) Dim() int { return len(p.centres) + 1 }

func (p *PlaneBudget) Cipher() ive.Params {
	return ive.Params{Dim: p.Dim(), RecordShift: PlaneRecordShift, RequestShift: PlaneRequestShift}
}

// Limit returns the maximum Σ|level − centre| of a request.
func (p *PlaneBudget) Limit() int64 { return p.limit }

func (p *PlaneBudget) Scale(noise *ive.Noise) int64 {
	return noise.Between(1<<PlaneScaleBits, MaxPlaneScale)
}

// Plane writes the vector of one plane into dst, of Dim elements. Parameter
// `position` is the field's index among the split fields, and `level` is the
// split value. Errors wrap cpar.ErrInput.
func (p *PlaneBudget) Plane(dst []int64, position, level int) error {
	if len(dst) != p.Dim() || position < 0 || position >= len(p.centres) {
		return fmt.Errorf("laying out a plane: field %d of %d into %d elements: %w", position, len(p.centres), len(dst), cpar.ErrInput)
	}
	if err := p.inRange(level); err != nil {
		return fmt.Errorf("laying out a plane: %w", err)
	}
	clear(dst)
	dst[position] = 1
	dst[len(p.centres)] = -int64(level - p.centres[position])
	return nil
}

// Request writes a request's vector for all planes into dst, of Dim elements.
// Parameter `levels` holds the photo's levels in the split fields, and `scale`
// is r_p. Errors wrap cpar.ErrInput.
func (p *PlaneBudget) Request(dst []int64, levels []int, scale int64) error {
	if len(dst) != p.Dim() || len(levels) != len(p.centres) {
		return fmt.Errorf("laying out a plane request: %d levels into %d elements, there are %d fields: %w",
			len(levels), len(dst), len(p.centres), cpar.ErrInput)
	}
	if scale < 1<<PlaneScaleBits || scale > MaxPlaneScale {
		return fmt.Errorf("laying out a plane request: scale %d outside [2^%d, 2^%d): %w",
			scale, PlaneScaleBits, PlaneScaleBits+1, cpar.ErrInput)
	}
	var sum int64
	for i, level := range levels {
		if err := p.inRange(level); err != nil {
			return fmt.Errorf("laying out a plane request: field %d: %w", i, err)
		}
		d := int64(level - p.centres[i])
		sum += max(d, -d)
		dst[i] = scale * d
	}
	if sum > p.limit {
		return fmt.Errorf("laying out a plane request: levels lie %d from the centres in all, scores are exact up to %d: %w",
			sum, p.limit, cpar.ErrInput)
	}
	dst[len(levels)] = scale
	return nil
}

// Score returns the plaintext plane score r_p·(level_s − level). Parameter
// `scale` is r_p.
func (p *PlaneBudget) Score(requestLevel, planeLevel int, scale int64) int64 {
	return scale * int64(requestLevel-planeLevel)
}

func (p *PlaneBudget) inRange(level int) error {
	if level < 0 || level > p.beta {
		return fmt.Errorf("level %d outside 0 to %d: %w", level, p.beta, cpar.ErrInput)
	}
	return nil
}
