// Package estimate computes what is said of parameters and is not run: the cost of lattice
// attacks, and the failure and bytes of formats of scheme sealed.
//
//	LWE ─▶ Primal, Dual, Dense ─▶ Estimate, priced by a Model        heuristics
//	Format ─▶ Failure                                                 a bound
//	Format ─▶ HintBytes, RecordBytes, RequestBytes, ReplyBytes        exact
//
// Costs are heuristic: they assume that BKZ shapes bases as the geometric series says and
// that a sieve costs what its model says, and they are what the literature compares
// schemes by, not proofs. They know of no structure of a ring, and none is known that
// helps. Left out are attacks that guess a part of the secret, which pay where most of
// it is 0: here a third is. Left out too are the later refinements of the dual attack (Guo and
// Johansson, ASIACRYPT 2021; MATZOV 2022), which claim a few bits more and whose
// assumptions were found wanting (Ducas and Pulles, CRYPTO 2023).
//
// Failure is a bound on the probability that a score is wrong, for the worst record and
// request within the norms. It is proved from the distribution of noise and secrets,
// by the argument in internal/lattice/noise.go.
package estimate
