//go:build (amd64 || arm64) && !purego

package fourier

import "unsafe"

func pass3(p *pass, x, y []complex128) {
	if !vectors {
		pass3Plain(p, x, y)
		return
	}
	pass3Vector(unsafe.SliceData(x), unsafe.SliceData(y), unsafe.SliceData(p.twiddles), p.done, p.stride)
}

func pass4(p *pass, x, y []complex128) {
	if !vectors {
		pass4Plain(p, x, y)
		return
	}
	pass4Vector(unsafe.SliceData(x), unsafe.SliceData(y), unsafe.SliceData(p.twiddles), p.done, p.stride)
}

func scaleLanes(dst, src []complex128, by []float64, ld int) {
	if !vectors {
		scaleLanesPlain(dst, src, by, ld)
		return
	}
	scaleVector(unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(by), len(dst)/Lanes, ld)
}
