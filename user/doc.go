// Package user is the owner's side of CPAR. It holds the key and sees photos,
// keywords and distances in the clear.
//
//	photos, key      ─▶ Setup ─▶ Builder ─▶ Encrypt ─▶ a folder with an encrypted index
//	key, ledger      ─▶ Open ─▶ Owner
//	photo            ─▶ Owner.Request ─▶ Pending (kept) + cpar.Request (sent to the server)
//	cpar.Reply       ─▶ Pending.Neighbours ─▶ the nearest photos with their keywords
//	neighbours       ─▶ Owner.Rank ─▶ keywords, best first
//	photos, folder   ─▶ Add, Remove, Sync, Compact ─▶ the next generation of the index
//
// The room (group of packages) user/ contains only code that handles keys, the
// plaintext of an index, or the owner's local state. Photos are read in
// photo/, encoded in encoder/, and turned into vectors and rankings in model/.
// No package of this room may be linked into cloud/. TestWall in
// internal/testing/policy enforces that.
//
// Packages below this one:
//
//	ive, ope, scorevector   the paper's ciphers and the layout of an encrypted vector
//	internal/aspe           schemes cpar, ivf and capia
//	internal/rows           schemes sealed and local, with ciphers in sealed and local
//	internal/keyword, aead  encryption of keywords and segments
//	device, library, ui     applications that hold a key
//	localstore              encrypted local state
//	access                  the token and certificates for a server
//	tune                    the choice of profile and scheme for a collection
//
// A record is an encrypted photo of an index. Records are numbered in random
// order. A row is the plaintext of a record in schemes sealed and local. The
// ledger holds the secrets that the owner needs for one generation (version) of
// an index. It is stored encrypted beside the index. The table in scheme.go
// lists the schemes.
//
// All secrets derive from one 32-byte seed and the index's random id.
package user
