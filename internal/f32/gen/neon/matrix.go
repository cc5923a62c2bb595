package main

import "fmt"

// A place is one value of a register.
type place struct {
	v    vector
	lane int
}

// values loads n adjacent values of `size` bytes from p into v and the
// following registers, and advances p.
func (k *kernels) values(p general, v vector, n, size int) (places []place) {
	perRegister := 16 / size
	if whole := n / perRegister; whole > 0 {
		k.op("VLD1.P", p.at(16*whole), v.list(whole))
		for i := range whole * perRegister {
			places = append(places, place{v + vector(i/perRegister), i % perRegister})
		}
		v += vector(whole)
		n -= whole * perRegister
	}
	for ; n > 0; v++ {
		name, take := "FMOVD.P", 8/size
		if n < take {
			name, take = "FMOVS.P", 1
		}
		k.op(name, p.at(take*size), v.scalar())
		for lane := range take {
			places = append(places, place{v, lane})
		}
		n -= take
	}
	return places
}

// tile multiplies packed a (k×rows) by packed b (k×vectors·8) and keeps the
// sums in registers. A multiply-add takes its factor from any lane of a, so
// that values of a need not be repeated. Two steps of six rows of a fill three
// registers.
func (k *kernels) tile(rows, vectors int) {
	wide := 2 * vectors
	k.begin(tileName(rows, vectors), "", "k int, a, b *float32, ldb, ahead, pace int, c *float32, ldc int, from *float32, step int, lo, hi float32", "")
	p := k.load("k", "a", "b", "from", "step", "c", "ldc", "ldb")
	n, a, b, from, step, c, ldc, ldb := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	const pairs = general(8)
	sum := func(r int) vector { return vector(r * wide) }
	const ofB, ofA = vector(24), vector(28)
	k.op("CMP", "$-1", step)
	k.op("BEQ", "one_each")
	for r := range rows {
		k.op("VLD1", from.at(0), sum(r).list(wide))
		if r < rows-1 {
			k.op("ADD", step, from)
		}
	}
	k.op("B", "multiply")
	k.label("one_each")
	for r := range rows {
		k.op("VLD1R.P", from.at(4), sum(r).list(1))
		for v := 1; v < wide; v++ {
			k.op("VMOV", sum(r).bytes(), (sum(r) + vector(v)).bytes())
		}
	}
	k.label("multiply")
	step1 := func(x []place) {
		k.op("VLD1", b.at(0), ofB.list(wide))
		k.op("ADD", ldb, b)
		for r, x := range x {
			for v := range vector(wide) {
				k.word(fmlaBy(x.lane), sum(r)+v, ofB+v, x.v)
			}
		}
	}
	k.op("LSR", "$1", n, pairs)
	k.count("two", pairs, func() {
		x := k.values(a, ofA, 2*rows, 4)
		step1(x[:rows])
		step1(x[rows:])
	})
	k.op("TBZ", "$0", n, "store")
	step1(k.values(a, ofA, rows, 4))
	k.label("store")
	const lo, hi = ofB, ofB + 1
	k.number("lo", lo)
	k.number("hi", hi)
	for r := range rows {
		for v := range vector(wide) {
			k.word(fmax, sum(r)+v, sum(r)+v, lo)
			k.word(fmin, sum(r)+v, sum(r)+v, hi)
		}
		k.op("VST1", sum(r).list(wide), c.at(0))
		if r < rows-1 {
			k.op("ADD", ldc, c)
		}
	}
	k.op("RET")
}

