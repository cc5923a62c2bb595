package decode

import "encoding/binary"

// A bitReader reads the entropy-coded data of a scan. After the next marker it
// returns zeros. Some of them were used if pad exceeds n.
type bitReader struct {
	data []byte
	pos  int
	acc  uint64 // the next n bits, most significant first
	n    int
	pad  int // zero bits appended to the data so far
}

// refill provides at least 57 bits, enough for two symbols and their values.
func (r *bitReader) refill() {
	if r.pos+8 <= len(r.data) {
		v := binary.BigEndian.Uint64(r.data[r.pos:])
		// If no byte is 0xff (no byte of the complement is zero), take all
		// whole bytes that fit at once. The next refill reads the remaining
		// bits again.
		if c := ^v; (c-0x0101010101010101)&^c&0x8080808080808080 == 0 {
			r.acc |= v >> r.n
			taken := (64 - r.n) / 8
			r.pos += taken
			r.n += 8 * taken
			return
		}
	}
	for r.n <= 56 {
		if r.pos >= len(r.data) {
			r.endOfData()
			return
		}
		b := r.data[r.pos]
		if b == 0xff {
			if r.pos+1 >= len(r.data) || r.data[r.pos+1] != 0 {
				r.endOfData()
				return
			}
			r.pos++
		}
		r.pos++
		r.acc |= uint64(b) << (56 - r.n)
		r.n += 8
	}
}

func (r *bitReader) endOfData() {
	r.pad += 64 - r.n
	r.n = 64
}

func (r *bitReader) take(k int) int32 {
	v := int32(r.acc >> (64 - k))
	r.acc <<= k
	r.n -= k
	return v
}

func (r *bitReader) bit() int32 {
	if r.n == 0 {
		r.refill()
	}
	return r.take(1)
}

func (r *bitReader) restart(number int) error {
	if r.n-r.pad >= 8 || r.pos+2 > len(r.data) ||
		r.data[r.pos] != 0xff || r.data[r.pos+1] != 0xd0+byte(number&7) {
		return errIrregular
	}
	*r = bitReader{data: r.data, pos: r.pos + 2}
	return nil
}

const (
	lutBits  = 9  // codes up to this length need one look-up
	fastBits = 10 // codes with their values, up to this total length, also need one look-up
)

type huffman struct {
	counts [16]byte // number of codes of each length
	values []byte
	built  bool
	lut    [1 << lutBits]uint16 // value<<8 | length, or 0 for a longer code
	limit  [17]uint32           // by length, the first 16-bit prefix beyond the codes
	offset [17]int32            // by length, the difference between a code's index in values and the code

	// fast maps the next bits to an AC symbol with its coefficient, as
	// coefficient<<16 | preceding zeros<<8 | total bits. An entry is 0 if
	// symbol and coefficient are longer than fastBits. The end of a block
	// counts as endRun zeros.
	fast [1 << fastBits]int32
}

const endRun = 128

func (d *reducedJPEG) huffmanTables(body []byte) error {
	for len(body) > 0 {
		if d.tables++; d.tables > 8*maxScans || len(body) < 17 || body[0]>>4 > 1 || body[0]&15 > 3 || d.baseline && body[0]&15 > 1 {
			return errIrregular
		}
		t := &d.codes[body[0]>>4][body[0]&15]
		total := 0
		for i := range t.counts {
			t.counts[i] = body[1+i]
			total += int(body[1+i])
		}
		if total == 0 || total > 256 || len(body) < 17+total {
			return errIrregular
		}
		t.values, t.built = body[17:17+total], false
		body = body[17+total:]
	}
	return nil
}

// build builds the look-up tables. It returns false if the table has no codes
// or too many.
func (t *huffman) build() bool {
	if t.built {
		return true
	}
	if len(t.values) == 0 {
		return false
	}
	clear(t.lut[:])
	code, index := uint32(0), 0
	for length := 1; length <= 16; length++ {
		code <<= 1
		t.offset[length] = int32(index) - int32(code)
		for range t.counts[length-1] {
			if code >= 1<<length {
				return false
			}
			if length <= lutBits {
				first := code << (lutBits - length)
				for i := range uint32(1) << (lutBits - length) {
					t.lut[first+i] = uint16(t.values[index])<<8 | uint16(length)
				}
			}
			code++
			index++
		}
		t.limit[length] = code << (16 - length)
	}
	for i := range t.fast {
		t.fast[i] = t.fastEntry(uint64(i) << (64 - fastBits))
	}
	t.built = true
	return true
}

func (t *huffman) fastEntry(acc uint64) int32 {
	e := t.lut[acc>>(64-lutBits)]
	length, run, size := int(e&255), int32(e>>12), int(e>>8&15)
	switch {
	case length == 0:
		return 0
	case size == 0 && run == 0:
		return endRun<<8 | int32(length)
	case size == 0 || length+size > fastBits:
		return 0
	}
	value := extend(int32(acc<<length>>(64-size)), size)
	return value<<16 | run<<8 | int32(length+size)
}

// symbol decodes one symbol of at most 16 bits, which must be available.
func (t *huffman) symbol(r *bitReader) (byte, bool) {
	if e := t.lut[r.acc>>(64-lutBits)]; e != 0 {
		r.acc <<= e & 255
		r.n -= int(e & 255)
		return byte(e >> 8), true
	}
	prefix := uint32(r.acc >> 48)
	for length := lutBits + 1; length <= 16; length++ {
		if prefix < t.limit[length] {
			code := int32(prefix >> (16 - length))
			r.acc <<= length
			r.n -= length
			return t.values[t.offset[length]+code], true
		}
	}
	return 0, false
}

// extend sign-extends a value of `size` bits (EXTEND in T.81, F.2.2.1).
func extend(v int32, size int) int32 {
	if v < 1<<(size-1) {
		v += -1<<size + 1
	}
	return v
}
