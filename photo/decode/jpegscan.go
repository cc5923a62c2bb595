package decode

import "math/bits"

func (d *reducedJPEG) scan(body []byte) error {
	if len(d.components) == 0 || len(body) < 6 || len(body) != 4+2*int(body[0]) || int(body[0]) > len(d.components) {
		return errIrregular
	}
	s := &jpegScan{d: d, first: 0, last: 63}
	blocks := 0
	for i := range int(body[0]) {
		id, tables := body[1+2*i], body[2+2*i]
		c := d.component(id)
		if c == nil || tables>>4 > 3 || tables&15 > 3 {
			return errIrregular
		}
		for _, other := range s.parts {
			if other.c == c {
				return errIrregular
			}
		}
		blocks += c.h * c.v
		s.parts = append(s.parts, scanComponent{c: c, dc: &d.codes[0][tables>>4], ac: &d.codes[1][tables&15]})
	}
	if len(s.parts) > 1 && blocks > 10 {
		return errIrregular
	}
	if d.progressive {
		tail := body[len(body)-3:]
		s.first, s.last, s.high, s.low = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	}
	if err := s.check(); err != nil {
		return err
	}
	d.scanned = true
	d.bits = bitReader{data: d.data, pos: d.pos}
	d.eobRun = 0
	rows, err := s.run()
	if s.first == 0 && s.high == 0 {
		for _, p := range s.parts {
			p.c.rows = rows * p.c.v
			if single := len(s.parts) == 1; single && rows == p.c.ownY {
				p.c.rows = p.c.blocksY // the other blocks have no pixels
			} else if single {
				p.c.rows = rows
			}
		}
	}
	if err != nil {
		return err
	}
	if d.eobRun != 0 {
		return errIrregular
	}
	d.pos = d.bits.pos
	return nil
}

func (d *reducedJPEG) component(id byte) *jpegComponent {
	for i := range d.components {
		if d.components[i].id == id {
			return &d.components[i]
		}
	}
	return nil
}

type scanComponent struct {
	c      *jpegComponent
	dc, ac *huffman
	last   int32 // DC coefficient of the previous block
}

type jpegScan struct {
	d           *reducedJPEG
	parts       []scanComponent
	first, last int // coefficients of the scan
	high, low   int // the scan has the bits below `high` (all bits if 0) down to `low`
}

// check validates a scan against earlier scans. Each bit of a coefficient must
// come once, the most significant first. This bounds the number of scans and
// allows storing sums instead of coefficients.
func (s *jpegScan) check() error {
	refining := s.high > 0
	switch {
	case s.first > s.last || s.last > 63 || s.low > 13,
		s.d.progressive && s.first == 0 && s.last != 0,
		s.first > 0 && len(s.parts) > 1,
		refining && s.high != s.low+1:
		return errIrregular
	}
	// image/jpeg counts MCUs differently in this case, so pass the file to it.
	if c := s.parts[0].c; s.d.interval > 0 && len(s.parts) == 1 && c.h*c.v > 1 {
		return errIrregular
	}
	for _, p := range s.parts {
		want := int8(-1)
		if refining {
			want = int8(s.high)
		}
		for k := s.first; k <= s.last; k++ {
			if p.c.lowestBit[k] != want {
				return errIrregular
			}
			p.c.lowestBit[k] = int8(s.low)
		}
		if s.first == 0 && !refining && !p.dc.build() || s.last > 0 && !p.ac.build() {
			return errIrregular
		}
		if err := p.c.prepare(s.d); err != nil {
			return err
		}
	}
	return nil
}

func (c *jpegComponent) prepare(d *reducedJPEG) error {
	if c.fold.ready {
		return nil
	}
	steps := &d.quant[c.table]
	if steps[0] == 0 {
		return errIrregular
	}
	c.fold.prepare(steps)
	blocks := c.blocksX * c.blocksY
	c.plane = make([]byte, blocks*c.fold.size())
	if d.progressive {
		c.sums = make([]int32, blocks*c.fold.size())
		c.coded, c.negative = make([]uint64, blocks), make([]uint64, blocks)
	}
	return nil
}

func (s *jpegScan) run() (rows int, err error) {
	d := s.d
	single := len(s.parts) == 1
	columns, all := d.mcusX, d.mcusY
	if single {
		columns, all = s.parts[0].c.ownX, s.parts[0].c.ownY
	}
	for y := range all {
		for x := range columns {
			if mcu := y*columns + x; d.interval > 0 && mcu > 0 && mcu%d.interval == 0 {
				if err := d.bits.restart(mcu/d.interval - 1); err != nil {
					return y, err
				}
				d.eobRun = 0
				for i := range s.parts {
					s.parts[i].last = 0
				}
			}
			for i := range s.parts {
				p := &s.parts[i]
				if single {
					if !s.block(p, x, y) {
						return y, errIrregular
					}
					continue
				}
				for v := range p.c.v {
					for h := range p.c.h {
						if !s.block(p, x*p.c.h+h, y*p.c.v+v) {
							return y, errIrregular
						}
					}
				}
			}
			if d.bits.pad > d.bits.n { // the data ended
				return y, errIrregular
			}
		}
	}
	return all, nil
}

