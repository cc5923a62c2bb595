// Package user is the owner's side: it holds the key and has seen the photos.
//
//	Setup, Encrypt    a collection ─▶ Builder ─▶ a folder: the encrypted index
//	Open              a key, an index's ledger ─▶ Owner
//	Owner.Request     a photo ─▶ Pending (kept) + cpar.Request (sent; nil if searched at home)
//	Pending.Neighbours  cpar.Reply ─▶ the nearest photos with their keywords
//	Owner.Rank        neighbours ─▶ keywords, best first
//	Add, Remove, Compact  an index in a folder ─▶ its next state
//
// The whole walk, from files over HTTP to keywords, is device.Index.Annotate. The
// schemes are the rows of one table, in scheme.go.
//
// Around it lie, on the way of a photo: dataset (importers), picture (files to pixels),
// feature (pixels to eight vectors) and network (to an embedding), profile (those to
// one vector), device (what this device has seen of which cloud, and the walk), rank
// (neighbours to keywords). For profile `paper`: pca, vector, embed. For
// schemes cpar, ivf and capia: combined (one vector for both distances, and the noise
// budget), ive (integer vector encryption), ope (order), cluster. tune measures
// profiles and schemes on a collection; learn fits what is learnt. distance compares
// plain vectors, for tests and measurements.
//
// Words: an Image is a photo of a collection, as features with keywords; a record is
// its place in an index, numbered at random; a row is what is encrypted of a record
// (schemes sealed and local; package rows), a vector what is compared. The ledger is
// what the owner must know of an index, stored with it, encrypted. A state of an index
// is what one build or update left; its generation counts them.
//
// Everything secret derives from one 32-byte seed and the index's random id.
// Nothing of this package or below is linked into the cloud; the wall test of
// package cpar sees to it.
package user
