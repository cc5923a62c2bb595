package f32

// A Winograd is a constant convolution of 3×3 taps at stride 1. It computes
// tiles of 4×4 results from 6×6 values, with 36 multiplications for each pair
// of channels where the definition needs 144 (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2016, F(4×4, 3×3)). Its rounding errors
// are about ten times as large.
type Winograd struct {
	m, k int // numbers of output and input channels
	// A block holds the weights of winogradRows output channels, in a plane for
	// each of the nine taps that is packed like a Left. Convolve transforms a
	// block when it needs it, because transformed weights take four times the
	// memory.
	blocks [][]float32
}

func HasWinograd() bool { return levels[active].winograd.fours != nil }

// winogradRows returns the number of output channels in a block, whole tiles at
// each level, whose transformed weights stay in the second-level cache.
func winogradRows(k int) int { return 12 * max(1, min(4, 256/k)) }

const (
	// winogradValues is about the number of tiles that are transformed at a time,
	// times the input channels, so that they stay in the second-level cache.
	winogradValues = 8192
	// apart is added to the distances between the 36 values of a tile, so that
	// they do not share a set of the first-level cache.
	apart = 16
)

// PackWinograd packs weights m×k×3×3.
func PackWinograd(w []float32, m, k int) *Winograd {
	p, lanes := &Winograd{m: m, k: k}, active.tiling().lanes
	most := winogradRows(k)
	one := make([]float32, min(m, most)*k)
	for first := 0; first < m; first += most {
		rows := min(most, m-first)
		plane := roundUp(rows*k, lanes)
		block := make([]float32, 9*plane)
		for t := range 9 {
			for i := range rows * k {
				one[i] = w[9*(first*k+i)+t]
			}
			copy(block[t*plane:], PackLeft(one, k, rows, k).data[:rows*k])
		}
		p.blocks = append(p.blocks, block)
	}
	return p
}

// A Plane describes the images of a Winograd and their padding by zeros.
type Plane struct{ InH, InW, Top, Left, OutH, OutW int }

// across returns the number of tiles in a row.
func (p Plane) across() int { return (p.OutW + 3) / 4 }

// down returns the number of rows of tiles, and how many are computed at a
// time for k channels.
func (p Plane) down(k int) (all, atOnce int) {
	all = (p.OutH + 3) / 4
	return all, min(all, max(1, max(32, winogradValues/k)/p.across()))
}

// A winogradMemory holds the scratch memory of Convolve.
type winogradMemory struct {
	lines                 []float32 // padded rows of an image
	pitch                 int       // the distance between them
	phases                []float32 // an image, see lay
	phase                 int       // the length of each of the 24 phases
	values, weights, sums transformed
	rows                  []float32 // four rows of results
	ld                    int       // tiles that are computed at a time, in whole registers
	rest                  []float32 // for Left
}

type transformed struct {
	data []float32
	step int // distance between two of the 36 values
}

// layOut cuts up the scratch memory. For nil it only determines the sizes.
func (w *winogradMemory) layOut(p Plane, m, k int, scratch []float32) (size int) {
	lanes := active.tiling().lanes
	_, rows := p.down(k)
	m = min(m, winogradRows(k))
	w.phase, w.ld = (rows+1)*p.across()+lanes, roundUp(rows*p.across(), lanes)
	w.values.step, w.weights.step, w.sums.step = k*w.ld+apart, roundUp(m*k, lanes)+apart, m*w.ld+apart
	cut := func(to *[]float32, n int) {
		size += n
		if scratch != nil {
			*to, scratch = take(scratch, n)
		}
	}
	w.pitch = 4*p.across() + 2
	cut(&w.lines, (4*rows+1)*w.pitch+4*roundUp(p.across(), lanes)+4)
	cut(&w.phases, 24*w.phase+lanes)
	for _, x := range []*transformed{&w.values, &w.weights, &w.sums} {
		cut(&x.data, 36*x.step)
	}
	cut(&w.rows, 16*w.ld)
	cut(&w.rest, LeftScratch(w.ld, k))
	return size
}

// WinogradScratch returns the number of scratch values that Convolve needs.
func WinogradScratch(p Plane, m, k int) int { return new(winogradMemory).layOut(p, m, k, nil) }

