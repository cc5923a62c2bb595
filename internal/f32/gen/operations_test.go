package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func real(b uint32) float64       { return float64(math.Float32frombits(b)) }
func bitsOf(v float64) uint32     { return math.Float32bits(float32(v)) }
func fused(x, y, z uint32) uint32 { return bitsOf(math.FMA(real(x), real(y), real(z))) }

// lanewise holds operations that compute each lane of the last operand from the
// lanes of the others and its old value.
var lanewise = map[string]func(a, b, old uint32) uint32{
	"VFMADD231PS":  func(a, b, old uint32) uint32 { return fused(a, b, old) },
	"VFNMADD231PS": func(a, b, old uint32) uint32 { return fused(a^signBit, b, old) },
	"VFMADD213PS":  func(a, b, old uint32) uint32 { return fused(b, old, a) },
	"VFMSUB213PS":  func(a, b, old uint32) uint32 { return fused(b, old, a^signBit) },
	"VADDPS":       func(a, b, _ uint32) uint32 { return bitsOf(real(b) + real(a)) },
	"VSUBPS":       func(a, b, _ uint32) uint32 { return bitsOf(real(b) - real(a)) },
	"VMULPS":       func(a, b, _ uint32) uint32 { return bitsOf(real(b) * real(a)) },
	"VDIVPS":       func(a, b, _ uint32) uint32 { return bitsOf(real(b) / real(a)) },
	"VXORPS":       func(a, b, _ uint32) uint32 { return a ^ b },
	"VANDPS":       func(a, b, _ uint32) uint32 { return a & b },
	"VORPS":        func(a, b, _ uint32) uint32 { return a | b },
	"VPADDD":       func(a, b, _ uint32) uint32 { return a + b },
	"VPSUBD":       func(a, b, _ uint32) uint32 { return b - a },
	// The result is the first source unless the second is larger or smaller.
	"VMAXPS": func(a, b, _ uint32) uint32 {
		if real(b) > real(a) {
			return b
		}
		return a
	},
	"VMINPS": func(a, b, _ uint32) uint32 {
		if real(b) < real(a) {
			return b
		}
		return a
	},
}

var unary = map[string]func(a uint32) uint32{
	"VMOVUPS": func(a uint32) uint32 { return a },
	"VMOVUPD": func(a uint32) uint32 { return a },
	"VCVTPS2DQ": func(a uint32) uint32 {
		if v := math.RoundToEven(real(a)); v >= -1<<31 && v < 1<<31 {
			return uint32(int32(v))
		}
		return 1 << 31
	},
	"VCVTDQ2PS": func(a uint32) uint32 { return bitsOf(float64(int32(a))) },
}

