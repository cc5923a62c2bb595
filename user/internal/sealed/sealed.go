// Package sealed is the owner's side of scheme sealed: inner products under
// ring-LWE that only the owner reads.
//
//	key, index id ──▶ Key: s_1 … s_B, s_n, secret; a′_1 … a′_B, public
//	Key, K vectors and addends ──▶ lattice.Group                       stored
//	groups ──▶ Hints: Σ_b W_{g,b}·a′_b, rounded, public                 kept
//	Key, vector u ──▶ Pending: s′, one use ║ lattice.Request            sent
//	Pending, Hints, lattice.Reply ──▶ ⟨v, u⟩ + addend of every record, exact
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
//   - s′ never meets the same a′ twice: NewRequest draws it and nobody else can
//     name it; a Pending is used up by the reply that it decrypts.
//   - a_g never meets the secrets twice with the same noise: Encrypt draws the
//     seed of a_g and the noise, and neither is derived from a key, a counter
//     or the records. Counters rewind when a backup is restored.
//   - no two indexes share secrets: the index id, which is random, and the
//     parameters enter every derivation.
//
// Nothing here authenticates a reply: a cloud that makes up scores is believed.
package sealed
