// Command gen writes the kernels of package fourier in Go assembly for AVX2.
//
//	go generate cpar/internal/fourier
//
// A register holds two complex values, of two adjacent lanes. The steps are
// those of pass3Plain and pass4Plain.
package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"cpar/internal/kernelgen"
)

func main() { kernelgen.Main(generate) }

var at = kernelgen.At

func generate() (map[string][]byte, error) {
	return kernelgen.Files("fourier", map[string]func(kernelgen.Kernels){"avx2": func(k kernelgen.Kernels) {
		kernels{k}.pass4()
		kernels{k}.pass3()
		kernels{k}.scale()
	}})
}

type kernels struct{ kernelgen.Kernels }

const size = 16

func (k kernels) load(m Mem) reg.VecVirtual {
	v := k.YMM()
	k.VMOVUPD(m, v)
	return v
}

// factor is a complex number, each part repeated in all lanes.
type factor struct{ re, im reg.VecVirtual }

func (k kernels) factors(n int, p reg.GPVirtual) (out []factor) {
	for i := range n {
		f := factor{k.YMM(), k.YMM()}
		k.VBROADCASTSD(at(p, size*i), f.re)
		k.VBROADCASTSD(at(p, size*i+8), f.im)
		out = append(out, f)
	}
	k.Advance(n*size, p)
	return out
}

func (k kernels) swapped(x reg.VecVirtual) reg.VecVirtual {
	out := k.YMM()
	k.VPERMILPD(Imm(5), x, out)
	return out
}

func (k kernels) times(x reg.VecVirtual, f factor) {
	other := k.swapped(x)
	k.VMULPD(f.im, other, other)
	k.VFMADDSUB213PD(other, f.re, x)
}

// sum, difference and turned return x + y, x − y and x + i·y.
func (k kernels) sum(x, y reg.VecVirtual) reg.VecVirtual {
	out := k.YMM()
	k.VADDPD(y, x, out)
	return out
}

func (k kernels) difference(x, y reg.VecVirtual) reg.VecVirtual {
	out := k.YMM()
	k.VSUBPD(y, x, out)
	return out
}

func (k kernels) turned(x, y reg.VecVirtual) reg.VecVirtual {
	other := k.swapped(y)
	k.VADDSUBPD(other, x, other)
	return other
}

// pass emits the loops of a pass over blocks of radix·stride values, with
// pointers to each input and output of a block. `body` computes the outputs.
func (k kernels) pass(radix int, body func(in []reg.VecVirtual, w []factor) []reg.VecVirtual) {
	p := k.Params("x", "y", "twiddles", "done", "stride")
	x, y, twiddles, n, stride := p[0], p[1], p[2], p[3], p[4]
	bytes, apart := k.GP64(), k.GP64()
	k.MOVQ(stride, bytes)
	k.SHLQ(Imm(4), bytes)
	k.MOVQ(bytes, apart) // distance between outputs, done·stride
	k.IMULQ(n, apart)
	// The fourth input and output are two strides from the second.
	from3, to3 := k.GP64(), k.GP64()
	address := func(p, p1, step reg.GPVirtual, i int) Mem {
		switch i {
		case 0:
			return Mem{Base: p}
		case 3:
			return Mem{Base: p1, Index: step, Scale: 2}
		}
		return Mem{Base: p, Index: step, Scale: uint8(i)}
	}
	k.Count("block", n, func() {
		w := k.factors(radix-1, twiddles)
		if radix == 4 {
			k.LEAQ(Mem{Base: x, Index: bytes, Scale: 1}, from3)
			k.LEAQ(Mem{Base: y, Index: apart, Scale: 1}, to3)
		}
		k.Count("two", k.Part(stride, 0, 1), func() {
			var in []reg.VecVirtual
			for i := range radix {
				in = append(in, k.load(address(x, from3, bytes, i)))
			}
			for i, v := range body(in, w) {
				k.VMOVUPD(v, address(y, to3, apart, i))
			}
			moving := []reg.GPVirtual{x, y}
			if radix == 4 {
				moving = append(moving, from3, to3)
			}
			k.Advance(2*size, moving...)
		})
		k.LEAQ(Mem{Base: x, Index: bytes, Scale: 2}, x)
		if radix == 4 {
			k.ADDQ(bytes, x)
		}
	})
	k.End()
}

const signature = "func(x, y, twiddles *complex128, done, stride int)"

func (k kernels) pass4() {
	k.Begin("pass4Vector", signature, "is a pass of radix 4. stride is even.")
	k.pass(4, func(in []reg.VecVirtual, w []factor) []reg.VecVirtual {
		a, b, c, d := in[0], in[1], in[2], in[3]
		k.times(b, w[0])
		k.times(c, w[1])
		k.times(d, w[2])
		even, diff := k.sum(a, c), k.difference(a, c)
		odd, side, back := k.sum(b, d), k.difference(b, d), k.difference(d, b)
		return []reg.VecVirtual{k.sum(even, odd), k.turned(diff, side), k.difference(even, odd), k.turned(diff, back)}
	})
}

func (k kernels) pass3() {
	constants := k.StaticGlobal("constants")
	k.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, v := range []float64{0.5, math.Sqrt(3) / 2} {
		k.AddDatum(8*i, U64(math.Float64bits(v)))
	}
	k.Begin("pass3Vector", signature, "is a pass of radix 3. stride is even.")
	half, sin60 := k.YMM(), k.YMM()
	k.VBROADCASTSD(constants.Offset(0), half)
	k.VBROADCASTSD(constants.Offset(8), sin60)
	k.pass(3, func(in []reg.VecVirtual, w []factor) []reg.VecVirtual {
		a, b, c := in[0], in[1], in[2]
		k.times(b, w[0])
		k.times(c, w[1])
		sum, side, back := k.sum(b, c), k.difference(b, c), k.difference(c, b)
		first := k.sum(a, sum)
		k.VFNMADD231PD(half, sum, a)
		k.VMULPD(sin60, side, side)
		k.VMULPD(sin60, back, back)
		return []reg.VecVirtual{first, k.turned(a, side), k.turned(a, back)}
	})
}

func (k kernels) scale() {
	p := k.Begin("scaleVector", "func(dst, src *complex128, by *float64, rows, ld int)", "is ScaleLanes.", "dst", "src", "by", "rows", "ld")
	dst, src, by, rows, ld := p[0], p[1], p[2], p[3], p[4]
	values := k.GP64()
	k.MOVQ(ld, values)
	k.SHLQ(Imm(4), values)
	k.SHLQ(Imm(3), ld)
	k.Count("row", rows, func() {
		f := k.load(at(by, 0))
		for half, both := range []uint64{0x50, 0xfa} {
			w := k.YMM()
			k.VPERMPD(Imm(both), f, w)
			k.VMULPD(at(src, 32*half), w, w)
			k.VMOVUPD(w, at(dst, 32*half))
		}
		k.Advance(64, dst)
		k.ADDQ(values, src)
		k.ADDQ(ld, by)
	})
	k.End()
}
