// Package estimate computes properties of parameters that are not measured: the
// cost of lattice attacks, and the failure probability and sizes of formats of
// scheme sealed.
//
//	LWE ─▶ Primal, Dual, Dense ─▶ Estimate, priced by a Model        heuristics
//	Format ─▶ Failure                                                 a bound
//	Format ─▶ HintBytes, RecordBytes, RequestBytes, ReplyBytes        exact
//
// Costs are heuristics by which the literature compares schemes, not proofs.
// They assume that BKZ shapes bases by the geometric series assumption and that
// a sieve costs what its model states. They ignore the ring structure, from
// which no attack is known to profit. They exclude attacks that guess part of
// the secret, which pay off for sparse secrets (here a third is 0). They also
// exclude later refinements of the dual attack (Guo and Johansson, ASIACRYPT
// 2021, and MATZOV 2022), which claim a few bits more under assumptions since
// refuted (Ducas and Pulles, CRYPTO 2023).
//
// Failure bounds the probability of a wrong score for the worst record and
// request within the norms. The proof from the distribution of noise and
// secrets is in internal/lattice/noise.go.
package estimate
