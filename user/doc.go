// Package user is the owner's side: it holds the key and the plaintext.
//
//	Setup, Encrypt   a collection ─▶ an encrypted index, pushed to the cloud
//	Open             key + index  ─▶ Owner
//	Request          a photo      ─▶ Pending (kept) + cpar.Request (sent)
//	Pending.Keywords cpar.Reply   ─▶ ranked keywords
//	Hold, Nearest    an index of scheme local ─▶ neighbours, at home
//	Add, Remove, Compact  an index of scheme sealed or local ─▶ its next state
//
// annotate.go is the whole walk on one screen. The parts, each a package:
// dataset (importers), feature (photo to seven vectors), pca, vector
// (normalised levels), embed (unary map and Johnson–Lindenstrauss
// projection), combined (the one vector that carries both distances, and the
// noise budget), ive (integer vector encryption), ope (order), rank (W_t);
// pl1c and pklc are the paper's constructions as tools of their own.
//
// Everything secret derives from one 32-byte seed and the index's random id.
// Nothing of this package or below is linked into the cloud; the wall test of
// package cpar sees to it.
package user
