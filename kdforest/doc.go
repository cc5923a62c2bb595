// Package kdforest builds and searches a forest of randomized kd-trees over values that
// the searcher need not be able to read.
//
//	the owner, on plain values                     the searcher, on anything
//
//	rows n×d ─▶ Build ─▶ Forest ─────────────────▶ Forest.Search ─▶ L nearest
//	                │    record and plane numbers   │        ▲      (Hit)
//	                └──▶ []Plane                    ▼        │
//	                     (dimension, value) ─▶ … a Space: which side of plane p?
//	                                               how far are records r1…r10?
//
// A Forest contains only numbers: the record that a node holds (row i of the input is
// record i), the plane that divides it, and its children. Only the Space knows what a
// plane or a record is. So one search serves a space of plain integers and a space of
// ciphertexts, and visits the same records in the same order if both give the same
// answers.
//
// The trees follow Bentley: every node holds a record (except with PlaceLeaf), and the
// split value of a node is its record's value in the split dimension. They are randomized
// as in Silpa-Anan and Hartley: the split dimension is drawn from those of greatest
// variance. Ties go left, in the build and in the search.
//
// The search is Algorithm 1 of Tian, Hou, Yuan, "CPAR: Cloud-Assisted Privacy-preserving
// Image Annotation with Randomized KD-Forest", corrected: depthfirst.go says where, and a test
// named TestErratum… covers each place. The paper's AP-X bounds the number of distinct
// records visited over all trees, see Visits; AP-100 returns what Scan returns.
//
// ByRank is a second search, by order comparisons alone, in which all trees vote on every
// record: byrank.go. The defaults of BuildOptions were chosen by the share of the true
// ten nearest that ten trees visit on Corel-5k (4,500 records, 499 requests, 864 levels,
// distance L1 + KL; means of five seeds, which differ by about 0.02):
//
//	built with                        searched   AP-2.5  AP-5  AP-10  AP-20
//	the defaults                      DepthFirst  0.54   0.67   0.79   0.89
//	                                  ByRank      0.76   0.87   0.95   0.99
//	Top 5                             DepthFirst  0.50   0.63   0.75   0.85
//	                                  ByRank      0.72   0.85   0.93   0.98
//	Top 5, DrawEvenly, SplitMedian    DepthFirst  0.48   0.60   0.73   0.84
//	                                  ByRank      0.72   0.85   0.94   0.98
//
// Floats instead of a thousand levels change what DepthFirst finds by 0.01. Measured by
// distances after a Johnson–Lindenstrauss projection to 1,296 dimensions, DepthFirst finds
// 0.02 to 0.05 less.
//
// For comparison with FLANN's forest there are records in leaves only (PlaceLeaf) and
// best bin first over one heap (BestBin, which needs true distances of planes). On
// Corel-5k, squared L2, ten trees with FLANN's choices (Top 5, Sample 101, DrawEvenly),
// means of three seeds: records visited until 0.8 and 0.9 of the true ten nearest are
// found, beside FLANN 1.9.2 itself:
//
//	vectors                            FLANN        PlaceLeaf    PlaceNode
//	1,296 dimensions (JL)              1296  1928   1300  1945   1615  2323
//	64 principal components of 864      100   185    102   189    166   265
//
// A record at every node costs visits here: records near the roots are visited for every
// request and are rarely near it. cpar-eval flann repeats the measurement.
//
// Scores are signed 64-bit integers in the Space's own unit; smaller is nearer. Only
// their order matters. A space of floating-point distances can return any integers in the
// same order (for distances ≥ 0 the bits of the float64 will do).
package kdforest
