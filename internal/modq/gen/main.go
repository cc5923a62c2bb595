// Command gen writes the kernels of package modq in Go assembly for each
// processor level.
//
//	go generate cpar/internal/modq
//
// No kernel calls a function, has a stack frame, or uses the words that it
// multiplies in branches or addresses. A prefetch may name an address beyond a
// slice, because prefetches never fault.
package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"cpar/internal/kernelgen"
)

func main() { kernelgen.Main(generate) }

var at = kernelgen.At

func generate() (map[string][]byte, error) {
	return kernelgen.Files("modq", map[string]func(kernelgen.Kernels){
		"avx512": func(k kernelgen.Kernels) { kernels{k}.avx512() },
		"avx2":   func(k kernelgen.Kernels) { kernels{k}.avx2() },
	})
}

type kernels struct{ kernelgen.Kernels }

// gather emits the row loop of Gather. Function `product` emits the product of
// one row. Its argument `ahead` is the next row, or, for the last row, the same
// row.
func (k kernels) gather(product func(a, x, n, ahead reg.GPVirtual, dst operand.Mem)) {
	p := k.Params("dst", "matrix", "index", "rows", "n")
	dst, matrix, index, rows, n := p[0], p[1], p[2], p[3], p[4]
	row := func(number operand.Mem) reg.GPVirtual {
		r := k.GP64()
		k.MOVL(number, r.As32())
		k.IMULQ(n, r)
		k.LEAQ(operand.Mem{Base: matrix, Index: r, Scale: 8}, r)
		return r
	}
	k.TESTQ(rows, rows)
	k.JZ(operand.LabelRef("gather_end"))
	next := row(at(index, 0))
	k.Label("gather_row")
	a, ahead := k.GP64(), k.GP64()
	k.MOVQ(next, a)
	k.CMPQ(rows, operand.Imm(1))
	k.JE(operand.LabelRef("gather_last"))
	k.MOVQ(row(at(index, 4)), next)
	k.Label("gather_last")
	k.MOVQ(next, ahead)
	product(a, k.Params("x")[0], n, ahead, at(dst, 0))
	k.Advance(8, dst)
	k.Advance(4, index)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("gather_row"))
	k.Label("gather_end")
	k.End()
}
