// Package lattice defines the parts of scheme sealed that owner and cloud
// share: ring, parameters, coefficient layout, noise budget, and the encodings
// of groups, requests and replies. It holds no key and samples nothing.
//
//	v, u ∈ Z^d ─blocks of D─▶ B = ⌈d/D⌉ polynomials in Z[X]/(X^N+1)
//	m_{g,b} = Σ_i Σ_j v[gK+i][bD+j]·X^(iD−j)     K = N/D records per group g
//	p_b     = Σ_j u[bD+j]·X^j                    one request
//	Σ_b m_{g,b}·p_b = … + ⟨v[gK+i], u⟩·X^(iD) + …
//
// The exponents iD−j and j′ sum to a multiple of D only if j = j′, because both
// are below D. The N/D coefficients at multiples of D are therefore the inner
// products. All other coefficients are unused. The objects stored and sent are
//
//	W_{g,b} = −a_g·s_b + e_{g,b} + Δ_db·m_{g,b}   record, block by block
//	A_g     = −a_g·s_n + e_g + Δ·Σ_i addend_i·X^(iD)   multiples of D only
//	R_b     = −a′_b·s′ + e′_b + Δ_q·p_b           request, fresh s′ every time
//	c_g     = A_g + Σ_b W_{g,b}·R_b               reply, multiples of D only
//
// with Δ = Δ_db·Δ_q = 2^LogQ/t, modulo the prime Q of a Ring. Polynomials a are
// uniform, s are secrets of the owner, and e are noise. Scores are exact modulo
// t. The owner adds s′·Σ_b W_{g,b}·a′_b and a_g·(s_n + Σ_b s_b·(Δ_q·p_b +
// e′_b)) to c_g. The result is Δ·(⟨v, u⟩ + addend) plus the noise bounded in
// noise.go.
//
// Polynomials are stored and sent as evaluations (transform.go), arranged as a
// matrix. Row k of a group holds the B·D evaluations at the points ζ with ζ^D =
// y_k. The inner product with row k of the request is D times c_g at y_k. The
// cloud returns it without a transform, and the owner can check it.
//
// The packing follows coefficient-encoded inner products (Naehrig, Lauter,
// Vaikuntanathan, "Can homomorphic encryption be practical?", 2011). The
// division of the product of two encryptions between cloud and owner is
// original to this project.
package lattice
