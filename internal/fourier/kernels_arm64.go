//go:build !purego

package fourier

// Every arm64 processor has NEON.
func supported() string { return "NEON" }

// neon_arm64.s was written by hand, because avo writes only amd64. Its inner
// loops need 19 instructions per value for radix 4, 15 for radix 3 and 3 to
// scale, and plain Go needs 47, 37 and 11.

// pass4Vector is a pass of radix 4. stride is even.
//
//go:noescape
func pass4Vector(x *complex128, y *complex128, twiddles *complex128, done int, stride int)

// pass3Vector is a pass of radix 3. stride is even.
//
//go:noescape
func pass3Vector(x *complex128, y *complex128, twiddles *complex128, done int, stride int)

// scaleVector implements ScaleLanes.
//
//go:noescape
func scaleVector(dst *complex128, src *complex128, by *float64, rows int, ld int)
