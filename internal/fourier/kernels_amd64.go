//go:build !purego

package fourier

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./gen

// vectors selects the kernels. Tests try both values.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

func pass3(p *pass, x, y []complex128) {
	if !vectors {
		pass3Plain(p, x, y)
		return
	}
	pass3AVX2(unsafe.SliceData(x), unsafe.SliceData(y), unsafe.SliceData(p.twiddles), p.done, p.stride)
}

func pass4(p *pass, x, y []complex128) {
	if !vectors {
		pass4Plain(p, x, y)
		return
	}
	pass4AVX2(unsafe.SliceData(x), unsafe.SliceData(y), unsafe.SliceData(p.twiddles), p.done, p.stride)
}

func scaleLanes(dst, src []complex128, by []float64, ld int) {
	if !vectors {
		scaleLanesPlain(dst, src, by, ld)
		return
	}
	scaleAVX2(unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(by), len(dst)/Lanes, ld)
}