func (k *kernels) wide(rows int) {
	k.begin(wideName(rows), "", "k int, a, b, c *float64, ldc int", "")
	p := k.load("k", "a", "b", "c", "ldc")
	n, a, b, c, ldc, row := p[0], p[1], p[2], p[3], p[4], general(5)
	sum := func(r int) vector { return vector(r * 6) }
	const ofB, ofA = vector(24), vector(30)
	k.op("MOVD", c, row)
	k.op("SUB", "$96", ldc) // the rest of a row
	for r := range rows {
		k.op("VLD1.P", row.at(64), sum(r).list(4))
		k.op("VLD1.P", row.at(32), (sum(r) + 4).list(2))
		if r < rows-1 {
			k.op("ADD", ldc, row)
		}
	}
	k.count("one", n, func() {
		x := k.values(a, ofA, rows, 8)
		k.op("VLD1.P", b.at(64), ofB.list(4))
		k.op("VLD1.P", b.at(32), (ofB + 4).list(2))
		for r, x := range x {
			for v := range vector(6) {
				k.word(fmlaWideBy(x.lane), sum(r)+v, ofB+v, x.v)
			}
		}
	})
	for r := range rows {
		k.op("VST1.P", sum(r).list(4), c.at(64))
		k.op("VST1.P", (sum(r) + 4).list(2), c.at(32))
		if r < rows-1 {
			k.op("ADD", ldc, c)
		}
	}
	k.op("RET")
}

func (k *kernels) packRows(wide int) {
	k.begin(fmt.Sprintf("pack%dNEON", wide), fmt.Sprintf("copies %d values from each src + offsets[i] to row i of dst.", wide),
		"dst, src *float32, offsets *int, rows int", "")
	p := k.load("dst", "src", "offsets", "rows")
	dst, src, offsets, rows, from := p[0], p[1], p[2], p[3], general(4)
	k.count("row", rows, func() {
		k.op("MOVD.P", offsets.at(8), from)
		k.op("ADD", from.String()+"<<2", src, from)
		k.op("VLD1", from.at(0), vector(0).list(wide/4))
		k.op("VST1.P", vector(0).list(wide/4), dst.at(4*wide))
	})
	k.op("RET")
}

// taps emits a depthwise convolution of one channel, laid out so that each tap
// reads a contiguous run. A sum stays in its register until it is complete.
func (k *kernels) taps() {
	k.begin("tapsNEON", "sets out, of registers·8 values, to bias + Σ weights[t]·x[offsets[t]:], within lo and hi.",
		"out, x *float32, offsets *int, weights *float32, taps, registers int, bias, lo, hi float32", "")
	p := k.load("out", "x", "registers")
	out, x, n := p[0], p[1], p[2]
	offsets, weights, taps, from, blocks := general(3), general(4), general(5), general(6), general(7)
	const ofX, weight, bias, lo, hi = vector(16), vector(24), vector(25), vector(26), vector(27)
	k.number("bias", bias)
	k.number("lo", lo)
	k.number("hi", hi)
	block := func(label string, wide int) {
		k.op("MOVD", k.parameter("offsets"), offsets)
		k.op("MOVD", k.parameter("weights"), weights)
		k.op("MOVD", k.parameter("taps"), taps)
		for v := range vector(wide) {
			k.op("VMOV", bias.bytes(), v.bytes())
		}
		k.count(label+"_taps", taps, func() {
			k.op("MOVD.P", offsets.at(8), from)
			k.op("FMOVS.P", weights.at(4), weight.scalar())
			k.op("ADD", from.String()+"<<2", x, from)
			k.groups(wide, func(first vector, n int) {
				to := ofX + first%8
				k.op("VLD1.P", from.at(16*n), to.list(n))
				for v := range vector(n) {
					k.word(fmlaBy(0), first+v, to+v, weight)
				}
			})
		})
		k.groups(wide, func(first vector, n int) {
			for v := range vector(n) {
				k.word(fmax, first+v, first+v, lo)
				k.word(fmin, first+v, first+v, hi)
			}
			k.op("VST1.P", first.list(n), out.at(16*n))
		})
		k.op("ADD", fmt.Sprintf("$%d", 16*wide), x)
	}
	k.op("LSR", "$3", n, blocks)
	k.count("eight", blocks, func() { block("eight", 16) })
	for _, part := range []struct {
		bit   int
		label string
	}{{2, "four"}, {1, "two"}, {0, "one"}} {
		k.op("TBZ", fmt.Sprintf("$%d", part.bit), n, part.label+"_none")
		block(part.label, 2<<part.bit)
		k.label(part.label + "_none")
	}
	k.op("RET")
}

// groups calls f for up to four registers at a time, as many as one load fills.
func (k *kernels) groups(wide int, f func(first vector, n int)) {
	for first := 0; first < wide; first += 4 {
		f(vector(first), min(4, wide-first))
	}
}
