//go:build !(amd64 || arm64) || purego

package mod48

func supported() []level { return []level{plain} }

func (o *Operand) multiply(dst [][Streams]uint64, matrices *[Streams][]byte, from, n int) {
	o.multiplyPlain(dst, matrices, from, n)
}

func (t *Tile) interleave([][]byte, []byte) {}

func (t *Tile) times([][MaxRequests]uint64, [][]byte, [][]byte) {
	panic("mod48: no tile kernels in this build")
}

func (m *Modulus) pack([][]byte, int, [][]uint64, *uint64, int, int) int { return 0 }

func (m *Modulus) cut(dst []uint64, b []byte) bool { return m.cutPlain(dst, b) }

func (m *Modulus) fields(dst []uint64, b []byte, up int) { fieldsPlain(dst, b, up) }

func (t *Transform) evaluate(p []uint64, k int) { t.evaluatePlain(p, k) }

func (m *Modulus) products(dst, a, b []uint64, n int) { m.productsPlain(dst, a, b, n) }
