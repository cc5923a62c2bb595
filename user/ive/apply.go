package ive

import "cpar/internal/modq"

// In the products below, x and dst have m 64-bit words and may be the same
// slice. Type Key defines the factors.

// applyInverse writes S⁻¹x = P₁·L·D·U·P₂·x.
func (k *Key) applyInverse(dst, x []uint64) {
	a := k.enter(x)
	// Ascend, because row i of U needs the old elements right of i.
	for i := range a {
		a[i] += modq.Dot(k.upperRow(i), a[i+1:])
	}
	scale(a, k.diag)
	// Descend, because row i of L needs the old elements left of i.
	for i := len(a) - 1; i >= 0; i-- {
		a[i] += modq.Dot(k.lowerRow(i), a)
	}
	for i, from := range k.left {
		dst[i] = a[from]
	}
}

// applyTranspose writes Sᵀx = P₁·L⁻ᵀ·D⁻¹·U⁻ᵀ·P₂·x. Transposing a permutation
// inverts it, so P₁ and P₂ keep their places. The solves use rows of the
// untransposed triangles: once an element is known, its multiple of a row is
// subtracted from all later elements. Rows are subtracted in groups of four,
// first within the group, then from all later elements at once.
func (k *Key) applyTranspose(dst, x []uint64) {
	a := k.enter(x)
	m := len(a)
	var rows [modq.TileRows][]uint64
	var out [modq.TileRows]uint64
	for i := 0; i < m; i += modq.TileRows {
		end := min(i+modq.TileRows, m)
		for p := i; p < end; p++ {
			modq.Axpy(-a[p], k.upperRow(p)[:end-p-1], a[p+1:])
			rows[p-i], out[p-i] = k.upperRow(p)[end-p-1:], -a[p]
		}
		if end < m { // only a full group has later elements
			modq.AxpyRows(&out, &rows, a[end:], k.upperRow(end))
		}
	}
	scale(a, k.unDiag)
	for end := m; end > 0; end -= modq.TileRows {
		i := max(end-modq.TileRows, 0)
		for p := end - 1; p >= i; p-- {
			modq.Axpy(-a[p], k.lowerRow(p)[i:], a[i:])
			rows[p-i], out[p-i] = k.lowerRow(p)[:i], -a[p]
		}
		if i > 0 {
			modq.AxpyRows(&out, &rows, a[:i], k.lowerRow(max(i-modq.TileRows, 0)))
		}
	}
	for i, from := range k.left {
		dst[i] = a[from]
	}
}

// apply writes Sx = P₂⁻¹·U⁻¹·D⁻¹·L⁻¹·P₁⁻¹·x, which only decryption needs.
func (k *Key) apply(dst, x []uint64) {
	a := make([]uint64, len(x))
	for i, to := range k.left {
		a[to] = x[i]
	}
	for i := range a {
		a[i] -= modq.Dot(k.lowerRow(i), a)
	}
	scale(a, k.unDiag)
	for i := len(a) - 1; i >= 0; i-- {
		a[i] -= modq.Dot(k.upperRow(i), a[i+1:])
	}
	for i, to := range k.right {
		dst[to] = a[i]
	}
}

func (k *Key) enter(x []uint64) []uint64 {
	a := make([]uint64, len(x))
	for i, from := range k.right {
		a[i] = x[from]
	}
	return a
}

func scale(a, by []uint64) {
	for i := range a {
		a[i] *= by[i]
	}
}