func (m *machine) vectorOperation(op string, o []string, line string) {
	last := o[len(o)-1]
	if op == "VCMPPS" {
		lanes, _ := lanesOf(o[2])
		m.compare(o, lanes)
		return
	}
	if op == "MOVSS" || op == "VMOVSS" {
		m.set(last, m.value(o[0], 4), 1)
		return
	}
	lanes := 0
	for _, name := range []string{last, o[0]} {
		if vector.MatchString(name) {
			lanes, _ = lanesOf(name)
			break
		}
	}
	var out [16]uint32
	if f := lanewise[op]; f != nil {
		a, b, old := m.value(o[0], lanes), m.value(o[1], lanes), m.value(last, lanes)
		for i := range lanes {
			out[i] = f(a[i], b[i], old[i])
		}
		m.set(last, out, lanes)
		return
	}
	if f := unary[op]; f != nil {
		a := m.value(o[0], lanes)
		for i := range lanes {
			out[i] = f(a[i])
		}
		m.set(last, out, lanes)
		return
	}
	switch op {
	case "VBROADCASTSS":
		for i := range lanes {
			out[i] = m.value(o[0], 1)[0]
		}
	case "VMASKMOVPS":
		mask, a := m.value(o[1], lanes), address.FindStringSubmatch(o[0])
		for i := range lanes {
			if mask[i]>>31 != 0 {
				offset, _ := strconv.Atoi(a[1])
				out[i] = m.value(fmt.Sprintf("%d(%s)", offset+4*i, a[2]), 1)[0]
			}
		}
	case "VPSRAD", "VPSLLD":
		a, by := m.value(o[1], lanes), m.word(o[0])
		for i := range lanes {
			if out[i] = a[i] << by; op == "VPSRAD" {
				out[i] = uint32(int32(a[i]) >> by)
			}
		}
	case "VBLENDVPS":
		mask, yes, no := m.value(o[0], lanes), m.value(o[1], lanes), m.value(o[2], lanes)
		for i := range lanes {
			if out[i] = no[i]; mask[i]>>31 != 0 {
				out[i] = yes[i]
			}
		}
	case "VBLENDMPS":
		yes, no, mask := m.value(o[0], lanes), m.value(o[1], lanes), m.masks[o[2]]
		for i := range lanes {
			if out[i] = no[i]; mask>>i&1 != 0 {
				out[i] = yes[i]
			}
		}
	case "VUNPCKLPS", "VUNPCKHPS", "VUNPCKLPD", "VUNPCKHPD":
		a, b := m.value(o[1], lanes), m.value(o[0], lanes)
		group := [4]int{0, 4, 1, 5} // lanes of a, and then lanes of b
		if strings.HasSuffix(op, "D") {
			group = [4]int{0, 1, 4, 5}
		}
		for i := range lanes {
			from := group[i%4]
			if strings.Contains(op, "H") {
				from += 2
			}
			if out[i] = a[i&^3+from%4]; from >= 4 {
				out[i] = b[i&^3+from%4]
			}
		}
	case "VSHUFPS":
		a, b, order := m.value(o[2], lanes), m.value(o[1], lanes), m.word(o[0])
		for i := range lanes {
			from := i&^3 + int(order>>(2*(i%4))&3)
			if out[i] = a[from]; i%4 >= 2 {
				out[i] = b[from]
			}
		}
	case "VPERMI2PS":
		x, y := m.value(o[1], lanes), m.value(o[0], lanes)
		for i, from := range m.value(o[2], lanes) {
			if out[i] = x[from%16]; from&16 != 0 {
				out[i] = y[from%16]
			}
		}
	case "VPERMPD":
		for i := range lanes / 2 {
			setWide(&out, i, wide(m.value(o[1], lanes), int(m.word(o[0])>>(2*i)&3)))
		}
	case "VINSERTF128", "VINSERTF32X4":
		out = m.value(o[2], lanes)
		a := m.value(o[1], 4)
		copy(out[4*m.word(o[0]):], a[:4])
	case "VEXTRACTF32X4", "VEXTRACTF128":
		lanes = 4
		_, r := lanesOf(o[1])
		copy(out[:], m.vectors[r][4*m.word(o[0]):][:4])
	case "VEXTRACTF64X4":
		a := m.value(o[1], 2*lanes)
		copy(out[:], a[uint64(lanes)*m.word(o[0]):][:lanes])
	case "VMOVHLPS":
		a, b := m.value(o[0], 4), m.value(o[1], 4)
		out = [16]uint32{a[2], a[3], b[2], b[3]}
	case "VMOVSHDUP":
		a := m.value(o[0], lanes)
		for i := range lanes {
			out[i] = a[i|1]
		}
	case "VHADDPS":
		a, b := m.value(o[0], 4), m.value(o[1], 4)
		for i := range 2 {
			out[i], out[2+i] = bitsOf(real(b[2*i])+real(b[2*i+1])), bitsOf(real(a[2*i])+real(a[2*i+1]))
		}
	case "VCVTPS2PD":
		a := m.value(o[0], lanes/2)
		for i := range lanes / 2 {
			setWide(&out, i, real(a[i]))
		}
	case "VCVTPD2PS", "VCVTPD2PSY":
		a := m.value(o[0], 2*lanes)
		for i := range lanes {
			out[i] = bitsOf(wide(a, i))
		}
	case "VBROADCASTSD":
		a := m.value(o[0], 2)
		for i := range lanes / 2 {
			setWide(&out, i, wide(a, 0))
		}
	case "VFMADD231PD":
		a, b, old := m.value(o[0], lanes), m.value(o[1], lanes), m.value(last, lanes)
		for i := range lanes / 2 {
			setWide(&out, i, math.FMA(wide(a, i), wide(b, i), wide(old, i)))
		}
	case "VADDPD", "VSUBPD", "VMULPD":
		a, b := m.value(o[0], lanes), m.value(o[1], lanes)
		for i := range lanes / 2 {
			x, y := wide(b, i), wide(a, i)
			setWide(&out, i, map[string]float64{"VADDPD": x + y, "VSUBPD": x - y, "VMULPD": x * y}[op])
		}
	default:
		panic("the machine does not know " + line)
	}
	m.set(last, out, lanes)
}

func wide(x [16]uint32, i int) float64 {
	return math.Float64frombits(uint64(x[2*i]) | uint64(x[2*i+1])<<32)
}

func setWide(x *[16]uint32, i int, v float64) {
	b := math.Float64bits(v)
	x[2*i], x[2*i+1] = uint32(b), uint32(b>>32)
}

func (m *machine) compare(o []string, lanes int) {
	if m.word(o[0]) != 17 {
		panic("the machine does not know this comparison")
	}
	a, b := m.value(o[1], lanes), m.value(o[2], lanes)
	var out [16]uint32
	var mask uint16
	for i := range lanes {
		if real(b[i]) < real(a[i]) {
			out[i], mask = math.MaxUint32, mask|1<<i
		}
	}
	if vector.MatchString(o[3]) {
		m.set(o[3], out, lanes)
		return
	}
	m.masks[o[3]] = mask
}
