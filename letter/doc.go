// Package letter is the paper to the letter: Tian, Hou, Yuan, "CPAR:
// Cloud-Assisted Privacy-preserving Image Annotation with Randomized
// KD-Forest", in its own notation.
//
//	Setup      images ─▶ User, Cloud     System Setup, RKDF Encryption
//	Request    image  ─▶ Request, Memory Secure Annotation Request
//	Annotate   Request ─▶ Reply          Algorithm 1, line by line
//	Select     Reply, Memory ─▶ keywords Final Keyword Selection
//
//	ive        integer vector encryption, Eq. 1 and 2
//	pl1crf     PL1C-RF, the box of Fig. 3, a tool on its own
//	pklcrf     PKLC-RF, the box of Fig. 4, a tool on its own
//	printed    corrections, and switches that restore the printed text
//	dots       the paper's unit of cost
//
// Vectors are in the paper's units: features have L1 norm 1, the parts of Dis
// are at most 12 and 7, and r, ε and r_c match them. q is 2⁶⁴.
//
// The package serves readers, tests and measurements and prefers clarity to
// speed. No product code imports it. Secrets derive from a given seed and can
// be printed, and it contains both sides. Packages user and cloud compute the
// same comparisons about a thousand times faster. docs/PAPER.md maps the paper
// to both.
package letter
