// Package kdforest builds and searches a forest of randomized kd-trees over
// values that may be encrypted.
//
//	the owner, on plain values                     the searcher, on any values
//	rows n×d ─▶ Build ─▶ Forest ─────────────────▶ Forest.Search ─▶ L nearest
//	                │    record and plane numbers   │        ▲      (Hit)
//	                └──▶ []Plane                    ▼        │
//	                     (dimension, value) ─▶ … a Space: the side of plane p,
//	                                               distances of records r1…r10
//
// A Forest contains only numbers: a node's record (row i is record i), its
// dividing plane, and its children. Only the Space knows values. Two spaces
// that answer alike visit the same records in the same order, whether they hold
// integers or ciphertexts.
//
// The trees follow Bentley: every node holds a record (except with PlaceLeaf)
// and splits at its record's value. They are randomized as in Silpa-Anan and
// Hartley, with a split dimension drawn among the most variable ones. Ties go
// left, in the build and in the search.
//
// The search is Algorithm 1 of Tian, Hou, Yuan, "CPAR: Cloud-Assisted
// Privacy-preserving Image Annotation with Randomized KD-Forest", with the
// corrections of depthfirst.go, each covered by a TestErratum…. The paper's
// AP-X bounds the number of distinct records visited over all trees (Visits),
// and AP-100 equals Scan.
//
// ByRank (byrank.go) needs order comparisons alone. The table gives the share
// of the true ten nearest that ten trees visit on Corel-5k (4,500 records, 499
// requests, 864 levels, distance L1 + KL, means of five seeds, which differ by
// about 0.02):
//
//	built with                        searched   AP-2.5  AP-5  AP-10  AP-20
//	the defaults                      DepthFirst  0.54   0.67   0.79   0.89
//	                                  ByRank      0.76   0.87   0.95   0.99
//	Top 5                             DepthFirst  0.50   0.63   0.75   0.85
//	                                  ByRank      0.72   0.85   0.93   0.98
//	Top 5, DrawEvenly, SplitMedian    DepthFirst  0.48   0.60   0.73   0.84
//	                                  ByRank      0.72   0.85   0.94   0.98
//
// Floats instead of a thousand levels change DepthFirst by 0.01. With distances
// after a Johnson–Lindenstrauss projection to 1,296 dimensions it finds 0.02 to
// 0.05 less.
//
// PlaceLeaf and BestBin allow a comparison with FLANN 1.9.2. The table gives
// the records visited until 0.8 and 0.9 of the true ten nearest are found, on
// Corel-5k with squared L2, ten trees, FLANN's choices (Top 5, Sample 101,
// DrawEvenly), means of three seeds (cpar-eval flann):
//
//	vectors                            FLANN        PlaceLeaf    PlaceNode
//	1,296 dimensions (JL)              1296  1928   1300  1945   1615  2323
//	64 principal components of 864      100   185    102   189    166   265
//
// PlaceNode costs visits, because all requests visit the records near the
// roots.
//
// Scores are signed 64-bit integers in the Space's own unit, smaller being
// nearer. Only their order matters.
package kdforest
