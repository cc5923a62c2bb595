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
// The distance of two photos is ‖z_a − z_b‖² + F·KL(v_a‖v_b) in squared JL
// units (package user/scorevector), but k-means needs a squared L2 distance.
// For near histograms, KL is to second order twice the squared L2 distance of
// their square roots, so rows of z followed by √(2F)·√v have the right
// distances. Their 48 principal components keep the variance that separates
// cells and drop the noise of the projection. Learnt vectors are short and are
// clustered directly.
//
// The table shows the share of the true ten nearest found at AP-n, which visits
// n % of the records (without centroids), on Corel-5k (4,500 records, 499
// requests). Values are means of two to four seeds, which differ by 0.01.
//
//	                                               AP-2.5  AP-5  AP-10  AP-20
//	PCA-64 of levels                      k = 256    0.68  0.82   0.93   0.98
//	PCA-64 of z, no lab                   k = 256    0.68  0.83   0.93   0.98
//	[z, √(2F)·√v], all 1344               k = 256    0.64  0.80   0.92   0.98
//	PCA-48 of it: this package            k =  64    0.56  0.75   0.90   0.97
//	  the same                            k = 134    0.66  0.82   0.93   0.98
//	  the same                            k = 256    0.72  0.86   0.95   0.99
//	  the same, 20,000 (augmented)        k = 283    0.81  0.92   0.98   1.00
package kmeans
