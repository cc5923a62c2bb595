// Package cpar defines the messages between an owner of photos and a cloud that
// must not see them: parameters, the encrypted index, requests, replies, and
// their canonical bytes.
//
//	photo ─▶ features ─▶ vector ─▶ Request ║─▶ scores ─▶ Reply ║─▶ keywords
//	         the owner (cpar/user)         ║ the cloud         ║  the owner
//	                                       ║ (cpar/cloud)      ║
//
// Requests and replies of scheme "sealed" have their own encoding
// (internal/lattice), which this package does not parse. Only scheme "cpar"
// uses forests of k-d trees, the planes at which their nodes split, and order
// ciphertexts (which reveal only the order of values).
//
// This package cannot encrypt or decrypt, and its types hold no secrets. Only
// package user holds keys and plaintext. The tests in internal/testing/policy
// check that the cloud does not link it.
//
// The source is Tian, Hou, Yuan, "CPAR: Cloud-Assisted Privacy-preserving Image
// Annotation with Randomized KD-Forest". docs/PAPER.md maps its symbols to
// identifiers.
package cpar

import (
	"errors"
)

// Each of these errors is a kind of failure that a caller can act on. Every
// error that a user may see wraps one kind, and commands map each kind to an
// exit code.
var (
	// ErrInput reports an unusable image, collection or parameter.
	ErrInput = errors.New("unusable input")
	// ErrKey reports a wrong passphrase or a key for another index.
	ErrKey = errors.New("wrong key")
	// ErrCorrupt reports damaged, truncated or foreign data.
	ErrCorrupt = errors.New("damaged data")
	// ErrVersion reports a format version that this program cannot read.
	ErrVersion = errors.New("unknown format version")
	// ErrCloud reports an unreachable cloud or a breach of the protocol.
	ErrCloud = errors.New("cloud failure")
	// ErrStorage reports a full disk or an unwritable folder.
	ErrStorage = errors.New("storage failure")
)
