package feature

import "math"

// collect adds the magnitudes and phases of one response to its blocks.
//
// The angle of a product is the sum of the angles but for whole turns, and
// whether a turn was lost can be seen from the signs of three imaginary parts;
// so eight pixels share one arctangent.
func (s *gaborSpace) collect(orientation int) {
	for y := range gaborSide {
		base := (orientation*gaborBlocks + y/gaborBlock) * gaborBlocks
		for b := range gaborBlocks {
			at := y*gaborSide + b*gaborBlock
			m, p := blockRow((*[gaborBlock]float64)(s.re[at:]), (*[gaborBlock]float64)(s.im[at:]))
			s.mag[base+b] += m
			s.phase[base+b] += p
		}
	}
}

// blockRow sums the magnitudes and the angles of sixteen responses.
//
// A response on the cut, real part negative and imaginary part nothing but
// noise, has angle +π as much as −π and counts as their mean, 0. So does a
// response that is itself noise. Both occur in flat and in striped areas, and
// the noise of another machine must not show. The outermost lines, where the
// cut is the rule, have been settled before.
func blockRow(re, im *[gaborBlock]float64) (magnitude, angle float64) {
	const run = 8 // 1e-11 to the 8th is well inside a float64
	turns := 0
	for start := 0; start < gaborBlock; start += run {
		pr, pi := 1.0, 0.0
		for k := start; k < start+run; k++ {
			a, b := re[k], im[k]
			magnitude += math.Sqrt(a*a + b*b)
			if a < gaborNoise && math.Abs(b) < gaborNoise {
				continue
			}
			qr, qi := pr*a-pi*b, pr*b+pi*a
			turns += turnsLost(pi, b, qi)
			pr, pi = qr, qi
		}
		angle += math.Atan2(pi, pr)
	}
	return magnitude, angle + 2*math.Pi*float64(turns)
}

// turnsLost tells, from the imaginary parts of two factors and their product,
// by how many turns the product's angle falls short of the sum of the factors'
// angles: two in the upper half-plane (angles 0 … π) whose product lies below
// have passed π, two below whose product lies above have passed −π.
func turnsLost(a, b, product float64) int {
	sa, sb, sp := math.Float64bits(a)>>63, math.Float64bits(b)>>63, math.Float64bits(product)>>63
	return int(sp&^(sa|sb)) - int(sa&sb&^sp)
}
