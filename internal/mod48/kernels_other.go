//go:build !amd64 || purego

package mod48

func best() level { return plain }

func (o *Operand) multiply(dst [][Streams]uint64, matrices *[Streams][]byte, from, n int) {
	o.multiplyPlain(dst, matrices, from, n)
}

func (t *Tile) times([][Most]uint64, [][]byte, [][]byte) { panic("mod48: a kernel that is not there") }
