package main

import (
	"fmt"
	"strings"
)

// A general is a general register, printed as Go's assembler names it.
type general int

func (r general) String() string { return fmt.Sprintf("R%d", int(r)) }

// at returns the address `bytes` beyond r. An instruction whose name ends in .P
// accesses the address in r and then advances r instead.
func (r general) at(bytes int) string { return fmt.Sprintf("%d(R%d)", bytes, int(r)) }

// A vector is a NEON register of four float32 or two float64 values.
type vector int

func (v vector) String() string { return fmt.Sprintf("V%d.S4", int(v)) }

func (v vector) bytes() string { return fmt.Sprintf("V%d.B16", int(v)) }

// scalar is the name of the register for a single value.
func (v vector) scalar() string { return fmt.Sprintf("F%d", int(v)) }

// list returns n registers from v on, the operand of VLD1 and VST1.
func (v vector) list(n int) string {
	var all []string
	for i := range n {
		all = append(all, (v + vector(i)).String())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// A form is an instruction that Go's assembler lacks. The register numbers are
// added to the code at bits 0, 5 and 16.
type form struct {
	code uint32
	text string
}

var (
	fadd   = form{0x4e20d400, "fadd v%d.4s, v%d.4s, v%d.4s"}
	fsub   = form{0x4ea0d400, "fsub v%d.4s, v%d.4s, v%d.4s"}
	fmul   = form{0x6e20dc00, "fmul v%d.4s, v%d.4s, v%d.4s"}
	fdiv   = form{0x6e20fc00, "fdiv v%d.4s, v%d.4s, v%d.4s"}
	fmla   = form{0x4e20cc00, "fmla v%d.4s, v%d.4s, v%d.4s"}
	fmls   = form{0x4ea0cc00, "fmls v%d.4s, v%d.4s, v%d.4s"}
	fmax   = form{0x4e20f400, "fmax v%d.4s, v%d.4s, v%d.4s"} // NaN if either operand is NaN, as fmin
	fmin   = form{0x4ea0f400, "fmin v%d.4s, v%d.4s, v%d.4s"}
	fcmgt  = form{0x6ea0e400, "fcmgt v%d.4s, v%d.4s, v%d.4s"}
	faddp  = form{0x6e20d400, "faddp v%d.4s, v%d.4s, v%d.4s"}
	faddp2 = form{0x7e30d800, "faddp s%d, v%d.2s"}
	fmaxv  = form{0x6e30f800, "fmaxv s%d, v%d.4s"}
	fabs   = form{0x4ea0f800, "fabs v%d.4s, v%d.4s"}
	fneg   = form{0x6ea0f800, "fneg v%d.4s, v%d.4s"}
	fcvtns = form{0x4e21a800, "fcvtns v%d.4s, v%d.4s"}
	scvtf  = form{0x4e21d800, "scvtf v%d.4s, v%d.4s"}
	sshr1  = form{0x4f3f0400, "sshr v%d.4s, v%d.4s, #1"}

	addWide = form{0x4e60d400, "fadd v%d.2d, v%d.2d, v%d.2d"}
	subWide = form{0x4ee0d400, "fsub v%d.2d, v%d.2d, v%d.2d"}
	mulWide = form{0x6e60dc00, "fmul v%d.2d, v%d.2d, v%d.2d"}
	fcvtl   = form{0x0e617800, "fcvtl v%d.2d, v%d.2s"}
	fcvtl2  = form{0x4e617800, "fcvtl2 v%d.2d, v%d.4s"}
	fcvtn   = form{0x0e616800, "fcvtn v%d.2s, v%d.2d"}
	fcvtn2  = form{0x4e616800, "fcvtn2 v%d.4s, v%d.2d"}
)

// fmlaBy adds the product of a register and one value of another register.
func fmlaBy(lane int) form {
	return form{0x4f801000 | uint32(lane&1<<21|lane>>1<<11), fmt.Sprintf("fmla v%%d.4s, v%%d.4s, v%%d.s[%d]", lane)}
}

func fmlaWideBy(lane int) form {
	return form{0x4fc01000 | uint32(lane<<11), fmt.Sprintf("fmla v%%d.2d, v%%d.2d, v%%d.d[%d]", lane)}
}

// kernels collects the text of the files.
type kernels struct {
	text, data, declarations strings.Builder
	offsets                  map[string]int // of the parameters of the current function
	constants                map[uint32]int // offsets in the table of constants
	free                     []vector       // the first registers of unused pairs
}

// op emits an instruction of Go's assembler.
func (k *kernels) op(name string, operands ...any) {
	var all []string
	for _, o := range operands {
		all = append(all, fmt.Sprint(o))
	}
	fmt.Fprintf(&k.text, "\t%s\n", strings.TrimSpace(name+" "+strings.Join(all, ", ")))
}

func (k *kernels) word(f form, registers ...vector) {
	code, numbers := f.code, []any{}
	for i, r := range registers {
		code |= uint32(r) << []int{0, 5, 16}[i]
		numbers = append(numbers, int(r))
	}
	fmt.Fprintf(&k.text, "\tWORD $%#08x // %s\n", code, fmt.Sprintf(f.text, numbers...))
}

func (k *kernels) label(name string) { fmt.Fprintf(&k.text, "%s:\n", name) }

// begin opens a function whose comment consists of its name and doc, if doc is
// not empty. Parameters are "name type" or a name that shares the type of the
// next one.
func (k *kernels) begin(name, doc, parameters, result string) {
	params := strings.Split(parameters, ", ")
	size, kind := 0, ""
	kinds := make([]string, len(params))
	for i := len(params) - 1; i >= 0; i-- {
		if _, own, ok := strings.Cut(params[i], " "); ok {
			kind = own
		}
		kinds[i] = kind
	}
	k.offsets = map[string]int{}
	place := func(name, kind string) {
		bytes := 8
		if kind == "float32" {
			bytes = 4
		}
		size = (size + bytes - 1) / bytes * bytes
		k.offsets[name] = size
		size += bytes
	}
	for i, p := range params {
		name, _, _ := strings.Cut(p, " ")
		place(name, kinds[i])
	}
	if result != "" {
		size = (size + 7) / 8 * 8
		place("ret", result)
		result = " " + result
	}
	if doc != "" {
		doc = fmt.Sprintf("// %s %s\n//\n", name, doc)
	}
	fmt.Fprintf(&k.declarations, "\n%s//go:noescape\nfunc %s(%s)%s\n", doc, name, parameters, result)
	fmt.Fprintf(&k.text, "\n// func %s(%s)%s\nTEXT ·%[1]s(SB), NOSPLIT, $0-%[4]d\n", name, parameters, result, size)
}

func (k *kernels) parameter(name string) string {
	offset, ok := k.offsets[name]
	if !ok {
		panic("no parameter " + name) // a bug in the generator
	}
	return fmt.Sprintf("%s+%d(FP)", name, offset)
}

// load loads one-word parameters into R0 and the following registers.
func (k *kernels) load(names ...string) []general {
	out := make([]general, len(names))
	for i, name := range names {
		out[i] = general(i)
		k.op("MOVD", k.parameter(name), out[i])
	}
	return out
}

// number repeats a float32 parameter in all lanes of v.
func (k *kernels) number(name string, v vector) {
	k.op("FMOVS", k.parameter(name), v.scalar())
	k.op("VDUP", fmt.Sprintf("V%d.S[0]", int(v)), v)
}

// count emits a loop that runs `body` n times, counting n down to zero.
func (k *kernels) count(label string, n general, body func()) {
	k.op("CBZ", n, label+"_done")
	k.label(label)
	body()
	k.op("SUB", "$1", n)
	k.op("CBNZ", n, label)
	k.label(label + "_done")
}
