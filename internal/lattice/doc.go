// Package lattice defines what both sides of scheme sealed share: the ring, the
// parameters, the layout of coefficients, the noise budget, and the bytes of groups,
// requests and replies. It holds no key and samples nothing.
//
//	v, u ∈ Z^d ─blocks of D─▶ B = ⌈d/D⌉ polynomials in Z[X]/(X^N+1)
//	m_{g,b} = Σ_i Σ_j v[gK+i][bD+j]·X^(iD−j)     K = N/D records per group g
//	p_b     = Σ_j u[bD+j]·X^j                    one request
//	Σ_b m_{g,b}·p_b = … + ⟨v[gK+i], u⟩·X^(iD) + …
//
// A product of exponents iD−j and j′ is a multiple of D only if j = j′, since both are
// below D. So the N/D coefficients at multiples of D are the inner products, and the
// others are unused. Stored and sent are
//
//	W_{g,b} = −a_g·s_b + e_{g,b} + Δ_db·m_{g,b}   record, block by block
//	A_g     = −a_g·s_n + e_g + Δ·Σ_i addend_i·X^(iD)   multiples of D only
//	R_b     = −a′_b·s′ + e′_b + Δ_q·p_b           request, fresh s′ every time
//	c_g     = A_g + Σ_b W_{g,b}·R_b               reply, multiples of D only
//
// with Δ = Δ_db·Δ_q = 2^LogQ/t and everything modulo the prime Q of a Ring. The owner adds s′·Σ_b
// W_{g,b}·a′_b and a_g·(s_n + Σ_b s_b·(Δ_q·p_b + e′_b)) to c_g, which leaves Δ·(⟨v, u⟩ +
// addend) and the noise bounded in noise.go.
//
// Evaluations are stored and sent, not coefficients (transform.go), in a layout that
// makes everything one matrix: row k of a group has the B·D evaluations at the points ζ
// with ζ^D = y_k, and D times c_g at y_k is the inner product of that row and row k of the
// request. That is what the cloud replies: it transforms nothing, and the owner can check it.
//
// The packing is that of coefficient-encoded inner products (Naehrig, Lauter,
// Vaikuntanathan, "Can homomorphic encryption be practical?", 2011). Splitting a product
// of two encryptions between cloud and owner is this project's own.
package lattice
