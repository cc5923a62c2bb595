// Package sealed is the owner's side of scheme sealed. The server computes
// inner products under ring-LWE, which only the owner can read.
//
//	key, index id ──▶ Key: s_1 … s_B, s_n, secret; a′_1 … a′_B, public
//	Key, K vectors and addends ──▶ lattice.Group                       stored
//	groups ──▶ Hints: Σ_b W_{g,b}·a′_b, rounded, public                 kept
//	Key, vector u ──▶ OneTimeKey: s′, one use ║ lattice.Request         sent
//	OneTimeKey, Hints, lattice.Reply ──▶ ⟨v, u⟩ + addend of every record, exact
//
// Package lattice defines the computation and the layout of coefficients. A
// group holds K records. Block b of its B blocks is W_{g,b}.
//
// # Why the server learns nothing
//
// Group g consists of ring-LWE samples that share a public a_g but have
// different secrets, s_b for each block of coordinates and s_n for the
// addends. Samples of one secret under many uniform a_g look uniform. A hybrid
// argument replaces the samples of one secret at a time and generates the
// other samples itself. All groups together therefore leak at most B+1 times
// the advantage against ring-LWE (the many-secrets form of Peikert,
// Vaikuntanathan, Waters, "A framework for efficient and composable oblivious
// transfer", 2008, and of Frodo). A request consists of B samples of one
// secret s′ under a′_1 … a′_B. Requests share a′_1 … a′_B, but each has its
// own s′, so r requests lose a factor r by the same argument. Values that look
// uniform thus mask all messages. Records do not depend on the secrets of
// requests, nor requests on the secrets of records, so the two arguments are
// independent. Hints and replies are functions of data that the server has.
//
// The proof has three requirements, which the types enforce:
//   - a_g is never combined twice with the secrets and the same noise. Encrypt
//     takes the seed of a_g and the noise from a secret used for one group only.
//     That secret combines fresh randomness, the key, and a digest of the
//     plaintext (seed.Source). A restored backup or a cloned machine with
//     repeating random numbers therefore never uses one secret for different
//     records.
//   - s′ is never combined twice with the same a′ and the same noise. NewRequest
//     takes s′ and the noise from such a secret, and a OneTimeKey decrypts one
//     reply.
//   - No two indexes share secrets. The random index id and the parameters enter
//     every derivation.
//
// The proof does not cover authentication: a OneTimeKey accepts invented
// scores. The scheme verifies replies separately (check.go).
package sealed
