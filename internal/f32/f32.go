// Package f32 multiplies matrices of float32 and evaluates functions of many
// float32 values.
//
//	matrices   []float32, row by row; ld is the distance between rows, at least their length
//	Mul        c = a·b or c = a·bᵀ
//	Left       a constant a (m×k), packed once: convolutions, whose b consists of shifted rows
//	Right      a constant b (k×n), packed once: linear layers
//	Mul64      c += a·b in float64, where b may be float32: principal components
//	Taps       depthwise convolutions
//	vectors    Dot, Axpy, Sum, Largest, Line, Times, Larger, AddTo64, Centre; Exp, Erf, Tanh, Sigmoid, Gelu
//
// Everything runs on the caller's core and in the caller's scratch memory.
//
// # Multiplication
//
// A product is cut three times (Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008): into blocks of depth values
// along k, so that a tile-wide strip of b stays in the first-level cache, into
// blocks of rows of a that stay in the second, and into tiles of sums that stay
// in registers, 6×16 for AVX2 and 12×32 for AVX-512. Both sides are packed, so
// that a tile reads them as two streams. Strips of a have nearly equal heights:
// 50 rows are nine strips of five or six.
//
// Within a block, each sum is a float32 register that adds products in the
// order of k, and the blocks' sums are added in order. The result therefore
// depends only on the level, not on m, n or the position of a value. Assembly
// fuses products and sums. Plain Go rounds them separately where the processor
// does not fuse. Infinities and NaNs propagate as in the definition.
//
// Plain Go (plain.go) defines the kernels. Package gen writes the assembly, which
// build tag purego leaves out. To change a kernel, edit gen and run go generate.
package f32

// An Epilogue is applied to a product on its way to memory.
type Epilogue struct {
	// Bias is added: one value per row for a Left, or per column for a Right.
	Bias []float32
	// Clip limits the result to Lo … Hi. NaN stays NaN.
	Clip   bool
	Lo, Hi float32
}
