package decode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A jpegRecipe describes a JPEG that image/jpeg cannot write. All codes have
// eight bits, so that a symbol is its own code.
type jpegRecipe struct {
	w, h        int
	sampling    [][2]int // of each component
	interval    int
	progressive bool
	separate    bool // a scan per component, in a sequential file
	step        int  // quantisation step of the lowest frequencies
	sample      func(component, x, y int) float64
}

type recipePlane struct {
	bx, by, ownX, ownY int
	blocks             [][64]int // in zigzag order
	last               int
}

type recipeWriter struct {
	jpegRecipe
	out     []byte
	acc     uint64
	n       int
	planes  []recipePlane
	mx, my  int
	eobRun  int
	pending []int // correction bits after the end of a band
}

func (j jpegRecipe) quant(k int) int { return j.step + j.step*(zigzag[k]%8+zigzag[k]/8)/3 }

func (j jpegRecipe) encode() []byte {
	w := &recipeWriter{jpegRecipe: j}
	hMax, vMax := j.sampling[0][0], j.sampling[0][1]
	w.mx, w.my = ceilDiv(j.w, 8*hMax), ceilDiv(j.h, 8*vMax)
	for i, s := range j.sampling {
		p := recipePlane{bx: w.mx * s[0], by: w.my * s[1]}
		p.ownX, p.ownY = ceilDiv(ceilDiv(j.w*s[0], hMax), 8), ceilDiv(ceilDiv(j.h*s[1], vMax), 8)
		for b := range p.bx * p.by {
			var x [64]float64
			for k := range x {
				x[k] = j.sample(i, (b%p.bx*8+k%8)*hMax/s[0], (b/p.bx*8+k/8)*vMax/s[1]) - 128
			}
			for k := range 8 {
				cosineTransform(x[8*k:], 1)
			}
			for k := range 8 {
				cosineTransform(x[k:], 8)
			}
			var block [64]int
			for k := range block {
				block[k] = int(math.Round(x[zigzag[k]] / float64(j.quant(k))))
			}
			p.blocks = append(p.blocks, block)
		}
		w.planes = append(w.planes, p)
	}
	w.out = []byte{0xff, 0xd8}
	table := []byte{0}
	for k := range 64 {
		table = append(table, byte(j.quant(k)))
	}
	w.segment(0xdb, table)
	frame := binary.BigEndian.AppendUint16([]byte{8}, uint16(j.h))
	frame = append(binary.BigEndian.AppendUint16(frame, uint16(j.w)), byte(len(j.sampling)))
	for i, s := range j.sampling {
		frame = append(frame, byte(i+1), byte(s[0]<<4|s[1]), 0)
	}
	if j.progressive {
		w.segment(0xc2, frame)
	} else {
		w.segment(0xc0, frame)
	}
	for class := range 2 {
		codes := append([]byte{byte(class << 4)}, make([]byte, 16)...)
		codes[8] = 255
		for s := range 255 {
			codes = append(codes, byte(s))
		}
		w.segment(0xc4, codes)
	}
	if j.interval > 0 {
		w.segment(0xdd, binary.BigEndian.AppendUint16(nil, uint16(j.interval)))
	}
	var all []int
	for i := range j.sampling {
		all = append(all, i)
	}
	switch {
	case j.progressive:
		w.scan(all, 0, 0, 0, 1)
		for _, band := range [][4]int{{1, 5, 0, 2}, {6, 63, 0, 2}, {1, 63, 2, 1}, {1, 63, 1, 0}} {
			for i := range all {
				w.scan(all[i:i+1], band[0], band[1], band[2], band[3])
			}
		}
		w.scan(all, 0, 0, 1, 0)
	case j.separate:
		for i := range all {
			w.scan(all[i:i+1], 0, 63, 0, 0)
		}
	default:
		w.scan(all, 0, 63, 0, 0)
	}
	return append(w.out, 0xff, 0xd9)
}

func cosineTransform(x []float64, stride int) {
	var in [8]float64
	for j := range in {
		in[j] = x[j*stride]
	}
	for k := range in {
		sum := 0.0
		for j, v := range in {
			sum += v * cosines[k][j]
		}
		x[k*stride] = sum
	}
}

var cosines = func() (t [8][8]float64) {
	for k := range t {
		for j := range t[k] {
			t[k][j] = math.Cos(float64((2*j+1)*k)*math.Pi/16) / 2
			if k == 0 {
				t[k][j] /= math.Sqrt2
			}
		}
	}
	return t
}()

func (w *recipeWriter) segment(marker byte, body []byte) {
	w.out = append(w.out, 0xff, marker)
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(body)+2))
	w.out = append(w.out, body...)
}

func (w *recipeWriter) put(v, n int) {
	w.acc = w.acc<<n | uint64(v)&(1<<n-1)
	for w.n += n; w.n >= 8; w.n -= 8 {
		b := byte(w.acc >> (w.n - 8))
		if w.out = append(w.out, b); b == 0xff {
			w.out = append(w.out, 0)
		}
	}
}

