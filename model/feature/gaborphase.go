package feature

import "math"

// collect adds the magnitudes and phases of a response to its blocks.
func (s *gaborScratch) collect(orientation int) {
	for y := range gaborSide {
		base := (orientation*gaborBlocks + y/gaborBlock) * gaborBlocks
		for b := range gaborBlocks {
			m, p := blockRow((*[gaborBlock]complex128)(s.rows[y*fftSide+gaborReach+b*gaborBlock:]))
			s.mag[base+b] += m
			s.phase[base+b] += p
		}
	}
}

// blockRow sums the magnitudes and the angles of sixteen responses. The angle
// of a product is the sum of the angles modulo whole turns, and the signs of
// three imaginary parts reveal a lost turn, so eight pixels share one
// arctangent.
//
// The angle of a response with a negative real part and a noise-only imaginary
// part could be +π or −π. It counts as their mean, 0, and so does a response of
// noise alone. Such responses occur in flat and striped areas and, because
// borders are mirrored, in the outermost lines, and noise that differs between
// machines must not affect the result. OpenCV uses the sign of its noise, which
// is why gaborq differs from OpenCV mostly in border blocks.
func blockRow(responses *[gaborBlock]complex128) (magnitude, angle float64) {
	const run = 8 // 1e-11 to the power of 8 is well within float64
	turns := 0
	for start := 0; start < gaborBlock; start += run {
		pr, pi := 1.0, 0.0
		for k := start; k < start+run; k++ {
			a, b := real(responses[k]), imag(responses[k])
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

// turnsLost returns, from the imaginary parts of two factors and their product,
// the number of turns by which the product's angle falls short of the sum of
// angles. Two factors in the upper half-plane (angles 0…π) with a product below
// have passed π. Two factors below with a product above have passed −π.
func turnsLost(a, b, product float64) int {
	sa, sb, sp := math.Float64bits(a)>>63, math.Float64bits(b)>>63, math.Float64bits(product)>>63
	return int(sp&^(sa|sb)) - int(sa&sb&^sp)
}
