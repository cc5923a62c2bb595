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