func (w *recipeWriter) scan(parts []int, first, last, high, low int) {
	body := []byte{byte(len(parts))}
	for _, i := range parts {
		body = append(body, byte(i+1), 0)
	}
	w.segment(0xda, append(body, byte(first), byte(last), byte(high<<4|low)))
	end := func() {
		w.endBand()
		if w.n > 0 {
			w.put(0xff, 8-w.n)
		}
		for i := range w.planes {
			w.planes[i].last = 0
		}
	}
	columns, rows := w.mx, w.my
	if len(parts) == 1 {
		columns, rows = w.planes[parts[0]].ownX, w.planes[parts[0]].ownY
	}
	for mcu := range columns * rows {
		if w.interval > 0 && mcu > 0 && mcu%w.interval == 0 {
			end()
			w.out = append(w.out, 0xff, 0xd0+byte((mcu/w.interval-1)&7))
		}
		for _, i := range parts {
			p, s := &w.planes[i], w.sampling[i]
			if len(parts) == 1 {
				s = [2]int{1, 1}
			}
			for b := range s[0] * s[1] {
				x, y := mcu%columns*s[0]+b%s[0], mcu/columns*s[1]+b/s[0]
				w.block(p, &p.blocks[y*p.bx+x], first, last, high, low)
			}
		}
	}
	end()
}

func (w *recipeWriter) block(p *recipePlane, block *[64]int, first, last, high, low int) {
	switch {
	case first == 0 && high > 0:
		w.put(block[0]>>low, 1)
		return
	case first == 0:
		v := block[0] >> low
		w.value(0, v-p.last)
		p.last = v
	case high > 0:
		w.refine(block, first, last, low)
		return
	}
	run := 0
	for k := max(first, 1); k <= last; k++ {
		v := block[k] / (1 << low) // towards zero
		if v == 0 {
			run++
			continue
		}
		w.endBand()
		for ; run > 15; run -= 16 {
			w.put(0xf0, 8)
		}
		w.value(run, v)
		run = 0
	}
	if run > 0 {
		w.eobRun++
		if !w.progressive || w.eobRun == 1<<14 {
			w.endBand()
		}
	}
}

func (w *recipeWriter) value(run, v int) {
	size := bits.Len(uint(max(v, -v)))
	w.put(run<<4|size, 8)
	if v < 0 {
		v--
	}
	w.put(v, size)
}

func (w *recipeWriter) endBand() {
	if w.eobRun > 0 {
		size := bits.Len(uint(w.eobRun)) - 1
		w.put(size<<4, 8)
		w.put(w.eobRun, size)
		w.eobRun = 0
	}
	w.correct(w.pending)
	w.pending = nil
}

func (w *recipeWriter) correct(corrections []int) {
	for _, b := range corrections {
		w.put(b, 1)
	}
}

// refine implements figure G.7 of T.81.
func (w *recipeWriter) refine(block *[64]int, first, last, low int) {
	size := func(k int) int { return max(block[k], -block[k]) >> low }
	end := 0
	for k := first; k <= last; k++ {
		if size(k) == 1 {
			end = k
		}
	}
	run := 0
	var corrections []int
	for k := first; k <= last; k++ {
		s := size(k)
		if s == 0 {
			run++
			continue
		}
		for ; run > 15 && k <= end; run -= 16 {
			w.endBand()
			w.put(0xf0, 8)
			w.correct(corrections)
			corrections = nil
		}
		if s > 1 {
			corrections = append(corrections, s&1)
			continue
		}
		w.endBand()
		w.put(run<<4|1, 8)
		sign := 0
		if block[k] > 0 {
			sign = 1
		}
		w.put(sign, 1)
		w.correct(corrections)
		corrections, run = nil, 0
	}
	if run > 0 || len(corrections) > 0 {
		w.eobRun++
		w.pending = slices.Concat(w.pending, corrections)
		if w.eobRun == 1<<14 || len(w.pending) > 900 {
			w.endBand()
		}
	}
}

// scenery compresses like a photo: octaves of noise, each half as coarse and
// 0.65 times as strong as the previous one.
func scenery(seed uint64) func(component, x, y int) float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	const side = 256 // side of a noise tile
	tile := make([]float64, side*side)
	for i := range tile {
		tile[i] = rng.Float64() - 0.5
	}
	at := func(x, y int) float64 { return tile[y%side*side+x%side] }
	return func(component, x, y int) float64 {
		sum, strength := 128.0, 70.0
		if component > 0 {
			strength = 30
		}
		for cell := 512; cell >= 1; cell /= 2 {
			cx, cy := x/cell+17*component+cell, y/cell+31*component
			fx, fy := float64(x%cell)/float64(cell), float64(y%cell)/float64(cell)
			top := at(cx, cy)*(1-fx) + at(cx+1, cy)*fx
			bottom := at(cx, cy+1)*(1-fx) + at(cx+1, cy+1)*fx
			sum += strength * (top*(1-fy) + bottom*fy)
			strength *= 0.65
		}
		return sum
	}
}
