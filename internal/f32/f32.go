// Package f32 multiplies matrices of float32 and evaluates functions of many
// float32 values.
//
//	matrices   []float32, row by row; ld is the distance between rows, at least their length
//	Mul        c = a·b or c = a·bᵀ
//	Left       a constant a (m×k), packed once: convolutions, whose b consists of shifted rows
//	Right      a constant b (k×n), packed once: linear layers
//	Mul64      c += a·b in float64, where b may be float32: principal components
//	Winograd   convolutions of 3×3 taps
//	Windows    depthwise convolutions of 3×3 and 5×5 taps, and pools
//	Taps       other depthwise convolutions
//	vectors    Dot, Axpy, Sum, Largest, Line, Times, Larger, Halves, AddTo64, Centre; Exp, Erf, Tanh, Sigmoid, Gelu
//
// Functions run on the caller's goroutine and, except Mul64, in the caller's
// scratch memory.
//
// # Multiplication
//
// A product is cut at three levels (Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008). Blocks along k are short
// enough that a tile-wide strip of b stays in the first-level cache. Blocks of
// rows of a stay in the second-level cache. Tiles of sums, 6×16 for AVX2 and
// NEON and 12×32 for AVX-512, stay in registers. Both matrices are packed, so
// that a tile reads each sequentially, but a Left reads aligned rows of b in
// place. Strips of a have nearly equal heights: 50 rows are cut into nine strips
// of five or six rows.
//
// Within a block, each sum is kept in float32 and adds products in the order of
// k. The sums of successive blocks are then added in order. The result
// therefore depends only on the level, not on m, n or the position of a value.
// Assembly uses fused multiply-adds. Plain Go rounds product and sum separately
// on processors without them. Infinities and NaNs propagate as in the
// mathematical definition.
//
// Plain Go (plain.go) defines the kernels. Packages gen and gen/neon write the
// assembly, which build tag purego leaves out.
package f32

// An Epilogue is applied to the sums of a product before they are stored.
type Epilogue struct {
	// Bias is added: one value per row for a Left, or per column for a Right.
	Bias []float32
	// Clip limits the result to Lo … Hi. NaN stays NaN.
	Clip   bool
	Lo, Hi float32
}
