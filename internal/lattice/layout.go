package lattice

// Row returns row k of a matrix of packed words: the evaluations at the points
// ζ with ζ^D = y_k, block by block.
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

func (p Params) Gather(evaluations []uint64, matrix []byte, b int) {
	for k := range p.Records() {
		Words(evaluations[k*p.Block:(k+1)*p.Block], p.Row(matrix, k)[b*p.Block*WordBytes:])
	}
}

// EvaluateColumns evaluates a K×D matrix of coefficients column by column at K
// points, in place. Afterwards row k has the values at y_k. N coefficients form
// such a matrix: the coefficient of X^(iD+r) is element i of column r. The
// coefficients at multiples of D in a product f·g are a sum of D short products
// of columns. With s_r[i] = g[iD−r] and X^−j = −X^(N−j),
//
//	(f·g)_0 = Σ_r f_r·s_r   in Z[Y]/(Y^K+1)
func (p Params) EvaluateColumns(coefficients []uint64) {
	p.Ring().tables().columns.Evaluate(coefficients, p.Records())
}

// PackHint appends a hint's coefficients, below Q, rounded. UnpackHint restores
// them with an error of at most 2^(LogQ−1−hintBits) + gap modulo Q.
func (p Params) PackHint(b []byte, coefficients []uint64) []byte {
	var pending uint64 // least significant bit first
	filled := 0
	for _, x := range coefficients {
		pending |= p.Ring().round(x, hintBits) << filled
		for filled += hintBits; filled >= 8; filled -= 8 {
			b = append(b, byte(pending))
			pending >>= 8
		}
	}
	return b
}

func (p Params) UnpackHint(dst []uint64, b []byte) {
	r := p.Ring()
	r.tables().kernels.Fields(dst, b, r.LogQ-hintBits)
}

func (p Params) HintBytes() int { return p.Ring().N / 8 * hintBits }

func (p Params) HintSize() int { return headerSize + SeedSize + 8 + p.HintBytes() }

// Score returns the integer nearest to phase/Δ modulo t, in [−t/2, t/2). phase is below Q
// and holds Δ·score plus noise.
func (p Params) Score(phase uint64) int64 {
	shift := 64 - p.LogT
	return int64(p.Ring().round(phase, p.LogT)<<shift) >> shift
}
