package lattice

import "math"

// A row of several records has one addend. Each record therefore carries its
// own addend in two more coordinates, high and low, which a request multiplies
// by M and 1:
//
//	slot     v ‖ high ‖ low       addend = M·high + low, |low| ≤ M/2
//	request  u ‖ M ‖ 1            at one slot, and 0 elsewhere
//	⟨row, request⟩ = ⟨v, u⟩ + addend
//
// M is close to the square root of the maximum addend, so that neither norm
// grows by much.
const addendDim = 2

// SlotDim returns the number of coordinates of a dim-dimensional vector in such
// a row.
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

// Slot returns the record in slot c of a row. v aliases the row.
func (p Params) Slot(row []int16, c int) (v []int16, addend int64) {
	cell := row[c*p.SlotDim() : (c+1)*p.SlotDim()]
	v = cell[: len(cell)-addendDim : len(cell)-addendDim]
	return v, p.addendScale()*int64(cell[len(v)]) + int64(cell[len(v)+1])
}

// Ask returns the request that multiplies slot c of every row by u.
func (p Params) Ask(u []int16, c int) []int16 {
	out := make([]int16, p.Dim)
	cell := out[c*p.SlotDim():]
	at := copy(cell, u)
	cell[at], cell[at+1] = int16(p.addendScale()), 1
	return out
}

// norms bounds the Euclidean norms of a record and a request, including
// addends.
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
