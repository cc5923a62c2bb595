// Package ivf searches an inverted file: records in cells, each with a
// centroid, over values that may be encrypted.
//
//	the owner, on plain values                the searcher, on any values
//	photos ─▶ model/kmeans ─▶ Cells ────────▶ Cells.Search ─▶ L nearest
//	               │    First of each cell     │    ▲         (Hit)
//	               └──▶ centroids ─▶ …         ▼    │
//	                                two Scorers: distances of centroids 0…k−1,
//	                                             distances of records 120…147
//
// Records are numbered by cell, so a cell is a run of records that is read
// sequentially. A search scores all centroids, then reads the cells, nearest
// centroid first, up to its number of visits. As in package kdforest, the
// paper's AP-X bounds the number of records visited (kdforest.Visits), and
// AP-100 equals kdforest.Scan. The k centroids are read in addition.
//
// The inverted file is not in the paper. It is due to Sivic and Zisserman,
// "Video Google" (2003), here in the form of Jégou, Douze and Schmid, "Product
// quantization for nearest neighbor search" (2011). Packages model/kmeans and
// kdforest, the paper's forest, document their recall at equal visits.
//
// The searcher learns the size of each cell, the records that share a cell, and
// the scores of all centroids, but no values.
//
// Scores are as in kdforest: signed, smaller is nearer, only their order
// matters. Centroids and records are not compared with each other.
package ivf
