//go:build !(amd64 || arm64) || purego

package modq

func supported() []level { return []level{plain} }

func dot(a, b []uint64) uint64                         { return DotGeneric(a, b) }
func axpy(alpha uint64, x, y []uint64)                 { axpyPlain(alpha, x, y) }
func sum(x []uint64) uint64                            { return sumPlain(x) }
func sumFour(x []uint64) uint64                        { return sumPlain(x) }
func dotLanes(sum *[Lanes]uint64, row, x []uint64)     { dotLanesPlain(sum, row, x) }
func rows(dst, matrix, x []uint64)                     { rowsPlain(dst, matrix, x) }
func gather(dst []uint64, rows [][]uint64, x []uint64) { gatherPlain(dst, rows, x) }

func axpyRows(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y, _ []uint64) {
	axpyEach(alpha, rows, y)
}

func tile(dst *Block, rows *[TileRows][]uint64, groups []Group, _ []uint64) {
	tilePlain(dst, rows, groups)
}
