//go:build !amd64 || purego

package modp

func best() level { return plain }

func dot(a, b []uint64) uint64 { return dotPlain(a, b) }

func rows(dst [][Streams]uint64, matrices *[Streams][]uint64, x []uint64, n int) {
	rowsPlain(dst, matrices, x, n)
}

func (o *Operand) times([][Most]uint64, [][]uint64, [][]uint64) {
	panic("modp: a kernel that is not there")
}
