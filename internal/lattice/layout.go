package lattice

import (
	"encoding/binary"
	"fmt"
)

// Row returns row k of a matrix of Words packed words: the evaluations at the points ζ with
// ζ^D = y_k, block by block.
func (p Params) Row(matrix []byte, k int) []byte {
	n := p.RowLen() * WordBytes
	return matrix[k*n : (k+1)*n : (k+1)*n]
}

// Scatter writes the N evaluations of block b into a matrix.
func (p Params) Scatter(matrix []byte, evaluations []uint64, b int) {
	for k := range p.Records() {
		row := p.Row(matrix, k)[b*p.Block*WordBytes:]
		AppendWords(row[:0], evaluations[k*p.Block:(k+1)*p.Block])
	}
}

// Gather is the inverse of Scatter.
func (p Params) Gather(evaluations []uint64, matrix []byte, b int) {
	for k := range p.Records() {
		Words(evaluations[k*p.Block:(k+1)*p.Block], p.Row(matrix, k)[b*p.Block*WordBytes:])
	}
}

// Classes sorts N coefficients by their residue modulo D: the coefficient of X^(iD+r)
// goes to r·K+i. The coefficients at multiples of D in a product f·g are then a sum of D
// short products: with s_r[i] = g[iD−r] and X^−j = −X^(N−j),
//
//	(f·g)_0 = Σ_r f_r·s_r   in Z[Y]/(Y^K+1)
func (p Params) Classes(dst, coefficients []uint64) {
	k := p.Records()
	for r := range p.Block {
		for i := range k {
			dst[r*k+i] = coefficients[i*p.Block+r]
		}
	}
}

// EvaluateClasses evaluates each of the D classes at K points, in place.
func (p Params) EvaluateClasses(classes []uint64) {
	for k := p.Records(); len(classes) > 0; classes = classes[k:] {
		p.Ring().Evaluate(classes[:k])
	}
}

// PackHint appends a hint's coefficients, below Q, rounded. UnpackHint reads them back, off by
// at most 2^(LogQ−1−hintBits) + gap modulo Q.
func (p Params) PackHint(b []byte, coefficients []uint64) []byte {
	rounded := make([]uint64, len(coefficients))
	for i, x := range coefficients {
		rounded[i] = p.Ring().round(x, hintBits)
	}
	return pack(b, rounded, hintBits)
}

// UnpackHint is the inverse of PackHint.
func (p Params) UnpackHint(dst []uint64, b []byte) {
	unpack(dst, b, hintBits)
	for i, x := range dst {
		dst[i] = x << (p.Ring().LogQ - hintBits)
	}
}

// HintBytes is the length of a packed hint.
func (p Params) HintBytes() int { return packedSize(p.Ring().N, hintBits) }

// Score returns the integer nearest to phase/Δ modulo t, in [−t/2, t/2). phase is below Q
// and holds Δ·score plus noise.
func (p Params) Score(phase uint64) int64 {
	shift := 64 - p.LogT
	return int64(p.Ring().round(phase, p.LogT)<<shift) >> shift
}

// packedSize is the number of bytes for n numbers of width bits.
func packedSize(n, width int) int { return (n*width + 7) / 8 }

// maxWidth is the limit of pack and unpack: a number and up to seven bits before it in
// its first byte must fit in a word.
const maxWidth = 57

// pack appends the numbers of v, each below 2^width, least significant bit first and
// without gaps; zeros fill the last byte.
func pack(b []byte, v []uint64, width int) []byte {
	checkWidth(width)
	var pending uint64
	filled := 0
	for _, x := range v {
		pending |= x << filled
		for filled += width; filled >= 8; filled -= 8 {
			b = append(b, byte(pending))
			pending >>= 8
		}
	}
	if filled > 0 {
		b = append(b, byte(pending))
	}
	return b
}

// unpack reads len(dst) numbers of width bits and reports whether the rest of the last
// byte is zero. b has packedSize(len(dst), width) bytes.
func unpack(dst []uint64, b []byte, width int) bool {
	checkWidth(width)
	mask := uint64(1)<<width - 1
	at := 0
	for i := range dst {
		dst[i] = word(b[at/8:]) >> (at % 8) & mask
		at += width
	}
	return at%8 == 0 || b[len(b)-1]>>(at%8) == 0
}

// word reads eight bytes, or as many as are left.
func word(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var last [8]byte
	copy(last[:], b)
	return binary.LittleEndian.Uint64(last[:])
}

func checkWidth(width int) {
	if width < 1 || width > maxWidth {
		panic(fmt.Sprintf("lattice: numbers of %d bits", width))
	}
}
