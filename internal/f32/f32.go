// Package f32 multiplies matrices of float32, and computes a few functions of many
// float32 values at once.
//
//	matrices   []float32, row by row; ld is the distance between rows, at least their length
//	Mul        c = a·b, c = a·bᵀ, or added to c
//	Left       a constant a (m×k), packed once: convolutions, whose b is made of shifted rows
//	Right      a constant b (k×n), packed once: linear layers
//	Mul64      c += a·b in float64, where b may be float32: principal components
//	Taps       depthwise convolutions
//	vectors    Dot, Axpy, Sum, Largest, Line, Times, Larger, AddTo64, Centre; Exp, Erf, Tanh, Sigmoid, Gelu
//
// Everything runs on the caller's core: whoever has several shares out the work
// (internal/parallel). Memory that is needed on the way is passed in (scratch), so that one
// image costs what its plan says.
//
// # How it multiplies
//
// A product is cut three times (Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", 2008): into blocks of depth values of k, so that a strip of b as wide as
// a tile stays in the first cache; into blocks of rows of a that stay in the second; and
// into tiles of sums that stay in registers, 6×16 for AVX2 and 12×32 for AVX-512. Both
// sides are packed, so that a tile reads them as two streams. Strips of a are of nearly
// equal height instead of whole tiles and a rest: 50 rows are nine strips of five or six.
//
// Sums of one depth are in one float32 register each, in the order of k, and depths are
// added in order: the result does not depend on m, n or where a value lies, only on the
// level. Products are fused with their sums in assembly, and rounded apart from them in
// plain Go where the processor does not fuse. Infinities and NaNs come out as they would
// one product at a time.
//
// Plain Go (plain.go) defines what the kernels mean, and runs where there are no vector
// instructions that they know. Package gen writes the kernels: edit that and run go
// generate. Build tag purego leaves them out.
package f32

// An Epilogue is what happens to a product on its way to memory.
type Epilogue struct {
	// Bias is added: one value for each row of Left's product, for each column of Right's.
	Bias []float32
	// Clip limits the result to Lo … Hi; what is not a number stays so.
	Clip   bool
	Lo, Hi float32
}
