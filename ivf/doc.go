// Package ivf searches an inverted file: records in lists, each list with a
// centroid, over values that the searcher need not be able to read.
//
//	the owner, on plain values                the searcher, on anything
//
//	photos ─▶ model/kmeans ─▶ Lists ────────▶ Lists.Search ─▶ L nearest
//	               │    First of each list     │    ▲         (Hit)
//	               └──▶ centroids ─▶ …         ▼    │
//	                                two Scorers: how far are centroids 0…k−1?
//	                                             how far are records 120…147?
//
// Records are numbered in the order of their lists, so that a list is a run of
// consecutive records, read sequentially. A search scores all centroids, then reads the
// lists, nearest centroid first, until its visits are used up; the last list is cut
// short. As in package kdforest, the paper's AP-X bounds the number of records visited
// (kdforest.Visits), and AP-100 returns what kdforest.Scan returns. Centroids are read in
// addition: k more rows per request.
//
// The inverted file is not in the paper. It is due to Sivic and Zisserman, "Video Google"
// (2003); this is the form used by Jégou, Douze and Schmid, "Product quantization for
// nearest neighbor search" (2011). Package kdforest is the paper's forest. Packages
// cpar/model/kmeans and kdforest say what each finds at the same visits.
//
// The searcher learns how many records each list has, which records share a list, and the
// scores of all centroids. It learns no values.
//
// Scores are as in kdforest: signed, smaller is nearer, only their order matters.
// Centroids are compared only with centroids, records only with records.
package ivf
