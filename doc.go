// Package cpar holds what crosses the wall between an owner of photos and a
// cloud that must not see them: parameters, the encrypted index, the encrypted
// request, the reply, and their canonical bytes. Requests and replies of scheme
// sealed have an encoding of their own (cpar/internal/lattice) and pass through as
// bytes; order ciphertexts, planes and forests belong to scheme cpar.
//
//	photo ─▶ features ─▶ vector ─▶ Request ║─▶ scores ─▶ Reply ║─▶ keywords
//	         the owner (cpar/user)         ║ the cloud         ║  the owner
//	                                       ║ (cpar/cloud)      ║
//
// Nothing in this package can encrypt or decrypt, and nothing here is secret.
// Package user holds keys and plaintext; package cloud holds neither; a test
// in this package (wall_test.go) keeps them apart.
//
// The source is Tian, Hou, Yuan, "CPAR: Cloud-Assisted Privacy-preserving
// Image Annotation with Randomized KD-Forest"; docs/PAPER.md leads from its symbols
// to the identifiers here.
package cpar

import (
	"errors"
)

// The kinds of failure a caller can act on. Every error of this module that a user may
// see wraps one of them; commands map each to an exit code.
var (
	// ErrInput: an unusable image, collection or parameter.
	ErrInput = errors.New("unusable input")
	// ErrKey: a wrong passphrase, or a key that does not fit the index.
	ErrKey = errors.New("wrong key")
	// ErrCorrupt: data that is damaged, truncated or not ours at all.
	ErrCorrupt = errors.New("damaged data")
	// ErrVersion: our data, but in a format version this program cannot read.
	ErrVersion = errors.New("unknown format version")
	// ErrCloud: a cloud that cannot be reached or breaks the protocol.
	ErrCloud = errors.New("cloud failure")
	// ErrStorage: a full disk or an unwritable folder.
	ErrStorage = errors.New("storage failure")
)
