// Command gen writes the kernels of package modp in Go assembly: for each processor level
// one file of kernels and one of declarations.
//
//	go generate cpar/internal/modp
//
// No kernel branches on the words it multiplies or uses them as addresses; none calls
// anything or has a stack frame. All read only their slices. A prefetch may name an
// address beyond them, on which no processor faults.
package main

import (
	"maps"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"cpar/internal/kernelgen"
)

func main() { kernelgen.Main(generate) }

var at = kernelgen.At

// generate returns the text of each file by name.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, level := range []struct {
		name  string
		write func(kernels)
	}{{"ifma", ifma}, {"avx2", avx2}} {
		k := kernels{kernelgen.New()}
		level.write(k)
		written, err := k.Files("internal/modp/gen", "modp", level.name)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, written)
	}
	return files, nil
}

// kernels are those of both levels.
type kernels struct{ kernelgen.Kernels }

// rowsAhead is the distance in bytes at which rows are prefetched: 2 to 3 KB are best.
const rowsAhead = 2048

// modulus is Q: 2⁶⁰ is 2¹⁴ − 1 modulo it, so a reduction is shifts and additions.
const modulus = 1<<60 - 1<<14 + 1

// constant returns v in every lane of a register like like.
func (k kernels) constant(v uint64, like reg.VecVirtual) reg.VecVirtual {
	word, x := k.GP64(), k.XMM()
	k.MOVQ(operand.U64(v), word)
	k.VMOVQ(word, x)
	out := k.like(like)
	k.VPBROADCASTQ(x, out)
	return out
}

// like returns a register of the same width.
func (k kernels) like(v reg.VecVirtual) reg.VecVirtual {
	if v.Size() == 64 {
		return k.ZMM()
	}
	return k.YMM()
}

// left and right return v shifted, in a new register; low the n lowest bits of v, shifted to where
// they end at bit 60.
func (k kernels) left(v reg.VecVirtual, n uint8) reg.VecVirtual {
	out := k.like(v)
	k.VPSLLQ(operand.Imm(uint64(n)), v, out)
	return out
}

func (k kernels) right(v reg.VecVirtual, n uint8) reg.VecVirtual {
	out := k.like(v)
	k.VPSRLQ(operand.Imm(uint64(n)), v, out)
	return out
}

func (k kernels) low(v reg.VecVirtual, n uint8) reg.VecVirtual {
	out := k.left(v, 64-n)
	k.VPSRLQ(operand.Imm(4), out, out)
	return out
}

// add adds all terms to sum.
func (k kernels) add(sum reg.VecVirtual, terms ...reg.VecVirtual) {
	for _, t := range terms {
		k.VPADDQ(t, sum, sum)
	}
}

// reduce makes l what l + 2⁶⁰·h is modulo Q, but for one Q at most; l is below 2⁶² and h below
// 2⁶¹. 2⁶⁰·h is (2¹⁴ − 1)·h, and what of that is beyond 2⁶⁰ counts so once more.
func (k kernels) reduce(l, h reg.VecVirtual) {
	beyond := k.right(h, 46)
	k.add(l, k.low(h, 46), k.left(beyond, 14), k.constant(4*modulus, l))
	k.VPSUBQ(beyond, l, l)
	k.VPSUBQ(h, l, l)
	beyond = k.right(l, 60)
	rest := k.low(l, 60)
	k.add(rest, k.left(beyond, 14))
	k.VPSUBQ(beyond, rest, l)
}
