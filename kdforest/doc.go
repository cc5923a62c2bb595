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
// A Forest holds no values. A node holds the numbers of its record (record i is
// row i), of its dividing plane and of its children. Only the Space knows
// values. If two spaces give the same answers, their searches visit the same
// records in the same order. This holds for integers and ciphertexts alike.
//
// The trees follow Bentley: every node holds a record (except with PlaceLeaf)
// and splits at its record's value. They are randomized as in Silpa-Anan and
// Hartley: the split dimension is drawn from the most variable dimensions. Both
// the build and the search put ties on the left.
//
// The search is Algorithm 1 of Tian, Hou, Yuan, "CPAR: Cloud-Assisted
// Privacy-preserving Image Annotation with Randomized KD-Forest", with the
// corrections listed in depthfirst.go. Each correction has a test TestErratum…
// The paper's AP-X (approximation power) lets a search visit X percent of the
// records (Visits). A record that several trees reach counts once. AP-100
// equals Scan.
//
// ByRank (byrank.go) needs only order comparisons. The table gives the share of
// a request's ten nearest records that ten trees visit on Corel-5k (4,500
// records, 499 requests, 864 quantised features, distance L1 + KL). Values are
// means of five seeds, which differ by about 0.02:
//
//	built with                        searched   AP-2.5  AP-5  AP-10  AP-20
//	the defaults                      DepthFirst  0.54   0.67   0.79   0.89
//	                                  ByRank      0.76   0.87   0.95   0.99
//	Top 5, DrawEvenly, SplitMedian    DepthFirst  0.48   0.60   0.73   0.84
//	                                  ByRank      0.72   0.85   0.94   0.98
//
// PlaceLeaf and BestBin allow a comparison with FLANN (cpar-eval flann).
// PlaceNode wastes some visits, because all requests visit the records near the
// roots.
//
// Scores are signed 64-bit integers in a unit that the Space chooses. A smaller
// score means nearer. Only the order of scores matters.
package kdforest
