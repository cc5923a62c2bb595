// Package kmeans divides a collection into cells of nearby photos, for an index
// that is searched cell by cell (an inverted file, package ivf), and computes
// the centroids of the cells.
//
//	z (n × m̂, embed)   ─┐ [z, √(2F)·√v] ─▶ 48 principal ─▶ k-means ─▶ Partition
//	v (n × m_KL, lab)  ─┘                  components       ▲        (Cell, Order, Starts)
//	z (n × 64 or 96, learnt) ───────────────────────────────┘
//
//	members of a cell ─▶ mean of z, rounded, and mean of v ─▶ Centroid: a record like any other
//
// Vector z is a photo's Johnson–Lindenstrauss (JL) projection with m̂ values
// (package embed), and v is its smoothed lab histogram with m_KL bins. The
// distance of two photos is ‖z_a − z_b‖² + F·KL(v_a‖v_b) in squared JL units,
// where F is the number of such units per unit of distance (package
// user/scorevector). However, k-means needs a squared L2 distance. For
// histograms close to each other, KL is to second order twice the squared L2
// distance of their square roots. Rows that consist of z and √(2F)·√v therefore
// have nearly the right distances. Their 48 principal components keep the
// variance that separates cells and drop the noise of the projection. Vectors
// of profiles "learned" and "network" are short (64 or 96 values) and are
// clustered directly.
//
// The table shows the share of the true ten nearest records found at AP-n,
// which visits n % of the records (without centroids), on Corel-5k (4,500
// records, 499 requests). The number of cells is k, and PCA-p stands for p
// principal components. Values are means over two to four seeds, whose results
// differ by 0.01.
//
//	                                               AP-2.5  AP-5  AP-10  AP-20
//	PCA-64 of the L1 levels               k = 256    0.68  0.82   0.93   0.98
//	PCA-64 of z, no lab                   k = 256    0.68  0.83   0.93   0.98
//	[z, √(2F)·√v], all 1344               k = 256    0.64  0.80   0.92   0.98
//	PCA-48 of all 1344: this package      k =  64    0.56  0.75   0.90   0.97
//	  the same                            k = 134    0.66  0.82   0.93   0.98
//	  the same                            k = 256    0.72  0.86   0.95   0.99
//	  the same, augmented to 20,000       k = 283    0.81  0.92   0.98   1.00
package kmeans
