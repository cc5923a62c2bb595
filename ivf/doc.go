// Package ivf searches an inverted file: records in lists, each list with a
// centroid, over values that the searcher need not be able to read.
//
//	the owner, on plain values                who searches, on anything
//
//	photos ─▶ user/cluster ─▶ Lists ────────▶ Lists.Search ─▶ L nearest
//	               │    First of each list     │    ▲         (Hit)
//	               └──▶ centroids ─▶ …         ▼    │
//	                                two Scorers: how far are centroids 0…k−1?
//	                                             how far are records 120…147?
//
// Records are numbered in the order of their lists, so that a list is a run of
// consecutive records and is read as a stream. A search scores all centroids,
// then reads the lists, nearest centroid first, until its visits are spent; the
// last list is cut short. AP-X of the paper is, as in package kdforest, a bound
// on the number of records visited (kdforest.Visits), and AP-100 returns what
// kdforest.Scan returns. Centroids are read besides: k more rows a request.
//
// The paper has no inverted file; it is Sivic and Zisserman's, "Video Google"
// (2003), as Jégou, Douze and Schmid use it in "Product quantization for nearest
// neighbor search" (2011). Package kdforest is the paper's forest. What each
// finds at the same visits is in cpar/user/cluster and in kdforest.
//
// Whoever searches learns how many records each list has, which records share
// one, and the scores of all centroids. It learns no value.
//
// Scores are those of kdforest: signed, smaller is nearer, only their order
// matters. Centroids and records are each compared among themselves alone.
package ivf
