package lattice

import (
	"math"
)

// Row returns row k of a matrix of packed words. The row holds the evaluations
// at the points ζ with ζ^D = y_k (transform.go), block by block.
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
// points, in place. Element i of column r is the coefficient of X^(iD+r). Row k
// of the result has the values at y_k. In a product f·g, the coefficients at
// multiples of D are a sum of D short products of columns. With column r of f
// as f_r, s_r[i] = g[iD−r] and X^−j = −X^(N−j),
//
//	(f·g)_0 = Σ_r f_r·s_r   in Z[Y]/(Y^K+1)
func (p Params) EvaluateColumns(coefficients []uint64) {
	p.Ring().tables().columns.Evaluate(coefficients, p.Records())
}

// PackHint appends a hint's coefficients, which are below Q, rounded to
// hintBits bits. UnpackHint restores them with an error of at most
// 2^(LogQ−1−hintBits) + gap modulo Q.
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

// Score returns the integer nearest to phase/Δ modulo t, in [−t/2, t/2).
// `phase` is below Q and holds Δ·score plus noise.
func (p Params) Score(phase uint64) int64 {
	shift := 64 - p.LogT
	return int64(p.Ring().round(phase, p.LogT)<<shift) >> shift
}

// A row has one addend, which is added to its inner product. In a row of
// several records, each record needs its own addend. It carries the addend in
// two more coordinates, `high` and `low`, which a request multiplies by M and
// 1:
//
//	slot     v ‖ high ‖ low       addend = M·high + low, |low| ≤ M/2
//	request  u ‖ M ‖ 1            at one slot, and 0 elsewhere
//	⟨row, request⟩ = ⟨v, u⟩ + addend
//
// M is close to the square root of the maximum addend, so that neither norm
// grows by much.
const addendDim = 2

// SlotDim returns the length of a slot for vectors of `dim` coordinates.
func SlotDim(dim int) int { return dim + addendDim }

func (p Params) addendScale() int64 { return int64(math.Ceil(math.Sqrt(float64(p.Addend)))) }

func (p Params) split(addend int64) (high, low int64) {
	m := p.addendScale()
	if m == 0 {
		return 0, 0
	}
	low = (addend%m + m) % m // 0 to M−1
	if low > m/2 {
		low -= m
	}
	return (addend - low) / m, low
}

// PutSlot writes a record into slot c of a row.
func (p Params) PutSlot(row []int16, c int, v []int16, addend int64) {
	cell := row[c*p.SlotDim() : (c+1)*p.SlotDim()]
	at := copy(cell, v)
	high, low := p.split(addend)
	cell[at], cell[at+1] = int16(high), int16(low)
}

// Slot returns the record in slot c of a row. Result `v` aliases the row.
func (p Params) Slot(row []int16, c int) (v []int16, addend int64) {
	cell := row[c*p.SlotDim() : (c+1)*p.SlotDim()]
	v = cell[: len(cell)-addendDim : len(cell)-addendDim]
	return v, p.addendScale()*int64(cell[len(v)]) + int64(cell[len(v)+1])
}

// Ask returns the request for the inner products of u with slot c of every row.
func (p Params) Ask(u []int16, c int) []int16 {
	out := make([]int16, p.Dim)
	cell := out[c*p.SlotDim():]
	at := copy(cell, u)
	cell[at], cell[at+1] = int16(p.addendScale()), 1
	return out
}

// norms bounds the Euclidean norms of rows and requests, including addends.
func (p Params) norms() (record, request float64) {
	record, request = float64(p.RecordNorm), float64(p.RequestNorm)
	if p.LogSlots == 0 {
		return record, request
	}
	m := p.addendScale()
	low := m / 2
	high := float64((p.Addend - low + m - 1) / max(1, m))
	return math.Sqrt(record*record + high*high + float64(low*low)), math.Sqrt(request*request + float64(m*m) + 1)
}
