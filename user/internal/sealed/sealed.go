// Package sealed is the owner's side of scheme sealed: inner products under
// ring-LWE that only the owner reads.
//
//	key, index id ──▶ Key: s_1 … s_B, s_n, secret; a′_1 … a′_B, public
//	Key, K vectors and addends ──▶ lattice.Group                       stored
//	groups ──▶ Hints: Σ_b W_{g,b}·a′_b, rounded, public                 kept
//	Key, vector u ──▶ OneTimeKey: s′, one use ║ lattice.Request         sent
//	OneTimeKey, Hints, lattice.Reply ──▶ ⟨v, u⟩ + addend of every record, exact
//
// Package lattice says what is computed and where the coefficients lie.
//
// # Why the cloud learns nothing
//
// A group is ring-LWE samples of several secrets, one a block and one for the
// addends, that share a_g. Samples of one secret under many uniform a_g look
// uniform; replace the secrets' samples one secret after the other, making those
// of the others oneself. So B+1 times the advantage against ring-LWE bounds what
// all groups tell (the many-secrets form of Peikert, Vaikuntanathan, Waters, "A
// framework for efficient and composable oblivious transfer", 2008, and of
// Frodo). A request is B samples of one secret s′ under a′_1 … a′_B; requests
// share these and each has an s′ of its own, so r requests lose a factor r in
// the same way. Messages are added to what looks uniform. Neither side's
// messages depend on the other's secrets, so the two arguments do not meet.
// Hints and replies are functions of what the cloud has.
//
// It takes, and the types see to it:
//   - a_g never meets the secrets twice with the same noise: Encrypt takes the
//     seed of a_g and the noise from a secret that serves this group alone. It is
//     made of fresh randomness, the key, and a digest of what is encrypted
//     (seed.Source), so that neither a restored backup nor a cloned machine whose
//     random numbers repeat uses one twice for different records.
//   - s′ never meets the same a′ twice with the same noise: NewRequest takes both
//     from such a secret, and a OneTimeKey is used up by the reply that it
//     decrypts.
//   - no two indexes share secrets: the index id, which is random, and the
//     parameters enter every derivation.
//
// Nothing of this authenticates a reply: a OneTimeKey believes made-up scores. What
// an index of scheme sealed is asked through checks them (check.go).
package sealed
