package engine

// A layout arranges an image so that every tap of a kernel reads a run of it:
// tap t of the window of pixel (y, x) is at offsets[t] + y·pitch + x of its
// channels. A convolution is then a product whose rows are these runs, without
// copies per tap.
//
// With strides sh×sw the padded image is split into sh×sw phases. Phase (a, b)
// holds the rows a, a+sh, … and columns b, b+sw, … that taps read. Pixels
// between the end of a row and the next pitch are computed and discarded.
// Without a stride these are few, because the padding at the end of a row also
// starts the next.
type layout struct {
	window
	phase       [][]int // number of phase (a, b), or −1
	phases      int
	rows, pitch int   // of a phase
	offsets     []int // of the taps of all channels of a group, the rows of the product
	slack       int   // zeros after the last plane, for padding and for kernels that read whole registers
	direct      bool  // the image is used in place
}

func (w window) layout() layout {
	l := layout{window: w}
	l.rows = w.outH + (w.kh-1)*w.dh/w.sh
	// Columns that the last window of a row reads beyond the image.
	right := max(0, (w.outW-1)*w.sw+w.wide()-w.left-w.inW)
	l.pitch = ceilDiv(w.left+w.inW+right, w.sw)
	if w.sw == 1 {
		l.pitch = w.inW + max(w.left, right)
	}
	l.slack = min(w.left, right) + 64
	l.direct = w.sh*w.sw == 1 && l.pitch == w.inW && w.top == 0 && l.rows <= w.inH
	if l.direct {
		l.rows = w.inH // the last may be unread
	}
	for range w.sh {
		row := make([]int, w.sw)
		for b := range row {
			row[b] = -1
		}
		l.phase = append(l.phase, row)
	}
	for dy := range w.kh {
		for dx := range w.kw {
			p := &l.phase[dy*w.dh%w.sh][dx*w.dw%w.sw]
			if *p < 0 {
				*p = l.phases
				l.phases++
			}
		}
	}
	return l
}

func (l *layout) setOffsets(channels int) {
	for c := range channels {
		for dy := range l.kh {
			for dx := range l.kw {
				y, x := dy*l.dh, dx*l.dw
				phase := c*l.phases + l.phase[y%l.sh][x%l.sw]
				l.offsets = append(l.offsets, (phase*l.rows+y/l.sh)*l.pitch+x/l.sw)
			}
		}
	}
}

// plane is the size of a channel.
func (l *layout) plane() int64 { return int64(l.phases) * int64(l.rows) * int64(l.pitch) }

func (l *layout) size(channels int) int64 { return int64(channels)*l.plane() + int64(l.slack) }

func (l *layout) contiguous() bool { return l.pitch == l.outW || l.outH == 1 }

// columns is the number of computed pixels.
func (l *layout) columns() int { return (l.outH-1)*l.pitch + l.outW }

// layPlane lays out one channel. Padding must already be there.
func (l *layout) layPlane(to, x []float32) {
	for y := range l.inH {
		row := (y + l.top) / l.sh
		if row >= l.rows {
			break
		}
		from := x[y*l.inW:][:l.inW]
		for b, number := range l.phase[(y+l.top)%l.sh] {
			if number < 0 {
				continue
			}
			line := to[(number*l.rows+row)*l.pitch:]
			if l.sw == 1 {
				copy(line[l.left:], from)
				continue
			}
			first := (b - l.left%l.sw + l.sw) % l.sw
			if first < len(from) {
				copyStrided(line[(first+l.left)/l.sw:], from[first:], l.sw)
			}
		}
	}
}

// collect copies the pixels among the computed columns.
func (l *layout) collect(to, from []float32) {
	for i := 0; i < len(to); i += l.outW {
		copy(to[i:][:l.outW], from)
		from = from[min(l.pitch, len(from)):]
	}
}

// copyStrided copies from[0], from[step], …
func copyStrided(to, from []float32, step int) {
	if step == 1 {
		copy(to, from)
		return
	}
	if step == 2 {
		n := (len(from) + 1) / 2
		to = to[:n]
		for i := range to {
			to[i] = from[2*i]
		}
		return
	}
	for i, j := 0, 0; i < len(from); i, j = i+step, j+1 {
		to[j] = from[i]
	}
}
