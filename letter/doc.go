// Package letter is the paper to the letter: Tian, Hou, Yuan, "CPAR: Cloud-Assisted
// Privacy-preserving Image Annotation with Randomized KD-Forest", in its own notation.
//
//	Setup      images ─▶ User, Cloud     System Setup, RKDF Encryption
//	Request    image  ─▶ Request, Memory Secure Annotation Request
//	Annotate   Request ─▶ Reply          Algorithm 1, line by line
//	Select     Reply, Memory ─▶ keywords Final Keyword Selection
//
//	ive        integer vector encryption, Eq. 1 and 2
//	pl1crf     PL1C-RF, the box of Fig. 3, a tool on its own
//	pklcrf     PKLC-RF, the box of Fig. 4, a tool on its own
//	printed    what was corrected, and switches that put it back
//	dots       the paper's unit of cost
//
// Vectors are in the paper's units: features have L1 norm 1, Dis is at most 12 and 7, and
// r, ε and r_c fit them. q is 2⁶⁴.
//
// It is for readers, tests and measurements, small and readable before fast: nothing of the
// product imports it, secrets are drawn from a given seed and print, and both sides are one
// package. The product (packages user and cloud) computes the same comparisons some
// thousand times faster; docs/PAPER.md leads from the paper to both.
package letter