func (s *jpegScan) block(p *scanComponent, bx, by int) bool {
	c := p.c
	if !s.d.progressive {
		var sums [64]int32
		if !s.dcFirst(p, sums[:]) || !s.acSequential(p, &sums) {
			return false
		}
		c.write(sums[:c.fold.size()], bx, by)
		return true
	}
	at := by*c.blocksX + bx
	sums := c.sums[at*c.fold.size():][:c.fold.size()]
	switch {
	case s.first == 0 && s.high == 0:
		return s.dcFirst(p, sums)
	case s.first == 0:
		sums[0] += s.d.bits.bit() << s.low * c.fold.weight[0]
		return true
	case s.high == 0:
		return s.acFirst(p, sums, &c.coded[at], &c.negative[at])
	}
	return s.acRefine(p, sums, &c.coded[at], &c.negative[at])
}

func (s *jpegScan) dcFirst(p *scanComponent, sums []int32) bool {
	r := &s.d.bits
	if r.n < 32 {
		r.refill()
	}
	size, ok := p.dc.symbol(r)
	if !ok || size > 15 {
		return false
	}
	if size > 0 {
		p.last += extend(r.take(int(size)), int(size))
	}
	sums[0] += p.last << s.low * p.c.fold.weight[0]
	return true
}

// acSequential takes most of the decoding time. It therefore keeps the reader's
// state in registers and looks up short codes with their coefficients.
func (s *jpegScan) acSequential(p *scanComponent, sums *[64]int32) bool {
	r, ac, fold := &s.d.bits, p.ac, &p.c.fold
	acc, n := r.acc, r.n
	for k := 1; k < 64; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.refill()
			acc, n = r.acc, r.n
		}
		var value int32
		if e := ac.fast[acc>>(64-fastBits)]; e != 0 {
			acc <<= e & 255
			n -= int(e & 255)
			k += int(e >> 8 & 255)
			if k >= endRun {
				break
			}
			value = e >> 16
		} else {
			r.acc, r.n = acc, n
			symbol, ok := ac.symbol(r)
			if !ok {
				return false
			}
			run, size := int(symbol>>4), int(symbol&15)
			k += run
			if size == 0 {
				if run == 0 {
					acc, n = r.acc, r.n
					break
				}
				if run != 15 {
					return false
				}
				acc, n = r.acc, r.n
				continue
			}
			value = extend(r.take(size), size)
			acc, n = r.acc, r.n
		}
		if k > 63 {
			return false
		}
		sums[fold.sumIndex[k]&63] += value * fold.weight[k]
	}
	r.acc, r.n = acc, n
	return true
}

// acFirst reads the first bits of AC coefficients (T.81, G.1.2.2).
func (s *jpegScan) acFirst(p *scanComponent, sums []int32, coded, negative *uint64) bool {
	if s.d.eobRun > 0 {
		s.d.eobRun--
		return true
	}
	r, fold := &s.d.bits, &p.c.fold
	for k := s.first; k <= s.last; k++ {
		if r.n < 32 {
			r.refill()
		}
		symbol, ok := p.ac.symbol(r)
		if !ok {
			return false
		}
		run, size := int(symbol>>4), int(symbol&15)
		if size == 0 && run < 15 {
			s.endOfBand(run)
			s.d.eobRun--
			return true
		}
		k += run
		if size == 0 {
			continue
		}
		if k > s.last {
			return false
		}
		value := extend(r.take(size), size)
		*coded |= 1 << k
		if value < 0 {
			*negative |= 1 << k
		}
		sums[fold.sumIndex[k]] += value << s.low * fold.weight[k]
	}
	return true
}

func (s *jpegScan) endOfBand(size int) {
	s.d.eobRun = 1 << size
	if size > 0 {
		s.d.eobRun += int(s.d.bits.take(size))
	}
}

// acRefine reads one more bit of AC coefficients (T.81, G.1.2.3).
func (s *jpegScan) acRefine(p *scanComponent, sums []int32, coded, negative *uint64) bool {
	r, fold := &s.d.bits, &p.c.fold
	k := s.first
	if s.d.eobRun == 0 {
		for ; k <= s.last; k++ {
			if r.n < 32 {
				r.refill()
			}
			symbol, ok := p.ac.symbol(r)
			if !ok {
				return false
			}
			run, size := int(symbol>>4), symbol&15
			value := int32(0)
			switch {
			case size == 0 && run < 15:
				s.endOfBand(run)
			case size == 1:
				value = r.take(1)<<1 - 1
			case size > 1:
				return false
			}
			if s.d.eobRun > 0 {
				break
			}
			for ; k <= s.last; k++ {
				if *coded>>k&1 != 0 {
					s.correct(fold, sums, k, *negative)
				} else if run--; run < 0 {
					break
				}
			}
			if k > s.last {
				return false
			}
			if value != 0 {
				*coded |= 1 << k
				if value < 0 {
					*negative |= 1 << k
				}
				sums[fold.sumIndex[k]] += value << s.low * fold.weight[k]
			}
		}
	}
	if s.d.eobRun > 0 {
		s.d.eobRun--
		// If the band is complete, k may be 64. The shift then leaves no bits.
		for rest := *coded & (^uint64(0) << k) & (1<<(s.last+1) - 1); rest != 0; rest &= rest - 1 {
			s.correct(fold, sums, bits.TrailingZeros64(rest), *negative)
		}
	}
	return true
}

func (s *jpegScan) correct(fold *folding, sums []int32, k int, negative uint64) {
	if s.d.bits.bit() == 0 {
		return
	}
	step := fold.weight[k] << s.low
	if negative>>k&1 != 0 {
		step = -step
	}
	sums[fold.sumIndex[k]] += step
}
