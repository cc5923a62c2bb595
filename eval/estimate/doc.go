// Package estimate computes the cost of lattice attacks without running them.
//
//	LWE ─▶ Primal, Dual, Dense ─▶ Estimate, priced by a Model
//
// The literature compares schemes by these costs, which are heuristic. They
// assume that bases reduced by BKZ follow the geometric series assumption, and
// that a sieve has the cost stated by its model. They ignore the ring
// structure, because no attack is known to profit from it. They exclude attacks
// that guess part of the secret. Such attacks pay off only for sparse secrets,
// and only a third of the elements of our secrets is 0. They also exclude later
// refinements of the dual attack (Guo and Johansson, ASIACRYPT 2021, and MATZOV
// 2022), which claim a few bits less security under assumptions since refuted
// (Ducas and Pulles, CRYPTO 2023).
package estimate
