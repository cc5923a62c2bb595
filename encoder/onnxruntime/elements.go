package onnxruntime

import (
	"encoding/binary"
	"math"
)

// packed converts values to the bytes of a tensor, each rounded to the nearest that the
// type has, ties to even.
func packed(values []float32, element int32) []byte {
	le := binary.LittleEndian // of every processor that the library is loaded on
	switch element {
	case elementUint8:
		out := make([]byte, len(values))
		for i, v := range values {
			out[i] = byte(min(255, max(0, math.RoundToEven(float64(v)))))
		}
		return out
	case elementFloat16:
		out := make([]byte, 0, 2*len(values))
		for _, v := range values {
			out = le.AppendUint16(out, narrowed(v))
		}
		return out
	}
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = le.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// narrowed rounds to IEEE 754 binary16. What is too large becomes infinite.
func narrowed(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	x := math.Abs(float64(v))
	switch {
	case x != x:
		return sign | 0x7e00
	case x >= 65520:
		return sign | 0x7c00
	case x < 0x1p-14: // steps of 2⁻²⁴; 1024 of them are the smallest normal number
		return sign | uint16(math.RoundToEven(x*0x1p24))
	}
	fraction, exponent := math.Frexp(x)                      // in ½ … 1
	steps := uint16(math.RoundToEven(fraction * 2048))       // 1024 … 2048
	return sign | (uint16(exponent+14)<<10 + (steps - 1024)) // a carry is the next exponent
}

// widened converts binary16 to float32, exactly.
func widened(halves []uint16) []float32 {
	out := make([]float32, len(halves))
	for i, h := range halves {
		exponent, fraction := int(h>>10&31), float64(h&1023)
		v := math.Ldexp(1024+fraction, exponent-25)
		switch exponent {
		case 0:
			v = math.Ldexp(fraction, -24)
		case 31:
			v = math.Inf(1)
			if fraction != 0 {
				v = math.NaN()
			}
		}
		out[i] = float32(math.Copysign(v, float64(1-2*int(h>>15))))
	}
	return out
}
