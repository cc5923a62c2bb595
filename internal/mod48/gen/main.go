// Command gen writes the kernels of package mod48 in Go assembly for each
// processor level.
//
//	go generate cpar/internal/mod48
//
// No kernel calls a function, has a stack frame, or uses the words that it
// multiplies in branches or addresses.
package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"cpar/internal/kernelgen"
)

func main() { kernelgen.Main(generate) }

var at = kernelgen.At

func generate() (map[string][]byte, error) {
	return kernelgen.Files("mod48", map[string]func(kernelgen.Kernels){
		"ifma": func(k kernelgen.Kernels) { kernels{k}.ifma() },
		"avx2": func(k kernelgen.Kernels) { kernels{k}.avx2() },
	})
}

type kernels struct{ kernelgen.Kernels }

const (
	// rowsAhead is the prefetch distance of rows in bytes. Distances of 2 to 3
	// KB measured best.
	rowsAhead  = 2560
	block      = 16
	blockBytes = 96
)

// These are the offsets of the fields of mod48.constants in bytes.
const (
	atQ, atBits, atMask, atExcess, atSquare = 0, 8, 16, 24, 32
	atCarry, atCarried                      = 40, 48 // IFMA
	atMiddle, atTop, atUpper                = 56, 64, 72
	atMiddleMask, atTopMask                 = 80, 88
	atWords, atWhole                        = 96, 224
	atLast, atDrop                          = 320, 328
	atTwice, atLow52, atHalf                = 336, 344, 352
	atFloat, atInverse, atFloat52           = 360, 368, 376
	atFieldShifts, atFieldMask              = 384, 448
	atFields, atQuads                       = 456, 584
	atStarts, atHalfQ, atOffset             = 648, 664, 672
)

// constant broadcasts the constant at offset off into a register as wide as
// register `like`.
func (k kernels) constant(c reg.GPVirtual, off int, like reg.VecVirtual) reg.VecVirtual {
	out := k.like(like)
	k.VPBROADCASTQ(at(c, off), out)
	return out
}

func (k kernels) like(v reg.VecVirtual) reg.VecVirtual {
	if v.Size() == 64 {
		return k.ZMM()
	}
	return k.YMM()
}

func (k kernels) right(c reg.GPVirtual, off int, v reg.VecVirtual) reg.VecVirtual {
	out := k.like(v)
	k.VPSRLVQ(k.constant(c, off, v), v, out)
	return out
}

func (k kernels) add(sum reg.VecVirtual, terms ...operand.Op) {
	for _, t := range terms {
		k.VPADDQ(t, sum, sum)
	}
}
