// Package estimate computes the cost of lattice attacks that are not run.
//
//	LWE ─▶ Primal, Dual, Dense ─▶ Estimate, priced by a Model
//
// Costs are heuristics by which the literature compares schemes, not proofs.
// They assume that BKZ shapes bases by the geometric series assumption and that
// a sieve costs what its model states. They ignore the ring structure, from
// which no attack is known to profit. They exclude attacks that guess part of
// the secret, which pay off for sparse secrets (here only a third is 0). They
// also exclude later refinements of the dual attack (Guo and Johansson,
// ASIACRYPT 2021, and MATZOV 2022), which claim a few bits more under
// assumptions since refuted (Ducas and Pulles, CRYPTO 2023).
package estimate