// Convolve sets out, m planes, from x, k planes, with an optional epilogue.
func (w *Winograd) Convolve(out, x []float32, p Plane, e *Epilogue, scratch []float32) {
	checkMatrix("out", out, p.OutH*p.OutW, w.m, p.OutH*p.OutW)
	checkMatrix("x", x, p.InH*p.InW, w.k, p.InH*p.InW)
	checkBias(e, w.m)
	var own winogradMemory
	own.layOut(p, w.m, w.k, scratch)
	clear(own.lines)
	clear(own.phases) // the values beyond the last tile must not be NaN
	l, lanes := active, active.tiling().lanes
	offsets := make([]int, w.k)
	for i := range offsets {
		offsets[i] = i * own.ld
	}
	all, atOnce := p.down(w.k)
	for first := 0; first < all; first += atOnce {
		down := min(atOnce, all-first)
		n, columns := roundUp(down*p.across(), lanes), down*p.across()
		if columns%lanes > l.tiling().few {
			columns = n
		}
		for c := range w.k {
			own.lay(l, p, x[c*p.InH*p.InW:][:p.InH*p.InW], first, down)
			l.winogradIn(own.values.data[c*own.ld:], own.phases, own.phase, p.across(), own.values.step, n)
		}
		for b, block := range w.blocks {
			c := b * winogradRows(w.k)
			m := min(winogradRows(w.k), w.m-c)
			l.winogradWeights(own.weights, block)
			for i := range 36 {
				left := Left{l, m, w.k, own.weights.data[i*own.weights.step:]}
				left.product(own.sums.data[i*own.sums.step:], own.ld, own.values.data[i*own.values.step:], offsets, own.ld, columns, nil, own.rest)
			}
			for i := range m {
				own.finish(l, p, out[(c+i)*p.OutH*p.OutW:][:p.OutH*p.OutW], e, i, c+i, first, down)
			}
		}
	}
}

// lay arranges the values of `down` rows of tiles so that each of the 6×6
// values of the tiles is a contiguous run. Value (i, j) of tile t is in phase
// 6·(i%4) + j, at i/4·across + t.
func (w *winogradMemory) lay(l level, p Plane, x []float32, first, down int) {
	rows, y := 4*down+2, 4*first-p.Top // y is the row of the image that the first one holds
	begin := min(max(0, -y), rows)
	end := max(begin, min(rows, p.InH-y))
	clear(w.lines[:begin*w.pitch])
	clear(w.lines[end*w.pitch : rows*w.pitch])
	if begin < end {
		CopyRows(w.lines[begin*w.pitch+p.Left:], x[(y+begin)*p.InW:], w.pitch, p.InW, p.InW, end-begin, 0)
	}
	for i := range 4 {
		l.fours(w.phases[i*6*w.phase:], w.lines[i*w.pitch:], w.phase, p.across(), 4*w.pitch, (rows-i+3)/4)
	}
}

// finish computes `down` rows of tiles of channel c from row i of the sums.
func (w *winogradMemory) finish(l level, p Plane, out []float32, e *Epilogue, i, c, first, down int) {
	bias, lo, hi := float32(0), -infinity, infinity
	if e != nil && e.Bias != nil {
		bias = e.Bias[c]
	}
	if e != nil && e.Clip {
		lo, hi = e.Lo, e.Hi
	}
	l.winogradOut(w.rows, w.sums.data[i*w.ld:], w.sums.step, 4*w.ld, roundUp(down*p.across(), l.tiling().lanes), bias, lo, hi)
	for y := range min(4*down, p.OutH-4*first) {
		copy(out[(4*first+y)*p.OutW:][:p.OutW], w.rows[y%4*4*w.ld+y/4*4*p.across():])
	}
}

// transforms holds the kernels of Winograd, Halves and CopyRows. Distances are
// in bytes.
type transforms struct {
	fours           func(out, x *float32, plane, outStep, step, rows, registers int)
	winogradWeights func(out, w *float32, step, plane, registers int)
	winogradIn      func(out, x *float32, plane, row, step, registers int)
	winogradOut     func(out, x *float32, step, line, registers int, bias, lo, hi float32)
	halves          func(even, odd, x *float32, registers int)
	copyRows        func(out, x *float32, outStep, step, after, rows, registers int, pad float32)
}

// fours sets out[j·plane + t] = x[4·t + j] for the six values j of n tiles, for
// each row. It writes whole registers and reads four values beyond them.
func (l level) fours(out, x []float32, plane, n, step, rows int) {
	registers := (n + l.tiling().lanes - 1) / l.tiling().lanes
	whole := registers * l.tiling().lanes
	_, _ = out[5*plane+(rows-1)*n+whole-1], x[(rows-1)*step+4*whole+3]
	levels[l].winograd.fours(data(out), data(x), 4*plane, 4*n, 4*step, rows, registers)
}

func (l level) winogradWeights(to transformed, w []float32) {
	plane := len(w) / 9
	_ = to.data[35*to.step+plane-1]
	levels[l].winograd.winogradWeights(data(to.data), data(w), 4*to.step, 4*plane, plane/l.tiling().lanes)
}

// winogradIn transforms n tiles, whole registers, in both directions. Their
// phases begin at x, and transformed value i begins at out[i·step].
func (l level) winogradIn(out, x []float32, plane, row, step, n int) {
	_, _ = out[35*step+n-1], x[max(23*plane, 11*plane+row)+n-1]
	levels[l].winograd.winogradIn(data(out), data(x), 4*plane, 4*row, 4*step, n/l.tiling().lanes)
}

// winogradOut transforms products of n tiles back. Row a begins at out[a·line].
func (l level) winogradOut(out, x []float32, step, line, n int, bias, lo, hi float32) {
	_, _ = out[3*line+4*n-1], x[35*step+n-1]
	levels[l].winograd.winogradOut(data(out), data(x), 4*step, 4*line, n/l.tiling().lanes, bias, lo, hi)
}
