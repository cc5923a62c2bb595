package ive

import "cpar/internal/modq"

// The products below work in place on a copy of their argument: x is read, dst
// is written, both have m words, and they may be the same slice.

// applyInverse writes S⁻¹x = P₁·L·D·U·P₂·x.
func (k *Key) applyInverse(dst, x []uint64) {
	a := k.enter(x)
	// Ascending: row i of U needs the elements right of i as they were.
	for i := range a {
		a[i] += modq.Dot(k.upperRow(i), a[i+1:])
	}
	scale(a, k.diag)
	// Descending: row i of L needs the elements left of i as they were.
	for i := len(a) - 1; i >= 0; i-- {
		a[i] += modq.Dot(k.lowerRow(i), a)
	}
	for i, from := range k.left {
		dst[i] = a[from]
	}
}

// applyTranspose writes Sᵀx = P₁·L⁻ᵀ·D⁻¹·U⁻ᵀ·P₂·x. (The transposed inverse of a
// permutation is the permutation.) The solves run over rows of the untransposed
// triangles: once an element is known, its multiple of a row leaves all others.
func (k *Key) applyTranspose(dst, x []uint64) {
	a := k.enter(x)
	for i := range a {
		modq.Axpy(-a[i], k.upperRow(i), a[i+1:])
	}
	scale(a, k.unDiag)
	for i := len(a) - 1; i >= 0; i-- {
		modq.Axpy(-a[i], k.lowerRow(i), a)
	}
	for i, from := range k.left {
		dst[i] = a[from]
	}
}

// apply writes Sx = P₂⁻¹·U⁻¹·D⁻¹·L⁻¹·P₁⁻¹·x, which only decryption and the paper's
// unfolded form need.
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

// applyInverseLanes writes S⁻¹x for up to modq.Lanes vectors, the rows of dst and
// of x. The factors, 14 MB at m = 1347, pass through the processor once for all
// of them. a is scratch for m·Lanes words.
func (k *Key) applyInverseLanes(dst, x, a []uint64) {
	m := k.params.Dim
	n := len(x) / m
	clear(a)
	for i, from := range k.right {
		for l := range n {
			a[i*modq.Lanes+l] = x[l*m+from]
		}
	}
	for i := range m {
		lane := (*[modq.Lanes]uint64)(a[i*modq.Lanes:])
		sum := *lane
		modq.DotLanes(&sum, k.upperRow(i), a[(i+1)*modq.Lanes:])
		for l := range sum {
			lane[l] = sum[l] * k.diag[i]
		}
	}
	for i := m - 1; i >= 0; i-- {
		lane := (*[modq.Lanes]uint64)(a[i*modq.Lanes:])
		sum := *lane
		modq.DotLanes(&sum, k.lowerRow(i), a)
		*lane = sum
	}
	for i, from := range k.left {
		for l := range n {
			dst[l*m+i] = a[from*modq.Lanes+l]
		}
	}
}

// enter is P₂x in a fresh slice.
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
