// Package model documents the packages that turn decoded images into vectors
// and neighbours into keywords.
//
//	images      ─▶ feature ─┐
//	embeddings  ────────────┼─▶ profile ─▶ z, small integers ─▶ user/ encrypts them
//	keywords    ─▶ learn ───┘     │  pca, embed, vector, vectorlayout
//	                              └─▶ kmeans ─▶ cells and centroids
//	neighbours, keyword counts ─▶ rank ─▶ keywords with weights and probabilities
//
// All these data are plaintext that stays with the owner. No package here
// handles keys. The packages may import photo/. They must not import encoder/,
// user/ or cloud/. An image network reaches them through the interface
// feature.Encoder.
package model
