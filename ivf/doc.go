// Package ivf searches an inverted file: records grouped into cells of nearby
// records, each with a centroid. Vectors and centroids may be encrypted.
//
//	the owner, on plain values                the searcher, on any values
//	photos ─▶ model/kmeans ─▶ Cells ────────▶ Cells.Search ─▶ L nearest
//	               │    First of each cell     │    ▲         (Hit)
//	               └──▶ centroids ─▶ …         ▼    │
//	                                two Scorers: distances of centroids 0…k−1,
//	                                             distances of records 120…147
//
// Records are numbered by cell, so the records of a cell are read sequentially.
// A search scores all centroids, then reads the cells, nearest centroid first,
// until it has visited enough records. As in package kdforest, a search with the
// paper's approximation power AP-X visits X % of the records (kdforest.Visits),
// and AP-100 equals kdforest.Scan. Centroids do not count as visits.
//
// The inverted file is not in the paper. It is due to Sivic and Zisserman,
// "Video Google" (2003). This package follows Jégou, Douze and Schmid, "Product
// quantization for nearest neighbor search" (2011). The documentation of
// packages model/kmeans and kdforest (the paper's forest) gives the recall of
// inverted files and forests at equal numbers of visits.
//
// The searcher learns the size of each cell, the records that share a cell, and
// the scores of all centroids, but no vectors.
//
// As in kdforest, scores are signed, a smaller score is nearer, and only their
// order matters. Scores of centroids and records are never compared.
package ivf
