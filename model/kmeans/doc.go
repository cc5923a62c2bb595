// Package cluster divides a collection into lists of photos that are near each other, for
// an index that is searched list by list (an inverted file, package ivf), and computes
// the centroids of the lists.
//
//	z (n × m̂, embed)  ─┐ [z, √(2F)·√v] ─▶ 48 principal ─▶ k-means ─▶ Lists
//	v (n × m_KL, lab)  ─┘                  components       ▲        (List, Order, First)
//	z (n × 64 or 96, learnt) ───────────────────────────────┘
//
//	members of a list ─▶ mean of z, rounded; mean of v ─▶ Centroid: a record like any other
//
// All of this sees plaintext and stays with the owner.
//
// The distance of two photos is ‖z_a − z_b‖² + F·KL(v_a‖v_b) in squared JL units (package
// combined). k-means needs a squared L2 distance. For near histograms, KL is twice the
// squared L2 distance of their square roots (twice the squared Hellinger distance, to
// second order), so a row of z followed by √(2F)·√v has the right distances. Its 48
// principal components keep what separates lists and drop what the projection added: they
// find more than all 1344 coordinates do, at a thirtieth of the cost. Learnt vectors are
// short and have nothing to drop; they are clustered as they are.
//
// Measured on Corel-5k (4,500 records, 499 requests): the share of the true ten nearest,
// by the integers of package combined, among the records visited. Centroids do not count
// as visits; k of them are read per request in addition. Means of two to four seeds,
// which differ by 0.01.
//
//	                                               AP-2.5  AP-5  AP-10  AP-20
//	PCA-64 of levels                      k =  64    0.52  0.70   0.86   0.95
//	  the same                            k = 128    0.61  0.77   0.90   0.97
//	  the same                            k = 256    0.68  0.82   0.93   0.98
//	PCA-64 of z, no lab                   k = 256    0.68  0.83   0.93   0.98
//	[z, √(2F)·√v], all 1344               k = 256    0.64  0.80   0.92   0.98
//	PCA-48 of it: this package            k =  64    0.56  0.75   0.90   0.97
//	  the same                            k = 134    0.66  0.82   0.93   0.98
//	  the same                            k = 256    0.72  0.86   0.95   0.99
//	  the same, 20,000 (augmented)        k = 283    0.81  0.92   0.98   1.00
//
// Centroids that are the projection of the mean levels, instead of the mean of the
// projections, lose 0.01 to 0.02: a projection errs like a single vector, a mean of
// projections less. These change nothing, or less than a hundredth: geometric means of
// histograms; moving every record to the list whose centroid has the least score; more
// than 12 iterations; a term for the size or the spread of a list; putting records that
// are neighbours of many at the head of their list; and weights for lists learnt from the
// neighbours of records. Moving a record to the list of most of its neighbours loses 0.01
// to 0.04.
package kmeans
