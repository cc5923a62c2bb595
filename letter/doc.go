// Package letter implements the paper literally and in its notation: Tian, Hou,
// Yuan, "CPAR: Cloud-Assisted Privacy-preserving Image Annotation with
// Randomized KD-Forest".
//
//	Setup      images ─▶ User, Cloud     System Setup, RKDF Encryption
//	Request    image  ─▶ Request, Memory Secure Annotation Request
//	Annotate   Request ─▶ Reply          Algorithm 1, line by line, in the order of Sec. IV-A
//	Select     Reply, Memory ─▶ keywords Final Keyword Selection
//
//	ive        integer vector encryption, Eq. 1 and 2
//	pl1crf     PL1C-RF, the box of Fig. 3, a tool on its own
//	pklcrf     PKLC-RF, the box of Fig. 4, a tool on its own
//	printed    corrections, and switches that restore the printed text
//	dots       the paper's unit of cost
//
// Vectors are in the paper's units: features have L1 norm 1. The distance Dis
// adds an L1 distance (at most 12) and a divergence (at most 7). The sizes of
// the secrets r, ε and r_c match these units. The modulus q is 2⁶⁴.
//
// The package serves readers, tests and measurements. It prefers clarity to
// speed. No product code imports it, because it contains both the user's and
// the cloud's side, and because secrets derive from a given seed and can be
// printed. Packages user and cloud compute the same comparisons about a
// thousand times faster. docs/PAPER.md maps the paper to both.
package letter
